"""Graded notebooks: exercise slots, hints, visible checks, predictions, and the grader behind them.

    from sampan import learn

    @learn.exercise("autograd.unbroadcast")
    def unbroadcast(gradient, shape): ...

    learn.hint("autograd.unbroadcast")        # the next of three
    learn.check("autograd.unbroadcast")       # visible cases
    learn.reference("autograd.unbroadcast")   # the library's own version back in its place

Used by every notebook of the course.
"""

from .slots import calls, exercise, reference
from .visible import CheckFailed, check, hint, predict

__all__ = ["CheckFailed", "calls", "check", "exercise", "hint", "predict", "reference"]
