"""Checkpoints that rotate."""

from sampan.callbacks import ModelCheckpoint
from tests.hapi.learning import blobs, prepared


def test_checkpoints_rotate(tmp_path):
    prepared().fit(
        blobs(), batch_size=60, epochs=6, verbose=0, callbacks=[ModelCheckpoint(2, tmp_path, keep=2)]
    )
    assert sorted(p.name for p in tmp_path.glob("*.pdparams")) == [
        "3.pdparams",
        "5.pdparams",
        "final.pdparams",
    ]
