"""Predictors: handles, both forms of run, clones, threads, and what is refused."""

import gc
import logging
import threading

import numpy as np
import psutil
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.inference import Config, DataType, PlaceType, Predictor, PredictorPool, create_predictor
from sampan.jit.record import Outside
from sampan.jit.saving import _content, _names, _write
from sampan.jit.whole import evaluating, recorded


class Two(nn.Layer):
    """Two inputs and two outputs."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x, y):
        h = nn.functional.relu(self.first(x))
        return self.second(h), h + y


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A layer and the files of it, written without the fresh process of `jit.save`."""
    paddle.seed(0)
    layer, outside = Two(), Outside()
    spec = [InputSpec([None, 4], name="x"), InputSpec([None, 8], name="y")]
    with evaluating(layer):
        functions = {"forward": recorded(layer.forward, spec, outside)}
    base, names = tmp_path_factory.mktemp("model") / "m", _names(layer, outside)
    _write(base, _content(functions, names, outside), names, outside)
    return layer, str(base)


def inputs(rows, seed=0):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(rows, 4)).astype("float32"), draw.normal(size=(rows, 8)).astype("float32")


def wanted(layer, x, y):
    with paddle.no_grad():
        return [t.numpy() for t in layer(paddle.to_tensor(x), paddle.to_tensor(y))]


def test_as_the_documentation_writes_it(model):
    layer, base = model
    config = Config(f"{base}.pdmodel", f"{base}.pdiparams")
    config.disable_gpu()
    config.enable_memory_optim()
    config.set_cpu_math_library_num_threads(1)
    predictor = create_predictor(config)
    assert predictor.get_input_names() == ["x", "y"]
    for rows in (2, 5):
        data = inputs(rows)
        for name, array in zip(predictor.get_input_names(), data, strict=True):
            handle = predictor.get_input_handle(name)
            handle.reshape(array.shape)
            handle.copy_from_cpu(array)
        assert predictor.run() is True
        names = predictor.get_output_names()
        assert names == ["output_0", "output_1"]
        for name, right in zip(names, wanted(layer, *data), strict=True):
            handle = predictor.get_output_handle(name)
            np.testing.assert_allclose(handle.copy_to_cpu(), right, atol=1e-6)
            assert handle.shape() == list(right.shape) and handle.type() is DataType.FLOAT32
            assert handle.lod() == [] and handle.place() is PlaceType.CPU
    found = predictor.run([paddle.to_tensor(array) for array in data])
    np.testing.assert_allclose(found[0].numpy(), wanted(layer, *data)[0], atol=1e-6)


def test_given_arrays_are_copied_and_shared_tensors_are_not(model):
    layer, base = model
    predictor = create_predictor(Config(f"{base}.json", f"{base}.safetensors"))
    x, y = inputs(3)
    shared = paddle.to_tensor(y)
    predictor.get_input_handle("x").copy_from_cpu(x)
    predictor.get_input_handle("y").share_external_data(shared)
    right = wanted(layer, x, y)[1]
    x[:] = 0
    shared.zero_()
    predictor.run()
    found = predictor.get_output_handle("output_1").copy_to_cpu()
    np.testing.assert_allclose(found, right - y, atol=1e-6)
    found[:] = 0
    assert np.any(predictor.get_output_handle("output_1").copy_to_cpu())


def test_clones_share_parameters_and_no_handles(model):
    _, base = model
    pool = PredictorPool(Config(f"{base}.json", ""), 2)
    first, second = pool.retrieve(0), pool.retrieve(1)
    assert first._engine is second._engine
    first.get_input_handle("x").copy_from_cpu(inputs(3)[0])
    with pytest.raises(InvalidArgument, match="the input 'x' has not been given"):
        second.run()
    assert first.try_shrink_memory() == 3 * 4 * 4
    first.get_input_handle("x").copy_from_cpu(inputs(3)[0])
    first.clear_intermediate_tensor()
    with pytest.raises(InvalidArgument, match="'x' has no content yet"):
        first.get_input_handle("x").copy_to_cpu()
    with pytest.raises(InvalidArgument, match="idx: expected 0 to 1, got 2"):
        pool.retrieve(2)
    with pytest.raises(InvalidArgument, match="size: expected an int from 1"):
        PredictorPool(Config(f"{base}.json", ""), 0)


def test_wrong_inputs(model):
    _, base = model
    predictor = create_predictor(Config(f"{base}.json", ""))
    handle = predictor.get_input_handle("x")
    with pytest.raises(InvalidArgument, match=r"copy_from_cpu: x: expected float32\[-1, 4\], got float64"):
        handle.copy_from_cpu(np.ones((2, 4)))
    with pytest.raises(InvalidArgument, match=r"reshape: x: expected float32\[-1, 4\], got float32\[2, 5\]"):
        handle.reshape([2, 5])
    with pytest.raises(InvalidType, match="expected a numpy array, got list"):
        handle.copy_from_cpu([1.0])
    with pytest.raises(InvalidArgument, match=r"expected one of \['x', 'y'\], got 'z'"):
        predictor.get_input_handle("z")
    with pytest.raises(InvalidArgument, match="expected 2 inputs"):
        predictor.run([paddle.ones([1, 4])])
    with pytest.raises(InvalidArgument, match="is an output"):
        predictor.get_output_handle("output_0").copy_from_cpu(np.ones(1, "float32"))
    with pytest.raises(InvalidType, match="expected a Config"):
        create_predictor("model")
    assert isinstance(predictor.clone(), Predictor)


@pytest.mark.parametrize("engine", ["replay", "onnxruntime", "openvino"])
def test_engines_answer_alike_in_eight_threads(model, engine, tmp_path):
    layer, base = model
    config = Config(f"{base}.json", f"{base}.safetensors")
    config.set_optim_cache_dir(str(tmp_path))
    config.set_cpu_math_library_num_threads(1)
    if engine != "replay":
        pytest.importorskip("onnx")
        pytest.importorskip(engine)
        getattr(config, {"onnxruntime": "enable_onnxruntime", "openvino": "enable_openvino_engine"}[engine])()
    predictor = create_predictor(config)
    wrong: list[str] = []

    def work(number):
        own = predictor.clone()
        for i in range(25):
            data = inputs(1 + (number + i) % 5, seed=number * 100 + i)
            right = wanted(layer, *data)
            for name, array in zip(own.get_input_names(), data, strict=True):
                own.get_input_handle(name).copy_from_cpu(array)
            own.run()
            by_handle = own.get_output_handle(own.get_output_names()[0]).copy_to_cpu()
            shared = predictor.run([paddle.to_tensor(array) for array in data])
            for found in (by_handle, shared[0].numpy()):
                if not np.allclose(found, right[0], atol=1e-5):
                    wrong.append(f"{number}, {i}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.alone
def test_memory_stays_level_with_changing_shapes_in_eight_threads(model):
    _, base = model
    predictor = create_predictor(Config(f"{base}.json", f"{base}.safetensors"))
    process = psutil.Process()

    def work(number):
        own = predictor.clone()
        for i in range(250):
            for name, array in zip(own.get_input_names(), inputs(64 + (number * 7 + i) % 64), strict=True):
                own.get_input_handle(name).copy_from_cpu(array)
            own.run()

    sizes = []
    for _ in range(3):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        sizes.append(process.memory_info().rss)
    assert sizes[2] < 1.02 * sizes[0], sizes


def test_the_time_of_a_run_is_logged(model, caplog):
    _, base = model
    config = Config(f"{base}.json", "")
    config.enable_profile()
    with caplog.at_level(logging.INFO, "sampan.inference"):
        create_predictor(config).run([paddle.to_tensor(array) for array in inputs(1)])
    assert "ms" in caplog.text
