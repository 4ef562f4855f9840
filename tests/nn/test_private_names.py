"""Paddle's private names of a layer's settings: read as in Paddle, assigned with effect, and hooks by their id."""

from collections import OrderedDict

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.vision.models import resnet

# fmt: off
RECORDED = {  # what PaddlePaddle 3.3.1's own layers answer
    "Linear(4,3)": {"_bias_attr": None, "_weight_attr": None},
    "Conv1D(2,4,3,stride=2,padding=1)": {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCL", "_dilation": [1], "_groups": 1, "_in_channels": 2, "_kernel_size": [3], "_out_channels": 4, "_padding": 1, "_padding_mode": "zeros", "_param_attr": None, "_stride": [2]},
    "Conv2D(2,4,3)": {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCHW", "_dilation": [1, 1], "_groups": 1, "_in_channels": 2, "_kernel_size": [3, 3], "_out_channels": 4, "_padding": 0, "_padding_mode": "zeros", "_param_attr": None, "_stride": [1, 1], "_updated_padding": [0, 0]},
    "Conv2D(2,4,3,stride=2,padding=1,dilation=2,groups=2)": {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCHW", "_dilation": [2, 2], "_groups": 2, "_in_channels": 2, "_kernel_size": [3, 3], "_out_channels": 4, "_padding": 1, "_padding_mode": "zeros", "_param_attr": None, "_stride": [2, 2], "_updated_padding": [1, 1]},
    'Conv2D(2,4,3,padding="SAME")': {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCHW", "_dilation": [1, 1], "_groups": 1, "_in_channels": 2, "_kernel_size": [3, 3], "_out_channels": 4, "_padding": "SAME", "_padding_mode": "zeros", "_param_attr": None, "_stride": [1, 1], "_updated_padding": [0, 0]},
    'Conv2D(4,2,3,data_format="NHWC")': {"_bias_attr": None, "_channel_dim": 3, "_data_format": "NHWC", "_dilation": [1, 1], "_groups": 1, "_in_channels": 4, "_kernel_size": [3, 3], "_out_channels": 2, "_padding": 0, "_padding_mode": "zeros", "_param_attr": None, "_stride": [1, 1], "_updated_padding": [0, 0]},
    "Conv3D(2,4,3)": {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCDHW", "_dilation": [1, 1, 1], "_groups": 1, "_in_channels": 2, "_kernel_size": [3, 3, 3], "_out_channels": 4, "_padding": 0, "_padding_mode": "zeros", "_param_attr": None, "_stride": [1, 1, 1], "_updated_padding": [0, 0, 0]},
    "Conv1DTranspose(2,4,3)": {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCL", "_dilation": [1], "_groups": 1, "_in_channels": 2, "_kernel_size": [3], "_out_channels": 4, "_padding": 0, "_padding_mode": "zeros", "_param_attr": None, "_stride": [1]},
    "Conv2DTranspose(2,4,3,stride=2,output_padding=1)": {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCHW", "_dilation": [1, 1], "_groups": 1, "_in_channels": 2, "_kernel_size": [3, 3], "_out_channels": 4, "_padding": 0, "_padding_mode": "zeros", "_param_attr": None, "_stride": [2, 2]},
    "Conv3DTranspose(2,4,3)": {"_bias_attr": None, "_channel_dim": 1, "_data_format": "NCDHW", "_dilation": [1, 1, 1], "_groups": 1, "_in_channels": 2, "_kernel_size": [3, 3, 3], "_out_channels": 4, "_padding": 0, "_padding_mode": "zeros", "_param_attr": None, "_stride": [1, 1, 1]},
    "BatchNorm(4)": {"_act": None, "_bias_attr": None, "_data_layout": "NCHW", "_epsilon": 1e-05, "_is_test": False, "_momentum": 0.9, "_param_attr": None},
    "BatchNorm1D(4)": {"_bias_attr": None, "_data_format": "NCL", "_epsilon": 1e-05, "_momentum": 0.9, "_name": None, "_num_features": 4, "_use_global_stats": None, "_weight_attr": None},
    "BatchNorm2D(4,momentum=0.8)": {"_bias_attr": None, "_data_format": "NCHW", "_epsilon": 1e-05, "_momentum": 0.8, "_name": None, "_num_features": 4, "_use_global_stats": None, "_weight_attr": None},
    "BatchNorm3D(4)": {"_bias_attr": None, "_data_format": "NCDHW", "_epsilon": 1e-05, "_momentum": 0.9, "_name": None, "_num_features": 4, "_use_global_stats": None, "_weight_attr": None},
    "SyncBatchNorm(4)": {"_bias_attr": None, "_data_format": "NCHW", "_epsilon": 1e-05, "_momentum": 0.9, "_name": None, "_num_features": 4, "_use_global_stats": None, "_weight_attr": None},
    "LayerNorm(4)": {"_bias_attr": None, "_epsilon": 1e-05, "_normalized_shape": [4], "_weight_attr": None},
    "LayerNorm([2,4])": {"_bias_attr": None, "_epsilon": 1e-05, "_normalized_shape": [2, 4], "_weight_attr": None},
    "GroupNorm(2,4)": {"_bias_attr": None, "_data_format": "NCHW", "_epsilon": 1e-05, "_num_channels": 4, "_num_groups": 2, "_weight_attr": None},
    "InstanceNorm1D(4)": {"_bias_attr": None, "_data_format": "NCL", "_epsilon": 1e-05, "_momentum": 0.9, "_num_features": 4, "_weight_attr": None},
    "InstanceNorm2D(4)": {"_bias_attr": None, "_data_format": "NCHW", "_epsilon": 1e-05, "_momentum": 0.9, "_num_features": 4, "_weight_attr": None},
    "InstanceNorm3D(4)": {"_bias_attr": None, "_data_format": "NCDHW", "_epsilon": 1e-05, "_momentum": 0.9, "_num_features": 4, "_weight_attr": None},
    "SpectralNorm([4,3],dim=1,power_iters=2)": {"_dim": 1, "_eps": 1e-12, "_power_iters": 2, "_weight_shape": [4, 3]},
    "Embedding(10,4)": {"_embedding_dim": 4, "_max_norm": None, "_name": None, "_norm_type": 2.0, "_num_embeddings": 10, "_padding_idx": None, "_scale_grad_by_freq": False, "_size": [10, 4], "_sparse": False, "_weight_attr": None},
    "Embedding(10,4,padding_idx=-1,sparse=True)": {"_embedding_dim": 4, "_max_norm": None, "_name": None, "_norm_type": 2.0, "_num_embeddings": 10, "_padding_idx": -1, "_scale_grad_by_freq": False, "_size": [10, 4], "_sparse": True, "_weight_attr": None},
    "Bilinear(2,3,4)": {"_bias_attr": None, "_in1_features": 2, "_in2_features": 3, "_name": None, "_out_features": 4, "_weight_attr": None},
    "AdaptiveAvgPool2D(2)": {"_data_format": "NCHW", "_name": None, "_output_size": 2},
    "AdaptiveAvgPool2D((1,1))": {"_data_format": "NCHW", "_name": None, "_output_size": (1, 1)},
    "AdaptiveAvgPool3D(2)": {"_data_format": "NCDHW", "_name": None, "_output_size": 2},
    "AdaptiveMaxPool2D(2)": {"_name": None, "_output_size": 2, "_return_mask": False},
    "AdaptiveMaxPool3D(2)": {"_name": None, "_output_size": 2, "_return_mask": False},
    "FractionalMaxPool2D(2)": {"_kernel_size": None, "_name": None, "_output_size": 2, "_random_u": None, "_return_mask": False},
    "FractionalMaxPool3D(2)": {"_kernel_size": None, "_name": None, "_output_size": 2, "_random_u": None, "_return_mask": False},
    "ReLU()": {"_name": None},
    "ReLU6()": {"_name": None},
    "LeakyReLU(0.1)": {"_name": None, "_negative_slope": 0.1},
    "ELU(0.5)": {"_alpha": 0.5, "_name": None},
    "CELU(0.5)": {"_alpha": 0.5, "_name": None},
    "SELU()": {"_alpha": 1.6732632423543772, "_name": None, "_scale": 1.0507009873554805},
    "GELU(True)": {"_approximate": True, "_name": None},
    "Silu()": {"_inplace": False, "_name": None},
    "Swish()": {"_name": None},
    "Mish()": {"_name": None},
    "LogSigmoid()": {"_name": None},
    "Hardswish()": {"_name": None},
    "Hardtanh()": {"_max": 1.0, "_min": -1.0, "_name": None},
    "Hardshrink()": {"_name": None, "_threshold": 0.5},
    "Softshrink()": {"_name": None, "_threshold": 0.5},
    "Tanhshrink()": {"_name": None},
    "Tanh()": {"_name": None},
    "Softplus()": {"_beta": 1, "_name": None, "_threshold": 20},
    "Softsign()": {"_name": None},
    "ThresholdedReLU()": {"_name": None, "_threshold": 1.0, "_value": 0.0},
    "Maxout(2)": {"_axis": 1, "_groups": 2, "_name": None},
    "GLU()": {"_axis": -1, "_name": None},
    "RReLU()": {"_lower": 0.125, "_name": None, "_upper": 0.3333333333333333},
    "PReLU(4)": {"_data_format": "NCHW", "_init": 0.25, "_name": None, "_num_parameters": 4, "_weight_attr": None},
    "Softmax()": {"_axis": -1, "_name": None},
    "Softmax2D()": {"_name": None},
    "LogSoftmax()": {"_axis": -1, "_name": None},
    "Pad1D(1)": {"_data_format": "NCL", "_mode": "constant", "_name": None},
    'Pad2D(1,mode="reflect")': {"_data_format": "NCHW", "_mode": "reflect", "_name": None},
    "Pad3D(1)": {"_data_format": "NCDHW", "_mode": "constant", "_name": None},
    "ZeroPad1D(1)": {"_data_format": "NCL", "_mode": "constant", "_name": None},
    "ZeroPad2D(1)": {"_data_format": "NCHW", "_mode": "constant", "_name": None},
    "ZeroPad3D(1)": {"_data_format": "NCDHW", "_mode": "constant", "_name": None},
    "PixelShuffle(2)": {"_data_format": "NCHW", "_name": None, "_upscale_factor": 2},
    "PixelUnshuffle(2)": {"_data_format": "NCHW", "_downscale_factor": 2, "_name": None},
    "ChannelShuffle(2)": {"_data_format": "NCHW", "_groups": 2, "_name": None},
    "CosineSimilarity()": {"_axis": 1, "_eps": 1e-08},
    "NLLLoss()": {"_ignore_index": -100, "_name": None, "_reduction": "mean", "_weight": None},
    "PoissonNLLLoss()": {"_epsilon": 1e-08, "_full": False, "_log_input": True, "_name": None, "_reduction": "mean"},
    "HSigmoidLoss(3,4)": {"_bias_attr": None, "_feature_size": 3, "_is_custom": False, "_is_sparse": False, "_name": None, "_num_classes": 4, "_weight_attr": None},
}
# fmt: on


@pytest.mark.parametrize("made", RECORDED)
def test_private_names_have_paddles_values(made):
    layer = eval(f"nn.{made}")
    found = {name: getattr(layer, name) for name in RECORDED[made]}
    assert found == RECORDED[made]
    assert {n: type(v) for n, v in found.items()} == {n: type(v) for n, v in RECORDED[made].items()}


# The same for settings that follow from the others, or that stand for what is not there.
DERIVED = {
    "Linear(4,3)": {"_device": None},
    "Conv1D(4,4,3,groups=4,padding='SAME')": {"_op_type": "conv1d", "_use_cudnn": False, "_device": None},
    "Conv2D(2,4,3,padding='valid')": {"_op_type": "conv2d"},
    "Conv2D(1,4,3,padding=[1,2])": {"_op_type": "conv2d"},
    "Conv2D(2,4,3,groups=2)": {"_op_type": "depthwise_conv2d"},
    "Conv2D(4,2,3,groups=2)": {"_op_type": "conv2d"},
    "Conv3D(4,4,3,groups=4,padding='SAME')": {"_op_type": "conv3d"},
    "Conv2DTranspose(4,4,3,groups=4)": {"_op_type": "depthwise_conv2d"},
    "BatchNorm2D(4)": {"_device": None},
    "Pad1D(1)": {"_n_dim": 1},
    "ZeroPad3D(1)": {"_n_dim": 3},
}


@pytest.mark.parametrize("made", DERIVED)
def test_derived_private_names_have_paddles_values(made):
    layer = eval(f"nn.{made}")
    assert {name: getattr(layer, name) for name in DERIVED[made]} == DERIVED[made]


# Class, name, value, and the shape of the output that real Paddle has after the assignment, of an input of ones of
# 9 places an axis (5 for 3-D).
ASSIGNED = [
    ("Conv1D", "_stride", [2], [1, 4, 4]),
    ("Conv1D", "_padding", 1, [1, 4, 9]),
    ("Conv1D", "_dilation", [2], [1, 4, 5]),
    ("Conv2D", "_stride", [2, 2], [1, 4, 4, 4]),
    ("Conv2D", "_padding", [1, 1], [1, 4, 7, 7]),
    ("Conv2D", "_updated_padding", [1, 1], [1, 4, 9, 9]),
    ("Conv2D", "_dilation", [2, 2], [1, 4, 5, 5]),
    ("Conv3D", "_stride", [2, 2, 2], [1, 4, 2, 2, 2]),
    ("Conv3D", "_updated_padding", [1, 1, 1], [1, 4, 5, 5, 5]),
    ("Conv1DTranspose", "_stride", [2], [1, 4, 19]),
    ("Conv2DTranspose", "_stride", [2, 2], [1, 4, 19, 19]),
    ("Conv2DTranspose", "_padding", 1, [1, 4, 9, 9]),
    ("Conv3DTranspose", "_dilation", [2, 2, 2], [1, 4, 9, 9, 9]),
]


@pytest.mark.parametrize(("kind", "name", "value", "shape"), ASSIGNED)
def test_an_assigned_setting_changes_the_next_forward(kind, name, value, shape):
    layer = getattr(nn, kind)(2, 4, 3)
    setattr(layer, name, value)
    assert getattr(layer, name) == value
    x = paddle.ones([1, 2] + [5 if "3D" in kind else 9] * (len(shape) - 2))
    assert layer(x).shape == shape


def test_an_entry_of_a_setting_can_be_assigned():
    conv = nn.Conv2D(2, 4, 3)
    conv._stride[0] = 2
    assert conv(paddle.ones([1, 2, 9, 9])).shape == [1, 4, 4, 7]


def test_assigned_settings_of_norms_pools_activations_and_tables():
    x = np.array([[1.0, -2.0], [3.0, 5.0]], "float32")
    norm = nn.BatchNorm1D(2)
    norm._momentum = 0.5
    norm(paddle.to_tensor(x))
    np.testing.assert_allclose(norm._mean, 0.5 * x.mean(0))
    layer = nn.LayerNorm(2)
    layer._epsilon = 3.0
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 3)
    np.testing.assert_allclose(layer(paddle.to_tensor(x)).numpy(), wanted, rtol=1e-5)
    pool = nn.AdaptiveAvgPool2D(1)
    pool._output_size = (2, 3)
    assert pool(paddle.ones([1, 1, 6, 6])).shape == [1, 1, 2, 3]
    leaky = nn.LeakyReLU()
    leaky._negative_slope = 0.25
    np.testing.assert_array_equal(leaky(paddle.to_tensor(x)).numpy(), np.where(x < 0, 0.25 * x, x))
    table = nn.Embedding(3, 2)
    table._padding_idx = 1
    table(paddle.to_tensor([0, 1])).sum().backward()
    np.testing.assert_array_equal(table.weight.grad.numpy(), [[1, 1], [0, 0], [0, 0]])


def test_hooks_are_in_ordered_dictionaries_by_the_id_of_their_handle():
    layer, seen = nn.Linear(2, 2), []
    first = layer.register_forward_pre_hook(lambda layer, inputs: seen.append("first"))
    second = layer.register_forward_pre_hook(lambda layer, inputs: seen.append("second"), prepend=True)
    third = layer.register_forward_post_hook(
        lambda layer, inputs, kwargs, out: seen.append("third"), with_kwargs=True
    )
    assert type(layer._forward_pre_hooks) is OrderedDict is type(layer._forward_post_hooks)
    assert list(layer._forward_pre_hooks) == [second._hook_id, first._hook_id]
    assert list(layer._forward_post_hooks_with_kwargs_flag) == [third._hook_id]
    layer._forward_pre_hooks[-1] = lambda layer, inputs: seen.append("by hand")
    layer(paddle.ones([1, 2]))
    assert seen == ["second", "first", "by hand", "third"]
    layer._forward_pre_hooks.clear()
    third.remove()
    first.remove()
    layer(paddle.ones([1, 2]))
    assert len(seen) == 4 and not layer._forward_post_hooks_with_kwargs_flag
    assert not nn.Linear(2, 2)._forward_pre_hooks


def test_the_dictionaries_of_a_layer_change_the_layer():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    net._sub_layers["1"] = nn.Tanh()
    assert type(net[1]) is nn.Tanh
    net._modules = {"0": net[0], "1": net[1]}
    removed = net._sub_layers.pop("1")
    assert type(removed) is nn.Tanh and len(net) == 1
    del net[0]._parameters["bias"]
    assert [name for name, _ in net.named_parameters()] == ["0.weight"] and not hasattr(net[0], "bias")
    net._buffers["total"] = paddle.ones([1])
    net.register_buffer("passing", paddle.ones([1]), persistable=False)
    assert sorted(net.state_dict()) == ["0.weight", "total"]
    assert net._non_persistable_buffer_names_set == {"passing"} == net._non_persistent_buffers_set
    net._non_persistable_buffer_names_set.add("total")
    net._non_persistable_buffer_names_set.discard("passing")
    assert sorted(net.state_dict()) == ["0.weight", "passing"]
    net._non_persistable_buffer_names_set = {"passing", "total"}
    assert sorted(net.state_dict()) == ["0.weight"]
    with pytest.raises(KeyError):
        net._non_persistable_buffer_names_set.remove("absent")


def test_resnet_makes_its_stages_by_make_layer():
    net = resnet.ResNet(resnet.BottleneckBlock, 50, num_classes=0, with_pool=False)
    assert net.inplanes == 2048 and net.dilation == 1
    net.inplanes = 64
    stage = net._make_layer(resnet.BottleneckBlock, 32, 2, stride=2, dilate=True)
    assert net.inplanes == 128 and net.dilation == 2
    assert stage(paddle.ones([1, 64, 6, 6])).shape == [1, 128, 6, 6]
    assert stage[0].conv2._dilation == [1, 1] and len(stage) == 2


def test_names_of_recurrent_layers_pools_and_of_every_layer():
    """As PaddlePaddle 3.3.1's own layers answer."""
    one, two = nn.LSTM(2, 4), nn.GRU(2, 4, 2, "bidirect")
    relu = nn.SimpleRNN(2, 4, activation="relu")
    found = [(n.mode, n.state_components, n.proj_size, len(n._all_weights)) for n in (one, two, relu)]
    assert found == [("LSTM", 2, 0, 4), ("GRU", 1, 0, 16), ("RNN_RELU", 1, 0, 4)]
    shapes = [tuple(w.shape) for w in two._all_weights]
    assert shapes == [(12, 2), (12, 4), (12, 2), (12, 4), (12, 8), (12, 4), (12, 8), (12, 4)] + [(12,)] * 8
    assert nn.LSTM(2, 4, proj_size=3).proj_size == 3
    pool = nn.AvgPool2D(2, divisor_override=3)
    assert (pool.ksize, pool.divisor, nn.MaxPool3D(3).ksize) == (2, 3, 3)
    pool.ksize = 3
    assert pool(paddle.ones([1, 1, 3, 3])).item() == 3
    rare = nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])
    assert (rare.in_features, rare.n_classes, rare.div_value, rare.is_head_bias, rare.head_size) == (
        4,
        5,
        4.0,
        False,
        3,
    )
    layer = nn.Layer()
    assert (layer._built, layer._init_in_dynamic_mode, layer._cast_to_low_precision) == (False, True, True)
