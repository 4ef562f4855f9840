"""Data sets of pictures and texts, from small files in the official layouts."""

import gzip
import io
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

import sampan as paddle
from sampan import text
from sampan.vision import datasets


def write_tar(path, members):
    with tarfile.open(path, "w:gz" if str(path).endswith("gz") else "w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return str(path)


def encoded(pixels, kind):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def test_mnist(tmp_path):
    images = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
    paths = []
    for name, shape, values in (
        ("images", (3, 28, 28), images),
        ("labels", (3,), np.array([7, 0, 2], np.uint8)),
    ):
        header = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
        (tmp_path / name).write_bytes(gzip.compress(header + values.tobytes()))
        paths.append(str(tmp_path / name))
    pictures = datasets.MNIST(*paths, mode="test")
    picture, label = pictures[1]
    assert len(pictures) == 3 and label.tolist() == [0] and label.dtype == np.int64
    np.testing.assert_array_equal(np.array(picture), images[1])
    array, _ = datasets.FashionMNIST(*paths, backend="cv2", transform=lambda a: a / 2)[1]
    np.testing.assert_array_equal(array, images[1].astype(np.float32) / 2)
    with pytest.raises(FileNotFoundError, match="nothing is downloaded here: get train-images"):
        datasets.FashionMNIST()
    with pytest.raises(ValueError, match="mode: expected one of train, test"):
        datasets.MNIST(*paths, mode="dev")
    with pytest.raises(ValueError, match="backend: expected 'pil' or 'cv2'"):
        datasets.MNIST(*paths, backend="tensor")


@pytest.mark.parametrize(("kind", "name", "labels"), [(datasets.Cifar10, "data_batch_1", b"labels"), (datasets.Cifar100, "train", b"fine_labels")])  # fmt: skip
def test_cifar(tmp_path, kind, name, labels):
    data = np.arange(2 * 3072, dtype=np.uint32).astype(np.uint8).reshape(2, 3072)
    batch = pickle.dumps({b"data": data, labels: [4, 9]}, protocol=2)
    path = write_tar(tmp_path / "cifar.tar.gz", {f"cifar/{name}": batch, "cifar/test": pickle.dumps({})})
    picture, label = kind(path)[1]
    np.testing.assert_array_equal(np.array(picture), data[1].reshape(3, 32, 32).transpose(1, 2, 0))
    assert label == 9 and len(kind(path)) == 2
    evil = write_tar(tmp_path / "evil.tar.gz", {f"cifar/{name}": pickle.dumps({b"data": print})})
    with pytest.raises(pickle.UnpicklingError, match="which is neither an array nor a plain value"):
        kind(evil)


def test_flowers_and_voc(tmp_path):
    from scipy.io import savemat

    red = np.full((8, 8, 3), (200, 10, 10), np.uint8)
    flowers = write_tar(
        tmp_path / "102flowers.tgz", {f"jpg/image_{i:05}.jpg": encoded(red, "JPEG") for i in (1, 2)}
    )
    savemat(tmp_path / "labels.mat", {"labels": [[5, 6]]})
    savemat(tmp_path / "sets.mat", {"tstid": [[2]], "trnid": [[1]], "valid": [[1]]})
    own = datasets.Flowers(flowers, str(tmp_path / "labels.mat"), str(tmp_path / "sets.mat"))
    picture, label = own[0]
    assert len(own) == 1 and label.tolist() == [6] and picture.size == (8, 8)
    outside = {
        "../jpg/image_00001.jpg": b"",
        "jpg/../../image_00002.jpg": b"",
        "/jpg/image_00003.jpg": b"",
        "notes": b"",
    }
    (tmp_path / "deep").mkdir()
    path = write_tar(tmp_path / "deep/evil.tgz", outside | {"jpg/image_00002.jpg": encoded(red, "JPEG")})
    datasets.Flowers(path, str(tmp_path / "labels.mat"), str(tmp_path / "sets.mat"))[0]
    assert {p.name for p in (tmp_path / "deep").rglob("*")} == {"evil.tgz", "evil", "jpg", "image_00002.jpg"}
    at = "VOCdevkit/VOC2012"
    members = {f"{at}/ImageSets/Segmentation/val.txt": b"a1\n", f"{at}/JPEGImages/a1.jpg": encoded(red, "JPEG"),
               f"{at}/SegmentationClass/a1.png": encoded(red[..., 1], "PNG")}  # fmt: skip
    voc = datasets.VOC2012(write_tar(tmp_path / "voc.tar", members), mode="valid", backend="cv2")
    picture, kinds = voc[0]
    assert len(voc) == 1 and picture.shape == (8, 8, 3) and (kinds == 10).all()


def test_folders(tmp_path):
    for name in ("cat/1.png", "cat/deep/2.PNG", "dog/3.png", "dog/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(encoded(np.full((4, 5), len(name), np.uint8), "PNG"))
    folder = datasets.DatasetFolder(str(tmp_path), transform=paddle.vision.transforms.to_tensor)
    assert folder.classes == ["cat", "dog"] and folder.targets == [0, 0, 1]
    picture, target = folder[2]
    assert picture.shape == [3, 4, 5] and target == 1
    flat = datasets.ImageFolder(str(tmp_path), is_valid_file=lambda path: path.endswith("png"))
    assert len(flat) == 2 and flat[0][0].size == (5, 4)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuntimeError, match="no file under"):
        datasets.ImageFolder(str(tmp_path / "empty"))


def test_image_backend(tmp_path):
    (tmp_path / "a.png").write_bytes(encoded(np.full((2, 2, 3), (1, 2, 3), np.uint8), "PNG"))
    assert paddle.vision.get_image_backend() == "pil"
    assert paddle.vision.image_load(tmp_path / "a.png").size == (2, 2)
    assert paddle.vision.image_load(tmp_path / "a.png", "cv2")[0, 0].tolist() == [3, 2, 1]
    try:
        paddle.vision.set_image_backend("cv2")
        assert isinstance(paddle.vision.image_load(tmp_path / "a.png"), np.ndarray)
    finally:
        paddle.vision.set_image_backend("pil")
    with pytest.raises(ValueError, match="backend: expected one of pil, cv2, tensor"):
        paddle.vision.set_image_backend("gif")


def test_files_and_jpeg(tmp_path):
    smooth = np.linspace(0, 255, 16 * 24 * 3).reshape(16, 24, 3).astype(np.uint8)
    (tmp_path / "a.jpg").write_bytes(encoded(smooth, "JPEG"))
    content = paddle.vision.ops.read_file(str(tmp_path / "a.jpg"))
    assert content.numpy().tobytes() == (tmp_path / "a.jpg").read_bytes()
    image = paddle.vision.ops.decode_jpeg(content)
    assert (
        image.shape == [3, 16, 24]
        and np.abs(image.numpy().transpose(1, 2, 0).astype(int) - smooth).mean() < 8
    )
    assert paddle.vision.ops.decode_jpeg(content, "gray").shape == [1, 16, 24]


def test_texts(tmp_path):
    reviews = {"aclImdb/train/pos/0.txt": b"Good, good film!\n", "aclImdb/train/neg/0.txt": b"bad film",
               "aclImdb/test/pos/0.txt": b"good"}  # fmt: skip
    imdb = text.Imdb(write_tar(tmp_path / "imdb.tar.gz", reviews), cutoff=1)
    assert imdb.word_idx == {b"good": 0, b"film": 1, "<unk>": 2}
    assert [[v.tolist() for v in imdb[i]] for i in range(len(imdb))] == [[[0, 0, 1], [0]], [[2, 1], [1]]]
    at = "./simple-examples/data/ptb"
    ptb = write_tar(tmp_path / "ptb.tgz", {f"{at}.train.txt": b"a b a\nb\n", f"{at}.valid.txt": b"a c\n"})
    grams = text.Imikolov(ptb, window_size=2, min_word_freq=1)
    assert grams.word_idx == {"<e>": 0, "<s>": 1, b"a": 2, b"b": 3, "<unk>": 4}
    assert [tuple(int(v) for v in row) for row in grams.data] == [
        (1, 2),
        (2, 3),
        (3, 2),
        (2, 0),
        (1, 3),
        (3, 0),
    ]
    pairs = text.Imikolov(ptb, "SEQ", min_word_freq=1)
    assert [v.tolist() for v in pairs[1]] == [[1, 3], [3, 0]]
    with pytest.raises(ValueError, match="'NGRAM' and a window_size"):
        text.Imikolov(ptb)


def test_housing_and_films(tmp_path):
    rows = np.arange(10 * 14, dtype=float).reshape(10, 14) ** 1.1
    np.savetxt(tmp_path / "housing.data", rows)
    train = text.UCIHousing(str(tmp_path / "housing.data"))
    test = text.UCIHousing(str(tmp_path / "housing.data"), mode="test")
    facts, price = train[0]
    scaled = (rows[:, :13] - rows[:, :13].mean(0)) / (rows[:, :13].max(0) - rows[:, :13].min(0))
    np.testing.assert_allclose(facts, scaled[0], rtol=1e-5)
    assert (len(train), len(test)) == (8, 2) and price == pytest.approx(rows[0, 13])
    with zipfile.ZipFile(tmp_path / "ml.zip", "w") as archive:
        archive.writestr("ml-1m/movies.dat", "3::Old Men (1995)::Comedy|Drama\n")
        archive.writestr("ml-1m/users.dat", "1::F::25::10::48067\n")
        archive.writestr("ml-1m/ratings.dat", "1::3::5::978300760\n")
    films = text.Movielens(str(tmp_path / "ml.zip"), test_ratio=0.0)
    assert [v.tolist() for v in films[0]] == [[1], [1], [2], [10], [3], [0, 1], [1, 0], [5.0]]


def test_translation(tmp_path):
    dictionary = b"<s>\n<e>\n<unk>\nhello\n"
    members = {
        "wmt14/src.dict": dictionary,
        "wmt14/trg.dict": dictionary,
        "wmt14/train/train": b"hello you\tsalut\nbroken\n",
    }
    pair = text.WMT14(write_tar(tmp_path / "wmt14.tgz", members), dict_size=4)
    assert [v.tolist() for v in pair[0]] == [[0, 3, 2, 1], [0, 2], [2, 1]]
    assert pair.get_dict(reverse=True)[0][3] == "hello"
    members = {"wmt16/train": b"a b a\tx y x\n", "wmt16/val": b"b c\ty\n"}
    path = write_tar(tmp_path / "wmt16.tar.gz", members)
    english = text.WMT16(path, "val", 5, 4)
    assert english.get_dict("en") == {"<s>": 0, "<e>": 1, "<unk>": 2, "a": 3, "b": 4}
    assert [v.tolist() for v in english[0]] == [[0, 4, 2, 1], [0, 2], [2, 1]]
    german = text.WMT16(path, "train", 5, 5, lang="de")
    assert [v.tolist() for v in german[0]] == [[0, 3, 4, 3, 1], [0, 3, 4, 3], [3, 4, 3, 1]]
    with pytest.raises(ValueError, match="dict_size: expected a positive"):
        text.WMT14(path)


def test_roles(tmp_path):
    words, props = b"The\ncat\nsat\n\n", b"-\t(A0*\n-\t*)\nsit\t(V*)\n\n"
    at = "conll05st-release/test.wsj"
    path = write_tar(tmp_path / "conll.tar.gz", {f"{at}/words/test.wsj.words.gz": gzip.compress(words), f"{at}/props/test.wsj.props.gz": gzip.compress(props)})  # fmt: skip
    for name, content in (
        ("words", "unk\nThe\ncat\nsat\nbos\neos"),
        ("verbs", "go\nsit"),
        ("tags", "B-A0\nI-A0\nB-V\nI-V\nO"),
    ):
        (tmp_path / name).write_text(content)
    roles = text.Conll05st(path, *(str(tmp_path / n) for n in ("words", "verbs", "tags")))
    assert len(roles) == 1
    found = [v.tolist() for v in roles[0]]
    assert found[0] == [1, 2, 3] and found[1] == [1] * 3 and found[3] == [3] * 3 and found[4] == [5] * 3
    assert found[6] == [1] * 3 and found[7] == [1, 1, 1]
    assert found[8] == [roles.label_dict[tag] for tag in ("B-A0", "I-A0", "B-V")]
    with pytest.raises(FileNotFoundError, match="word_dict_file: no file given; nothing is downloaded"):
        text.Conll05st(path)
