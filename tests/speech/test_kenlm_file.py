"""KenLM's files. The library reads ARPA as well: its scores are then those of NGram."""

import sys
from pathlib import Path

import numpy as np
import pytest

from sampan.speech import KenLM, NGram, PrefixBeam, kenlm_file

from . import made_models

HEADER = kenlm_file.MAGIC + b" format version 5\n\0" + bytes(64)


def test_without_the_library_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(HEADER)
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(ImportError, match=r"model.bin: .* needs the library kenlm: pip install kenlm"):
        NGram.load(path)


def test_arpa_files_give_an_ngram(tmp_path: Path) -> None:
    model = made_models.random_model([*"abc"], 2, 0)
    path = made_models.written(tmp_path, model)
    found = NGram.load(path)
    assert isinstance(found, NGram) and found.order == 2
    with pytest.raises(FileNotFoundError):
        NGram.load(tmp_path / "none.bin")


@pytest.mark.parametrize("kind", ["probing", "trie"])
def test_files_of_build_binary(kind: str) -> None:
    """recorded/kenlm_*.bin: KenLM 0.3.0, `build_binary KIND kenlm.arpa kenlm_KIND.bin`."""
    folder = Path(__file__).with_name("recorded")
    path = folder / f"kenlm_{kind}.bin"
    assert kenlm_file.is_binary(path) and not kenlm_file.is_binary(folder / "kenlm.arpa")
    pytest.importorskip("kenlm", reason="kenlm is not installed")
    theirs, ours = NGram.load(path), NGram.read(folder / "kenlm.arpa")
    assert isinstance(theirs, KenLM) and theirs.order == ours.order == 3
    for words in ([*"abca"], ["d"], [], ["a", "unheard", "b"], [*"ddcbabcd"]):
        for start in (True, False):
            np.testing.assert_allclose(
                theirs.score(words, start), ours.score(words, start), rtol=1e-4, atol=1e-4
            )


@pytest.mark.parametrize("kept", [0, 60, 90, 300])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:
    pytest.importorskip("kenlm", reason="kenlm is not installed")
    path = tmp_path / "model.bin"
    path.write_bytes(Path(__file__).with_name("recorded").joinpath("kenlm_trie.bin").read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"model.bin"):
        NGram.load(path)


def test_scores_are_those_of_ngram(tmp_path: Path) -> None:
    pytest.importorskip("kenlm", reason="kenlm is not installed")
    path = made_models.written(tmp_path, made_models.random_model([*"abcd"], 3, 1))
    theirs, ours = KenLM(path), NGram.read(path)
    assert theirs.order == 3
    for words in ([*"abca"], ["d"], [], ["a", "unheard", "b"]):
        for start in (True, False):
            for end in (True, False):
                np.testing.assert_allclose(
                    theirs.score(words, start, end), ours.score(words, start, end), rtol=1e-4, atol=1e-4
                )
    sentences = [[*"abc"], [*"dd"]]
    assert theirs.perplexity(sentences) == pytest.approx(ours.perplexity(sentences), rel=1e-4)
    for bad, text in (
        ("abc", "expected a list of words"),
        (["a b"], "without white space"),
        ([""], "got ''"),
    ):
        with pytest.raises(ValueError, match=text):
            theirs.score(bad)
    with pytest.raises(ValueError, match="sentences: expected at least one"):
        theirs.perplexity([])
    with pytest.raises(TypeError, match="lm: expected an NGram, got KenLM"):
        PrefixBeam(["-", *"abcd"], lm=theirs)


def test_a_damaged_file(tmp_path: Path) -> None:
    pytest.importorskip("kenlm", reason="kenlm is not installed")
    path = tmp_path / "model.bin"
    path.write_bytes(HEADER)
    with pytest.raises(ValueError, match="KenLM does not read it"):
        NGram.load(path)
