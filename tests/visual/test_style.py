"""Without plotly, the error names the extra."""

import sys

import pytest
import torch

from sampan import visual


def test_without_plotly_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r"sampan\[course\]"):
        visual.strides(torch.zeros(2))
