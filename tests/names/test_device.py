"""Devices: what is there is listed, what a GPU is asked for without one is refused by name."""

import pytest
import torch

import sampan
from sampan import device

NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="what happens without a GPU")


def test_what_there_is():
    assert device.get_available_device()[0] == "cpu"
    assert device.device_count() == torch.cuda.device_count() == len(device.get_available_device()) - 1
    assert device.cuda is device
    assert device.FloatTensor is sampan.FloatTensor
    assert device.get_device(sampan.ones([1])) == -1
    answers = [getattr(device, f"is_compiled_with_{what}")() for what in ("xpu", "ipu", "cinn")]
    assert answers == [False] * 3
    assert not device.is_compiled_with_custom_device("npu")


@NO_GPU
@pytest.mark.parametrize(
    "name",
    [
        "max_memory_allocated",
        "memory_reserved",
        "synchronize",
        "Event",
        "Stream",
        "ipc_collect",
        "current_stream",
    ],
)
def test_a_gpu_is_asked_for(name):
    with pytest.raises(ValueError, match=f"device.{name}: expected a GPU"):
        getattr(device, name)()


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_answers():
    before = device.memory_allocated()
    kept = sampan.ones([1000]).cuda()
    assert device.memory_allocated() > before
    assert device.get_device(kept) == 0
    with device.stream_guard(device.Stream()), device.device(0):
        assert sampan.get_device() == "gpu:0"
        assert sampan.ones([2]).is_cuda
    device.synchronize()


def test_the_device_of_a_block():
    assert sampan.set_default_device("cpu") is None and sampan.get_default_device() == "cpu"
    with sampan.cuda.device("cpu"), device.device_guard("cpu"), device.device(-1), device.device():
        assert sampan.get_device() == "cpu"
    with pytest.raises(ValueError, match="place"), device.device("abacus"):
        pass


def test_states_of_one_generator():
    state = device.get_rng_state("cpu")
    first = sampan.rand([4]).tolist()
    device.set_rng_state(state, "cpu")
    assert sampan.rand([4]).tolist() == first
    assert device.manual_seed(5) is device.cuda.manual_seed_all(5) is None
    again = sampan.rand([4]).tolist()
    sampan.seed(5)
    assert sampan.rand([4]).tolist() == again
