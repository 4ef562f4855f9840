"""paddle.utils.download: files that a program expects from the network are taken from the local cache."""

import hashlib
import tarfile
import zipfile
from pathlib import Path

from ..engine.tensor import InvalidArgument

WEIGHTS_HOME = str(Path("~/.cache/paddle/hapi/weights").expanduser())


def is_url(path: str) -> bool:
    """Whether `path` starts with http:// or https://."""
    return path.startswith(("http://", "https://"))


def get_weights_path_from_url(url: str, md5sum: str | None = None) -> str:
    """The local path of a network's weights, in Paddle's cache: see
    `get_path_from_url`."""
    return get_path_from_url(url, WEIGHTS_HOME, md5sum)


def get_path_from_url(
    url: str,
    root_dir: str,
    md5sum: str | None = None,
    check_exist: bool = True,
    decompress: bool = True,
    method: str = "get",
) -> str:
    """The local path of the file at `url`: root_dir with the file's name, unpacked where it is an archive.

    Nothing is downloaded. RuntimeError says where to put the file, when it is not there or has another MD5
    sum.
    """
    if not is_url(url):
        raise AssertionError(f"url: expected a name that begins with http:// or https://, got {url!r}")
    path = Path(root_dir) / url.rpartition("/")[2]
    if not path.is_file() or (md5sum is not None and hashlib.md5(path.read_bytes()).hexdigest() != md5sum):
        found = "has another MD5 sum" if path.is_file() else "is not there"
        raise RuntimeError(
            f"Download from {url} failed: nothing is downloaded here, and {path} {found}. Put the file there."
        )
    if decompress and (tarfile.is_tarfile(path) or zipfile.is_zipfile(path)):
        return str(_unpacked(path))
    return str(path)


def _unpacked(path: Path) -> Path:
    """Unpack an archive; returns its single file or folder, or else a folder with the archive's name."""
    with tarfile.open(path) if tarfile.is_tarfile(path) else zipfile.ZipFile(path) as archive:
        names = archive.getnames() if isinstance(archive, tarfile.TarFile) else archive.namelist()
        first = {Path(name).parts[0] for name in names if Path(name).parts}
        if any(Path(name).is_absolute() or ".." in Path(name).parts for name in names):
            raise InvalidArgument(f"{path}: expected names inside the archive's folder, got a path outside")
        if isinstance(archive, tarfile.TarFile) and not all(
            m.isfile() or m.isdir() for m in archive.getmembers()
        ):
            raise InvalidArgument(f"{path}: the archive holds links or devices")
        target = path.parent if len(first) == 1 else path.with_suffix("")
        archive.extractall(target)
        return target / first.pop() if len(first) == 1 else target


def _get_unique_endpoints(trainer_endpoints: list[str]) -> set[str]:
    """One endpoint of each machine."""
    first: dict[str, str] = {}
    for endpoint in sorted(trainer_endpoints):
        first.setdefault(endpoint.partition(":")[0], endpoint)
    return set(first.values())


def check_and_create_dir(path: str) -> None:
    """Create a folder if it does not exist."""
    Path(path).mkdir(parents=True, exist_ok=True)
