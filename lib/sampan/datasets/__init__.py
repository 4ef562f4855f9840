"""Real data by name: `load("mnist").train`, `load_text("coriolanus").train`,
`load_texts("hotel_reviews").train`, `load_corpus("hotel_reviews")`, `load_graph("cora").graph`.

Searched, in this order, in the project's own `datasets/`, the folders of `SAMPAN_DATA`, and the user's
cache; with `download=True`, also fetched from the official source into the cache. Every file is checked
against the checksum on its card before it is read. Used in notebooks 00, 02, 03 and 04.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

from ..io import Dataset
from . import graphs, interactions, places, point_clouds, readers
from .card_file import Card, File, Layout, read_card
from .checksums import verify
from .corpora import load_corpus
from .download import Progress, fetch, print_progress
from .graphs import GraphSet, load_graph
from .interactions import Ratings, load_ratings
from .labelled_texts import LABELLED, LabelledTexts, Texts, load_texts
from .recordings import RECORDINGS, load_recordings

# fmt: off
__all__ = [
    "Bundle", "Card", "File", "GraphSet", "LabelledTexts", "Layout", "Ratings", "Split", "Text", "Texts",
    "available", "card", "cards", "how_to_get", "interactions", "load", "load_corpus", "load_graph",
    "load_ratings", "load_recordings", "load_text", "load_texts", "point_clouds",
]
# fmt: on


SOURCES = "sampan.datasets"  # the group of entry points
# The function of this module that loads what a reader reads.
LOADERS = (
    dict.fromkeys(("idx", "npz", "scikit-learn"), "load")
    | {"text": "load_text", "ratings": "load_ratings"}
    | dict.fromkeys(LABELLED, "load_texts")
    | dict.fromkeys(RECORDINGS, "load_recordings")
    | dict.fromkeys(graphs.MADE, "load_graph")
    | {"voxels": "point_clouds.load_shapes", "meshes": "point_clouds.load_meshes"}
)


class Split(Dataset):
    """One part of an image data set: a map-style data set of (image, label).

    images: as stored, uint8 [N, H, W] or [N, H, W, 3]; labels: int64 [N].
    An item is (float32 [channels, H, W] scaled to 0..1, int64 [1]).
    """

    def __init__(self, images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], scale: int) -> None:
        self.images = images
        self.labels = labels.astype(np.int64)
        self._factor = np.float32(1.0 / scale)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        images, labels = self.__getitems__([index])
        return images[0], labels[0]

    def __getitems__(self, indices: Sequence[int]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """A whole batch at once, as Sampan's DataLoader requests it: [batch, channels, H, W] and [batch,
        1]."""
        images = np.multiply(self.images[indices], self._factor, dtype=np.float32)
        if images.ndim == 3:
            images = images[:, None]  # [batch, H, W] -> [batch, 1, H, W]
        else:
            # [batch, H, W, 3] -> [batch, 3, H, W]
            images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
        return images, self.labels[indices, None]


@dataclass(frozen=True)
class Bundle:
    """A loaded data set: its card, the layout that was found, and its two parts."""

    card: Card
    layout: Layout
    train: Split
    test: Split


@dataclass(frozen=True)
class Text:
    """A loaded text: its card, the layout that was found, and its two parts, the second the end of the
    first's text."""

    card: Card
    layout: Layout
    train: str
    test: str


def cards() -> dict[str, Card]:
    """All cards by name; the first folder that contains a name wins, as for the data."""
    found: dict[str, Card] = {}
    for folder in places.folders():
        for path in sorted(folder.glob("*/card.toml")):
            if path.parent.name not in found:
                found[path.parent.name] = read_card(path)
    return found


def card(name: str) -> Card:
    """The card of one data set, whether or not its data are present; ValueError for an unknown name."""
    known = cards()
    if name not in known:
        raise ValueError(f"name is {name!r}, there is no such data set; known are: {', '.join(known)}")
    return known[name]


def available() -> list[str]:
    """Names of the data sets that `load` finds without network access."""
    return [name for name, known in cards().items() if _find(known) is not None]


def load(
    name: str, download: bool = False, progress: Progress = print_progress, version: str | None = None
) -> Any:
    """The data set of this name: a `Bundle`, or what another source has under it, such as an uploaded set.

    Other sources are functions of (name, version) that installed packages name as entry points of the group
    "sampan.datasets"; they return None for a name that they do not have, and are asked for names without a
    card.

    version: that of its card (`datasets.card(name).version`), so that a program stops at other data. Of an
    uploaded set: which of its versions; None is the one that was added last.

    download: fetch the official files into the user's cache where no folder holds the set;
    progress(file, bytes so far, bytes in all) is then called as they arrive.

    ValueError: an unknown name; another version; a damaged or foreign file. FileNotFoundError: the set is not
    found; the message says how to get it. OSError: the download was interrupted (call again to resume).
    """
    if name not in cards():
        for source in entry_points(group=SOURCES):
            if (found := source.load()(name, version)) is not None:
                return found
    if version not in (None, card(name).version):
        raise ValueError(f"version: expected {card(name).version}, that of {name} here, got {version!r}")
    known, layout, arrays = _arrays(name, download, progress)
    if "train_images" not in arrays:
        way = LOADERS[layout.reader]
        raise ValueError(f"load: expected a set of images, got {name!r}, which {way}({name!r}) reads")
    return Bundle(known, layout, *(_split(known, layout, arrays, part) for part in ("train", "test")))


def load_text(name: str, download: bool = False, progress: Progress = print_progress) -> Text:
    """The text of this name; search, checks and errors as in `load`."""
    known, layout, arrays = _arrays(name, download, progress)
    if layout.reader != "text":
        raise ValueError(
            f"{name} is not a single text but a set read by {layout.reader!r}: use load or load_texts"
        )
    whole = arrays["text"].tobytes().decode()
    if len(whole) != layout.train + layout.test:
        stated = f"{layout.train:,} and {layout.test:,}"
        raise ValueError(f"{name}: expected {stated} characters by its card, got {len(whole):,}")
    return Text(known, layout, whole[: layout.train], whole[layout.train :])


def _arrays(name: str, download: bool, progress: Progress) -> tuple[Card, Layout, readers.Arrays]:
    """Card, layout and content of a data set, found or fetched, and verified."""
    known = card(name)
    found = _find(known)
    if found is None:
        official = next((layout for layout in known.layouts if layout.downloadable), None)
        if not download or official is None:
            raise FileNotFoundError(how_to_get(known))
        for file in official.files.values():
            target = places.cache() / name / file.path
            if not target.exists():
                fetch(file, target, progress)
        found = _find(known)
        assert found is not None
    layout, paths = found
    for role, path in paths.items():
        verify(path, layout.files[role].sha256)
    arrays = readers.READERS[layout.reader][1](paths)
    if not paths:
        _check_package(known, layout, arrays)
    return known, layout, arrays


def _find(known: Card) -> tuple[Layout, dict[str, Path]] | None:
    """The first layout whose files are all in one folder. A layout inside a package has no paths."""
    for folder in places.folders():
        for layout in known.layouts:
            if layout.reader == "scikit-learn":
                if readers.has_scikit_learn():
                    return layout, {}
                continue
            paths = {role: folder / layout.folder / file.path for role, file in layout.files.items()}
            if all(path.is_file() for path in paths.values()):
                return layout, paths
    return None


def _split(known: Card, layout: Layout, arrays: readers.Arrays, part: str) -> Split:
    images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
    count = getattr(layout, part)
    if len(images) != count or labels.shape != (count,) or images.ndim not in (3, 4):
        got = f"images {list(images.shape)} and labels {list(labels.shape)}"
        raise ValueError(f"{known.name}: the {part} part has {got}, its card says {count} of each")
    if images.dtype != np.uint8 or labels.dtype.kind not in "iu":
        got = f"images are {images.dtype} and labels {labels.dtype}"
        raise ValueError(f"{known.name}: {got}, expected uint8 and integers")
    if labels.min() < 0 or labels.max() >= len(known.classes):
        got = f"its labels run from {labels.min()} to {labels.max()}"
        raise ValueError(f"{known.name}: the {part} part lies outside 0 to {len(known.classes) - 1}: {got}")
    return Split(images, labels, known.scale)


def _check_package(known: Card, layout: Layout, arrays: readers.Arrays) -> None:
    found, expected = readers.array_checksum(arrays), layout.files["arrays"].sha256
    if found != expected:
        why = f"sha256 {found}, expected {expected}"
        raise ValueError(f"{known.name}: the installed package holds other data than its card says: {why}")


def how_to_get(known: Card) -> str:
    """Where the files of a data set are looked for, and where they come from."""
    if any(layout.reader == "scikit-learn" for layout in known.layouts):
        return f"{known.name} comes with scikit-learn, which is not installed: pip install scikit-learn"
    files = [" and ".join(file.path for file in layout.files.values()) for layout in known.layouts]
    ways = "; or ".join(f"{f} ({layout.title})" for f, layout in zip(files, known.layouts, strict=True))
    under = known.layouts[0].folder
    looked = ", ".join(str(folder / under) for folder in places.folders())
    text = f"{known.name} is not on this machine. Looked in {looked}. "
    text += f"Set SAMPAN_DATA to a folder that holds, under {under}/, either {ways}."
    if any(layout.downloadable for layout in known.layouts):
        call = f"sampan.datasets.load({known.name!r}, download=True)"
        text += f" Or let it be fetched from its official source: {call}."
    return text + f" About it: {known.source}"
