"""A teacher's class: nbgrader's folders and gradebook, graded by Sampan's grader, compared, shown and exported."""

from studio import lean  # noqa: F401  before any module of this package imports nbformat
