"""Predictors: handles, both forms of run, clones, threads, and what is refused."""

import logging

import numpy as np
import pytest

import sampan as paddle
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.inference import Config, DataType, PlaceType, Predictor, PredictorPool, create_predictor
from tests.inference.conftest import inputs, wanted


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


def test_the_time_of_a_run_is_logged(model, caplog):
    _, base = model
    config = Config(f"{base}.json", "")
    config.enable_profile()
    with caplog.at_level(logging.INFO, "sampan.inference"):
        create_predictor(config).run([paddle.to_tensor(array) for array in inputs(1)])
    assert "ms" in caplog.text
