"""Counts tokens of code by package, function and line (`make size`): without docstrings,
comments and layout.

Tokens and not lines: a limit in lines is met by longer lines, which are harder to read.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "lib" / "sampan"
# Files of other packages that belong to one of these are counted with it.
MODULES = {
    "sparse": (
        "kernels/*sparse*.py", "kernels/device.py", "kernels/cpu_register_block.py", "models/point_cloud.py", "models/bag_of_words.py",
        "datasets/point_clouds.py", "datasets/voxels.py", "datasets/mesh_files.py", "datasets/made_shapes.py",
        "datasets/labelled_texts.py", "visual/sparsity.py", "visual/cloud.py",
    ),
    # What only programs with rarely used names of Paddle need.
    "names": ("autograd.py", "tensor.py"),
    "distributed": ("transport/*.py", "visual/shards.py", "visual/workers.py"),
    "jit": ("visual/programs.py",),
    "onnx": (),
    "inference": (),
    "slim": (),
    "quantization": ("kernels/cpu_quantization.py",),
    "graph": ("kernels/*graph*.py", "datasets/graphs.py", "geometric/*.py", "models/fraud*.py", "models/citations.py", "models/meta_paths.py",
              "models/knowledge_graph.py", "models/light_gcn.py",
              "visual/network.py"),
    "speech": ("kernels/*speech*.py", "audio/*.py", "audio/*/*.py", "datasets/recordings.py", "models/speech*.py",
               "datasets/speech*.py", "visual/sound.py"),
    "embedding": (
        "kernels/*embedding*.py", "kernels/arena.py", "row_sparse.py", "text/vocabulary.py", "text/tokenizers.py",
        "text/word*.py", "text/subwords.py", "models/recommender*.py", "models/word_char.py",
        "datasets/interactions.py", "datasets/corpora.py", "visual/embeddings.py",
    ),
}  # fmt: skip
# At most; they may only fall.
CORE_LIMIT = 77_690  # floors 0 to 2: the Tensor, the tape, every operator
LIBRARY_LIMIT = 204_320  # without the modules above
FILE_LIMIT = 7_050
FUNCTION_LIMIT = 1_011
LINE_LIMIT = 63

# The floors of the library. A file imports from its own floor or from below it (tests/test_floors.py).
FLOORS = [
    "kernels generated",
    "dtype engine row_sparse",
    "ops",
    "nn optimizer amp io jit metric hapi callbacks regularizer interop serialization pickled trace random "
    "autograd tensor creation linalg fft signal framework tensor_extras lazy transport",
    "sparse graph speech embedding",
    "geometric audio models text vision datasets",
    "serving inference onnx slim quantization distributed session names",
    "visual learn",
]
# The files of the engine: each imports only from those before it.
ENGINE = [
    "errors",
    "printing",
    "conversion",
    "tape",
    "tensor",
    "error_translation",
    "apply",
    "fast",
    "spelling",
    "operator",
    "backward",
    "pylayer",
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


CLOSING = {")", "]", "}"}


def docstring_lines(tree: ast.AST) -> set[int]:
    """The lines on which a docstring begins or goes on."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def listed_names(tree: ast.AST) -> int:
    """Names beyond the first in strings that are cut into a list where they stand: `"add mul".split()` has one."""
    return sum(
        len(node.func.value.value.split()) - 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "split"
        and isinstance(node.func.value, ast.Constant)
        and isinstance(node.func.value.value, str)
    )


@cache
def line_tokens(source: str) -> Counter[int]:
    """Line -> tokens of code that begin on it. A string that is data is one token; a docstring does not count, nor does
    what the formatter adds: the comma after a last entry, and the pieces of one string on several lines."""
    words = docstring_lines(ast.parse(source))
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NOT_CODE and not (token.type == tokenize.STRING and token.start[0] in words)
    ]
    layout = Counter(
        this.start[0]
        for this, after in pairwise(tokens)
        if (this.string == "," and after.string in CLOSING) or this.type == after.type == tokenize.STRING
    )
    return Counter(token.start[0] for token in tokens) - layout


def code_tokens(source: str) -> int:
    """Tokens of code. Each name of a list that is written as one string counts, as it would in a declaration."""
    return line_tokens(source).total() + listed_names(ast.parse(source))


def function_tokens(source: str) -> Iterator[tuple[str, int]]:
    """(name, tokens) of every function and method, with the functions inside it and without decorators."""
    lines = line_tokens(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, sum(lines[n] for n in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def parts(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Tokens of each function and of each line under a folder, the largest first."""
    functions, lines = Counter[str](), Counter[str]()
    for path in sorted(folder.rglob("*.py")):
        source, where = path.read_text(), path.relative_to(folder)
        for name, tokens in function_tokens(source):
            functions[f"{where}: {name}"] = max(functions[f"{where}: {name}"], tokens)
        lines.update({f"{where}:{line}": tokens for line, tokens in line_tokens(source).items()})
    return dict(functions.most_common()), dict(lines.most_common())


def notebook_tokens(path: Path) -> int:
    """Tokens of a notebook's code cells; IPython's own `%` and `!` lines are left out."""
    total = 0
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            lines = "".join(cell["source"]).splitlines()
            total += code_tokens(
                "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
            )
    return total


def count(folder: Path) -> int:
    """Tokens of all Python files and notebooks under a folder."""
    total = sum(code_tokens(path.read_text()) for path in folder.rglob("*.py"))
    notebooks = (path for path in folder.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
    return total + sum(notebook_tokens(path) for path in notebooks)


def rooms(folder: Path) -> dict[str, int]:
    """Tokens of each package: a subfolder, or a file beside the subfolders."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name != "__pycache__":
            found[path.name] = count(path)
        elif path.suffix == ".py":
            found[path.name] = code_tokens(path.read_text())
    for module, patterns in MODULES.items():
        for path in (path for pattern in patterns for path in folder.glob(pattern)):
            tokens = code_tokens(path.read_text())
            found[path.name if path.parent == folder else path.parent.name] -= tokens
            found[module] = found.get(module, 0) + tokens
    return {name: tokens for name, tokens in found.items() if tokens}


def core_size(library: dict[str, int]) -> int:
    """Floors 0 to 2, with the façade `__init__.py`."""
    return sum(tokens for name, tokens in library.items() if FLOOR_OF.get(name.removesuffix(".py"), 0) <= 2)


def general_size(library: dict[str, int]) -> int:
    """Tokens of the library to read: without the packages in MODULES."""
    return sum(tokens for room, tokens in library.items() if room not in MODULES)


def main() -> None:
    library = rooms(LIBRARY)
    tables = {
        "lib/sampan": library,
        "webapp": rooms(ROOT / "webapp"),
        "webapp/studio": rooms(ROOT / "webapp" / "studio"),
        "notebooks": {
            path.stem: notebook_tokens(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
        },
        "the rest": {name: count(ROOT / name) for name in ("tests", "benchmarks", "tools")},
    }
    for title, table in tables.items():
        print(f"{title}  ({sum(table.values()):,})")
        for name, tokens in table.items():
            floor = FLOOR_OF.get(name.removesuffix(".py")) if table is library else None
            print(f"  {tokens:7,}  {name}" + (f"  (floor {floor})" if floor is not None else ""))
    for title, table, limit in zip(
        ("functions", "lines"), parts(LIBRARY), (FUNCTION_LIMIT, LINE_LIMIT), strict=True
    ):
        print(f"largest {title} of the library (at most {limit:,})")
        for name, tokens in list(table.items())[:10]:
            print(f"  {tokens:7,}  {name}")
    print(f"\nfloors 0 to 2: {core_size(library):,} of at most {CORE_LIMIT:,} tokens")
    print(f"the library without {', '.join(MODULES)}: {general_size(library):,} of at most {LIBRARY_LIMIT:,}")


if __name__ == "__main__":
    main()
