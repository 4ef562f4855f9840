"""ONNX's own test cases through `sampan.onnx.load`: counts those that pass and lists what is left out.

python -m tools.onnx_cases        # write docs/onnx.md
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "onnx.md"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


def cases() -> Iterator[Any]:
    """ONNX's cases, in a fixed order."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # casts of the cases' own data
        for kind in KINDS:
            yield from sorted(load_model_tests(kind=kind), key=lambda case: str(case.name))


def outcome(case: Any, folder: Path) -> str:
    """Why a case fails, "" where it passes: dtypes, shapes and values within the case's tolerance."""
    file = Path(case.model_dir or "") / "model.onnx"
    if case.model is not None:
        file = folder / "case.onnx"
        file.write_bytes(case.model.SerializeToString())
    try:
        layer = paddle.onnx.load(file)
        with paddle.no_grad():
            for given, wanted in _data(case):
                made = layer(*map(_tensor, given))
                for one, answer in zip(made if isinstance(made, list) else [made], wanted, strict=True):
                    if not _alike(one.data, _tensor(answer).data, case):
                        return "other values"
    except InvalidArgument as error:
        return str(error).removeprefix("load: ").removeprefix("ImportedLayer: ")
    return ""


def _data(case: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    if case.data_sets is not None:
        yield from ((list(given), list(wanted)) for given, wanted in case.data_sets)
        return
    import onnx

    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        yield tuple(  # type: ignore[misc]  # of two lists
            [
                onnx.load_tensor(folder / f"{kind}_{i}.pb")
                for i in range(len(list(folder.glob(f"{kind}_*.pb"))))
            ]
            for kind in ("input", "output")
        )


def _tensor(value: Any) -> paddle.Tensor:
    """An array or a TensorProto of a case as a Tensor."""
    from onnx import TensorProto, numpy_helper

    array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
    if array.dtype.name == "bfloat16":
        return paddle.Tensor(torch.from_numpy(array.view(np.int16)).view(torch.bfloat16))
    if array.dtype.kind not in "biufc" or array.dtype.name in ("uint32", "uint64", "uint16"):
        raise InvalidArgument(f"values of dtype {array.dtype}")
    return paddle.Tensor(torch.from_numpy(np.array(array)))


def _alike(one: torch.Tensor, answer: torch.Tensor, case: Any) -> bool:
    if one.dtype is not answer.dtype or one.shape != answer.shape:
        return False
    if not (one.is_floating_point() or one.is_complex()):
        return torch.equal(one, answer)
    smallest = 1e-7 if one.dtype.itemsize >= 4 else 1e-2
    near = {"rtol": case.rtol, "atol": max(case.atol, smallest), "equal_nan": True}
    return torch.allclose(one.to(torch.float64), answer.to(torch.float64), **near)


def text(results: dict[str, str]) -> str:
    """The page of the results."""
    failed = {name: why for name, why in results.items() if why}
    unread = Counter(
        kind for why in failed.values() if "operators that are not read" in why for kind in _kinds(why)
    )
    lines = [
        "# ONNX's own test cases",
        "",
        f"`paddle.onnx.load` passes {len(results) - len(failed)} of {len(results)} cases of ONNX's backend tests "
        f"({', '.join(KINDS)}). Written by `python -m tools.onnx_cases`.",
        "",
        "Not read are strings, sequences, optional values, sparse tensors, floats of 8 and 4 bits, integers of 4 and "
        "2 bits, unsigned integers of 16, 32 and 64 bits, opsets below 7, and these operators (cases):",
        "",
        ", ".join(f"{kind} {count}" for kind, count in sorted(unread.items())) + ".",
        "",
        "Other cases that fail:",
        "",
    ]
    rest = {name: why for name, why in failed.items() if "operators that are not read" not in why}
    reasons = Counter(_short(why) for why in rest.values())
    lines += [
        f"- {count}: {why}" for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    return "\n".join(lines) + "\n"


def _kinds(why: str) -> set[str]:
    listed = why.rpartition("not read: ")[2].split(", ")
    return {one.rpartition("(")[2].rstrip(")") for one in listed}


def _short(why: str) -> str:
    """A reason without the names of one case."""
    parts = why.split(": ")
    kept = [p for p in parts if not p.startswith(("case.onnx", "model.onnx", "input ", "ImportedLayer"))]
    found = ": ".join(kept).replace("`", "'")
    place, found = (
        (found.partition("(")[2].partition(")")[0::2]) if found.startswith("node ") else ("", found)
    )
    return f"{place}{found}"[:110].rstrip()


def main() -> None:
    results = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases():
            results[str(case.name)] = outcome(case, Path(folder))
    TABLE.write_text(text(results))
    print(f"{sum(not why for why in results.values())} of {len(results)} pass; the rest is in {TABLE}")


if __name__ == "__main__":
    sys.exit(main())
