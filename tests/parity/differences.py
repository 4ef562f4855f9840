"""What differs from PaddlePaddle 3.3.1 on purpose, each with its reason. A test fails when one no longer differs."""

from tools.parity.table import Difference

DIFFERENCES = [
    Difference(
        "paddle.XPUPinnedPlace paddle.device.XPUPlace paddle.device.IPUPlace paddle.device.*ipu* paddle.device.*xpu*",
        "missing",
        "made for hardware that torch's buffers do not run on",
    ),
]
