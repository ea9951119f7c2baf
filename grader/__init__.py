"""The course's harness: `python -m grader VERB`. Importing it is cheap; each verb imports what it needs.
May import common."""
