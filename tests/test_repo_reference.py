"""The API reference: it names what users import, shows its docstrings right, and its examples run."""

import doctest
import html
import importlib
import inspect
import re
import sys

import pytest
from docutils import nodes
from docutils.core import publish_doctree, publish_parts
from docutils.parsers.rst import roles

import sampan
from sampan import lazy
from tests import reference_site
from tools.parity import surface
from tools.reference import extension, names, notebooks, sources
from tools.reference.docstrings import to_rst

ENTRIES = names.entries()
EXAMPLES = sorted({m.full for e in ENTRIES.values() if (m := names.main_name(e.value)) and ">>> " in (m.value.__doc__ or "")})  # fmt: skip
roles.register_generic_role("py:obj", nodes.literal)


# --- names ---


@pytest.mark.parametrize("area", [a for a in surface.areas() if a not in surface.CLASSES])
def test_every_name_of_paddle_that_is_here_has_an_entry(area):
    """By Paddle's own list, which knows nothing of how the names are read from the modules."""
    module = area.replace("paddle", "sampan", 1)
    if module not in names.modules():
        pytest.skip(f"{module} is not a module of its own")
    values = {name: getattr(names.modules()[module], name, None) for name in surface.areas()[area]}
    here = [n for n, v in values.items() if inspect.isroutine(v) and str(v.__module__).startswith("sampan")]
    assert {name for name in here if f"{module}.{name}" not in ENTRIES} == set()


def test_every_method_of_tensor_has_an_entry():
    here = {name for name in surface.areas()["Tensor"] if name in vars(sampan.Tensor) and name[0] != "_"}
    assert len(here) > 500
    assert {name for name in here if f"sampan.Tensor.{name}" not in ENTRIES} == {
        "data",
        "persistable",
        "stop_gradient",
    }  # attributes


def test_every_public_function_and_class_has_a_docstring():
    """Also under the names that only Paddle's list has, which the reference leaves out."""
    found = {name: entry.value for name, entry in ENTRIES.items()}
    for module in ("sampan", *(f"sampan.{m}" for m in lazy.table().modules if m != ".")):
        for name in dir(importlib.import_module(module)):
            if not name.startswith("_"):
                found[f"{module}.{name}"] = getattr(sys.modules[module], name)
    here = {
        n: v
        for n, v in found.items()
        if callable(v) and str(getattr(v, "__module__", "")).startswith("sampan")
    }
    docs = {n: vars(v).get("__doc__") if isinstance(v, type) else v.__doc__ for n, v in here.items()}
    assert len(docs) > 2000
    assert [name for name, doc in docs.items() if not (doc or "").strip()] == []


def test_what_is_only_imported_has_no_entry():
    assert {"sampan.nn.Linear", "sampan.nn.functional.relu", "sampan.add", "sampan.float32"} <= ENTRIES.keys()
    assert "sampan.models.BagOfWords" in ENTRIES  # imported when it is first named
    assert (
        not {"sampan.Any", "sampan.import_module", "sampan.datasets.verify", "sampan.linalg.torch"}
        & ENTRIES.keys()
    )
    assert not [name for name in names.modules() if name.startswith(("sampan.ops", "sampan.kernels"))]


def test_other_names_of_one_thing_refer_to_it():
    assert names.main_name(sampan.Tensor.matmul).full == "sampan.matmul"
    assert names.main_name(sampan.linalg.matmul).full == "sampan.matmul"
    assert names.main_name(sampan.nn.Conv2d).full == "sampan.nn.Conv2D"
    assert names.main_name(sampan.add).full != names.main_name(sampan.subtract).full


# --- docstrings ---


def as_html(text, **how):
    body = publish_parts(
        "\n".join(to_rst(text, **how)), writer="html5", settings_overrides={"report_level": 2}
    )["body"]
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"</?(?:main|div)[^>]*>", "", body)).strip())


def test_prose_keeps_every_character():
    for text in (
        r"x * y * z, a|b| and add_ with f(x)_i \ 2 [1]_ <x> *args **settings",
        "2 ** 3 ** 4",
        "a - b; 1. b",
    ):
        assert as_html(text) == f"<p>{text}</p>"


def test_code_paragraphs_and_lists():
    assert as_html("The `x`s of `a*b`.") == (
        '<p>The <span class="docutils literal">x</span>s of <span class="docutils literal">a*b</span>.</p>'
    )
    assert as_html("Two:\n- a line\n  that goes on\n- b_") == (
        '<p>Two:</p> <ul class="simple"> <li><p>a line that goes on</p></li> <li><p>b_</p></li> </ul>'
    )


def test_parameters_are_a_list_and_errors_a_paragraph():
    found = as_html(
        "The sum. axis: an int.\nkeepdim: kept. Raises TypeError.", parameters=["axis", "keepdim"]
    )
    assert (
        found == "<p>The sum. axis: an int. keepdim: kept.</p> <p>Raises TypeError.</p>"
    )  # it begins with prose
    found = as_html(
        "The sum.\n\naxis: an int. keepdim: kept.\nRaises TypeError.", parameters=["axis", "keepdim"]
    )
    assert found == (
        '<p>The sum.</p> <ul class="simple"> <li><p><strong>axis</strong>: an int.</p></li>'
        " <li><p><strong>keepdim</strong>: kept.</p></li> </ul> <p>Raises TypeError.</p>"
    )


def test_blocks_of_text_and_examples_stay_as_they_are():
    assert "<pre" in as_html("As in::\n\n    p <- p - lr * g_\n\nThen.") and "lr * g_" in as_html(
        "As:\n\n    lr * g_"
    )
    assert "doctest" in as_html("Text.\n\n>>> 1 + 1\n2")


def test_every_docstring_is_read_without_a_warning():
    lines, places = [], []
    for name, entry in ENTRIES.items():
        doc = inspect.cleandoc(entry.value.__doc__ or "")
        added = [*to_rst(doc, extension._parameters(entry.value), extension.linked), "", f".. {name}", ""]
        lines += added
        places += [name] * len(added)
    tree = publish_doctree("\n".join(lines), settings_overrides={"report_level": 5})
    messages = [m for m in tree.findall(nodes.system_message) if "py:obj" not in m.astext()]
    assert [(places[m["line"] - 1], m.astext()) for m in messages] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_examples_run(name):
    doc = inspect.cleandoc(ENTRIES[name].value.__doc__)
    test = doctest.DocTestParser().get_doctest(doc, {"paddle": sampan, "sampan": sampan}, name, name, 0)
    printed = []
    failed, _ = doctest.DocTestRunner().run(test, out=printed.append)
    assert not failed, "".join(printed)


def test_the_most_used_names_have_examples():
    assert len(EXAMPLES) >= 20
    assert {"sampan.to_tensor", "sampan.matmul", "sampan.nn.Linear", "sampan.Tensor.backward"} <= set(
        EXAMPLES
    )


# --- source and notebooks ---


@pytest.mark.parametrize(
    ("module", "name", "page", "line"),
    [
        ("sampan", "matmul", "sampan.ops.linalg", "def matmul("),
        ("sampan", "Tensor.matmul", "sampan.ops.linalg", "def matmul("),
        ("sampan", "exp", "generated.elementwise", "def exp("),
        ("sampan.nn", "Linear", "sampan.nn.linear", "class Linear("),
        ("sampan.nn", "Linear.forward", "sampan.nn.linear", "def forward("),
        ("sampan.sparse", "sparse_coo_tensor", "sampan.sparse.creation", "def sparse_coo_tensor("),
    ],
)
def test_the_source_of_a_name(module, name, page, line):
    page_of, found = sources.pages()
    assert page_of[module, name] == page
    _, first, last = found[page].tags[name]
    shown = found[page].text.split("\n")[first - 1 : last]
    assert [text for text in shown if text.startswith(("@", "def", "class", "    def"))] and any(
        line in t for t in shown
    )


def test_every_function_has_a_page_of_source():
    page_of, _ = sources.pages()
    bare = {
        e.full for e in ENTRIES.values() if inspect.isfunction(e.value) and (e.module, e.name) not in page_of
    }
    assert bare == set()


def test_names_that_a_program_uses():
    program = """
import sampan as paddle
from sampan import nn
import sampan.nn.functional as F

@learn.exercise("ops.relu")
def relu(x): ...

F.dropout(nn.Linear(2, 3)(paddle.matmul(x, y))).paddle.sum()
other.nn.Conv2D(text="paddle.add")
"""
    found = {e.full for value in notebooks.values_used(program) if (e := names.main_name(value))}
    assert found == {f"sampan.{name}" for name in ("relu", "nn.functional.dropout", "nn.Linear", "matmul")}


def test_notebooks_that_use_a_name():
    used = {name: [path.stem for path in paths] for name, paths in notebooks.users().items()}
    assert "00_orientation" in used[names.main_name(sampan.nn.functional.relu).full]
    assert "06_embeddings" in used["sampan.learn.exercise"] and "sampan.linalg.pinv" not in used
    assert notebooks.title(notebooks.FOLDER / "03_kernels.ipynb") == "03 Kernels"


# --- a page, built ---


def test_a_page_is_built_without_a_warning(tmp_path):
    built = reference_site.build(tmp_path)
    page = (built / "reference" / "sampan.learn.html").read_text("utf-8")
    assert 'id="sampan.learn.exercise"' in page
    (source_link,) = set(re.findall(r'href="(\.\./_modules/[^"]+)#exercise"', page))
    assert 'id="exercise"' in (built / "reference" / source_link).read_text("utf-8")
    assert 'href="../../../notebooks/06_embeddings.ipynb"' in page
    asked = re.findall(r"""(?:src|href)=["']((?:https?:)?//[^"']+)""", page)
    assert [
        url for url in asked if re.search(r"\.(?:js|css|woff2?|png|svg)\b", url)
    ] == []  # nothing is fetched
    assert "exercise" in (built / "searchindex.js").read_text("utf-8")
