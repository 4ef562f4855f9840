"""Samples of every operator, by its name: one file for each of ops/."""

# ruff: noqa: F401
from . import (
    activation,
    assembly,
    attention,
    complex_numbers,
    convolution,
    criteria,
    decomposition,
    elementwise,
    embedding,
    gathering,
    graph,
    indexing,
    joining,
    linalg,
    logic,
    loss,
    normalization,
    norms,
    pooling,
    recurrent,
    reduction,
    regularization,
    resampling,
    search,
    shape,
    slicing,
    special,
    spectral,
    statistics,
)
from .declare import SAMPLES as SAMPLES
from .declare import Array as Array
