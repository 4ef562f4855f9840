"""hub: models of a local folder; nothing is downloaded."""

import pytest

import sampan
from sampan import hub

CONF = '''
import sampan as paddle

dependencies = ["numpy"]


def small(width=3):
    """A small model."""
    return paddle.nn.Linear(width, 2)


def _helper():
    return None
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(CONF)
    return str(tmp_path)


def test_models_of_a_folder(folder):
    assert "small" in hub.list(folder, source="local")
    assert "_helper" not in hub.list(folder, source="local")
    assert hub.help(folder, "small", source="local") == "A small model."
    assert hub.load(folder, "small", source="local", width=5).weight.shape == [5, 2]


def test_refusals(folder, tmp_path):
    with pytest.raises(NotImplementedError, match="nothing is downloaded"):
        hub.list("someone/something")
    with pytest.raises(ValueError, match="expected 'local'"):
        hub.list(folder, source="elsewhere")
    with pytest.raises(RuntimeError, match=r"hubconf\.py"):
        hub.list(str(tmp_path / "nowhere"), source="local")
    with pytest.raises(RuntimeError, match=r"no 'large'.*small"):
        hub.load(folder, "large", source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']\n")
    with pytest.raises(ImportError, match="no_such_package"):
        hub.list(folder, source="local")


def test_weights_that_lie_there_already(tmp_path):
    sampan.save({"w": sampan.ones([2])}, str(tmp_path / "w.safetensors"))
    address = "https://example.org/files/w.safetensors"
    assert hub.load_state_dict_from_url(address, str(tmp_path))["w"].tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match="yourself"):
        hub.load_state_dict_from_url("https://example.org/other.safetensors", str(tmp_path))
