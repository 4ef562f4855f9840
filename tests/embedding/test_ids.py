"""The table of ids beside a dictionary, the sketch beside a counter, values that depend on the id alone."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sampan.embedding.ids import IdTable
from sampan.kernels import cpu_embedding_hash as loops

IDS = st.lists(
    st.one_of(
        st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, -1, 2**63 - 1, -(2**63)])
    ),
    max_size=30,
)


class BesideADictionary(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.table, self.known = IdTable(60), {}

    @rule(ids=IDS)
    def give(self, ids):
        array = np.array(ids, np.int64)
        if len(self.known.keys() | set(ids)) > 60:
            with pytest.raises(MemoryError, match="capacity is 60"):
                self.table.give(array)
            return
        rows, new = self.table.give(array)
        fresh = [i for i in dict.fromkeys(ids) if i not in self.known]
        assert [ids[place] for place in new] == fresh
        assert not set(rows[new]) & set(self.known.values())  # no row is assigned twice
        for i, row in zip(ids, rows, strict=True):
            assert self.known.setdefault(i, row) == row

    @rule(ids=IDS)
    def remove(self, ids):
        self.table.remove(np.array(ids, np.int64))
        for i in ids:
            self.known.pop(i, None)

    @rule(ids=IDS)
    def find(self, ids):
        assert self.table.find(np.array(ids, np.int64)).tolist() == [self.known.get(i, -1) for i in ids]

    @invariant()
    def counts(self):
        assert len(self.table) == len(self.known) == len(set(self.known.values()))


TestBesideADictionary = BesideADictionary.TestCase
TestBesideADictionary.settings = settings(max_examples=40, stateful_step_count=30)


def test_it_grows_through_many_splits_and_shrinks_again():
    rng = np.random.default_rng(0)
    table, known = IdTable(200_000), {}
    for _ in range(10):
        ids = rng.integers(-(10**8), 10**8, 20_000)
        rows, _ = table.give(ids)
        for i, row in zip(ids.tolist(), rows.tolist(), strict=True):
            assert known.setdefault(i, row) == row
    everything = np.array(list(known))
    assert table.find(everything).tolist() == list(known.values())
    assert table.rows == len(known) == len(table)
    gone, kept = everything[::2], everything[1::2]
    table.remove(gone)
    assert (table.find(gone) == -1).all()
    assert table.find(kept).tolist() == [known[i] for i in kept.tolist()]
    again, new = table.give(gone)
    assert (
        sorted(again) == sorted(again[new]) == sorted(known[i] for i in gone.tolist())
    )  # rows are used again
    assert table.rows == len(known)


def test_ids_that_differ_in_one_bit_alone_are_spread():
    table = IdTable(100_000)
    ids = np.arange(60_000, dtype=np.int64) << 40
    table.give(ids)
    assert table._used[2] < 60_000 / loops.FULL * 2.5


def unmixed(bits):
    """The ids that a table without a salt hashes to these bits: SplitMix64's finaliser backwards, written from its paper."""
    word = (1 << 64) - 1

    def unshifted(z, by):
        out = z
        for _ in range(64 // by):
            out = z ^ (out >> by)
        return out

    ids = []
    for z in bits:
        z = unshifted(z, 31) * pow(0x94D049BB133111EB, -1, 1 << 64) & word
        z = unshifted(z, 27) * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & word
        ids.append((unshifted(z, 30) - 0x9E3779B97F4A7C15) & word)
    return np.array(ids, np.uint64).view(np.int64)


def longest_probe(table):
    """How far the unluckiest id lies from where it is looked for first."""
    at = np.flatnonzero(table._slots[:, 1])
    z = (table._slots[at, 0] ^ table._salt) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    home = ((z ^ (z >> np.uint64(31))) & np.uint64(loops.SEGMENT - 1)).astype(np.int64)
    return int(((at - home) % loops.SEGMENT).max())


def test_ids_made_to_want_one_slot_do_not_where_the_salt_is_secret():
    made = unmixed([(n << 20) | 77 for n in range(3000)])  # one segment, one slot of it
    known, secret = IdTable(10_000, salt=0), IdTable(10_000)
    for table in (known, secret):
        assert table.give(made)[0].tolist() == list(range(3000))  # the salt changes nothing that is given out
        assert table.find(made).tolist() == list(range(3000))
    assert longest_probe(known) == 2999
    assert (
        longest_probe(secret) < 600
    )  # 55 on average, 233 at most in 100,000 salts, as any 3000 ids have it, in 4096 slots
    assert known._salt != secret._salt != IdTable(1)._salt


def test_ids_made_to_share_their_first_bits_do_not_fill_the_directory():
    made = unmixed(
        [(n << 38) | n for n in range(4000)]
    )  # 14 zeros first; with 40 it would take the machine's memory
    known, secret = IdTable(100_000, salt=0), IdTable(100_000)
    known.give(made)
    secret.give(made)
    assert len(known._directory) >= 1 << 13 and len(secret._directory) <= 4
