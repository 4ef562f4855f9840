"""What a notebook of a course imports: exercise slots, hints, visible checks, predictions.

    from sampan import learn

    @learn.exercise("autograd.unbroadcast")
    def unbroadcast(gradient, shape): ...

    learn.hint("autograd.unbroadcast")        # the next of three
    learn.check("autograd.unbroadcast")       # visible cases
    learn.reference("autograd.unbroadcast")   # the library's own version back in its place
    learn.language("zh")                      # hints, checks and predictions in Chinese
    learn.engine("mine")                      # all functions of passed exercises in the library

The course itself (its hints, cases and questions) comes from an installed package: see `lessons.py`.
Used by every notebook of the course.
"""

from .language import language
from .my_engine import engine
from .slots import calls, exercise, reference
from .visible import CheckFailed, check, hint, predict

__all__ = ["CheckFailed", "calls", "check", "engine", "exercise", "hint", "language", "predict", "reference"]
