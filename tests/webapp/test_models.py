"""The models that the Studio lists: shipped and saved, their facts, cards and zips. Oracle: the safetensors package."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from studio import i18n, models
from studio.models import TooLarge, all_models, shipped_folder
from studio.server.models import described


class Harmful:
    """A pickle that writes a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.path),))


def saved(workspace: Path, name: str = "mine", card: str = "", config: Any = None) -> Path:
    folder = workspace / "models" / name
    folder.mkdir(parents=True)
    save_file({"w": np.ones((3, 4), np.float32), "b": np.ones(4, np.float32)}, folder / "model.safetensors")
    if card:
        (folder / "README.md").write_text(card)
    if config is not None:
        (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder


def test_the_shipped_models_have_a_card_a_licence_and_a_count(tmp_path: Path) -> None:
    found = all_models(tmp_path)
    assert {"fsdd_digits", "wenetspeech_zh", "mandarin_voice"} <= {model.name for model in found}
    for model in found:
        assert model.origin == "shipped" and model.text.strip() and model.parameters and model.input, (
            model.name
        )
        assert all(f"models.shipped.{model.name}" in i18n.catalog(lang) for lang in i18n.LANGUAGES)
        assert model.licence.lower().replace(" ", "-") == "cc-by-sa-4.0", model.name
        assert model.bytes == sum(path.stat().st_size for path in (shipped_folder() / model.name).iterdir())
    voice = next(
        model for model in found if model.name == "mandarin_voice"
    )  # whose card names rounded counts only
    with safe_open(voice.path / "model.safetensors", "numpy") as file:
        assert voice.parameters == sum(int(np.prod(file.get_slice(key).get_shape())) for key in file.keys())  # noqa: SIM118  it is no dict


def test_a_saved_model_is_a_folder_with_weights_or_a_card_or_a_file_of_weights(tmp_path: Path) -> None:
    saved(tmp_path, config={"model_type": "mlp"})
    (tmp_path / "models" / "one.npz").write_bytes(b"x")
    (tmp_path / "models" / "notes.txt").write_text("no weights")
    (tmp_path / "models" / "empty").mkdir()
    (tmp_path / "models" / ".hidden").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.safetensors").write_bytes(b"secret")
    (tmp_path / "models" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "models" / "mine" / "inside.pdparams").symlink_to(tmp_path / "secret" / "key.safetensors")
    found = [model for model in all_models(tmp_path) if model.origin == "saved"]
    assert [model.name for model in found] == ["mine", "one.npz"]
    assert (found[0].kind, found[0].input, found[0].parameters) == ("mlp", "digit", 16)
    assert [path.name for path in found[0].files] == ["config.json", "model.safetensors"]
    assert found[1].parameters is None and found[1].bytes == 1


def test_no_pickle_is_opened(tmp_path: Path) -> None:
    folder, trap = tmp_path / "models" / "trap", tmp_path / "opened"
    folder.mkdir(parents=True)
    for name in ("model.pdparams", "model.safetensors", "config.json", "README.md"):
        (folder / name).write_bytes(pickle.dumps(Harmful(trap)))
    (model,) = (model for model in all_models(tmp_path) if model.origin == "saved")
    assert described(model)["parameters"] is None and model.kind == ""
    model.pack(io.BytesIO())
    assert not trap.exists()


@pytest.mark.parametrize("config", ["[]", "{", '{"model_type": 3}', "\x00"])
def test_a_damaged_configuration_has_no_kind(tmp_path: Path, config: str) -> None:
    saved(tmp_path, config=config)
    (model,) = (model for model in all_models(tmp_path) if model.origin == "saved")
    assert model.kind == model.input == ""


def test_html_and_bad_links_of_a_card_are_text(tmp_path: Path) -> None:
    card = "---\nlicense: mit\n---\n# mine: a <b>net\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) **bold**\n\n|a|b|\n|-|-|\n|1|2|\n"
    saved(tmp_path, card=card)
    (model,) = (model for model in all_models(tmp_path) if model.origin == "saved")
    shown = described(model)
    assert (shown["licence"], shown["lead"]) == ("mit", "a <b>net")
    assert "<script" not in shown["card"] and 'href="javascript' not in shown["card"]
    assert (
        "<strong>bold</strong>" in shown["card"]
        and "<table>" in shown["card"]
        and "license" not in shown["card"]
    )
    assert described(model, card=False)["card"] == ""


def test_a_download_is_the_folder_and_a_large_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(tmp_path, card="# mine\n")
    (model,) = (model for model in all_models(tmp_path) if model.origin == "saved")
    into = io.BytesIO()
    model.pack(into)
    with zipfile.ZipFile(into) as archive:
        assert archive.namelist() == ["mine/README.md", "mine/model.safetensors"]
        assert archive.read("mine/model.safetensors") == (folder / "model.safetensors").read_bytes()
    monkeypatch.setattr(models, "MOST_ZIP", 10)
    with pytest.raises(TooLarge):
        model.pack(io.BytesIO())
