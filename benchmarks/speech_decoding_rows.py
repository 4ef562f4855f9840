"""The rows of `speech_decoding.py`. pyctcdecode and ctc-beam-decoder take part where they are found."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sampan
from benchmarks.side_by_side import Row, Step, library
from sampan import speech

FRAMES, TOKENS, BEAM = 500, 4233, 10
NAMES = ["", *(chr(0x4E00 + n) for n in range(TOKENS - 1))]


def loss() -> Iterator[Row]:
    times, batch, classes, count = 400, 16, 4000, 40
    rng = np.random.default_rng(0)
    arrays = {
        "logits": (rng.normal(size=(times, batch, classes)) * 3).astype(np.float32),
        "labels": rng.integers(1, classes, (batch, count)),
        "lengths": np.full(batch, times),
        "counts": np.full(batch, count),
    }
    given = [arrays[name] for name in ("labels", "lengths", "counts")]
    x = sampan.to_tensor(arrays["logits"], stop_gradient=False)
    ours_given = [sampan.to_tensor(a) for a in given]
    t = torch.from_numpy(arrays["logits"])
    theirs_given = [torch.from_numpy(a) for a in given]

    def ours() -> Any:
        x.clear_grad()
        found = sampan.nn.functional.ctc_loss(x, *ours_given, reduction="none")
        found.sum().backward()
        return lambda: found.numpy()

    def theirs() -> Any:
        with torch.enable_grad():
            leaf = t.detach().requires_grad_(True)
            found = torch.nn.functional.ctc_loss(leaf.log_softmax(-1), *theirs_given, reduction="none")
            found.sum().backward()
        return lambda: found.detach().numpy()

    name = "CTC loss and backward, batch 16, 400 frames, 40 tokens of 4,000"
    moved = 4.0 * arrays["logits"].nbytes
    programs: dict[str, Step] = {"sampan": ours, "torch": theirs}
    yield Row(name, 2.0, programs, moved=moved, paddle="ctc", arrays=arrays)


def posteriors() -> np.ndarray:
    """Log probabilities [500, 4233]; two frames of three are blank."""
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(FRAMES, TOKENS)) * 2).astype(np.float32)
    for t in range(FRAMES):
        x[t, 0 if t % 3 else rng.integers(1, TOKENS)] += 12
    return np.asarray(torch.from_numpy(x).log_softmax(-1))


def greedy() -> Iterator[Row]:
    logs = np.stack([posteriors()] * 20)
    t = torch.from_numpy(logs)

    def theirs() -> Any:
        ids = [torch.unique_consecutive(row) for row in t.argmax(-1)]
        return np.concatenate([row[row != 0].numpy() for row in ids])

    programs: dict[str, Step] = {"sampan": lambda: np.concatenate(speech.greedy(logs)), "torch": theirs}
    yield Row("greedy, 20 x 500 frames of 4,233 tokens", 1.7, programs, moved=float(logs.nbytes))


def codes(text: str) -> np.ndarray:
    return np.array([*map(ord, text)])


def beams() -> Iterator[Row]:
    logs = posteriors()
    beam = speech.PrefixBeam(NAMES, beam_size=BEAM, min_log_prob=-5.0)

    def ours() -> Any:
        beam.feed(logs)
        return codes(beam.text(beam.finish()[0][0]))

    programs: dict[str, Step] = {"sampan": ours}
    fast, usual = library("ctc_beam_decoder"), library("pyctcdecode")
    if fast:
        theirs = fast.BeamSearchDecoder(NAMES)
        programs["ctc-beam-decoder"] = lambda: codes(theirs.decode_beams(logs, beam_width=BEAM)[0][0])
    if usual:
        python = usual.build_ctcdecoder(NAMES)
        programs["pyctcdecode"] = lambda: codes(python.decode_beams(logs, beam_width=BEAM)[0][0])
    yield Row("prefix beam 10, 500 frames of 4,233 tokens", 5.0, programs)


def arpa(path: Path) -> None:
    """A model of pairs of characters with random numbers: 60,000 of them."""
    rng = np.random.default_rng(2)
    pairs = np.unique(rng.integers(1, TOKENS, (60_000, 2)), axis=0)
    words = [*NAMES[1:], "<s>", "</s>", "<unk>"]
    lines = ["\\data\\", f"ngram 1={len(words)}", f"ngram 2={len(pairs)}", "", "\\1-grams:"]
    lines += [
        f"{s:.4f}\t{w}\t{b:.4f}"
        for w, s, b in zip(words, *-rng.uniform(0.1, 3, (2, len(words))), strict=True)
    ]
    lines += ["", "\\2-grams:"]
    lines += [
        f"{s:.4f}\t{NAMES[a]} {NAMES[b]}"
        for (a, b), s in zip(pairs, -rng.uniform(0.1, 1, len(pairs)), strict=True)
    ]
    path.write_text("\n".join([*lines, "", "\\end\\", ""]), encoding="utf-8")


def fused_beams() -> Iterator[Row]:
    logs = posteriors()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.arpa"
        arpa(path)
        lm = speech.NGram.read(path)
        beam = speech.PrefixBeam(NAMES, beam_size=BEAM, lm=lm, alpha=0.5, beta=1.5, min_log_prob=-5.0)

        def ours() -> None:
            beam.feed(logs)
            beam.finish()

        programs: dict[str, Step] = {"sampan": ours}
        usual = library("pyctcdecode")
        if usual and library("kenlm"):
            pieces = ["", *("\u2581" + name for name in NAMES[1:])]  # each character is a word of the model
            python = usual.build_ctcdecoder(pieces, str(path), NAMES[1:], alpha=0.5, beta=1.5)

            def theirs() -> None:
                python.decode_beams(logs, beam_width=BEAM)

            programs["pyctcdecode"] = theirs
        yield Row("prefix beam 10 with a model of pairs, 500 frames of 4,233 tokens", 5.0, programs)


FAMILIES = (loss, greedy, beams, fused_beams)
