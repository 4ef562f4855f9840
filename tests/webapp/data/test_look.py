"""What the page of a data set shows, for each kind of set that is on this machine."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from sampan import datasets
from studio.data import commands, look, shelf

KINDS = {
    "digits": {"images", "bars"},
    "coriolanus": {"texts"},
    "hotel_reviews": {"texts", "bars"},
    "fsdd": {"sounds", "bars"},
    "movielens_latest_small": {"table", "bars"},
    "modelnet10_voxels": {"points", "bars"},
    "meshes": {"points"},
    "cora": {"table", "bars"},
    "wn18rr": {"table"},
}


def test_every_data_set_has_a_card_and_a_way_to_load_it() -> None:
    found = {card["name"]: card for card in look.cards()}
    assert set(found) == set(datasets.cards())
    for name, card in found.items():
        assert card["version"] == datasets.card(name).version and len(card["version"]) == 12
        assert card["licence"] and card["licence_zh"] and card["title_zh"] and name in card["line"]
    assert len({card["version"] for card in found.values()}) == len(found)


@pytest.mark.parametrize(("name", "kinds"), KINDS.items(), ids=list(KINDS))
def test_a_look_has_examples(name: str, kinds: set[str]) -> None:
    if name not in datasets.available():
        pytest.skip(f"the data set {name} is not on this machine")
    blocks = look.look(name)
    assert {block["kind"] for block in blocks} >= kinds
    for block in blocks:
        assert block.get("items") or block.get("rows")
        if block["kind"] == "bars" and block["title"] == "classes":
            assert sum(count for _, count in block["items"]) > 0
    assert len(json.dumps(blocks)) < shelf.MAX_LINE_BYTES


def test_pictures_are_the_images_of_the_set() -> None:
    from io import BytesIO

    import numpy as np
    from PIL import Image

    shown = look.look("digits")[0]["items"]
    first = np.asarray(Image.open(BytesIO(base64.b64decode(shown[0]["png"]))))
    part = datasets.load("digits").train
    assert (first == (part.images[0] * (255 / 16)).astype(np.uint8)).all()
    assert shown[0]["label"] == str(part.labels[0]) and len(shown) == look.PICTURES


def test_a_look_is_asked_for_once_and_kept(tmp_path: Path) -> None:
    async def shown() -> tuple[list[dict[str, object]], float]:
        found = shelf.Shelf(tmp_path)
        try:
            card = {"name": "digits", "version": datasets.card("digits").version}
            while (blocks := found.look(card)) is None:
                await asyncio.sleep(0.05)
            (kept,) = tmp_path.iterdir()
            changed = kept.stat().st_mtime_ns
            assert found.look(card) == blocks and kept.stat().st_mtime_ns == changed
            kept.write_text("half of a fi")
            while (again := found.look(card)) is None:
                await asyncio.sleep(0.05)
            assert again == blocks
            with pytest.raises(shelf.LookError, match="there is no such data set"):
                while found.look({"name": "nothing", "version": "0"}) is None:
                    await asyncio.sleep(0.05)
            return blocks, changed
        finally:
            await found.close()

    blocks, _ = asyncio.run(shown())
    assert blocks[0]["kind"] == "images"


def test_the_command_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    from studio.cli import main

    assert main(["data", "list"]) == 0
    assert "digits                    here" in capsys.readouterr().out
    assert main(["data", "show", "digits"]) == 0
    assert datasets.card("digits").version in capsys.readouterr().out
    assert main(["data", "show", "nothing"]) == commands.NOT_HERE
    assert "sampan data list" in capsys.readouterr().err


def test_a_set_that_is_not_here_says_where_it_comes_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from studio.cli import main

    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["data", "show", "wn18rr"]) == commands.NOT_HERE
    assert str(tmp_path) in capsys.readouterr().err


def test_a_version_that_is_another_is_refused() -> None:
    mine = datasets.card("digits").version
    assert len(datasets.load("digits", version=mine).train) == datasets.card("digits").size["train"]
    with pytest.raises(ValueError, match=f"version: expected {mine}, that of digits here, got '0123'"):
        datasets.load("digits", version="0123")
