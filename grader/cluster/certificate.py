"""The certificate of a Dask cluster: whoever has its two files may use the cluster, and nobody else can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_whole

CERTIFICATE, KEY, SCHEDULER = "cert.pem", "key.pem", "scheduler.json"


def make_certificate(folder: Path) -> None:
    """A new one into a folder that is the owner's alone."""
    from distributed.security import Security

    made = Security.temporary()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        write_whole(folder / CERTIFICATE, made.tls_client_cert, private=True)
        write_whole(folder / KEY, made.tls_client_key, private=True)
    except OSError as problem:
        raise CourseError(f"{folder} cannot be written: {problem.strerror}") from problem


def options(folder: Path) -> list[str]:
    """Of `dask scheduler` and `dask worker`, for the certificate in a folder."""
    for name in (CERTIFICATE, KEY):
        if not (folder / name).is_file():
            raise CourseError(
                f"there is no {name} in {folder}: `./course cluster start DIR` makes the folder, and each "
                "node needs a copy of it"
            )
    certificate, key = str(folder / CERTIFICATE), str(folder / KEY)
    return ["--protocol", "tls", "--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key]


def security_beside(place: str) -> Any:
    """The certificate beside a scheduler's file, or what Dask's own configuration names."""
    from distributed.security import Security

    folder = Path(place).parent
    if "://" in place or not (folder / CERTIFICATE).is_file():
        return Security()
    certificate, key = str(folder / CERTIFICATE), str(folder / KEY)
    return Security(
        require_encryption=True, tls_ca_file=certificate, tls_client_cert=certificate, tls_client_key=key
    )
