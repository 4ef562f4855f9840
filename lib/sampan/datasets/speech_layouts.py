"""Recordings and their texts in the folder layouts of AISHELL-1 and WenetSpeech.

AISHELL-1 (Bu et al. 2017): `transcript/aishell_transcript_v0.8.txt` with a line `NAME word word ...` for each
recording, and `wav/{train,dev,test}/SPEAKER/NAME.wav`. WenetSpeech (Zhang et al. 2022): a JSON file that
lists long recordings, and for each its segments with times in seconds and texts.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engine.tensor import InvalidArgument

__all__ = ["Utterance", "aishell", "wenetspeech"]


@dataclass(frozen=True)
class Utterance:
    """A recording, or a part of one, and its text.

    start, end: seconds in the file; end None: to its end. speaker: "" where it is not known.
    """

    name: str
    path: Path
    text: str
    speaker: str
    start: float = 0.0
    end: float | None = None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InvalidArgument(f"{path}: expected a file of transcripts, found none") from None
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path}: expected UTF-8: {error}") from None


def aishell(folder: str | os.PathLike[str], part: str = "train", separator: str = "") -> list[Utterance]:
    """The recordings of one part in AISHELL-1's layout, by name.

    part: "train", "dev" or "test". separator: what is put between the words of a transcript. Recordings
    without a transcript are left out, as in the official recipe. Raises InvalidArgument for a missing or
    malformed transcript and for a part without recordings.
    """
    root = Path(folder)
    path = root / "transcript" / "aishell_transcript_v0.8.txt"
    texts: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        name, *words = line.split() or [""]
        if name and not words:
            raise InvalidArgument(f"{path}:{number}: expected a name and words, got {line!r}")
        if name:
            texts[name] = separator.join(words)
    found = [
        Utterance(file.stem, file, texts[file.stem], file.parent.name)
        for file in sorted((root / "wav" / part).glob("*/*.wav"))
        if file.stem in texts
    ]
    if not found:
        raise InvalidArgument(
            f"part: expected recordings with transcripts in {root / 'wav' / part}, found none"
        )
    return found


def wenetspeech(path: str | os.PathLike[str], subset: str = "S") -> list[Utterance]:
    """The segments of one subset in WenetSpeech's layout, in the order of the file.

    path: of `WenetSpeech.json`, beside which the recordings are. subset: "S", "M", "L", "DEV", "TEST_NET" or
    "TEST_MEETING". The set names no speakers: the recording's id stands for one. Raises InvalidArgument for
    another content and for a subset without segments.
    """
    path = Path(path)
    try:
        content = json.loads("\n".join(_lines(path)))
        found = [
            Utterance(
                str(segment["sid"]),
                path.parent / recording["path"],
                str(segment["text"]),
                str(recording["aid"]),
                float(segment["begin_time"]),
                float(segment["end_time"]),
            )
            for recording in content["audios"]
            for segment in recording["segments"]
            if subset in segment["subsets"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgument(
            f"{path}: expected audios with aid, path and segments: {_said(error)}"
        ) from None
    for one in found:
        if one.end is None or not 0 <= one.start < one.end:
            raise InvalidArgument(
                f"{path}: segment {one.name}: expected 0 <= begin < end, got {one.start}, {one.end}"
            )
    if not found:
        raise InvalidArgument(f"subset: expected segments of {subset!r} in {path}, found none")
    return found


def _said(error: Any) -> str:
    return f"no entry {error}" if isinstance(error, KeyError) else str(error)
