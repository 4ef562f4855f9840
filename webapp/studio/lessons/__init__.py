"""The open side of the course: hints, visible cases, prediction questions, drivers. One file a notebook.

`sampan.learn` finds it through the entry point "sampan.course". The hidden cases are not here: they live beside the
instructor's notebooks, outside of any learner's process.
"""

from studio.grading.symptom import hint

from . import (
    drivers,
    drivers_embeddings,
    drivers_graphs,
    drivers_graphs_changing,
    drivers_hearing,
    drivers_live,
    drivers_programs,
    drivers_small,
    drivers_sparse,
    drivers_tables,
    drivers_workers,
    embeddings,
    graphs,
    graphs_changing,
    hearing,
    kernels,
    live,
    networks,
    orientation,
    programs,
    small,
    sparse,
    tables,
    tensors,
    training,
    workers,
)

MODULES = (
    orientation,
    tensors,
    training,
    kernels,
    networks,
    sparse,
    embeddings,
    graphs,
    graphs_changing,
    hearing,
    live,
    programs,
    small,
    workers,
    tables,
)
LESSONS = tuple(lesson for module in MODULES for lesson in module.LESSONS)
PREDICTIONS = tuple(question for module in MODULES for question in module.PREDICTIONS)

__all__ = [
    "LESSONS",
    "PREDICTIONS",
    "drivers",
    "drivers_embeddings",
    "drivers_graphs",
    "drivers_graphs_changing",
    "drivers_hearing",
    "drivers_live",
    "drivers_programs",
    "drivers_small",
    "drivers_sparse",
    "drivers_tables",
    "drivers_workers",
    "hint",
]
