"""The one exception whose text is meant for the person at the keyboard."""


class CourseError(Exception):
    """Something the user can fix. Its text says what, where, what was expected and what to try.

    Every command shows it as a sentence and never as a traceback.
    """


class MachineOverloaded(CourseError):
    """Something that is right did not get its time on this machine: nobody's submission has failed."""

    words = "this machine is too busy"

    def __init__(self, what: str, got: str) -> None:
        super().__init__(
            f"{self.words}: {what} got only {got}, so nothing can be said of it. "
            "Run it again when fewer programs run"
        )
