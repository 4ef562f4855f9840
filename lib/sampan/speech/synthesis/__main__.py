"""`python -m sampan.speech.synthesis "你好，世界" hello.wav`: a text to a sound file."""

import argparse
import sys
from pathlib import Path

from ...engine.tensor import InvalidArgument, Tensor
from ..files import save
from .synthesizer import Synthesizer


def main(arguments: list[str] | None = None) -> int:
    """Write the file and print its length; 2 and a line on stderr for a text or voice that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="python -m sampan.speech.synthesis", description="Say a Chinese text."
    )
    parser.add_argument("text", help="the text, or - to read it from the standard input")
    parser.add_argument("file", type=Path, help="the sound file to write: .wav, .flac, .ogg or .mp3")
    parser.add_argument("--voice", default="mandarin_voice", help="a folder or the name of a voice")
    parser.add_argument("--pace", type=float, default=1.0, help="above 1 for faster")
    parser.add_argument("--rise", type=float, default=0.0, help="of the pitch, in semitones")
    given = parser.parse_args(arguments)
    text = sys.stdin.read() if given.text == "-" else given.text
    try:
        samples, rate = Synthesizer.from_pretrained(given.voice).speak(text, given.pace, given.rise)
        save(given.file, Tensor(samples[None]), rate)
    except (InvalidArgument, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{given.file}: {len(samples) / rate:.2f} s at {rate} Hz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
