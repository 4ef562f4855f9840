"""Engines: the same answers in many threads, in level memory."""

import gc
import threading

import numpy as np
import psutil
import pytest

import sampan as paddle
from sampan.inference import Config, create_predictor
from tests.inference.conftest import inputs, wanted


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
