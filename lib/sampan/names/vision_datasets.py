"""Paddle's data sets of images, from local files: nothing is downloaded.

MNIST and Cifar10 without files are looked for as `sampan.datasets.load` does, which also says how to get
them.
"""

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from ..datasets.readers import read_idx
from ..dtype import get_default_dtype
from ..engine.tensor import InvalidArgument
from ..io import Dataset
from ..pickled import _Restricted
from ..vision.image import get_image_backend, image_load

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

__all__ = [
    "MNIST",
    "VOC2012",
    "Cifar10",
    "Cifar100",
    "DatasetFolder",
    "FashionMNIST",
    "Flowers",
    "ImageFolder",
]


def local_file(path: Any, argument: str, source: str) -> str:
    """`path` of an existing file, or a sentence that says where it comes from."""
    if not path or not os.path.exists(path):
        raise FileNotFoundError(
            f"{argument}: {path or 'no file given'}; nothing is downloaded here: "
            f"get {source}, and give its path as {argument}="
        )
    return str(path)


def chosen(mode: str, modes: dict[str, Any]) -> Any:
    """The data set's own spelling of `mode`."""
    if mode.lower() not in modes:
        raise InvalidArgument(f"mode: expected one of {', '.join(modes)}, got {mode!r}")
    return modes[mode.lower()]


class _Images(Dataset):
    """(image, label int64 [1]): PIL images, or with backend "cv2" arrays in the default dtype; then
    `transform`."""

    def _settle(self, transform: Any, backend: Any) -> None:
        self.transform, self.backend, self.dtype = (
            transform,
            backend or get_image_backend(),
            get_default_dtype(),
        )
        if self.backend not in ("pil", "cv2"):
            raise InvalidArgument(f"backend: expected 'pil' or 'cv2', got {self.backend!r}")

    def _item(self, pixels: Any, label: Any) -> tuple[Any, Any]:
        from PIL import Image

        if self.backend == "pil" and isinstance(pixels, np.ndarray):
            pixels = Image.fromarray(pixels)
        elif self.backend == "cv2" and not isinstance(pixels, np.ndarray):
            pixels = np.array(pixels)
        pixels = pixels if self.transform is None else self.transform(pixels)
        return (pixels.astype(self.dtype) if self.backend == "cv2" else pixels), label


class MNIST(_Images):
    """Handwritten digits, 28x28 (LeCun et al., 1998): 60,000 to train, 10,000 to test.

    image_path, label_path: the official IDX files of this mode, gzipped or not.
    """

    NAME = "mnist"

    def __init__(
        self, image_path=None, label_path=None, mode="train", transform=None, download=True, backend=None
    ):
        self.mode = mode.lower()
        prefix = chosen(mode, {"train": "train", "test": "t10k"})
        self._settle(transform, backend)
        if image_path is None and label_path is None and self.NAME == "mnist":
            found = getattr(datasets.load("mnist"), self.mode)
            self.images, self.labels = found.images, found.labels
        else:
            paths = [
                local_file(path, f"{part}_path", f"{prefix}-{part}s-idx{axes}-ubyte.gz of {self.NAME}")
                for path, part, axes in ((image_path, "image", 3), (label_path, "label", 1))
            ]
            self.images, self.labels = (read_idx(Path(path)) for path in paths)

    def __getitem__(self, idx: Any) -> Any:
        return self._item(self.images[idx], np.array([self.labels[idx]], np.int64))

    def __len__(self) -> int:
        return len(self.labels)


class FashionMNIST(MNIST):
    """Pieces of clothing in MNIST's format (Xiao, Rasul and Vollgraf, 2017)."""

    NAME = "fashion-mnist"


class Cifar10(_Images):
    """Colour images, 32x32, of ten classes (Krizhevsky, 2009). data_file: cifar-10-python.tar.gz."""

    _archive, _parts = "cifar-10-python.tar.gz", {"train": "data_batch", "test": "test_batch"}

    def __init__(self, data_file=None, mode="train", transform=None, download=True, backend=None):
        self.mode, flag = mode.lower(), chosen(mode, self._parts)
        self._settle(transform, backend)
        self.data: list[tuple[np.ndarray, int]] = []
        if data_file is None and type(self) is Cifar10:
            found = getattr(datasets.load("cifar10"), self.mode)
            self.data = list(zip(found.images, found.labels.tolist(), strict=True))
            return
        source = f"{self._archive} from https://www.cs.toronto.edu/~kriz/cifar.html"
        with tarfile.open(local_file(data_file, "data_file", source)) as archive:
            for name in sorted(member.name for member in archive if flag in os.path.basename(member.name)):
                batch = _Restricted(io.BytesIO(archive.extractfile(name).read()), encoding="bytes").load()
                pictures = batch[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
                self.data += zip(pictures, batch.get(b"labels", batch.get(b"fine_labels")), strict=True)

    def __getitem__(self, idx: Any) -> Any:
        pixels, label = self.data[idx]
        return self._item(np.ascontiguousarray(pixels), np.array(label, np.int64))

    def __len__(self) -> int:
        return len(self.data)


class Cifar100(Cifar10):
    """Colour images, 32x32, of a hundred classes. data_file: cifar-100-python.tar.gz."""

    _archive, _parts = "cifar-100-python.tar.gz", {"train": "train", "test": "test"}


class Flowers(_Images):
    """Flowers of 102 classes (Nilsback and Zisserman, 2008). Files: 102flowers.tgz, imagelabels.mat,
    setid.mat."""

    def __init__(
        self,
        data_file=None,
        label_file=None,
        setid_file=None,
        mode="train",
        transform=None,
        download=True,
        backend=None,
    ):
        flag = chosen(
            mode, {"train": "tstid", "test": "trnid", "valid": "valid"}
        )  # Paddle trains on the larger part
        self._settle(transform, backend)
        source = "{} from https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
        data_file = local_file(data_file, "data_file", source.format("102flowers.tgz"))
        label_file = local_file(label_file, "label_file", source.format("imagelabels.mat"))
        setid_file = local_file(setid_file, "setid_file", source.format("setid.mat"))
        from scipy.io import loadmat

        self.labels, self.indexes = loadmat(label_file)["labels"][0], loadmat(setid_file)[flag][0]
        self.data_path = data_file.removesuffix(".tgz") + "/"
        if not os.path.exists(
            folder := self.data_path + "jpg"
        ):  # a compressed archive has no way in but from its start
            os.makedirs(folder)
            with tarfile.open(data_file) as archive:
                # By name, so that nothing is written elsewhere: `extractall` has a filter only since Python
                # 3.11.4.
                for one in (
                    m for m in archive if m.isfile() and os.path.dirname(os.path.normpath(m.name)) == "jpg"
                ):
                    Path(folder, os.path.basename(one.name)).write_bytes(archive.extractfile(one).read())

    def __getitem__(self, idx: Any) -> Any:
        index = self.indexes[idx]
        return self._item(
            image_load(f"{self.data_path}jpg/image_{index:05}.jpg", "pil"),
            np.array([self.labels[index - 1]], np.int64),
        )

    def __len__(self) -> int:
        return len(self.indexes)


class VOC2012(_Images):
    """Images and the class of each pixel (Everingham et al., 2012). data_file:
    VOCtrainval_11-May-2012.tar."""

    def __init__(self, data_file=None, mode="train", transform=None, download=True, backend=None):
        flag = chosen(mode, {"train": "trainval", "test": "train", "valid": "val"})
        self._settle(transform, backend)
        source = "VOCtrainval_11-May-2012.tar from http://host.robots.ox.ac.uk/pascal/VOC/voc2012/"
        self.data_file = local_file(data_file, "data_file", source)
        with tarfile.open(self.data_file) as archive:
            self._places = {member.name: (member.offset_data, member.size) for member in archive}
        self.data = self._read(f"ImageSets/Segmentation/{flag}.txt").decode().split()

    def _read(self, name: str) -> bytes:
        start, size = self._places[f"VOCdevkit/VOC2012/{name}"]
        with open(self.data_file, "rb") as file:
            file.seek(start)
            return file.read(size)

    def __getitem__(self, idx: Any) -> Any:
        picture, kinds = (
            image_load(io.BytesIO(self._read(f"{folder}/{self.data[idx]}.{ending}")), "pil")
            for folder, ending in (("JPEGImages", "jpg"), ("SegmentationClass", "png"))
        )
        return self._item(picture, np.array(kinds).astype(self.dtype) if self.backend == "cv2" else kinds)

    def __len__(self) -> int:
        return len(self.data)


IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def _load(path: str) -> Any:
    """Load an RGB image."""
    colours = image_load(path, "pil").convert("RGB")
    return np.array(colours) if get_image_backend() == "cv2" else colours


class DatasetFolder(Dataset):
    """(sample, class number) for root/class/.../file: a class for each folder, numbered in alphabetic order.

    loader(path) makes a sample, by default an image. extensions: endings of files to take;
    is_valid_file(path) decides instead.
    """

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root, self.loader, self.transform = root, loader or _load, transform
        self.extensions = IMG_EXTENSIONS if extensions is None and is_valid_file is None else extensions
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples: list[Any] = [
            (path, i)
            for name, i in self.class_to_idx.items()
            for path in self._files(os.path.join(root, name), is_valid_file)
        ]
        if not self.samples:
            raise RuntimeError(f"root: no file in folders of {root} ends with {self.extensions}")
        self.targets = [target for _, target in self.samples]

    def _files(self, folder: str, is_valid_file: Any) -> list[str]:
        paths = [
            os.path.join(at, name)
            for at, _, names in sorted(os.walk(os.path.expanduser(folder), followlinks=True))
            for name in sorted(names)
        ]
        endings = tuple(e.lower() for e in self.extensions or ())
        return [p for p in paths if (p.lower().endswith(endings) if endings else is_valid_file(p))]

    def __getitem__(self, index: Any) -> Any:
        path, target = self.samples[index]
        sample = self.loader(path)
        return (sample if self.transform is None else self.transform(sample)), target

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """[sample] for every file under root, whatever folder it is in."""

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root, self.loader, self.transform = root, loader or _load, transform
        self.extensions = IMG_EXTENSIONS if extensions is None and is_valid_file is None else extensions
        self.samples = self._files(root, is_valid_file)
        if not self.samples:
            raise RuntimeError(f"root: no file under {root} ends with {self.extensions}")

    def __getitem__(self, index: Any) -> Any:
        sample = self.loader(self.samples[index])
        return [sample if self.transform is None else self.transform(sample)]
