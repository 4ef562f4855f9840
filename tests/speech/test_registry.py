"""Models by name: the order of the folders, cards, and the error that lists what there is."""

import pytest

from sampan.engine.errors import InvalidArgument
from sampan.speech import available_models, find_model, model_card, model_folders


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("SAMPAN_MODELS", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for place in ("one/alpha", "two/alpha", "two/beta", "cache/sampan/models/gamma"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "config.json").write_text("{}")
    (tmp_path / "two" / "no_model").mkdir()
    return tmp_path


def test_the_first_folder_of_a_name_counts(folders):
    found = available_models()
    assert found["alpha"] == folders / "one" / "alpha"
    assert found["beta"] == folders / "two" / "beta"
    assert found["gamma"] == folders / "cache" / "sampan" / "models" / "gamma"
    assert "no_model" not in found
    assert find_model("alpha") == find_model(folders / "one" / "alpha") == found["alpha"]
    assert model_folders()[:2] == [folders / "one", folders / "two"]


def test_an_unknown_name_lists_what_there_is(folders):
    with pytest.raises(InvalidArgument, match=r"got 'delta'; models: alpha, beta, gamma") as caught:
        find_model("delta")
    assert str(folders / "two") in str(caught.value)


def test_cards(folders):
    (folders / "one" / "alpha" / "README.md").write_text("# 模型", encoding="utf-8")
    assert model_card("alpha") == "# 模型"
    with pytest.raises(InvalidArgument, match=r"expected a card README.md, found none"):
        model_card("beta")
