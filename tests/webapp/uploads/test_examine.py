"""What is taken, and one file for each attack."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.uploads import bounds
from studio.uploads.examine import examine, examined
from studio.uploads.refusal import Refusal
from tests.webapp.uploads import files
from tests.webapp.uploads.files import ATTACKS, Attack


def found(content: bytes, name: str) -> dict[str, Any]:
    told = examine(io.BytesIO(content), name)
    assert json.loads(json.dumps(told)) == told
    return told


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=[name.replace(" ", "-") for name in ATTACKS])
def test_each_attack_is_refused_and_says_where(attack: Attack) -> None:
    name, content, key, where = attack
    with pytest.raises(Refusal) as refused:
        examine(io.BytesIO(content()), name)
    assert refused.value.key == key, refused.value
    assert where in str(refused.value)
    chinese = refused.value.words("zh")
    assert chinese != str(refused.value) and "\x1b" not in chinese and "{" not in chinese


def test_a_table_and_its_types() -> None:
    told = found(b"id;when;code;x;empty\n1;2024-01-01;007;-1.5;\n2;;012;nan;\n3;x;1;1e-3;\n", "t.csv")
    (form,) = told["tables"].values()
    assert form["columns"] == {
        "id": "int64",
        "when": "object",
        "code": "object",
        "x": "float64",
        "empty": "object",
    }
    assert form["delimiter"] == ";" and told["items"] == 3 and told["kind"] == "tables"
    assert told["blocks"][0]["rows"][0] == ["1", "2024-01-01", "007", "-1.5", ""]
    assert ["id", "int64", "0", "1", "2", "3"] in told["blocks"][1]["rows"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_a_table(encoding: str) -> None:
    told = found("名,年\n张,3\n李,4\n".encode(encoding), "t.csv")
    assert told["schema"] == {"名": "object", "年": "int64"} and told["blocks"][0]["rows"][1] == ["李", "4"]


def test_a_cell_with_line_breaks_quotes_and_a_sign_is_no_attack() -> None:
    told = found(b'a,b\n"x\n""y""",-5\n@ada,+1\n"- no",-2e3\n', "t.csv")
    assert told["items"] == 3 and told["schema"]["b"] == "float64"


def test_arrays() -> None:
    images = np.arange(10 * 8 * 8, dtype=np.uint8).reshape(10, 8, 8)
    told = found(files.npz(images=images, labels=np.arange(10) % 3), "a.npz")
    assert told["schema"] == {"images": "uint8 [10, 8, 8]", "labels": "int64 [10]"} and told["items"] == 10
    kinds = [block["kind"] for block in told["blocks"]]
    assert kinds == ["table", "images", "bars"]
    assert told["blocks"][2]["items"] == [["0", 4], ["1", 3], ["2", 3]]
    single = found(files.npy(np.linspace(0, 1, 5)), "x.npy")
    assert single["blocks"][0]["rows"] == [["x", "float64", "[5]", "0", "0.5", "1"]]


def test_images_in_folders() -> None:
    members = [(f"pets/{kind}/{i}.png", files.image(8 + i, 8)) for kind in ("cat", "dog") for i in range(3)]
    told = found(files.zipped(*members, ("__MACOSX/pets/._0.png", b"x"), ("pets/.DS_Store", b"y")), "a.zip")
    assert told["classes"] == ["cat", "dog"] and told["items"] == 6 and told["channels"] == 3
    assert told["members"] == [name for name, _ in members]
    assert told["schema"]["image"] == "uint8 [3, H, W], H x W: 8 x 8..10"
    assert len(told["blocks"][0]["items"]) == 6 and told["blocks"][1]["items"] == [["cat", 3], ["dog", 3]]
    assert found(files.zipped(("a/1.jpg", files.image(form="JPEG", mode="L"))), "a.zip")["channels"] == 1


@pytest.mark.parametrize(
    ("samples", "form"),
    [
        (np.array([0, 128, 255, 128], "u1"), 1),
        (np.array([0, -(2**15), 2**14], "<i2"), 1),
        (np.array([0, -(2**31), 2**30], "<i4"), 1),
        (np.array([0.0, -1.0, 0.5], "<f4"), 3),
        (np.array([0.0, -1.0, 0.5], "<f8"), 3),
    ],
    ids=["u8", "i16", "i32", "f32", "f64"],
)
def test_a_sound(samples: np.ndarray, form: int) -> None:
    told = found(files.wav(samples, form=form), "a.wav")
    wave = told["blocks"][0]["items"][0]["wave"]
    assert max(wave) == 1.0 and told["items"] == 1 and "16000 Hz" in told["schema"]["sound"]


def test_a_zip_of_sounds_and_one_of_tables() -> None:
    told = found(files.zipped(("yes/1.wav", files.wav()), ("no/1.wav", files.wav(rate=8000))), "a.zip")
    assert told["classes"] == ["no", "yes"] and "8000, 16000 Hz" in told["schema"]["sound"]
    told = found(files.zipped(("train.csv", files.CSV), ("test.csv", files.CSV)), "a.zip")
    assert set(told["tables"]) == {"train.csv", "test.csv"} and told["items"] == 6


def test_overlapping_members_are_refused() -> None:
    """A bomb whose members share their packed bytes: the ratio of each is small."""
    content = bytearray(files.zipped(("a.csv", files.CSV), ("b.csv", files.CSV)))
    second = content.rfind(b"PK\x01\x02")
    content[second + 42 : second + 46] = bytes(4)  # it begins where the first one does
    with pytest.raises(Refusal) as refused:
        examine(io.BytesIO(content), "a.zip")
    assert refused.value.key == "damaged"


def test_no_pyarrow_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(Refusal, match="pyarrow"):
        examine(io.BytesIO(b"PAR1" + bytes(20) + b"PAR1"), "a.parquet")


# ---- the limited process


def test_the_process_answers_and_refuses(tmp_path: Path) -> None:
    async def both() -> None:
        good, bad = tmp_path / "good", tmp_path / "bad"
        good.write_bytes(files.zipped(("cat/1.png", files.image()), ("dog/1.png", files.image())))
        bad.write_bytes(files.OBJECTS)
        told = await examined(good, "a.zip")
        assert told["classes"] == ["cat", "dog"]
        with pytest.raises(Refusal) as refused:
            await examined(bad, "a.npy")
        assert refused.value.key == "objects"

    asyncio.run(both())


def test_a_reader_that_needs_too_much_time_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.csv", files.CSV)
    path.write_bytes(out.getvalue())
    monkeypatch.setattr(bounds, "EXAMINE_S", 0.01)
    with pytest.raises(Refusal) as refused:
        asyncio.run(examined(path, "a.zip"))
    assert refused.value.key == "slow"
