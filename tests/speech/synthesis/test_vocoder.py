"""The vocoder's blocks and loss beside torch, and that it learns a sound."""

import numpy as np
import pytest
import torch

from sampan import optimizer, seed, to_tensor
from sampan.engine.errors import InvalidArgument
from sampan.speech.synthesis.sound import MelSettings, log_mel_array
from sampan.speech.synthesis.vocoder import RESOLUTIONS, ConvBlock, Vocoder, spectral_loss

MEL = MelSettings(n_fft=256, hop=64, n_mels=24)


def test_a_block_is_the_one_of_the_paper() -> None:
    seed(0)
    block = ConvBlock(6, 10, 3)
    x = np.random.default_rng(0).standard_normal((2, 9, 6)).astype(np.float32)
    w = {name: p.data for name, p in block.named_parameters()}
    t = torch.from_numpy(x)
    y = torch.nn.functional.conv1d(t.mT, w["depthwise.weight"], w["depthwise.bias"], padding=1, groups=6).mT
    y = torch.nn.functional.layer_norm(y, (6,), w["norm.weight"], w["norm.bias"], 1e-5)
    y = torch.nn.functional.gelu(y @ w["linear1.weight"] + w["linear1.bias"])
    y = t + y @ w["linear2.weight"] + w["linear2.bias"]
    assert np.abs(block(to_tensor(x)).numpy() - y.numpy()).max() < 1e-5
    valid = np.ones((2, 9, 1), np.float32)
    valid[1, 5:] = 0
    assert (block(to_tensor(x), to_tensor(valid)).numpy()[1, 5:] == 0).all()
    with pytest.raises(InvalidArgument, match="kernel_size: expected an odd number, got 4"):
        ConvBlock(6, 10, 4)


def test_the_loss_is_that_of_parallel_wavegan() -> None:
    made, wanted = np.random.default_rng(1).standard_normal((2, 2, 3000)).astype(np.float32) * 0.1
    total = 0.0
    for n_fft, hop in RESOLUTIONS:
        m, w = (
            torch.stft(
                torch.from_numpy(x), n_fft, hop, window=torch.hann_window(n_fft), return_complex=True
            ).abs()
            for x in (made, wanted)
        )
        total += float((w - m).norm() / w.norm() + (w.log() - m.log()).abs().mean()) / len(RESOLUTIONS)
    mel = MelSettings()
    total += np.mean(
        [
            np.abs(log_mel_array(mel, m) - log_mel_array(mel, w)).mean()
            for m, w in zip(made, wanted, strict=True)
        ]
    )
    assert abs(float(spectral_loss(to_tensor(made), to_tensor(wanted), mel)) - total) < 1e-3
    assert float(spectral_loss(to_tensor(made), to_tensor(made), mel)) < 1e-6


def test_it_learns_a_sound_and_gives_as_many_samples_as_there_are_frames() -> None:
    seed(0)
    time = np.arange(64 * 40)
    sound = (0.3 * np.sin(0.1 * time) * np.sin(0.001 * time)).astype(np.float32)
    frames = to_tensor(log_mel_array(MEL, sound)[None])
    model = Vocoder(MEL, 32, 64, 1)
    adam = optimizer.AdamW(1e-3, parameters=model.parameters())
    losses = []
    for _ in range(12):
        loss = spectral_loss(model(frames), to_tensor(sound[None]), MEL)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < 0.97 * losses[0]
    assert model(frames).shape == [1, 64 * 40]


def test_refined_sound_is_closer_to_its_frames() -> None:
    seed(0)
    time = np.arange(64 * 40)
    frames = log_mel_array(MEL, (0.3 * np.sin(0.1 * time + 3 * np.sin(0.002 * time))).astype(np.float32))
    model = Vocoder(MEL, 16, 16, 1)
    off = [
        float(np.abs(log_mel_array(MEL, way(to_tensor(frames[None]))[0].numpy()) - frames).mean())
        for way in (model, model.refined)
    ]
    assert off[1] < 0.7 * off[0]
    assert model.refined(to_tensor(frames[None, :5])).shape == [1, 64 * 4]


def test_frames_of_another_shape_are_refused() -> None:
    model = Vocoder(MEL, 8, 8, 1)
    for shape in ([1, 5, 23], [1, 1, 24], [5, 24]):
        with pytest.raises(InvalidArgument, match="frames: expected"):
            model(to_tensor(np.zeros(shape, np.float32)))
    assert np.isfinite(model(to_tensor(np.full([1, 5, 24], 1e6, np.float32))).numpy()).all()
