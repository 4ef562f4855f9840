"""Paddle's data sets of texts and ratings, from local files: nothing is downloaded."""

import gzip
import re
import string
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ..dtype import get_default_dtype
from ..engine.tensor import InvalidArgument
from ..io import Dataset
from .vision_datasets import chosen, local_file

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

__all__ = ["WMT14", "WMT16", "Conll05st", "Imdb", "Imikolov", "Movielens", "UCIHousing"]


class _Rows(Dataset):
    """Rows that are converted to arrays on access."""

    data: list[Any]

    def __getitem__(self, idx: Any) -> Any:
        return tuple(np.array(value) for value in self.data[idx])

    def __len__(self) -> int:
        return len(self.data)


def _lines(archive: tarfile.TarFile, name: str) -> list[bytes]:
    # Name is a file of the archive.
    return archive.extractfile(name).read().splitlines()  # type: ignore[union-attr]


def _numbered(counts: Counter[Any], above: int) -> dict[Any, int]:
    """Vocabulary, word -> id: words with more than `above` occurrences, most frequent first, and "<unk>"
    last."""
    words = sorted((-count, word) for word, count in counts.items() if count > above)
    return {word: i for i, (_, word) in enumerate([*words, (0, "<unk>")])}


class UCIHousing(Dataset):
    """13 features of a district of Boston and the median price of a house. data_file: housing.data."""

    def __init__(self, data_file=None, mode="train", download=True):
        part = chosen(mode, {"train": slice(0, 0.8), "test": slice(0.8, 1)})
        source = "housing.data from https://archive.ics.uci.edu (Housing)"
        data = np.fromfile(local_file(data_file, "data_file", source), sep=" ").reshape(-1, 14)
        facts = data[:, :-1]
        facts[:] = (facts - facts.mean(0)) / (facts.max(0) - facts.min(0))
        self.data, self.dtype = (
            data[int(len(data) * part.start) : int(len(data) * part.stop)],
            get_default_dtype(),
        )

    def __getitem__(self, idx: Any) -> Any:
        row = self.data[idx].astype(self.dtype)
        return row[:-1], row[-1:]

    def __len__(self) -> int:
        return len(self.data)


class Imdb(_Rows):
    """Word ids of a film review, and the label [1], 1 for negative (Maas et al., 2011). data_file:
    aclImdb_v1.tar.gz.

    cutoff: words with at most so many occurrences are "<unk>".
    """

    def __init__(self, data_file=None, mode="train", cutoff=150, download=True):
        self.mode = chosen(mode, {"train": "train", "test": "test"})
        source = "aclImdb_v1.tar.gz from https://ai.stanford.edu/~amaas/data/sentiment/"
        found: list[tuple[str, str, list[bytes]]] = []
        with tarfile.open(local_file(data_file, "data_file", source)) as archive:
            for member in archive:
                named = re.match(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$", member.name)
                if named:
                    text = archive.extractfile(member).read().rstrip(b"\n\r")
                    found.append(
                        (
                            named[1],
                            named[2],
                            text.translate(None, string.punctuation.encode()).lower().split(),
                        )
                    )
        self.word_idx = _numbered(Counter(word for _, _, words in found for word in words), cutoff)
        unknown = self.word_idx["<unk>"]
        self.data = [
            ([self.word_idx.get(word, unknown) for word in words], [int(label == "neg")])
            for label in ("pos", "neg")
            for part, own, words in found
            if (part, own) == (self.mode, label)
        ]
        self.docs, self.labels = [doc for doc, _ in self.data], [label for _, (label,) in self.data]


class Imikolov(_Rows):
    """Word ids of the Penn Treebank (Mikolov's preparation). data_file: simple-examples.tgz.

    data_type "NGRAM": every window_size words in a row; "SEQ": a sentence, and the sentence shifted by one
    word.
    """

    def __init__(
        self, data_file=None, data_type="NGRAM", window_size=-1, mode="train", min_word_freq=50, download=True
    ):
        part = chosen(mode, {"train": "train", "test": "test"})
        if data_type.upper() not in ("NGRAM", "SEQ") or (data_type.upper() == "NGRAM" and window_size < 0):
            raise InvalidArgument(
                f"expected data_type 'SEQ', or 'NGRAM' and a window_size, got {data_type!r} and {window_size}"
            )
        source = "simple-examples.tgz (Mikolov's RNNLM)"
        with tarfile.open(local_file(data_file, "data_file", source)) as archive:
            read = {
                name: [line.split() for line in _lines(archive, f"./simple-examples/data/ptb.{name}.txt")]
                for name in {"train", "valid", part}
            }
        counts: Counter[Any] = Counter(
            word for name in ("train", "valid") for line in read[name] for word in line
        )
        counts["<s>"] = counts["<e>"] = len(read["train"]) + len(read["valid"])
        counts.pop(b"<unk>", None)
        ordered = sorted(
            ((-n, w if isinstance(w, bytes) else w.encode()), w)
            for w, n in counts.items()
            if n > min_word_freq
        )
        self.word_idx = {word: i for i, (_, word) in enumerate([*ordered, (None, "<unk>")])}
        unknown, self.data = self.word_idx["<unk>"], []
        for line in read[part]:
            ids = [self.word_idx.get(word, unknown) for word in line]
            start, end = (self.word_idx.get(mark, unknown) for mark in ("<s>", "<e>"))
            if data_type.upper() == "NGRAM":
                whole = [start, *ids, end]
                self.data += [tuple(whole[i : i + window_size]) for i in range(len(whole) - window_size + 1)]
            elif not 0 < window_size < len(ids) + 1:
                self.data.append(([start, *ids], [*ids, end]))


class Movielens(_Rows):
    """User, sex, age group, job, film, its kinds, its title's words and a rating from -3 to 5. data_file:
    ml-1m.zip."""

    def __init__(self, data_file=None, mode="train", test_ratio=0.1, rand_seed=0, download=True):
        testing = chosen(mode, {"train": False, "test": True})
        source = "ml-1m.zip from https://grouplens.org/datasets/movielens/1m/"
        with zipfile.ZipFile(local_file(data_file, "data_file", source)) as archive:
            films, users, ratings = (
                [
                    line.split("::")
                    for line in archive.read(f"ml-1m/{name}.dat").decode("latin-1").splitlines()
                ]
                for name in ("movies", "users", "ratings")
            )
        titles = {int(i): re.sub(r"\(\d+\)$", "", title).lower().split() for i, title, _ in films}
        kinds = {int(i): names.split("|") for i, _, names in films}
        self.movie_title_dict, self.categories_dict = (
            {word: n for n, word in enumerate(sorted({w for words in table.values() for w in words}))}
            for table in (titles, kinds)
        )
        ages = [1, 18, 25, 35, 45, 50, 56]
        people = {
            int(i): [[int(i)], [int(sex != "M")], [ages.index(int(age))], [int(job)]]
            for i, sex, age, job, _ in users
        }
        drawn = np.random.RandomState(rand_seed).random_sample(len(ratings)) < test_ratio
        self.data = [
            [
                *people[int(user)],
                [int(film)],
                [self.categories_dict[k] for k in kinds[int(film)]],
                [self.movie_title_dict[w] for w in titles[int(film)]],
                [float(stars) * 2 - 5],
            ]
            for (user, film, stars, _), test in zip(ratings, drawn, strict=True)
            if test == testing
        ]


class _Pairs(_Rows):
    """(source, target, target shifted by one word) of each pair of sentences, as word ids."""

    def _pair(self, source: list[str], target: list[str]) -> tuple[list[int], ...]:
        first, second = (
            [table.get(word, table["<unk>"]) for word in words]
            for table, words in ((self.src_dict, source), (self.trg_dict, target))
        )
        start, end = (self.src_dict[mark] for mark in ("<s>", "<e>"))
        return [start, *first, end], [self.trg_dict["<s>"], *second], [*second, self.trg_dict["<e>"]]

    src_dict: dict[str, int]
    trg_dict: dict[str, int]


def _columns(archive: tarfile.TarFile, name: str) -> list[list[list[str]]]:
    """The words of both sentences of every line that has two."""
    lines = (line.decode().strip().split("\t") for line in _lines(archive, name))
    return [[part.split() for part in line] for line in lines if len(line) == 2]


class WMT14(_Pairs):
    """English and French sentences (Bojar et al., 2014). data_file: wmt14.tgz; dict_size: words of each
    language."""

    def __init__(self, data_file=None, mode="train", dict_size=-1, download=True):
        part = chosen(mode, {"train": "train", "test": "test", "gen": "gen"})
        if dict_size <= 0:
            raise InvalidArgument(f"dict_size: expected a positive number of words, got {dict_size}")
        with tarfile.open(
            local_file(data_file, "data_file", "wmt14.tgz (Paddle's preparation of WMT14)")
        ) as archive:
            names = archive.getnames()
            self.src_dict, self.trg_dict = (
                {line.strip().decode(): i for i, line in enumerate(_lines(archive, name)[:dict_size])}
                for name in (
                    next(n for n in names if n.endswith(ending)) for ending in ("src.dict", "trg.dict")
                )
            )
            found = [
                pair for name in names if name.endswith(f"{part}/{part}") for pair in _columns(archive, name)
            ]
        self.data = [self._pair(*pair) for pair in found if len(pair[0]) <= 78 and len(pair[1]) <= 80]

    def get_dict(self, reverse=False):
        """Both dictionaries: word -> number, or number -> word."""
        both = self.src_dict, self.trg_dict
        return tuple({i: word for word, i in table.items()} for table in both) if reverse else both


class WMT16(_Pairs):
    """English and German sentences about pictures (Elliott et al., 2016). data_file: wmt16.tar.gz; lang: the
    source's."""

    def __init__(
        self, data_file=None, mode="train", src_dict_size=-1, trg_dict_size=-1, lang="en", download=True
    ):
        part = chosen(mode, {"train": "train", "test": "test", "val": "val"})
        if src_dict_size <= 0 or trg_dict_size <= 0:
            raise InvalidArgument(
                f"expected positive dictionary sizes, got {src_dict_size} and {trg_dict_size}"
            )
        self.lang, order = lang, slice(None) if lang == "en" else slice(None, None, -1)
        with tarfile.open(
            local_file(data_file, "data_file", "wmt16.tar.gz (Paddle's preparation of WMT16)")
        ) as archive:
            trained, found = (
                [pair[order] for pair in _columns(archive, f"wmt16/{name}")] for name in ("train", part)
            )
        self.src_dict, self.trg_dict = (
            {
                word: i
                for i, word in enumerate(
                    [
                        "<s>",
                        "<e>",
                        "<unk>",
                        *(
                            w
                            for w, _ in Counter(w for pair in trained for w in pair[column]).most_common(
                                size - 3
                            )
                        ),
                    ]
                )
            }
            for column, size in ((0, src_dict_size), (1, trg_dict_size))
        )
        self.data = [self._pair(*pair) for pair in found]

    def get_dict(self, lang, reverse=False):
        """The dictionary of a language: word -> number, or number -> word."""
        table = self.src_dict if lang == self.lang else self.trg_dict
        return {i: word for word, i in table.items()} if reverse else table


class Conll05st(_Rows):
    """Semantic roles (Carreras and Marquez, 2005): words, five words around the verb, the verb, a mark of its
    position, and labels.

    data_file: conll05st-tests.tar.gz; dictionaries with one entry per line.
    """

    def __init__(
        self,
        data_file=None,
        word_dict_file=None,
        verb_dict_file=None,
        target_dict_file=None,
        emb_file=None,
        download=True,
    ):
        source = "{} of Paddle's conll05st"
        self.word_dict, self.predicate_dict, tags = (
            {
                line.strip(): i
                for i, line in enumerate(
                    Path(local_file(path, f"{name}_file", source.format(own))).read_text().splitlines()
                )
            }
            for path, name, own in (
                (word_dict_file, "word_dict", "wordDict.txt"),
                (verb_dict_file, "verb_dict", "verbDict.txt"),
                (target_dict_file, "target_dict", "targetDict.txt"),
            )
        )
        kinds = sorted({tag[2:] for tag in tags if tag[:2] in ("B-", "I-")})
        self.label_dict = {
            tag: i for i, tag in enumerate([*(f"{b}-{kind}" for kind in kinds for b in "BI"), "O"])
        }
        self.emb_file, self.data = emb_file, []
        with tarfile.open(
            local_file(data_file, "data_file", source.format("conll05st-tests.tar.gz"))
        ) as archive:
            words, marks = (
                gzip.decompress(archive.extractfile(f"conll05st-release/test.wsj/{n}/test.wsj.{n}.gz").read())
                .decode()
                .split("\n\n")
                for n in ("words", "props")
            )
        for sentence, table in zip(words, marks, strict=True):
            verbs, *roles = (
                zip(*(line.split() for line in table.splitlines()), strict=True) if table.strip() else [()]
            )
            for verb, role in zip((v for v in verbs if v != "-"), roles, strict=True):
                self.data.append(self._row(sentence.split(), verb, _labels(role)))

    def _row(self, words: list[str], verb: str, labels: list[str]) -> list[list[Any]]:
        at, n = labels.index("B-V"), len(words)
        about = [words[i] if 0 <= i < n else "bos" if i < 0 else "eos" for i in range(at - 2, at + 3)]
        rows = [[self.word_dict.get(w, 0)] * n for w in about]
        near = [int(abs(i - at) <= 2) for i in range(n)]
        ids = [self.word_dict.get(w, 0) for w in words]
        return [
            ids,
            *rows,
            [self.predicate_dict.get(verb)] * n,
            near,
            [self.label_dict.get(tag) for tag in labels],
        ]

    def get_dict(self):
        """Words, verbs and labels: each -> number."""
        return self.word_dict, self.predicate_dict, self.label_dict

    def get_embedding(self):
        """The given path of the word vectors."""
        return self.emb_file


def _labels(role: Any) -> list[str]:
    """(A0* * *) as B-A0 I-A0 I-A0; words outside of brackets as O."""
    found, inside = [], ""
    for mark in role:
        opened = re.match(r"\(([^*]*)\*", mark)
        found.append(f"B-{opened[1]}" if opened else f"I-{inside}" if inside else "O")
        inside = "" if mark.endswith(")") else opened[1] if opened else inside
    return found
