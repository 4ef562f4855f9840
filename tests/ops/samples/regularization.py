"""Samples of ops/regularization.py, and functions that compute the same by other means."""

from .declare import Array, sampled

sampled("masked", reference=lambda x, m: x * m, samples=[((3, 4), Array((3, 4), 0, 2, "bool"))])
