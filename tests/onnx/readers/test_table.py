"""Values of a graph: Tensors and arrays."""

import numpy as np

import sampan as paddle
from sampan.onnx.readers.table import Fixed, array, fixed, ints, tensor


def test_an_array_of_the_graph_becomes_one_tensor():
    value = np.array([1, 2]).view(Fixed)
    assert tensor(value) is tensor(value) and tensor(value).tolist() == [1, 2]
    assert fixed(value, np.ones(2)) and not fixed(value, tensor(value))
    assert array(tensor(value)).tolist() == ints(paddle.to_tensor([1, 2])) == [1, 2]
