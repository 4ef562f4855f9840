"""The recipe of filmed clips on rendered faces, and on GRID's clips where they and the package av are there."""

import os
from pathlib import Path

import numpy as np
import pytest

from sampan.datasets.speech_faces import Face, mouth_shapes, render_face
from sampan.models.speech_clips import Talking, activity_areas, offsets, read_clips
from sampan.speech.visual import mouth_region


def talking(seed: int) -> Talking:
    rng, time = np.random.default_rng(seed), np.arange(24000) / 8000
    gain = np.repeat(rng.random(20) < 0.5, 1200) * np.repeat(rng.uniform(0.3, 1, 20), 1200)
    x = (0.2 * gain * (np.sin(2 * np.pi * 500 * time) + np.sin(2 * np.pi * 1500 * time))).astype(np.float32)
    frames = render_face(mouth_shapes(x), Face.random(rng), seed=rng)
    return Talking(mouth_region(frames, 32, 0.35), x)


def test_rendered_clips() -> None:
    clips = [talking(n) for n in range(5)]
    quiet, loud = activity_areas(clips, 20), activity_areas(clips, -25)
    assert quiet["sound"] > 0.85 and quiet["mouth"] == loud["mouth"] > 0.6
    assert loud["sound"] < quiet["sound"] and loud["both"] > loud["sound"] - 0.1
    found = offsets(clips, (-4, 0, 4))
    assert len(found) == 15 and np.mean([abs(a - b) <= 1 for a, b in found]) > 0.7


def test_filmed_clips() -> None:
    """Two of GRID's clips: the squares of the mouth move, and the sound has its length."""
    pytest.importorskip("av")
    folders = [Path(p) / "grid_clips" for p in os.environ.get("SAMPAN_DATA", "").split(os.pathsep) if p]
    folder = next((p for p in folders if p.is_dir()), None)
    if folder is None:
        pytest.skip("needs grid_clips in SAMPAN_DATA")
    clips = read_clips(folder)
    assert len(clips) == 10
    assert all(c.mouths.shape == (75, 32, 32) and abs(len(c.samples) / 8000 - 2.98) < 0.1 for c in clips)
    found = np.array(offsets(clips, (-5, 0, 5)))
    assert (np.abs(found[:, 0] - found[:, 1]) <= 1).mean() > 0.8
