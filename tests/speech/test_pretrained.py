"""The three lines of use, with models of every type saved and loaded again, and what is refused."""

import json
import wave

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.speech import AudioClassifier, CTCTokens, Wav2Vec2Processor
from sampan.speech.inputs import FbankInput, WaveformInput
from sampan.speech.wav2vec2 import published_state
from tests.speech.record_wav2vec2 import LAYOUTS
from tests.speech.test_architectures import CONFORMER, RECURRENT

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks

TOKENS = CTCTokens({"<pad>": 0, "a": 1, "b": 2, "c": 3, "|": 4})
SOUND = np.random.default_rng(0).normal(0, 0.1, 8000).astype("float32")
CONFIGS = {
    "conformer": CONFORMER,
    "recurrent": RECURRENT,
    "wav2vec2": LAYOUTS["layer_norm"] | {"model_type": "wav2vec2", "vocab_size": 5},
}


def saved(folder, kind):
    paddle.seed(0)
    inputs = WaveformInput() if kind == "wav2vec2" else FbankInput(16000, 8)
    Wav2Vec2Processor(inputs, TOKENS).save_pretrained(folder)
    model = AudioClassifier.from_config(CONFIGS[kind]).eval()
    model.save_pretrained(folder, "# A card")
    return model


@pytest.fixture
def registered(tmp_path, monkeypatch):
    monkeypatch.setenv("SAMPAN_MODELS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_lines_of_use(registered, kind):
    before = saved(registered / "small_zh", kind)
    processor = Wav2Vec2Processor.from_pretrained("small_zh")
    model = AudioClassifier.from_pretrained("small_zh")
    inputs = processor(SOUND, return_tensors="pd", sampling_rate=16000)
    with paddle.no_grad():
        logits = model(**inputs).logits
    text = processor.decode(logits[0])
    assert not model.training
    np.testing.assert_allclose(logits.numpy(), before(**inputs).logits.numpy(), atol=1e-5)
    best = logits.numpy()[0].argmax(-1)
    letters = [TOKENS.tokens[n] for n in torch.unique_consecutive(torch.from_numpy(best)).tolist() if n]
    assert text == "".join(letters).replace("|", " ").strip()


def test_the_same_under_paddle_s_name(registered):
    import sampan

    saved(registered / "small_zh", "conformer")
    sampan.compat.install()
    try:
        from paddle.speech import AudioClassifier as Classifier  # type: ignore[import-not-found]
        from paddle.speech import Wav2Vec2Processor as Processor

        assert (Classifier, Processor) == (AudioClassifier, Wav2Vec2Processor)
        logits = Classifier.from_pretrained("small_zh")(
            **Processor.from_pretrained("small_zh")(SOUND, return_tensors="pd", sampling_rate=16000)
        ).logits
        assert logits.shape[::2] == [1, 5]
    finally:
        sampan.compat.uninstall()


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_batch_equals_each_alone(tmp_path, kind):
    saved(tmp_path, kind)
    processor, model = Wav2Vec2Processor.from_pretrained(tmp_path), AudioClassifier.from_pretrained(tmp_path)
    sounds = [SOUND, SOUND[:5000] * 0.3]
    together = model(**processor(sounds, return_tensors="pd"))
    texts = processor.batch_decode(together.logits, together.lengths.tolist())
    for row, sound in enumerate(sounds):
        alone = model(**processor(sound, return_tensors="pd"))
        end = int(together.lengths[row])
        assert alone.logits.shape[1] == end
        np.testing.assert_allclose(together.logits.numpy()[row, :end], alone.logits.numpy()[0], atol=2e-5)
        assert processor.decode(alone.logits[0]) == texts[row]


def write_wav(path, samples, rate=16000):
    """int16 samples [time, channels]."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())


def test_files_and_other_forms_of_sound(tmp_path):
    saved(tmp_path, "wav2vec2")
    processor = Wav2Vec2Processor.from_pretrained(tmp_path)
    samples = (SOUND * 32768).round().astype("int16")
    write_wav(tmp_path / "one.wav", samples[:, None])
    write_wav(tmp_path / "two.wav", np.stack([samples, samples], 1))
    expected = processor(samples / np.float32(32768))["input_values"]
    for given in (tmp_path / "one.wav", str(tmp_path / "two.wav"), samples, paddle.to_tensor(SOUND)):
        np.testing.assert_allclose(processor(given).input_values, expected, atol=2e-3)
    time = np.arange(8000) / 8000
    tone = np.sin(2 * np.pi * 440 * time) * 8000
    write_wav(tmp_path / "slow.wav", tone[:, None], 8000)
    found = processor(tmp_path / "slow.wav").input_values[0]
    assert len(found) == 16000
    spectrum = np.abs(np.fft.rfft(found))
    assert spectrum.argmax() == 440  # one second: bins of 1 Hz


def test_published_folders_load_as_they_are(tmp_path):
    """A folder as transformers writes it: other entries in config.json, weight norm's newer names, no settings of ours."""
    model = AudioClassifier.from_config(CONFIGS["wav2vec2"]).eval()
    state = {
        name.replace("weight_g", "parametrizations.weight.original0").replace(
            "weight_v", "parametrizations.weight.original1"
        ): value
        for name, value in published_state(model.model).items()
    }
    torch.save(state, tmp_path / "pytorch_model.bin")
    config = CONFIGS["wav2vec2"] | {"architectures": ["Wav2Vec2ForCTC"], "ctc_loss_reduction": "sum"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"do_normalize": True, "feature_size": 1}))
    (tmp_path / "vocab.json").write_text(json.dumps(TOKENS.vocabulary))
    inputs = Wav2Vec2Processor.from_pretrained(tmp_path)(SOUND, return_tensors="pd")
    assert list(inputs) == ["input_values"]
    again = AudioClassifier.from_pretrained(tmp_path)
    assert np.array_equal(again(**inputs).logits.numpy(), model(**inputs).logits.numpy())


def test_transformers_reads_what_is_saved(tmp_path):
    transformers = pytest.importorskip("transformers")
    ours = saved(tmp_path, "wav2vec2")
    theirs = transformers.Wav2Vec2ForCTC.from_pretrained(tmp_path).eval()
    x = np.random.default_rng(0).normal(size=(1, 4000)).astype("float32")
    with torch.no_grad():
        expected = theirs(torch.from_numpy(x)).logits.numpy()
    found = ours(input_values=paddle.to_tensor(x)).logits.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_bad_input(tmp_path, monkeypatch):
    monkeypatch.setenv("SAMPAN_MODELS", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    with pytest.raises(
        InvalidArgument, match=r"expected a folder or the name of a model, got 'wenetspeech_en'"
    ):
        AudioClassifier.from_pretrained("wenetspeech_en")
    with pytest.raises(InvalidArgument, match=r"expected a file config.json, found none"):
        AudioClassifier.from_pretrained(tmp_path)
    with pytest.raises(InvalidArgument, match=r"expected a file preprocessor_config.json, found none"):
        Wav2Vec2Processor.from_pretrained(tmp_path)
    saved(tmp_path, "conformer")
    processor, model = Wav2Vec2Processor.from_pretrained(tmp_path), AudioClassifier.from_pretrained(tmp_path)
    with pytest.raises(InvalidArgument, match=r"sampling_rate: this model reads 16000 Hz, got 8000"):
        processor(SOUND, sampling_rate=8000)
    with pytest.raises(InvalidArgument, match=r"return_tensors: expected 'pd', 'np' or None, got 'pt'"):
        processor(SOUND, return_tensors="pt")
    with pytest.raises(
        InvalidArgument, match=r"sound: expected \[samples\] or \[channels, samples\], got \[0\]"
    ):
        processor(SOUND[:0])
    with pytest.raises(InvalidArgument, match=r"sound: expected finite samples"):
        processor(np.array([0.0, np.nan]))
    with pytest.raises(InvalidType, match=r"sound: expected floating samples or int16, got int64"):
        processor(np.arange(4000))
    with pytest.raises(InvalidArgument, match=r"sound: expected at least one recording"):
        processor([])
    with pytest.raises(InvalidArgument, match=r"this model takes input_features"):
        model(input_values=paddle.to_tensor(SOUND[None]))
    with pytest.raises(
        AttributeError, match=r"these inputs have input_features, attention_mask, and no 'ids'"
    ):
        processor(SOUND).ids  # noqa: B018
