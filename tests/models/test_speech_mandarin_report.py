"""Error rates of a recogniser whose answers are known, and the parts of a card."""

import numpy as np
import pytest

from sampan.models import speech_mandarin_report as report
from sampan.models.speech_mandarin import pinyin_tokens
from sampan.models.speech_mandarin_report import Result, Run, card, measure, posteriors, rows_of
from sampan.speech import AudioClassifier, Wav2Vec2Processor
from sampan.speech.inputs import FbankInput
from sampan.speech.lexicon import Lexicon, LexiconTokens
from tests.models.made_mandarin import WORDS, made_features

CONFIG = {
    "model_type": "conformer",
    "vocab_size": 217,
    "encoder": {"input_size": 80, "width": 16, "num_layers": 1, "num_heads": 2, "kernel_size": 5,
                "causal": True, "norm": "layer", "subsampling_channels": 4},
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return made_features(tmp_path_factory.mktemp("features"))


@pytest.fixture(scope="module")
def model():
    return AudioClassifier.from_config(CONFIG).eval()


def processor_of(words=WORDS):
    lexicon = Lexicon([(text, syllables, 10) for text, syllables in words])
    return Wav2Vec2Processor(FbankInput(), LexiconTokens(pinyin_tokens().vocabulary, lexicon))


def test_error_rates_of_known_answers(file, model, monkeypatch):
    processor = processor_of()
    rows = rows_of(file, "words")
    assert [file.items[n].text for n in rows] == [text for text, _ in WORDS]
    heard = [("xue2", "xi2"), ("ni2", "hao3"), (), ("zhong1", "wen2", "wo3")]

    def given(*_):
        made = []
        for syllables in heard:
            frames = [0, *(n for i in processor.tokens.encode(" ".join(syllables)) for n in (i, 0))]
            made.append(np.eye(217, dtype=np.float32)[frames] * 30)
        return made

    monkeypatch.setattr(report, "posteriors", given)
    found = measure(model, processor, file, rows)
    assert found.items == 4
    assert found.with_tone == pytest.approx(3 / 7)  # a tone, a deletion, an insertion, of 7 syllables
    assert found.without_tone == pytest.approx(2 / 7)
    assert found.characters == pytest.approx(2 / 7)  # the lexicon corrects the tone
    assert found.whole == pytest.approx(2 / 4)
    plain = Wav2Vec2Processor(FbankInput(), pinyin_tokens())
    assert measure(model, plain, file, rows) == Result(4, found.with_tone, found.without_tone, None, None)


def test_posteriors_do_not_depend_on_the_batch(file, model):
    processor = processor_of()
    rows = list(range(len(file)))[::-1]
    for chunk in (None, 4):
        together = posteriors(model, processor, file, rows, chunk)
        for row, logits in list(zip(rows, together, strict=True))[:4]:
            (alone,) = posteriors(model, processor, file, [row], chunk)
            assert logits.shape == alone.shape
            assert np.allclose(logits, alone, atol=1e-4)


def test_the_card_has_its_parts(file, model):
    run = Run(1234, 1200, 0.5, 600, [8, 0.9, 0.8, None, None])
    text = card(model, processor_of(), file, run)
    for part in (
        "**It does not\nrecognise free speech**",
        "CC BY-SA",
        "H. Lopez, Y. Tan, C. Wang",
        "--steps 1234",
        "1,234 steps of 12 s of sound took 0.5 hours",
        "| all syllables, second speaker, unseen | as a whole | 8 | 90.0 % | 80.0 % |  |  |",
        "synthetic, not human",
        "a Conformer with CTC, 1 blocks of width 16",
    ):
        assert part in text
    assert "{" not in text
    assert text.count("| held-out") == 6  # three tests, whole and in chunks
    assert "unseen | " not in card(model, processor_of(), file, run._replace(unseen=None))
