"""The classifier of words and characters, and its comparison."""

import numpy as np
import pytest

import sampan
from benchmarks import word_char as benchmark
from sampan.embedding.word_char import JOINTS
from sampan.models import word_char
from sampan.text import Vocabulary

pytestmark = pytest.mark.usefixtures("one_thread")


GOOD, BAD, PLAIN = "甲乙丙丁戊", "子丑寅卯辰", "天地人山水"


def made(count, seed, fresh):
    """Made sentences whose only telling word has two characters of one kind; `fresh`: pairs that another call lacks."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    sentences = []
    for label in labels:
        kind = (BAD, GOOD)[label]
        i, j = rng.integers(0, 5, 2)
        while ((i + j) % 5 == 0) != fresh:
            i, j = rng.integers(0, 5, 2)
        words = ["".join(rng.choice(list(PLAIN), 2)) for _ in range(3)]
        sentences.append([*words, kind[i] + kind[j]])
    return sentences, labels


def test_texts_become_ids_of_both_channels():
    words, chars = Vocabulary(["酒店", "好"]), Vocabulary(list("酒店好"))
    data = word_char.WordCharTexts(
        [["酒店", "很好", "好"], [], ["好店店店好", "x"]], [1, 0, 1], words, chars, 2, 4
    )
    w, c, y = data.__getitems__([0, 1, 2])
    assert w.tolist() == [[2, 1], [0, 0], [1, 1]] and y.tolist() == [1, 0, 1]
    assert c.tolist() == [
        [[2, 3, 0, 0], [1, 4, 0, 0]], [[0] * 4, [0] * 4], [[4, 3, 3, 3], [1, 0, 0, 0]],
    ]  # fmt: skip
    w, c, y = data[1]
    assert w.tolist() == [0] and c.tolist() == [[0] * 4] and y == 0 and len(data) == 3
    with pytest.raises(ValueError, match=r"labels: expected 1, one for each text, got shape \[2\]"):
        word_char.WordCharTexts([["a"]], [0, 1], words, chars)
    with pytest.raises(ValueError, match="most_words, most_chars"):
        word_char.WordCharTexts([["a"]], [0], words, chars, 0)
    with pytest.raises(ValueError, match="channels: expected one of word, char, concat, gate, sum"):
        word_char.WordCharClassifier(5, 5, 2, channels="both")
    with pytest.raises(ValueError, match="num_classes: expected 1 or more, got 0"):
        word_char.WordCharClassifier(5, 5, 0)


def test_the_mean_of_a_text_does_not_hang_on_its_neighbours():
    words, chars = Vocabulary(["酒店", "好"]), Vocabulary(list("酒店好"))
    data = word_char.WordCharTexts([["好"], ["酒店", "好", "好", "酒店"], []], [0, 1, 0], words, chars)
    for channels in word_char.CHANNELS:
        sampan.seed(1)
        network = word_char.WordCharClassifier(len(words), len(chars), 2, 8, channels)
        network.eval()
        together = network(*map(sampan.to_tensor, data.__getitems__([0, 1, 2])[:2])).numpy()
        for i in range(3):
            alone = network(*map(sampan.to_tensor, data.__getitems__([i])[:2])).numpy()
            np.testing.assert_allclose(together[i : i + 1], alone, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(together[2], network.head.bias.numpy())


def test_characters_tell_what_a_new_word_means():
    """No training sentence has a telling word of the test: the word channel can only guess, characters and joints know."""
    about = benchmark.prepared(*made(400, 1, fresh=False), *made(200, 2, fresh=True), 2)
    assert (about.new > 0).all()
    benchmark._begin(about)
    budget = benchmark.parameters_of(benchmark.network_of("word", 16, about, "mean"))
    hits = {}
    for kind in benchmark.KINDS:
        width = benchmark.width_of(kind, budget, about, "mean")
        spent = benchmark.parameters_of(benchmark.network_of(kind, width, about, "mean"))
        more = benchmark.parameters_of(benchmark.network_of(kind, width + 1, about, "mean"))
        assert spent <= budget < more
        hits[kind] = np.stack([benchmark.right(kind, width, seed, 15, "mean") for seed in (0, 1)])
    accuracy = {kind: hit.mean() for kind, hit in hits.items()}
    assert accuracy["word"] < 0.65, accuracy
    assert min(accuracy[kind] for kind in ("char", *JOINTS)) > 0.9, accuracy
    lines = benchmark.table(about, dict.fromkeys(hits, 16), dict.fromkeys(hits, 1000), hits)
    assert len(lines) == 2 + len(benchmark.KINDS) and len({line.count("|") for line in lines}) == 1
    assert "| word | 16 | 1,000 |" in lines[2] and lines[2].endswith("| - |") and "| + " not in lines[4]
    gain = 100 * (hits["char"].mean(1) - hits["word"].mean(1))
    assert lines[4].endswith(f"| +{gain.mean():.2f} ± {gain.std(ddof=1):.2f} |")


def test_the_vocabularies_come_from_the_training_part_alone():
    train = [["酒店", "很", "好"], ["酒店", "坏", "好"]]
    test = [["酒店", "早餐", "好", "贵", "!"], ["好"], []]
    about = benchmark.prepared(train, np.array([1, 0]), test, np.array([1, 0, 0]), 2)
    assert about.new.tolist() == [0.6, 0.0, 0.0]
    assert about.sizes["word"] == (4, 7) and about.sizes["word, new ones cut"] == (
        2 + 6,
        7,
    )  # 酒店 好; 酒 店 很 坏
    words, chars, _ = about.data["word"][1].__getitems__([0])
    assert (words[0] > 1).tolist() == [True, False, True, False, False]
    assert (chars[0, :, 0] > 1).tolist() == [True, False, True, False, False]
    cut, _, _ = about.data["word, new ones cut"][1].__getitems__([0])
    assert cut.shape == (1, 6) and (cut[0] > 1).tolist() == [True, False, False, True, False, False]
