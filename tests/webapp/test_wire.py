"""Plain values over a socket: what goes through comes out the same, everything else is refused."""

import json
import socket
import struct
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from studio.grading import wire

arrays = hnp.arrays(
    dtype=st.sampled_from(["float32", "float64", "int64", "uint8", "bool", "complex64"]),
    shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
leaves = (
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats() | st.text(max_size=20) | arrays
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(st.characters(exclude_characters="$"), max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(one, other):
    if isinstance(one, np.ndarray):
        return type(other) is np.ndarray and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and (one == other or one != one)


@settings(max_examples=150)
@given(trees)
def test_every_plain_value_comes_back_as_it_was(value):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire.send(ours, value)
        assert same(value, wire.receive(theirs))


def test_buffers_become_arrays_and_objects_lose_all_but_their_name():
    class Equal:
        def __eq__(self, other):
            return True

    sent = wire.plain(
        [torch.arange(4).reshape(2, 2).mT, np.float32(2), Equal(), torch.zeros(1, dtype=torch.bfloat16)]
    )
    assert sent[0].tolist() == [[0, 2], [1, 3]]
    assert sent[1].dtype == np.float32
    assert isinstance(sent[2], wire.Foreign) and "Equal" in repr(sent[2])
    assert isinstance(sent[3], wire.Foreign) and "bfloat16" in repr(sent[3])


def test_a_number_with_its_own_equality_is_no_number():
    class Sly(float):
        def __eq__(self, other):
            return True

        __hash__ = float.__hash__

    assert isinstance(wire.plain(Sly(1)), wire.Foreign)


@pytest.mark.parametrize(
    "header",
    [
        b"not json",
        b"[]",
        b'{"message": 1}',
        b'{"message": {"$array": 0}, "arrays": []}',
        b'{"message": {"$array": "x"}, "arrays": []}',
        json.dumps({"message": 1, "arrays": [{"dtype": "object", "shape": [1]}]}).encode(),
        json.dumps({"message": 1, "arrays": [{"dtype": "float64", "shape": [-1]}]}).encode(),
        json.dumps({"message": 1, "arrays": [{"dtype": "float64", "shape": [10**9]}]}).encode(),
        json.dumps({"message": 1, "arrays": [{"dtype": "uint8", "shape": [1]}]}).encode(),
        b'{"message": ' + b"[" * 200 + b"]" * 200 + b', "arrays": []}',
    ],
)
def test_a_broken_frame_is_refused(header):
    with pytest.raises(wire.WireError):
        wire.decode(header, b"12")


def test_a_frame_that_announces_too_much_is_refused_before_it_is_read():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack("<IQ", 10, 1 << 40))
        with pytest.raises(wire.WireError, match="larger"):
            wire.receive(ours, time.monotonic() + 5)


def test_silence_and_a_closed_door_are_told_apart():
    ours, theirs = socket.socketpair()
    with ours:
        with theirs, pytest.raises(TimeoutError):
            wire.receive(ours, time.monotonic() + 0.05)
        with pytest.raises(EOFError):
            wire.receive(ours, time.monotonic() + 5)
