"""The version of PaddlePaddle whose API this is, where programs look for it (`paddle.version`)."""

full_version = "3.3.1"
major, minor, patch = full_version.split(".")
rc = "0"
is_tagged, commit = True, "unknown"
with_pip_cuda_libraries = with_pip_tensorrt = "OFF"
hip: str | None = None


def show() -> None:
    """Print the version of PaddlePaddle's API that Sampan implements."""
    print(f"Sampan with the API of PaddlePaddle {full_version}")


def cuda() -> str:
    """Version of CUDA underneath, "False" without it."""
    import torch

    return torch.version.cuda or "False"


def cudnn() -> str:
    """Version of cuDNN underneath, "False" without it."""
    import torch

    return str(torch.backends.cudnn.version() or "False")


def nccl() -> str:
    """Version of NCCL underneath, "0" without it."""
    import torch

    return ".".join(map(str, torch.cuda.nccl.version())) if torch.cuda.is_available() else "0"


def mkl() -> str:
    """Whether torch's products come from Intel's MKL: "ON" or "OFF"."""
    import torch

    return "ON" if torch.backends.mkl.is_available() else "OFF"


def tensorrt() -> str:
    """Sampan has no TensorRT."""
    return "None"


def cuda_archs() -> list[int]:
    """The compute capabilities that torch was built for; none without CUDA."""
    import torch

    return [int(arch.removeprefix("sm_")) for arch in torch.cuda.get_arch_list() if arch.startswith("sm_")]


def xpu() -> str:
    """Sampan does not run on this hardware or compiler."""
    return "False"


xpu_xre = xpu_xccl = xpu_xhpc = cinn = xpu
