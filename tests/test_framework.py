"""Small names: what the parity cases cannot see (state that is kept, other libraries' arrays, refusals)."""

import numpy as np
import pytest
import torch

import sampan
from sampan.engine import printing as layout


@pytest.fixture
def printing():
    before = dict(layout.options)
    yield
    layout.options.clear()
    layout.options.update(before)


def test_printing_follows_the_options(printing):
    x = sampan.to_tensor([1 / 3, 2.0])
    sampan.set_printoptions(precision=2)
    assert "0.33" in repr(x)
    assert "0.333" not in repr(x)
    sampan.set_printoptions(sci_mode=True)
    assert "3.33e-01, 2.00e+00" in repr(x)
    sampan.set_printoptions(sci_mode=False)
    assert "e-01" not in repr(x)
    sampan.set_printoptions(threshold=10, edgeitems=1)
    assert "..." in repr(sampan.arange(100))
    with pytest.raises(TypeError, match="precision cannot be 'many'"):
        sampan.set_printoptions(precision="many")


def test_flags_are_kept_and_unknown_ones_named():
    sampan.set_flags({"FLAGS_cudnn_exhaustive_search": True})
    assert sampan.get_flags(["FLAGS_cudnn_exhaustive_search"]) == {"FLAGS_cudnn_exhaustive_search": True}
    with pytest.raises(ValueError, match="'FLAGS_nothing'"):
        sampan.get_flags("FLAGS_nothing")


def test_the_mode_only_remembers():
    sampan.enable_static()
    try:
        assert not sampan.in_dynamic_mode()
        assert (sampan.ones([2]) + 1).tolist() == [2, 2]
        with sampan.base.dygraph.guard():
            assert sampan.in_dynamic_mode()
        assert not sampan.in_dynamic_mode()
    finally:
        sampan.disable_static(sampan.CPUPlace())
    assert sampan.in_dynamic_mode()


def test_torch_stays_torch():
    sampan.disable_compat()
    with pytest.raises(NotImplementedError, match="import torch"):
        sampan.enable_compat()


def test_shapes_equal_lists_and_tuples():
    shape = sampan.ones([2, 3]).shape
    assert shape == [2, 3] == shape
    assert shape == (2, 3) == shape
    assert (shape != (2, 3)) is False
    assert shape != (3, 2)
    assert isinstance(shape, list)
    assert shape.numel() == 6
    with pytest.raises(TypeError):
        hash(shape)


def test_the_module_tensor_holds_all_functions_and_is_called():
    assert sampan.tensor([1, 2]).dtype is sampan.int64
    assert sampan.tensor.abs is sampan.abs
    assert not sampan.tensor([1.0], requires_grad=True).stop_gradient
    with pytest.raises(AttributeError):
        _ = sampan.tensor.no_such_function


def test_arrays_of_other_libraries_share_memory():
    theirs = torch.zeros(3)
    ours = sampan.from_dlpack(theirs)
    theirs[0] = 5
    assert ours.tolist() == [5, 0, 0]
    apart = sampan.from_dlpack(theirs, copy=True)
    theirs[1] = 7
    assert apart.tolist() == [5, 0, 0]
    back = torch.from_dlpack(sampan.to_dlpack(ours))
    assert back.data_ptr() == theirs.data_ptr()
    with pytest.raises(TypeError, match="to_dlpack"):
        sampan.to_dlpack(np.ones(2))


@pytest.mark.skipif(torch.cuda.is_available(), reason="what happens without a GPU")
def test_pinned_memory_wants_a_gpu():
    for ask in (sampan.CUDAPinnedPlace, sampan.ones([2]).pin_memory):
        with pytest.raises(RuntimeError, match="no GPU"):
            ask()
    assert sampan.get_cuda_rng_state() == []
    sampan.set_cuda_rng_state([])
    with pytest.raises(ValueError, match="expected 0 states, got 1"):
        sampan.set_cuda_rng_state([None])


def test_places_answer_for_hardware_that_is_not_there():
    place = sampan.ones([1]).place
    assert place.is_cpu_place()
    assert not any(
        (place.is_gpu_place(), place.is_xpu_place(), place.is_custom_place(), place.is_ipu_place())
    )


def test_a_parameter_outside_a_layer():
    weight = sampan.create_parameter(
        [3, 2], "float64", name="w", default_initializer=sampan.nn.initializer.Constant(2.0)
    )
    assert (weight.name, weight.dtype, weight.stop_gradient) == ("w", sampan.float64, False)
    assert weight.tolist() == [[2, 2]] * 3


def test_data_parallel_trains_the_layer_inside():
    layer = sampan.nn.Linear(3, 2)
    wrapped = sampan.DataParallel(layer)
    x = sampan.randn([4, 3])
    with wrapped.no_sync():
        wrapped.scale_loss(wrapped(x).sum()).backward()
    wrapped.apply_collective_grads()
    np.testing.assert_allclose(
        layer.weight.grad.numpy(), np.repeat(x.numpy().sum(0)[:, None], 2, 1), rtol=1e-5
    )
    assert list(wrapped.state_dict()) == list(layer.state_dict())
    wrapped.set_state_dict({"weight": sampan.ones([3, 2]), "bias": sampan.zeros([2])})
    assert layer.weight.tolist() == [[1, 1]] * 3


def test_lazy_guard_changes_nothing():
    with sampan.LazyGuard():
        assert sampan.nn.Linear(2, 2).weight.shape == [2, 2]


def test_apply_wants_no_gradient_to_be_asked_for():
    x = sampan.to_tensor([1.0, 2.0])
    assert x.apply_(lambda v: v * 2) is x
    assert x.tolist() == [2, 4]
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match="wants a gradient"):
        x.apply(lambda v: v)


def test_what_a_layer_of_the_tape_saves_goes_through_the_hooks():
    seen = []

    class Square(sampan.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensor()
            return gradient * x * 2

    x = sampan.to_tensor([3.0], stop_gradient=False)
    with sampan.autograd.saved_tensors_hooks(
        lambda t: seen.append("pack") or t.numpy(), lambda a: sampan.to_tensor(a)
    ):
        y = Square.apply(x)
    assert seen == ["pack"]
    y.backward()
    assert x.grad.tolist() == [6.0]
    Square.apply(x).backward()
    assert seen == ["pack"]
