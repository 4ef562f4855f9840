"""Early stopping: the best is kept, and what can be watched."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, optimizer
from sampan.callbacks import Callback, EarlyStopping
from tests.hapi.learning import Record, blobs, network, prepared


def test_early_stopping_keeps_the_best(tmp_path, capsys):
    class Scripted(Callback):
        """Makes the evaluation's loss what the script says, by way of the loss function."""

    values = iter([3.0, 2.0, 2.5, 2.4, 2.3, 9.0])
    net = network()
    model = paddle.Model(net)
    current = [0.0]

    class Next(Callback):
        def on_eval_begin(self, logs=None):
            current[0] = next(values)

        def on_epoch_begin(self, epoch, logs=None):
            net[2].bias.set_value(np.full(3, epoch, np.float32))

    def loss(outputs, labels):
        return nn.functional.cross_entropy(outputs, labels) if net.training else paddle.to_tensor(current[0])

    model.prepare(optimizer.SGD(0.0, net.parameters()), loss)
    record = Record()
    stopping = EarlyStopping("loss", patience=2, save_dir=tmp_path)
    model.fit(blobs(), blobs(), batch_size=60, epochs=9, verbose=0, callbacks=[Next(), stopping, record])
    assert (
        record.events[-2:] == ["eval", "finish"]
        and "epoch 3" in record.events
        and "epoch 4" not in record.events
    )
    assert stopping.best_value == 2.0 and stopping.best_epoch == 1 and stopping.stopped_epoch == 3
    assert paddle.load(tmp_path / "best_model.pdparams")["2.bias"].numpy().tolist() == [1, 1, 1]
    assert "Epoch 4: early stopping, loss is not better than 2 of epoch 2" in capsys.readouterr().out


def test_early_stopping_names_what_it_can_watch():
    with pytest.raises(ValueError, match=r"monitor: expected a name.*\['acc', 'loss'\].*'f1'"):
        prepared().fit(blobs(), blobs(), batch_size=60, verbose=0, callbacks=[EarlyStopping("f1")])
