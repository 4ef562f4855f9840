"""Files of samples, beside a Program that is fed by hand."""

import re
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan import static
from sampan.distributed import fleet
from tests.distributed.fleet import dataset_programs as programs


@pytest.fixture(autouse=True)
def static_mode() -> Iterator[None]:
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()


@pytest.fixture
def files(tmp_path):
    """Two files with three and four samples: an id, two numbers, a label."""
    return programs.write(tmp_path)


def program():
    """(a Program that learns, its variables, its loss)."""
    main = static.Program()
    with static.program_guard(main):
        variables = [
            static.data("id", [None, 1], "int64", lod_level=1), static.data("x", [None, 2]), static.data("y", [None, 1]),
        ]  # fmt: skip  # the slots of a line
        paddle.seed(4)
        rows = paddle.nn.Embedding(20, 2)(variables[0]).reshape([-1, 2])
        loss = paddle.nn.functional.mse_loss((rows * variables[1]).sum(-1, keepdim=True), variables[2])
        paddle.optimizer.SGD(0.1).minimize(loss)
    return main, variables, loss


@pytest.mark.parametrize("kind", ["InMemoryDataset", "QueueDataset"])
def test_a_program_is_trained_as_by_hand(files, kind, capsys):
    main, variables, loss = program()
    data = getattr(dist, kind)()
    data.init(batch_size=3, thread_num=2, use_var=variables)
    data.set_filelist(files)
    if kind == "InMemoryDataset":
        data.load_into_memory()
        assert data.get_memory_data_size() == data.get_shuffle_data_size() == 7
    exe = static.Executor()
    exe.train_from_dataset(main, data, fetch_list=[loss], fetch_info=["loss"], print_period=2)
    # As PaddlePaddle 3.3.1 prints it.
    form = re.compile(r"time: \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\], batch: \[(\d+)\], loss\[1\]:\[(\S+)\]")
    told = [form.fullmatch(line).groups() for line in capsys.readouterr().out.splitlines()]
    assert [number for number, _ in told] == ["2"]

    same, _, other = program()
    ids, x, y = programs.SAMPLES
    losses = []
    for at in range(0, 7, 3):
        feed = {"id": ids[at : at + 3, None], "x": x[at : at + 3], "y": y[at : at + 3, None]}
        losses += exe.run(same, feed, [other])
    assert float(told[0][1]) == pytest.approx(float(losses[1]), rel=1e-5)
    for _ in range(2):  # it changes nothing
        exe.infer_from_dataset(main, data, fetch_list=[loss], fetch_info=["loss"], print_period=3)
    first, second = (form.fullmatch(line).groups() for line in capsys.readouterr().out.splitlines())
    assert first == second and first[0] == "3"


def test_a_command_writes_the_samples(tmp_path):
    """Here a data generator, as the programs of parameter servers have one."""
    raw = tmp_path / "raw"
    raw.write_text("1 0.5 2.5\n3 1 2\n")
    (tmp_path / "generator.py").write_text(
        "import sampan.distributed.fleet.data_generator as data_generator\n"
        "class Mine(data_generator.MultiSlotDataGenerator):\n"
        "    def generate_sample(self, line):\n"
        "        number, *rest = line.split()\n"
        "        return lambda: iter([[('id', [int(number)]), ('x', [float(one) for one in rest])]])\n"
        "Mine().run_from_stdin()\n"
    )
    with static.program_guard(static.Program()):
        variables = [static.data("id", [None, 1], "int64"), static.data("x", [None, 2])]
    data = fleet.InMemoryDataset()
    data.init(batch_size=2, use_var=variables, pipe_command=f"{sys.executable} {tmp_path / 'generator.py'}")
    data.set_filelist([str(raw)])
    data.preload_into_memory()
    data.wait_preload_done()
    specs = [static.InputSpec([-1, 1], "int64", "id"), static.InputSpec([-1, 2], "float32", "x")]
    (feed,) = data.feeds(specs)
    assert feed["id"].tolist() == [[1], [3]] and feed["x"].tolist() == [[0.5, 2.5], [1, 2]]
    data.update_settings(pipe_command="exit 3")
    data.preload_into_memory()
    with pytest.raises(subprocess.CalledProcessError, match="exit status 3"):
        data.wait_preload_done()


def test_shuffles_keep_the_samples(files):
    _, variables, _ = program()
    data = dist.InMemoryDataset()
    data.init(batch_size=7, use_var=variables)
    data.set_filelist(files)
    data.load_into_memory(is_shuffle=True)
    specs = [static.InputSpec([-1, 1], "int64", "id"), static.InputSpec([-1, 2], "float32", "x")]

    def samples():
        (feed,) = data.feeds(specs)
        return [(int(i), *map(float, x)) for i, x in zip(feed["id"][:, 0], feed["x"], strict=True)]

    ids, x, _ = programs.SAMPLES
    expected = sorted((int(i), *map(float, row)) for i, row in zip(ids, x, strict=True))
    assert sorted(samples()) == expected
    data.global_shuffle()
    assert sorted(samples()) == expected
    data.slots_shuffle(["id"])
    assert sorted(sample[0] for sample in samples()) == sorted(ids.tolist())
    assert sorted(sample[1:] for sample in samples()) == sorted(sample[1:] for sample in expected)
    data.release_memory()
    assert data.get_memory_data_size() == 0 and list(data.feeds(specs)) == []


def test_samples_that_are_filled_up_give_the_sums_of_ragged_ones(tmp_path):
    ragged = [[3, 4], [5, 6, 7], [19]]  # PaddlePaddle's sequence_pool(rows, "sum") adds up each of these
    (tmp_path / "a").write_text("".join(f"{len(one)} {' '.join(map(str, one))}\n" for one in ragged))
    main = static.Program()
    with static.program_guard(main):
        ids = static.data("ids", [None, 3], "int64", lod_level=1)
        table = paddle.nn.Embedding(20, 2, padding_idx=0)
        bag = table(ids).sum(1)
    data = dist.InMemoryDataset()
    data.init(batch_size=3, use_var=[ids])
    data.set_filelist([str(tmp_path / "a")])
    data.load_into_memory()
    with pytest.raises(
        ValueError, match=r"'ids': its samples have 1, 2, 3 values.*let pipe_command fill samples"
    ):
        static.Executor().train_from_dataset(main, data)
    data.update_settings(pipe_command="awk '{ while (NF < 4) $0 = $0 \" 0\"; $1 = 3; print }'")
    data.load_into_memory()
    (feed,) = data.feeds([static.InputSpec([-1, 3], "int64", "ids")])
    (found,) = static.Executor().run(main, feed, [bag])
    rows = table.weight.numpy()
    np.testing.assert_allclose(found, [rows[one].sum(0) for one in ragged], rtol=1e-6)


@pytest.mark.servers
def test_processes_shuffle_together(workers, files):
    sizes, ids = zip(*workers(2)(programs.shuffled, files), strict=True)
    assert [size[1] for size in sizes] == [7, 7] and sorted(size[0] for size in sizes) == [3, 4]
    assert sorted(ids[0] + ids[1]) == sorted(programs.SAMPLES[0].tolist())
    assert ids[0] + ids[1] != programs.SAMPLES[0].tolist()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1 5 2 0.5 1", "a:1: slot 'y': expected how many values it has"),
        ("1 5 2 0.5 x 1 1", "a:1: slot 'x': expected how many values it has .* got '2 0.5 x 1 1'"),
        ("0 2 0.5 1 1 1", "a:1: slot 'id': expected"),
        ("1 5 2 0.5 1 1 1 7", "a:1: 1 words follow the slots .* expected a variable for each slot"),
        (
            "2 5 6 2 0.5 1 1 1",
            r"slot 'id': its samples have 2 values, and its variable has the shape \[-1, 1\]",
        ),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path, line, told):
    main, variables, _ = program()
    (tmp_path / "a").write_text(line + "\n")
    data = dist.QueueDataset()
    data.init(use_var=variables)
    data.set_filelist([str(tmp_path / "a")])
    with pytest.raises(ValueError, match=told):
        static.Executor().train_from_dataset(main, data)


def test_settings_and_ids_of_64_bits(tmp_path):
    with static.program_guard(static.Program()):
        number, other = static.data("id", [None, 1], "int64"), static.data("z", [None, 1], "float64")
    data = dist.InMemoryDataset()
    with pytest.raises(ValueError, match="only supports dtype=float32 and dtype=int64"):
        data.init(use_var=[other])
    with pytest.raises(ValueError, match=r"init: expected one of batch_size, .* got 'batches'"):
        data.init(batches=3)
    with pytest.raises(RuntimeError, match="dataset is need"):
        static.Executor().train_from_dataset(static.Program())
    data.init(use_var=[number])
    (tmp_path / "a").write_text(f"1 {2**64 - 2}\n1 {2**53 + 1}\n")
    data.set_filelist([str(tmp_path / "a")])
    data.load_into_memory()
    feeds = data.feeds([static.InputSpec([-1, 1], "int64", "id")])
    assert [feed["id"].tolist() for feed in feeds] == [[[-2]], [[2**53 + 1]]]
    assert np.array_equal(data._kept[0][0], [-2])
