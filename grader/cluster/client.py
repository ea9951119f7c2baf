"""A client of a Dask scheduler that leaves nothing open if it cannot connect."""

from __future__ import annotations

import contextlib
from typing import Any

from distributed import Client

_CLOSE_SECONDS = 1


class SchedulerClient(Client):
    """Dask closes a client that could not connect when Python happens to collect it. If that is while another
    one starts, both want the same lock, and the command hangs. So such a client is closed at once."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        try:
            super().__init__(*arguments, **options)
        except BaseException:
            with contextlib.suppress(Exception):  # it may be in a state that Dask cannot close
                self.close(timeout=_CLOSE_SECONDS)
            self.status = "closed"  # so that nothing is tried when it is collected
            raise
