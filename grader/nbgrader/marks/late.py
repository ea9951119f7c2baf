"""The penalty of a late submission: a share of its points for each day begun."""

from __future__ import annotations

import math

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float

_DAY_SECONDS = 86400


class LatePerDay(LateSubmissionPlugin):
    """No penalty unless the class's settings name a share: `c.LatePerDay.percent = 10`."""

    percent = Float(0.0, help="of the submission's points, for each day begun").tag(config=True)
    grace_minutes = Float(0.0, help="after the due date that cost nothing").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        late = total_seconds_late - 60 * self.grace_minutes
        if self.percent <= 0 or late <= 0:
            return None
        return round(min(score, score * self.percent / 100 * math.ceil(late / _DAY_SECONDS)), 2)
