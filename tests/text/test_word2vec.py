"""Files of word2vec: read, written, and refused."""

import struct

import numpy as np
import pytest

from sampan.text.word_vectors import WordVectors


def from_rows(rows, words):
    made = WordVectors(dim=len(rows[0]))
    made.words, made.counts = list(words), np.arange(len(words), 0, -1)
    made._number()
    made._take(np.array(rows, np.float32), np.empty((0, len(rows[0])), np.float32))
    return made


TEXT = "2 3\n早餐 1 -2.5 0.125\nb 0 3e-05 -1\n".encode()


BINARY = (
    b"2 3\n"
    + "早餐".encode()
    + b" "
    + struct.pack("<3f", 1, -2.5, 0.125)
    + b"\nb "
    + struct.pack("<3f", 0, 3e-5, -1)
)


@pytest.mark.parametrize("data", [TEXT, BINARY, BINARY + b"\n", BINARY.replace(b"\nb ", b"b ")])
def test_word2vecs_files_are_read(tmp_path, data):
    path = tmp_path / "vectors"
    path.write_bytes(data)
    made = WordVectors.load_word2vec(path)
    assert made.words == ["早餐", "b"] and made.dim == 3
    np.testing.assert_array_equal(made.vectors, np.array([[1, -2.5, 0.125], [0, 3e-5, -1]], np.float32))
    with pytest.raises(ValueError, match="train"):
        made.train([["b"]])


def test_word2vecs_files_are_written(tmp_path):
    rows = [[1, -2.5, 0.125], [0, 3e-5, -1]]
    made = from_rows(rows, ["早餐", "b"])
    made.save_word2vec(tmp_path / "text")
    made.save_word2vec(tmp_path / "binary", binary=True)
    lines = (tmp_path / "text").read_text().split("\n")
    assert lines[0] == "2 3" and lines[1] == "早餐 1 -2.5 0.125" and lines[3:] == [""]
    assert (tmp_path / "binary").read_bytes() == BINARY + b"\n"
    for name in ("text", "binary"):  # every bit of a number comes back
        np.testing.assert_array_equal(WordVectors.load_word2vec(tmp_path / name).vectors, made.vectors)
    with pytest.raises(ValueError, match="blank"):
        from_rows(rows, ["a b", "c"]).save_word2vec(tmp_path / "text")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"2 3", b"words\n", b"0 3\n", TEXT[:-12], TEXT[:-1], TEXT + b"c 1 2 3\n", BINARY[:-1], BINARY + b"more",
        TEXT.replace(b"-1", b"nan"), TEXT.replace(b"\nb", "\n早餐".encode()), b"2 3\n\xff 1 2 3\nb 1 2 3\n",
    ],
)  # fmt: skip
def test_another_or_a_cut_word2vec_file_is_refused(tmp_path, data):
    path = tmp_path / "vectors"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="load_word2vec"):
        WordVectors.load_word2vec(path)
