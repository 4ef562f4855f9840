"""The library's version of an exercise that was passed, and how long it and the learner's function take.

The learner's time is measured in the learner's process: it is shown beside the verdict and decides nothing. A process
that ends meanwhile has no time, and the exercise stays passed.
"""

from __future__ import annotations

import inspect
import math
import secrets
import textwrap
import time
from collections.abc import Sequence

from sampan.learn import drivers, slots
from sampan.learn.cases import Case

from .exercise import Exercise, Race
from .sandbox import Gone, Sandbox
from .symptom import arrays
from .verdict import Compared

CALLS = 2  # of each side; the shortest counts, so that compiling and loading do not
LONGEST = 1.0  # seconds of a call that is made again


def compare(sandbox: Sandbox, exercise: Exercise, cases: Sequence[Case]) -> Compared:
    """Both sides on the case with the most numbers. Not timed: a function that is slow, and an operator, whose body is
    called otherwise than the learner's, which gives back its derivatives, too."""
    slot = slots.get(exercise.slot)
    if slot.attribute == "body":
        return Compared(source_of(slot))
    plain = [case for case in cases if not isinstance(case, Race)]
    case = max(plain, key=lambda case: sum(array.size for array in arrays(case.args)))
    try:
        own = _own_seconds(sandbox, exercise, case)
        if own > LONGEST:
            return Compared(source_of(slot))
        own = min(own, *(_own_seconds(sandbox, exercise, case) for _ in range(CALLS - 1)))
    except Gone:
        return Compared(source_of(slot))
    library = min(_library_seconds(slot, case) for _ in range(CALLS))
    return Compared(source_of(slot), *case.name, own, library)


def source_of(slot: slots.Slot) -> str:
    """The source of the library's version; of an operator, with its derivatives."""
    each, joint = slot.derivatives or ((), None)
    parts = [slot.original, *each, *([joint] if joint else [])]
    sources = [textwrap.dedent(inspect.getsource(inspect.unwrap(part))) for part in parts]
    return "\n\n".join(dict.fromkeys(sources))  # two derivatives may be lambdas of one statement


def _own_seconds(sandbox: Sandbox, exercise: Exercise, case: Case) -> float:
    message = {"kind": "call", "id": secrets.token_hex(8), "slot": exercise.slot, "driver": case.driver}
    reply = sandbox.ask({**message, "args": case.args, "seconds": exercise.seconds}, exercise.seconds)
    spent = reply.get("spent")
    return spent if isinstance(spent, float) and spent > 0 else math.inf


def _library_seconds(slot: slots.Slot, case: Case) -> float:
    began = time.perf_counter()
    drivers.answer_of(slot, case.driver, case.args)
    return time.perf_counter() - began
