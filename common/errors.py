"""The one exception whose text is meant for the person at the keyboard."""


class CourseError(Exception):
    """Something the user can mend. Its text says what, where, what was expected and what to try.

    Every command shows it as a sentence and never as a traceback.
    """
