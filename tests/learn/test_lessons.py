"""Every lesson of the course has hints and cases."""

from sampan.learn import lessons


def test_every_lesson_of_the_course_has_hints_and_cases():
    exercises, questions = lessons.installed()
    assert set(exercises) >= {"ops.relu", "autograd.unbroadcast", "kernels.adam_step", "hapi.train_epoch"}
    for lesson in exercises.values():
        assert len(set(lesson.hints)) == 3 and lesson.cases()
    assert len(questions) >= 7
