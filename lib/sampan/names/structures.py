"""Nested lists, tuples and dicts of tensors, as in `paddle.utils.layers_utils`."""

from collections.abc import Sequence

from ..engine.tensor import InvalidArgument, InvalidType
from ..nn.rnn import flatten, map_structure


def is_sequence(seq):
    """Whether it is a dict, or a sequence other than str."""
    return isinstance(seq, (dict, Sequence)) and not isinstance(seq, str)


def to_sequence(nest):
    """Wrap anything but a sequence in a list."""
    return nest if is_sequence(nest) else [nest]


def pack_sequence_as(structure, flat_sequence):
    """The entries of `flat_sequence` in the structure of `structure`. ValueError for another number of
    entries."""
    if (count := len(flatten(structure))) != len(flat_sequence):
        raise InvalidArgument(f"pack_sequence_as: expected {count} entries, got {len(flat_sequence)}")
    entries = iter(flat_sequence)
    return map_structure(lambda _: next(entries), structure)


def assert_same_structure(nest1, nest2, check_types=True, skip_if=None):
    """Raise ValueError unless both have the same number of entries, and TypeError unless in the same form."""
    if skip_if is not None and (skip_if(nest1) or skip_if(nest2)):
        return
    if len(flatten(nest1)) != len(flatten(nest2)):
        raise InvalidArgument(f"assert_same_structure: {nest1} and {nest2} have different numbers of entries")
    if is_sequence(nest1) != is_sequence(nest2):
        raise InvalidArgument(f"assert_same_structure: only one of {nest1} and {nest2} is a sequence")
    if check_types and is_sequence(nest1) and type(nest1) is not type(nest2):
        raise InvalidType(f"assert_same_structure: {nest1} and {nest2} are of different types")
    inside = [n.values() if isinstance(n, dict) else n for n in (nest1, nest2)]
    for one, two in zip(*inside, strict=False) if is_sequence(nest1) else ():
        assert_same_structure(one, two, check_types, skip_if)


def convert_to_list(value, n, name, dtype=int):
    """A number n times, or the list of n numbers that was given. Raises ValueError for anything else."""
    given = [value] * n if isinstance(value, dtype) else list(value) if hasattr(value, "__iter__") else None
    fits = [hasattr(v, "__index__") or isinstance(v, dtype) for v in given or ()]
    if given is None or len(given) != n or not all(fits):
        raise InvalidArgument(f"{name}: expected {dtype.__name__} or {n} of them, got {value!r}")
    return given
