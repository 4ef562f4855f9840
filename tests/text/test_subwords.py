"""The hash of subwords is fastText's."""

from sampan.text.subwords import fnv1a


def test_the_hash_is_fasttexts():
    # http://www.isthe.com/chongo/src/fnv/test_fnv.c, FNV-1a of 32 bits
    assert [fnv1a(t) for t in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]
