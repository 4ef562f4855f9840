"""The command `python -m sampan.speech.synthesis`, called in this process."""

import numpy as np
import pytest

pytest.importorskip("pypinyin")
pytest.importorskip("jieba")

from sampan.speech import load
from sampan.speech.synthesis import Voice, write_voice
from sampan.speech.synthesis.__main__ import main

CONFIG = {
    "model_type": "mandarin_synthesis",
    "mel": {"n_fft": 256, "hop": 64, "n_mels": 16},
    "acoustic": {"width": 16, "hidden": 16, "encoder_layers": 1, "decoder_layers": 1},
    "vocoder": {"width": 8, "hidden": 8, "num_layers": 1},
}


def test_the_command_writes_a_file(tmp_path, capsys) -> None:
    voice = Voice(CONFIG)
    voice.acoustic.duration.last.bias.set_value(
        np.full(1, np.log(9), np.float32)
    )  # about 8 frames for a unit
    write_voice(voice, tmp_path / "voice")
    arguments = ["你好，世界", str(tmp_path / "out.wav"), "--voice", str(tmp_path / "voice")]
    assert main(arguments) == 0
    assert "out.wav: " in capsys.readouterr().out
    samples, rate = load(tmp_path / "out.wav")
    assert rate == 16000 and samples.shape[0] == 1 and samples.shape[1] > 1000
    assert main(["😀", *arguments[1:]]) == 2
    assert "got '😀'" in capsys.readouterr().err
