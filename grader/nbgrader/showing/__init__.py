"""How a graded notebook is shown in formgrader and in feedback: Markdown, formulas, and what graders see
beside an answer. May import the class folder, the render and the spec."""
