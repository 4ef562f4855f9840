"""The Engine of `fleet.auto`, against a plain loop; in two processes with marks in the network."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed.fleet import auto
from sampan.engine.errors import InvalidArgument, InvalidType
from tests.distributed.auto_parallel import engine_programs as programs
from tests.distributed.auto_parallel.engine_programs import Points, engine


def test_it_trains_as_a_plain_loop() -> None:
    history, found, predicted, weights = programs.fitted("", {})
    loss, wanted = programs.by_hand()
    for one, other in zip(weights, wanted, strict=True):
        assert np.array_equal(one, other)
    assert history["loss"][-1] == loss and len(history["loss"]) == 2
    assert history["val_loss"][-1] == found["loss"] and history["val_acc"][-1] == found["acc"]
    logits, classes = np.concatenate(predicted), programs.YS[40:72, 0]
    assert logits.shape == (32, 2) and found["acc"] == (logits.argmax(1) == classes).mean()


@pytest.mark.parametrize("avg", [True, False])
def test_gradients_of_parts_are_merged(avg: bool) -> None:
    *_, weights = programs.fitted("", {"gradient_merge": {"enable": True, "k_steps": 4, "avg": avg}})
    _, wanted = programs.by_hand(1 if avg else 4)
    for one, other in zip(weights, wanted, strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-5)
    with pytest.raises(
        InvalidArgument, match=r"batch_size: expected a multiple of gradient_merge.k_steps, which is 4"
    ):
        engine("", auto.Strategy({"gradient_merge": {"enable": True, "k_steps": 4}})).fit(
            Points(0, 8), batch_size=6
        )


@pytest.mark.servers
@pytest.mark.parametrize(
    ("mark", "settings"),
    [
        ("", {}),
        ("batch", {}),
        ("columns", {}),
        ("parameter", {}),
        ("batch", {"gradient_merge": {"enable": True, "k_steps": 2}}),
    ],
)
def test_marks_change_no_value(workers: Any, mark: str, settings: dict[str, Any]) -> None:
    history, found, predicted, weights = programs.fitted("", settings)
    for others in workers(2)(programs.fitted, mark, settings):
        for name, values in history.items():
            assert np.allclose(values, others[0][name], rtol=0, atol=1e-5)
        assert found == pytest.approx(others[1], abs=1e-5)
        for one, other in zip([*predicted, *weights], [*others[2], *others[3]], strict=True):
            assert np.allclose(one, other, rtol=0, atol=1e-5)


@pytest.mark.servers
@pytest.mark.parametrize("mark", ["", "parameter"])
def test_what_is_saved_is_read_by_all_processes(workers: Any, tmp_path: Any, mark: str) -> None:
    for before, after, steps in workers(2)(programs.kept, str(tmp_path), mark):
        assert before == pytest.approx(after, abs=1e-6)
        assert steps and max(steps) < 0.7  # 0.9 to the power of five steps
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.pdopt", "model.pdparams"]


def test_steps_one_by_one_and_files(tmp_path: Any) -> None:
    made = engine()
    loader = made.dataloader(Points(0, 40), batch_size=8, sample_split=1, mode="train")
    made.prepare(mode="train")
    losses = [made.run(batch)["loss"] for batch in loader]
    assert len(losses) == 5 and losses[-1] < losses[0]
    assert made.run(feed={"x": programs.XS[:4], "y": programs.YS[:4]}, mode="eval")["loss"] > 0
    (logits,) = made.run([programs.XS[:4]], mode="predict")["outputs"]
    made.save(str(tmp_path / "model"))
    other = engine()
    other.load(str(tmp_path / "model"))
    (again,) = other.run([programs.XS[:4]], mode="predict")["outputs"]
    assert np.array_equal(logits, again)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".pdopt", ".pdparams"]
    with pytest.raises(AssertionError, match="mode test should be one of"):
        made.to_mode("test")


def test_steps_of_an_epoch_and_fields_that_are_inputs() -> None:
    class Scaled(programs.Net):
        def forward(self, x: Any, scale: Any) -> Any:
            return super().forward(x) * scale.reshape([-1, 1])

    net = Scaled("")
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    made = auto.Engine(net, nn.CrossEntropyLoss(), optimizer, paddle.metric.Accuracy())
    history = made.fit(Points(0, 40, True), 2, batch_size=4, epochs=3, steps_per_epoch=2, verbose=0)
    assert history.epoch == [0, 1, 2] and made.history is history
    assert len(made.predict(Points(0, 40, True), 2, batch_size=4, steps=3, verbose=0)) == 3
    batches = [(programs.XS[:4], np.ones(4, "float32"), programs.YS[:4])] * 2

    class Batches(paddle.io.IterableDataset):
        def __iter__(self) -> Any:
            return iter(batches)

    assert len(made.predict(Batches(), 2, batch_size=None, verbose=0)) == 2


def test_half_precision() -> None:
    made = engine("", auto.Strategy({"amp": {"enable": True, "dtype": "bfloat16", "level": "o1"}}))
    (logits,) = made.run([programs.XS[:4]], mode="predict")["outputs"]
    (exact,) = engine().run([programs.XS[:4]], mode="predict")["outputs"]
    values = (logits.astype("uint32") << 16).view("float32")  # NumPy has the bits of bfloat16
    assert 0 < np.abs(values - exact).max() < 0.1
    assert made.fit(Points(0, 32), batch_size=16, verbose=0).history["loss"][0] < 2


def test_what_it_refuses() -> None:
    net = programs.Net("")
    with pytest.raises(InvalidType, match="strategy: expected a Strategy, got 3"):
        auto.Engine(net, strategy=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="pipeline is not supported"):
        auto.Engine(net, strategy=auto.Strategy({"pipeline": {"enable": True}}))
    with pytest.raises(InvalidType, match="network: expected a Layer, got int"):
        auto.Engine(3)
    with pytest.raises(InvalidArgument, match="mode 'train': expected an optimizer, got None"):
        auto.Engine(net, nn.CrossEntropyLoss()).fit(Points(0, 8), batch_size=4, verbose=0)
    with pytest.raises(InvalidArgument, match="mode 'eval': expected a loss, got None"):
        auto.Engine(net).evaluate(Points(0, 8), batch_size=4, verbose=0)
    with pytest.raises(ValueError, match="Expected a dictionary"):
        auto.Strategy(3)  # type: ignore[arg-type]
