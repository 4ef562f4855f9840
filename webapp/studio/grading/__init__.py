"""Running the course's grader for a learner."""

from studio import lean  # noqa: F401  before any module of this package imports nbformat
