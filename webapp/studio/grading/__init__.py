"""Running the course's grader for a learner."""
