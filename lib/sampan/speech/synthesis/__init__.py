"""Speech from text: `Synthesizer.from_pretrained("mandarin_voice").speak("你好，世界")`.

A text becomes syllables (`frontend.py`, `readings.py`), these units (`units.py`), these log mel frames
(`acoustic.py`), and these samples (`vocoder.py`). Trained by `models/speech_synthesis.py`.

    python -m sampan.speech.synthesis "你好，世界" hello.wav
"""

from .acoustic import AcousticModel, word_units
from .frontend import Phrase, phrases, word_syllables
from .readings import normalize
from .sound import MelSettings
from .synthesizer import Chunk, Synthesizer, Voice, write_voice
from .units import Syllable, syllable
from .vocoder import Vocoder, spectral_loss

# fmt: off
__all__ = [
    "AcousticModel", "Chunk", "MelSettings", "Phrase", "Syllable", "Synthesizer", "Vocoder", "Voice",
    "normalize", "phrases", "spectral_loss", "syllable", "word_syllables", "word_units",
    "write_voice",
]
# fmt: on
