"""Word vectors: planted structure, files, and what is refused."""

import math

import numpy as np
import pytest

from sampan.kernels import cpu_embedding_words as loops
from sampan.text import word_vectors
from sampan.text.subwords import fnv1a, ngrams
from sampan.text.word_vectors import WordVectors

ALL = np.uint64(1 << 32)  # keeps a word always
NO_GROUPS = np.empty(0, np.int64), np.empty(0, np.int32)


def planted(sentences=1500, topics=6, size=8, seed=0):
    """Sentences of one topic each, with words of no topic among them; a word's topic is its first character."""
    rng = np.random.default_rng(seed)
    names = "房食车书衣水"[:topics]
    words = [[f"{name}{chr(0x4E00 + 40 * t + i)}" for i in range(size)] for t, name in enumerate(names)]
    made = []
    for topic in rng.integers(0, topics, sentences):
        made.append([*rng.choice(words[topic], 6), *rng.choice(["的", "了", "很"], 3)])
        rng.shuffle(made[-1])
    return made, [word for group in words for word in group]


# --- one step -----------------------------------------------------------------------------------------------------


def test_the_learning_rate_falls_to_its_least_in_proportion_to_the_words():
    words, starts, alias = (
        np.array([0, 1] * 3, np.int32),
        np.array([0, 2, 4, 6]),
        loops.alias_table(np.array([0, 1.0])),
    )

    def moved(before, total, first=0):
        inputs, outputs = np.ones((2, 16), np.float32), np.zeros((2, 16), np.float32)
        inputs[1] = 0
        loops.skip_gram(
            words, starts, first, first + 1, np.full(2, ALL), alias, NO_GROUPS, inputs, outputs,
            window=1, negative=1, rate=0.1, before=before, total=total, seed=0,
        )  # fmt: skip
        return outputs[1, 0] / (0.1 * 0.5)

    assert moved(0, 100) == pytest.approx(1)
    assert moved(25, 100) == pytest.approx(0.75)
    assert moved(20, 100, first=2) == pytest.approx(0.76)  # four words of this epoch came before
    assert moved(100, 100) == pytest.approx(1e-4)


# --- what is drawn ------------------------------------------------------------------------------------------------


# --- training -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subwords", [None, (1, 2)])
def test_one_thread_gives_the_same_vectors_whatever_the_steps(monkeypatch, subwords):
    sentences, _ = planted(200)
    runs = []
    for moment in (1.0, 1e-9):  # one step an epoch, or one a sentence
        monkeypatch.setattr(word_vectors, "MOMENT", moment)
        made = WordVectors(dim=20, least=2, epochs=2, subwords=subwords, seed=4)
        runs.append((len(list(made.train(iter(sentences)))), made.vectors))
    assert runs[0][0] <= 4 and runs[1][0] == 2 * len(sentences)
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    other = WordVectors(dim=20, least=2, epochs=2, subwords=subwords, seed=5).fit(sentences)
    assert not np.array_equal(other.vectors, runs[0][1])
    assert np.isfinite(other.vectors).all() and other.vectors.dtype == np.float32


@pytest.mark.alone
@pytest.mark.parametrize(("subwords", "threads"), [(None, 1), (None, 2), ((1, 2), 1), ((1, 2), 2)])
def test_planted_structure_is_found(subwords, threads):
    sentences, words = planted()
    made = WordVectors(dim=24, epochs=8, sample=1e-2, subwords=subwords, learning_rate=0.05, threads=threads)
    reports = list(made.train(sentences))
    near = [word for w in words for word, _ in made.similar(w, 5)]
    same = np.mean([b[0] == a[0] for a, b in zip(np.repeat(words, 5), near, strict=True)])
    assert same > 0.95  # by chance 0.14
    losses = [r.loss for r in reports]
    assert losses[-1] < losses[0] <= 6 * math.log(2) + 0.05
    done = [r.done for r in reports]
    assert done == sorted(done) and done[-1] == 1 and reports[-1].words == 8 * sum(map(len, sentences))
    assert {r.epoch for r in reports} == set(range(8)) and all(r.words_per_second > 0 for r in reports)


def test_a_sentence_without_end_is_trained_on_in_pieces(monkeypatch):
    monkeypatch.setattr(word_vectors, "MOMENT", 1e-9)
    monkeypatch.setattr(word_vectors, "LONGEST", 60)
    sentences, words = planted(400)
    one = [word for topic in "房食车书衣水" for s in sentences for word in s if word[0] == topic]
    made = WordVectors(dim=16, epochs=1)
    assert [r.words for r in made.train([one, ["房"]])][:3] == [60, 120, 180]
    assert made.counts.sum() == len(one) and set(made.words) == set(words)


def test_words_come_by_their_count_and_rare_ones_are_left_out():
    made = WordVectors(dim=4, least=2, epochs=1, sample=0).fit(
        [["b", "a", "c"], ["a", "b", "a"], [], ["d", "e", "e"]]
    )
    assert (
        made.words == ["a", "b", "e"] and made.counts.tolist() == [3, 2, 2] and made.counts.dtype == np.int64
    )
    assert len(made) == 3 and "a" in made and "c" not in made
    with pytest.raises(KeyError, match="not in the vocabulary"):
        made.vector("c")


def test_whoever_stops_early_has_vectors_and_can_go_on(monkeypatch):
    monkeypatch.setattr(word_vectors, "MOMENT", 1e-9)
    sentences, words = planted(300)
    made = WordVectors(dim=16, epochs=3)
    training = made.train(sentences)
    for _ in range(150):
        report = next(training)
    training.close()
    assert 0 < report.done < 0.2 and len(made.similar(words[0])) == 10
    before = made.vectors
    made.fit([*sentences, ["neu"] * 9])
    assert "neu" not in made and not np.array_equal(made.vectors, before)


def test_an_unknown_word_has_the_mean_of_its_subwords():
    assert ngrams("早餐", 1, 2) == ["早", "餐", "<早", "早餐", "餐>"]
    assert ngrams("a", 1, 3) == ["a", "<a", "a>", "<a>"]
    sentences, words = planted()
    made = WordVectors(dim=24, epochs=5, sample=1e-2, subwords=(1, 2), learning_rate=0.05).fit(sentences)
    new = words[0] + words[2][1]  # 房 with two other characters of its topic
    assert new not in made
    rows = [len(made) + made._row_of[fnv1a(g) % made.buckets] for g in (*new, f"<{new[0]}", new[:2])]
    rows.append(len(made) + made._row_of[fnv1a(f"{new[2]}>") % made.buckets])
    np.testing.assert_allclose(made.vector(new), made._inputs[rows, :24].mean(0), rtol=1e-5, atol=1e-7)
    assert [word[0] for word, _ in made.similar(new, 5)] == ["房"] * 5
    np.testing.assert_allclose(
        made.vectors[made.words.index(words[3])], made.vector(words[3]), rtol=1e-5, atol=1e-7
    )
    with pytest.raises(KeyError, match="none of its subwords"):
        made.vector("XYZ")


def from_rows(rows, words):
    made = WordVectors(dim=len(rows[0]))
    made.words, made.counts = list(words), np.arange(len(words), 0, -1)
    made._number()
    made._take(np.array(rows, np.float32), np.empty((0, len(rows[0])), np.float32))
    return made


def test_neighbours_and_analogies_are_cosines():
    rng = np.random.default_rng(0)
    rows, words = rng.normal(size=(40, 7)), [f"w{i}" for i in range(40)]
    made = from_rows(rows, words)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scores = unit @ unit[3]
    expected = [i for i in np.argsort(-scores) if i != 3]
    found = made.similar("w3", 6)
    assert [w for w, _ in found] == [words[i] for i in expected[:6]]
    np.testing.assert_allclose([s for _, s in found], scores[expected[:6]], rtol=1e-5)
    assert made.similar(rows[3])[0] == ("w3", pytest.approx(1, rel=1e-5))
    assert len(made.similar("w3", 1000)) == 39
    query = unit[5] - unit[4] + unit[6]
    scores = unit @ query / np.linalg.norm(query)
    scores[[4, 5, 6]] = -np.inf
    assert made.analogy("w4", "w5", "w6", 3) == [
        (words[i], pytest.approx(scores[i], rel=1e-5)) for i in np.argsort(-scores)[:3]
    ]


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subwords", [None, (1, 2)])
def test_a_saved_model_is_the_same_and_trains_on(tmp_path, subwords):
    sentences, _ = planted(200)
    made = WordVectors(dim=10, epochs=1, subwords=subwords, buckets=64).fit(sentences)
    made.save(tmp_path / "words.safetensors")
    again = WordVectors.load(tmp_path / "words.safetensors")
    assert again.words == made.words and again.subwords == subwords and again.dim == 10
    np.testing.assert_array_equal(again.vectors, made.vectors)
    np.testing.assert_array_equal(again.counts, made.counts)
    np.testing.assert_array_equal(again.fit(sentences).vectors, made.fit(sentences).vectors)
    if subwords:
        np.testing.assert_array_equal(again.vector("房水"), made.vector("房水"))


def test_a_file_that_was_cut_or_is_foreign_is_refused(tmp_path):
    path = tmp_path / "words.safetensors"
    WordVectors(dim=4, least=1, epochs=1).fit([["a", "b"]]).save(path)
    whole = path.read_bytes()
    for broken in (whole[:-5], whole[:40], b"", whole[:-1] + bytes([whole[-1] ^ 1]), b"2 2\na 1 2\n"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="load"):
            WordVectors.load(path)
    word_vectors.save_with_checksum({"weights": np.zeros(3)}, path)
    with pytest.raises(ValueError, match="holds no word vectors"):
        WordVectors.load(path)
    settings = {name: getattr(WordVectors(dim=4), name) for name in word_vectors.SETTINGS}
    content = {
        "format": word_vectors.FORMAT,
        "settings": settings,
        "words": ["a", "b"],
        "begun": 1,
        "counts": np.ones(2),
    }
    word_vectors.save_with_checksum(content | {"inputs": np.zeros((2, 3)), "outputs": np.zeros((2, 3))}, path)
    with pytest.raises(ValueError, match="expected tables"):
        WordVectors.load(path)
    with pytest.raises(FileNotFoundError):
        WordVectors.load(tmp_path / "none")
    assert [p.name for p in tmp_path.iterdir()] == ["words.safetensors"]  # nothing half-written is left


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dim": 0}, ValueError, "dim: expected at least 1, got 0"),
        ({"window": 2.5}, TypeError, "window: expected a whole number, got float"),
        ({"negative": -1}, ValueError, "negative"),
        ({"threads": 0}, ValueError, "threads"),
        ({"epochs": True}, TypeError, "epochs"),
        ({"sample": -1e-3}, ValueError, "sample"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate: expected a number of more than 0"),
        ({"learning_rate": math.nan}, ValueError, "learning_rate"),
        ({"subwords": (2, 1)}, ValueError, "subwords"),
        ({"seed": "x"}, TypeError, "seed"),
    ],
)
def test_settings_that_make_no_sense_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        WordVectors(**arguments)


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ([], ValueError, "there are none"),
        ([["a", "b"]], ValueError, "5 times or more .*the most frequent 1"),
        ("text", TypeError, "one string"),
        (["a text"], TypeError, "got the string 'a text': cut it first"),
        ([["a", 3]], TypeError, "words that are strings, got 3"),
        ([3], TypeError, "lists of words, got int"),
    ],
)
def test_sentences_that_are_none_are_named(sentences, error, message):
    with pytest.raises(error, match=message):
        WordVectors().fit(sentences)


def test_questions_that_make_no_sense_are_named():
    made = from_rows(np.eye(3), "abc")
    with pytest.raises(KeyError, match="'d' has no vector"):
        made.similar("d")
    with pytest.raises(ValueError, match=r"vector \[3\], got shape \[2\]"):
        made.similar(np.ones(2))
    with pytest.raises(ValueError, match="most"):
        made.similar("a", 0)
    with pytest.raises(TypeError, match="word: expected a string"):
        made.vector(3)


# --- corpora ------------------------------------------------------------------------------------------------------
