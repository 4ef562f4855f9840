"""bfloat16 in messages, beside torch's rounding."""

import numpy as np
import torch

from sampan.distributed.parameter_server.wire import narrow, wide


def test_rows_are_rounded_as_torch_does_and_may_be_written_to() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    sent = narrow(rows)
    assert sent.nbytes * 2 == rows.nbytes
    np.testing.assert_array_equal(wide(sent), torch.from_numpy(rows).bfloat16().float().numpy())
    for given in (rows, sent):
        given.flags.writeable = False
        found = wide(given)
        assert found.flags.writeable and found.dtype == np.float32
