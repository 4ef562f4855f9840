"""Uploaded data sets as they are loaded: the types that come back, and that a changed file is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from sampan import datasets
from studio.uploads import examine, loading
from studio.uploads.refusal import Refusal
from studio.uploads.store import Store
from tests.webapp.uploads import files
from tests.webapp.uploads.putting import put


def test_a_changed_file_is_not_loaded(store: Store) -> None:
    card = put(store, files.CSV, "a.csv")
    path = store.folder / "notes" / card["version"] / card["file"]
    path.write_bytes(files.CSV.replace(b"36", b"37"))
    with pytest.raises(ValueError, match="sha256"):
        datasets.load("notes")


def test_a_table_is_loaded_as_columns(store: Store) -> None:
    put(store, "名;age;code\n张;;007\n李;3;1\n".encode("utf-16"), "a.csv")
    table = datasets.load("notes")
    assert isinstance(table, loading.Table) and len(table) == 2
    assert table.columns["名"].tolist() == ["张", "李"] and table.columns["code"].tolist() == ["007", "1"]
    assert np.isnan(table.columns["age"][0]) and table[1] == {"名": "李", "age": 3.0, "code": "1"}


def test_tables_of_a_zip(store: Store) -> None:
    put(store, files.zipped(("train.csv", files.CSV), ("test.csv", b"name,age,score\nX,1,2\n")), "a.zip")
    tables = datasets.load("notes")
    assert len(tables["train.csv"]) == 3 and tables["test.csv"][0] == {"name": "X", "age": 1, "score": 2}
    put(store, files.zipped(("only.csv", files.CSV)), "a.zip")
    assert len(datasets.load("notes")) == 3


def test_arrays_are_loaded(store: Store) -> None:
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    put(store, files.npz(x=x, y=np.array(["a", "bc"])), "a.npz")
    arrays = datasets.load("notes")
    assert (arrays["x"] == x).all() and arrays["y"].tolist() == ["a", "bc"]
    put(store, files.npy(x), "a.npy")
    assert (datasets.load("notes")["array"] == x).all()


def test_images_are_loaded(store: Store) -> None:
    pixels = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    grey = files.image(6, 6, mode="L", shade=51)
    put(
        store,
        files.zipped(("p/dog/1.png", out.getvalue()), ("p/cat/1.png", grey), (".DS_Store", b"")),
        "a.zip",
    )
    images = datasets.load("notes")
    assert len(images) == 2 and images.classes == ("cat", "dog") and images.labels.tolist() == [0, 1]
    picture, label = images[1]
    assert picture.dtype == np.float32 and label.tolist() == [1]
    assert np.allclose(picture, pixels.transpose(2, 0, 1) / 255)
    assert np.allclose(images[0][0], 0.2) and images[0][0].shape == (3, 6, 6)


def test_sounds_are_loaded(store: Store) -> None:
    samples = np.array([[0, 100], [2**14, -(2**14)], [5, 6]], "<i2")
    put(store, files.wav(samples, rate=8000, channels=2), "a.wav")
    ((waveform, rate, label),) = datasets.load("notes")
    assert rate == 8000 and label == 0 and np.allclose(waveform.numpy(), samples.T / 2**15)
    put(store, files.zipped(("yes/1.wav", files.wav()), ("no/1.wav", files.wav())), "a.zip")
    sounds = datasets.load("notes")
    assert sounds.classes == ("no", "yes") and sounds[1][2] == 1 and sounds[0][0].shape == [1, 1600]


def test_a_parquet_file(store: Store) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    parquet = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    table = pyarrow.table({"i": [1, 2], "x": [0.5, None], "t": ["a", None], "b": [True, False]})
    parquet.write_table(table, out)
    put(store, out.getvalue(), "a.parquet")
    columns = datasets.load("notes").columns
    assert columns["i"].tolist() == [1, 2] and columns["b"].dtype == bool
    assert columns["t"].tolist() == ["a", ""] and np.isnan(columns["x"][1])
    whole = out.getvalue()
    for place in range(
        4, len(whole) - 12, 37
    ):  # damage anywhere is refused or harmless, never an error of ours
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        try:
            examine.examine(io.BytesIO(damaged), "a.parquet")
        except Refusal:
            continue
    nested = io.BytesIO()
    parquet.write_table(pyarrow.table({"l": [[1], [2]]}), nested)
    with pytest.raises(Refusal, match="column l"):
        examine.examine(nested, "a.parquet")
