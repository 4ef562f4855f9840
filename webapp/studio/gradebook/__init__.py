"""A teacher's class: nbgrader's folders and gradebook, graded by Sampan's grader, compared, shown and exported."""
