"""The version of PaddlePaddle whose API this is, where programs look for it (`paddle.version`)."""

full_version = "3.3.1"
major, minor, patch = full_version.split(".")
rc = "0"


def show() -> None:
    print(f"Sampan with the API of PaddlePaddle {full_version}")


def cuda() -> str:
    """Version of CUDA underneath, "False" without it."""
    import torch

    return torch.version.cuda or "False"


def cudnn() -> str:
    """Version of cuDNN underneath, "False" without it."""
    import torch

    return str(torch.backends.cudnn.version() or "False")
