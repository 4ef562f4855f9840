"""What a distributed tensor shows: texts as those of PaddlePaddle 3.3.1."""

import pytest

from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


def test_texts_and_values_of_a_distributed_tensor(workers):
    first, second = workers(2)(programs.printed)
    text = (
        "Tensor(shape=[5], dtype=float32, place=Place(cpu), stop_gradient=True, process_mesh={shape: [2], "
        "process_ids: [0,1], dim_names: [x]}, placements=[Shard(dim=0)], GlobalDenseTensor=\n"
        "       [0., 1., 2., 3., 4.])"
    )
    assert (first[0], second[0]) == (text, text)
    assert first[1] == "{shape: [2], process_ids: [0,1], dim_names: [x]}"
    assert (first[2], second[2]) == ("[3]", "[2]")
    assert first[3] == "[Partial(reduce_type=SUM)]"
    assert first[4:] == second[4:] == [10.0, [0.0, 1.0, 2.0, 3.0, 4.0], True]
