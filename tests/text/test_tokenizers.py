"""Words, characters and subwords: nothing of a text is lost, and nothing is said, written or read besides."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import jieba
import numpy as np
import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampan.text import BPETokenizer, CharTokenizer, JiebaTokenizer, Vocabulary

TEXTS = [
    "房间很干净，服务员很热情！", "房间太小，隔音不好。", "早餐很好吃，位置也很方便", "酒店的服务很好，下次还会来",
    "iPhone 12 Pro的续航不错\n推荐购买", "ＡＢＣ１２３全角，半角ABC123", "价格￥299.00元，便宜5%", "",
]  # fmt: skip
CHARACTER = CharTokenizer.train(TEXTS)
WORD = JiebaTokenizer.train(TEXTS)
PIECE = BPETokenizer.train(TEXTS * 3, 420)
ALL = [CHARACTER, WORD, PIECE]
names = lambda tokenizer: type(tokenizer).__name__

whatever = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
likely = st.text(st.sampled_from("房间很好不酒店服务，。 \r\n\tＡ１a1.%+#<0x41>[PAD]𠮷é"), max_size=40)


@pytest.mark.parametrize("tokenizer", ALL, ids=names)
@given(text=whatever | likely)
@example("")
@example("\r\n\x00\u3000\ufeff")
@example("[PAD][UNK]<0x41>")
@example("👩‍👩‍👧 𠮷野家 e\u0301")
@settings(max_examples=150)
def test_the_pieces_joined_are_the_text(tokenizer, text):
    pieces = tokenizer.cut(text)
    assert "".join(pieces) == text and "" not in pieces


@pytest.mark.parametrize("tokenizer", ALL, ids=names)
@given(text=whatever | likely)
@settings(max_examples=150)
def test_decode_is_the_inverse_but_for_unknown_characters(tokenizer, text):
    numbers = tokenizer.encode(text)
    assert all(0 < i < len(tokenizer.vocabulary) for i in numbers)
    known = set("".join(TEXTS)) | (set(text) if tokenizer is PIECE else set())
    wanted = "".join(c if c in known else "[UNK]" for c in text)
    assert tokenizer.decode(numbers) == wanted
    assert tokenizer.decode([0, *numbers, 0, 0]) == wanted  # padding is left out
    assert tokenizer.decode(np.array(numbers, np.int64)) == wanted


@given(text=likely)
@settings(max_examples=60)
def test_words_are_those_of_jieba(text):
    """Its own object, with its dictionary as it loads it by itself, is the oracle."""
    assert JiebaTokenizer().cut(text) == jieba.lcut(text)
    assert JiebaTokenizer(hmm=False).cut(text) == jieba.lcut(text, HMM=False)


@pytest.fixture(autouse=True, scope="module")
def oracle_without_cache(tmp_path_factory):
    """The oracle keeps its cache in a folder of the test's own."""
    jieba.setLogLevel("ERROR")
    jieba.dt.tmp_dir = str(tmp_path_factory.mktemp("jieba"))


def test_unknown_words_fall_back_to_characters():
    v = Vocabulary(["酒店", "早", "餐", "好"])
    tokenizer = JiebaTokenizer(v)
    assert tokenizer.cut("酒店早餐好，贵") == ["酒店", "早餐", "好", "，", "贵"]
    assert v.tokens(tokenizer.encode("酒店早餐好，贵")) == ["酒店", "早", "餐", "好", "[UNK]", "[UNK]"]
    assert tokenizer.decode(tokenizer.encode("酒店早餐好，贵")) == "酒店早餐好[UNK][UNK]"


def test_a_text_never_becomes_padding():
    v = Vocabulary(["好"], unknown="?", padding="_")
    for tokenizer in (CharTokenizer(v), JiebaTokenizer(v)):
        assert tokenizer.encode("好_?") == [2, 1, 1]
    assert 0 not in PIECE.encode("[PAD][UNK]") and 1 not in PIECE.encode("[PAD][UNK]")


def test_train_keeps_frequent_words_and_every_character():
    texts = ["房间很好", "房间不好", "酒店"]
    v = JiebaTokenizer.train(texts, least=2).vocabulary
    assert "房间" in v and "酒店" not in v and set("房间很好不酒店") <= set(v)
    short = JiebaTokenizer.train(texts, most=1).vocabulary
    assert list(short)[2] == "房间" and len(short) == 3 + len(set("房间很好不酒店"))
    assert list(CharTokenizer.train(texts, least=2).vocabulary)[2:] == ["好", "房", "间"]
    assert len(CharTokenizer.train(texts, most=2).vocabulary) == 4


def test_words_of_the_users_own_are_kept_whole_and_change_nobody_elses():
    text = "舢板框架的云计算平台C++20版"
    plain = JiebaTokenizer().cut(text)
    assert "舢板框架" not in plain
    own = JiebaTokenizer(words=["舢板框架", "C++20版"])
    assert own.cut(text)[0] == "舢板框架" and "C++20版" in own.cut(text)
    assert JiebaTokenizer().cut(text) == plain == jieba.lcut(text)
    assert JiebaTokenizer.train([text], words=["舢板框架"]).vocabulary["舢板框架"] > 1
    assert "舢板框架" not in jieba.dt.FREQ


def test_full_width_digits_and_latin():
    assert JiebaTokenizer().cut("买了2台iPhone12，￥5999.00") == jieba.lcut("买了2台iPhone12，￥5999.00")
    assert CHARACTER.cut("Ａ１a") == ["Ａ", "１", "a"]
    for tokenizer in ALL:
        assert tokenizer.decode(tokenizer.encode(TEXTS[5])) == TEXTS[5]  # full-width stays full-width


def test_many_threads_share_one_dictionary():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: JiebaTokenizer(words=["很热情"]).cut(text), TEXTS * 8))
    one = JiebaTokenizer(words=["很热情"])
    assert found == [one.cut(text) for text in TEXTS * 8]


# --- subwords ---------------------------------------------------------------------------------------------------


def test_a_piece_does_not_reach_across_punctuation_and_grows_out_of_frequent_pairs():
    learned = list(PIECE.vocabulary)[258:]
    assert len(PIECE.vocabulary) <= 420
    long = [t for t in learned if len(t) > 1]
    assert "房间" in long and "服务" in long
    assert not any(c.isspace() or c in "，。！%￥" for t in long for c in t)
    assert PIECE.encode("房间") == [PIECE.vocabulary["房间"]]


def test_the_merges_are_applied_as_sennrich_has_it():
    """The slow, obvious twin: the earliest learned pair is joined first, everywhere, until none is left."""
    ranks = {tuple(pair): i for i, pair in enumerate(json.loads(PIECE._pieces.to_str())["model"]["merges"])}

    def pieces_of(word):
        parts = list(word)
        while True:
            pairs = [(ranks[p], i) for i, p in enumerate(pairwise(parts)) if p in ranks]
            if not pairs:
                return parts
            _, i = min(pairs)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]

    for word in ("房间很干净", "服务员很热情", "酒店的服务很好", "房间间房", "iPhone"):
        assert PIECE.cut(word) == pieces_of(word)


def test_a_character_that_was_never_seen_is_its_bytes():
    numbers = PIECE.encode("𠮷")
    assert PIECE.vocabulary.tokens(numbers) == [f"<0x{b:02X}>" for b in "𠮷".encode()]
    assert PIECE.cut("房间𠮷𠮷é") == ["房间", "𠮷", "𠮷", "é"]
    assert PIECE.decode(numbers[:2]) == "�" and PIECE.decode([1]) == "[UNK]"
    few = BPETokenizer.train(["好好好坏"], 259)  # space for one character
    assert list(few.vocabulary)[258:] == ["好"] and few.decode(few.encode("好坏")) == "好坏"
    none = BPETokenizer.train([], 300)
    assert len(none.vocabulary) == 258 and none.decode(none.encode("好 a")) == "好 a"


def test_the_same_texts_give_the_same_tokenizer():
    again = BPETokenizer.train(TEXTS * 3, 420)
    assert list(again.vocabulary) == list(PIECE.vocabulary)
    assert [again.encode(t) for t in TEXTS] == [PIECE.encode(t) for t in TEXTS]


def test_a_file_brings_back_the_same_and_the_package_reads_it(tmp_path):
    path = tmp_path / "tokenizer.json"
    PIECE.save(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    for other in (BPETokenizer.load(path), pickle.loads(pickle.dumps(PIECE))):
        assert list(other.vocabulary) == list(PIECE.vocabulary)
        for text in [*TEXTS, "𠮷 [PAD]<0x41>"]:
            assert other.encode(text) == PIECE.encode(text) == theirs.encode(text).ids
            assert theirs.decode(theirs.encode(text).ids) == text
    assert [p.name for p in tmp_path.iterdir()] == ["tokenizer.json"]
    for tokenizer in (CHARACTER, WORD):
        assert pickle.loads(pickle.dumps(tokenizer)).encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


def test_a_cut_or_foreign_file_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    PIECE.save(path)
    whole = path.read_bytes()
    foreign = [b"", b"{}", b"[]", b"null", b"\xff", b'{"model": 3}', whole.replace(b'"BPE"', b'"Unigram"')]
    foreign += [whole.replace(b"<0x41>", b"<0y41>"), whole.replace("房间".encode(), "房门".encode(), 1)]
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    plain = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    foreign += [words.to_str().encode(), plain.to_str().encode()]
    for content in [*foreign, *(whole[: len(whole) * k // 20] for k in range(20))]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"tokenizer\.json: not written by BPETokenizer\.save"):
            BPETokenizer.load(path)
    with pytest.raises(FileNotFoundError):
        BPETokenizer.load(tmp_path / "none")


# --- quiet ------------------------------------------------------------------------------------------------------


def test_nothing_is_said_and_no_cache_is_written_or_read(tmp_path):
    """In a fresh process where every warning shows, with a jieba that was never compiled and a poisoned cache lying ready."""
    other_parts = shutil.ignore_patterns("__pycache__", "posseg", "analyse", "lac_small")
    shutil.copytree(Path(jieba.__file__).parent, tmp_path / "fresh" / "jieba", ignore=other_parts)
    folder = tmp_path / "temporary"
    folder.mkdir()
    poisoned = folder / "jieba.cache"
    poisoned.write_bytes(b"not the dictionary")
    program = """
        import os, sys, warnings
        from sampan.text import BPETokenizer, CharTokenizer, JiebaTokenizer, Vocabulary
        warnings.simplefilter("always")
        sys.path.insert(0, os.environ["FRESH"])
        JiebaTokenizer(Vocabulary(["a"])), CharTokenizer.train(["a"]).encode("a")
        assert not {"jieba", "tokenizers"} & set(sys.modules)  # not before a text is cut
        assert JiebaTokenizer(words=["很热情"]).cut("服务员很热情") == ["服务员", "很热情"]
        assert sys.modules["jieba"].__file__.startswith(os.environ["FRESH"])
        BPETokenizer.train(["很好很好"], 300).encode("很好")
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    """
    done = subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False,
        env=os.environ | {"TMPDIR": str(folder), "FRESH": str(tmp_path / "fresh")},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [p.name for p in folder.iterdir()] == ["jieba.cache"]
    assert poisoned.read_bytes() == b"not the dictionary"


def test_a_missing_package_is_named(monkeypatch):
    for name in ("jieba", "tokenizers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"package jieba: pip install sampan\[chinese\]"):
        JiebaTokenizer(words=["舢板课"])  # the dictionary with other words may be there already
    with pytest.raises(ImportError, match=r"package tokenizers: pip install sampan\[chinese\]"):
        BPETokenizer.train(["好"], 300)
    assert CharTokenizer.train(["好"]).encode("好") == [2]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: t.cut(None), TypeError, "text: expected a str, got NoneType"),
        (lambda t: t.encode("好".encode()), TypeError, "text: expected a str, got bytes"),
        (lambda t: t.encode(["好"]), TypeError, "got list"),
        (lambda t: t.cut("好\ud83d"), ValueError, r"text: .* lone surrogate '\\ud83d' at place 1"),
        (lambda t: t.encode("\udc80"), ValueError, "at place 0"),
        (lambda t: t.decode([2, 10_000]), ValueError, r"ids\[1\]: expected 0 to \d+, got 10000"),
        (lambda t: t.decode([-1]), ValueError, "got -1"),
        (lambda t: t.decode([2.0]), TypeError, r"ids\[0\]: expected an int, got float"),
        (lambda t: t.decode("很好"), TypeError, "ids: expected a list of int, got str"),
        (lambda t: t.decode(None), TypeError, "got NoneType"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tokenizer", ALL, ids=names)
def test_bad_input_is_named(tokenizer, call, error, words):
    with pytest.raises(error, match=words):
        call(tokenizer)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: JiebaTokenizer().encode("好"), ValueError, "this JiebaTokenizer has none; .*train"),
        (lambda: CharTokenizer(None).decode([2]), ValueError, "this CharTokenizer has none"),
        (lambda: CharTokenizer(["好"]), TypeError, "vocabulary: expected a Vocabulary or None, got list"),
        (lambda: CharTokenizer.train("好"), TypeError, "texts: expected several str, got str"),
        (lambda: JiebaTokenizer.train([1]), TypeError, r"texts\[0\]: expected a str, got int"),
        (lambda: JiebaTokenizer.train(["a"], least=0), ValueError, "least"),
        (lambda: JiebaTokenizer(words="很好"), TypeError, "words: expected several str, got str"),
        (lambda: JiebaTokenizer(words=["云 计算"]), ValueError, "words: .*'云 计算', cut as"),
        (lambda: JiebaTokenizer(words=[""]), ValueError, "words: .*''"),
        (lambda: BPETokenizer.train(["a"], 258), ValueError, "size: expected an int above 258, got 258"),
        (lambda: BPETokenizer.train(["a"], 1e4), ValueError, "size: expected an int above 258, got 10000.0"),
        (lambda: BPETokenizer.train("好", 300), TypeError, "texts: expected several str"),
        (lambda: BPETokenizer(Vocabulary(["a"]), []), ValueError, "expected the 256 bytes"),
        (lambda: BPETokenizer(PIECE.vocabulary, [("很", "未")]), ValueError, "merges: expected pairs of tokens"),
    ],
)  # fmt: skip
def test_bad_settings_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("name", ["hotel_reviews", "news_titles"])
def test_real_texts_come_back(name):
    from sampan import datasets

    if name not in datasets.available():
        pytest.skip(f"needs {name} in SAMPAN_DATA")
    texts = datasets.load_texts(name).train.texts[:150]
    pieces = BPETokenizer.train(texts, 2500)
    for tokenizer in (CharTokenizer.train(texts), JiebaTokenizer.train(texts, least=2), pieces):
        assert [tokenizer.decode(tokenizer.encode(text)) for text in texts] == texts
    length = [sum(len(t.encode(text)) for text in texts) for t in (CharTokenizer.train(texts), pieces)]
    assert length[1] < 0.95 * length[0]  # pieces are longer than characters
