"""The process that serves a notebook's requests, one after the other; see rpc.py."""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.progress import Notify
from grader.actions.check import checked, readable
from grader.course.settings import choose_device, read_settings
from grader.notebook.rpc import IDLE_EXIT
from grader.records.device_info import GPU, DeviceInfo
from grader.render.public import for_student
from grader.spec import BASELINE, Exercise, registry

_MOST_SOURCE = 1 << 20
IDLE_EXIT_SECONDS = 600.0  # then free its memory; starting again takes seconds


def check(exercise: Exercise, file: Path, notify: Notify, *, device: str | None, step: int | None) -> Any:
    text = readable(exercise, file, step)
    settings = read_settings()
    chosen = choose_device(device, settings)
    found = checked(exercise, file, text, chosen, step, notify)
    return {
        "record": None if found.record is None else for_student(found.record).to_dict(),
        "todos": [vars(todo) for todo in found.todos],
        "remark": settings.remark(chosen.kind),
    }


def profile(
    exercise: Exercise, file: Path, notify: Notify, *, of: str, case: str | None, timeline: int
) -> dict[str, Any]:
    from grader.actions.profile import chosen_case
    from grader.actions.profile import profile as profiled

    chosen = chosen_case(exercise, case)
    source = file
    if of == BASELINE:
        source, chosen = exercise.baseline, exercise.case_of_baseline(chosen)
    notify(f"running {source.name} at {chosen.name} on the virtual GPU")
    seen = profiled(exercise, source, chosen, timeline=timeline, card=read_settings().profile)
    return {
        "file": source.name,
        "source": source.read_bytes()[:_MOST_SOURCE].decode(errors="replace"),
        "case": chosen.name,
        "sizes": dict(chosen.sizes),
        "report": seen.report.to_dict(),
        "seconds": seen.seconds,
        "seconds_in_a_graph": seen.seconds_in_a_graph,
        "protocol": seen.protocol,
        "wrong": seen.wrong,
    }


def measure(exercise: Exercise, file: Path, notify: Notify, *, names: list[str]) -> dict[str, Any]:
    from grader.questions.measured import Measured, timed
    from grader.questions.measured import measure as measured

    found = measured(exercise, file, names=names, notify=notify)
    if on_gpu := [one.name for one in exercise.predictions if one.needs_gpu and one.name in names]:
        try:
            text = readable(exercise, file, None)
            record = checked(exercise, file, text, DeviceInfo(GPU, ""), None, notify).record
            found |= timed(exercise, None if record is None else record.speed)
        except CourseError as problem:  # the other quantities were counted
            found |= Measured(missing=dict.fromkeys(on_gpu, str(problem)))
    return dataclasses.asdict(found)


def run(exercise: None, file: Path, notify: Notify, *, seconds: float) -> dict[str, Any]:
    """A program with a main() of its own, on the virtual GPU: its output, findings and counters."""
    from grader.actions.run import OnVirtual, Source, run_on_virtual

    how, source = OnVirtual(with_figures=True), Source([file])
    notify("building")
    program, warnings = source.build(how.target)
    notify("running on the virtual GPU")
    ran = run_on_virtual(source, program, how, seconds=seconds, captured=True)
    return {
        "file": file.name,
        "source": file.read_bytes()[:_MOST_SOURCE].decode(errors="replace"),
        "warnings": [str(diagnostic) for diagnostic in warnings],
        "ending": "" if ran.status == 0 else ran.ending,
        "printed": ran.stdout + ran.stderr,
        "report": ran.report.to_dict(),
    }


def post_mortem(exercise: Exercise, file: Path, notify: Notify) -> dict[str, Any]:
    """Runs of an exercise's faulty kernels, or of one file if it is named."""
    from grader.lab.lab import find_lab, run_kernel

    lab = find_lab(exercise.id)
    seen = []
    for source in [file] if file.name else [lab.source(kernel) for kernel in lab.kernels]:
        notify(f"running {source.name}")
        shown = run_kernel(lab, source)
        seen.append(
            {
                "file": source.name,
                "source": source.read_bytes()[:_MOST_SOURCE].decode(errors="replace"),
                "answer": shown.verdict,
                "message": shown.failed or shown.wrong,
                "kinds": shown.kinds_of_findings,
                "figures": shown.figures,
                "report": shown.report.to_dict(),
            }
        )
    return {"runs": seen}


METHODS: dict[str, Callable[..., Any]] = {
    "check": check,
    "profile": profile,
    "measure": measure,
    "run": run,
    "post mortem": post_mortem,
}


def main() -> int:
    """Serve requests until the notebook is gone or has sent none for IDLE_EXIT_SECONDS."""
    # Only answers go through this channel: whatever else is printed goes to stderr.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def send(**message: Any) -> None:
        print(json.dumps(message), file=channel, flush=True)

    while True:
        try:
            request = json.loads(requests.get(timeout=IDLE_EXIT_SECONDS))
        except queue.Empty:
            return IDLE_EXIT
        try:
            answer = _answer(request, lambda text: send(progress=text))
        except CourseError as problem:
            send(error=str(problem))
        else:
            send(answer=answer)
        if _holds_gpu():
            return IDLE_EXIT  # other processes may need the GPU's memory


def _holds_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def _answer(request: dict[str, Any], notify: Notify) -> Any:
    arguments = request["arguments"]
    named = arguments.pop("exercise", None)
    exercise = None if named is None else registry.find(named)
    return METHODS[request["method"]](exercise, Path(arguments.pop("file")), notify, **arguments)


def _listen(requests: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    os._exit(1)  # the notebook is gone: drop the work in progress


if __name__ == "__main__":
    os._exit(main())  # a thread still reads stdin, which Python would wait for
