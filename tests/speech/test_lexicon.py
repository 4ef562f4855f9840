"""Words for syllables: against all divisions by enumeration, as a stream, and files that are wrong."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.lexicon import TONE_COST, UNKNOWN_COST, Lexicon, LexiconTokens, load_tokens
from sampan.speech.pinyin import pinyin_units

WORDS = [
    ("你好", ("ni3", "hao3"), 100),
    ("你", ("ni3",), 300),
    ("泥", ("ni2",), 16),
    ("好", ("hao3",), 200),
    ("号", ("hao4",), 90),
    ("学习", ("xue2", "xi2"), 80),
    ("学", ("xue2",), 60),
    ("雪", ("xue3",), 40),
    ("喜", ("xi3",), 30),
    ("好学", ("hao4", "xue2"), 15),
    ("习", ("xi2",), 10),
]
LEXICON = Lexicon(WORDS, "made for a test")
TOKENS = LexiconTokens({name: n for n, name in enumerate(["<pad>", *pinyin_units()])}, LEXICON)
SAID = ["ni3", "ni2", "hao3", "hao4", "xue2", "xue3", "xi2", "xi3", "xi1", "fo2"]
SYLLABLES = st.lists(st.sampled_from(SAID), max_size=6)


def best_by_enumeration(syllables):
    """The highest score of any division into words."""
    total, best = sum(count for _, _, count in WORDS), -math.inf
    for cuts in itertools.product([False, True], repeat=max(len(syllables) - 1, 0)):
        ends = [n + 1 for n, cut in enumerate(cuts) if cut] + [len(syllables)]
        score, start = 0.0, 0
        for end in ends:
            part = syllables[start:end]
            scores = [
                math.log(count / total) - TONE_COST * sum(a != b for a, b in zip(part, own, strict=True))
                for _, own, count in WORDS
                if [s[:-1] for s in own] == [s[:-1] for s in part]
            ]
            score += max(scores, default=-UNKNOWN_COST if len(part) == 1 else -math.inf)
            start = end
        best = max(best, score)
    return best if syllables else 0.0


@given(SYLLABLES)
def test_the_best_division(syllables):
    found = LEXICON.read_syllables(syllables)
    assert found.score == pytest.approx(best_by_enumeration(syllables))
    assert sum(size for _, size in found.words) == len(syllables)


def test_tones_may_differ_and_unknown_syllables_stay_in_pinyin():
    assert LEXICON.read_syllables(["ni2", "hao3"]).text == "你好"  # as 你好 is said
    assert LEXICON.read_syllables(["ni2"]).text == "泥"
    assert LEXICON.read_syllables(["fo2", "xue2", "xi2"]).text == "fo2学习"


@given(SYLLABLES, SYLLABLES)
def test_settled_words_stay_whatever_follows(syllables, more):
    settled = LEXICON.settled(syllables)
    assert LEXICON.read_syllables(syllables + more).words[: len(settled)] == settled


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["你好", "学习", "好学", "雪"]), min_size=1, max_size=12))
def test_a_transcript_of_arriving_numbers_ends_as_the_whole_text(words):
    ids, kept, finals = TOKENS.encode("".join(words)), None, [""]
    for count in range(1, len(ids) + 1):
        partial, final, kept = TOKENS.transcript(ids[:count], max(count - 3, 0), kept)
        assert final.startswith(finals[-1])
        finals.append(final)
    assert final + partial == TOKENS.text(ids)
    assert len(ids) - kept[1] <= 4 * LEXICON.longest + 3  # what is waiting does not grow with the text


def logits_of(frames, rng):
    """float32 [frames, units]: each frame's token is the likeliest by 6 nats."""
    made = rng.normal(0, 0.5, (len(frames), len(TOKENS))).astype("float32")
    made[np.arange(len(frames)), frames] += 8
    return made


def test_decoding():
    rng = np.random.default_rng(0)
    ids = TOKENS.encode("学习")
    logits = logits_of([0, ids[0], ids[0], ids[1], 0, ids[2], ids[3], 0], rng)
    assert TOKENS.decode(logits) == TOKENS.decode(paddle.to_tensor(logits)) == "学习"
    assert TOKENS.pinyin(logits) == "xue2 xi2"
    assert TOKENS.decode(np.array([0, *ids])) == "学习"
    assert TOKENS.decode(logits_of([0, 0, 0], rng)) == ""
    assert TOKENS.decode(np.zeros((0, len(TOKENS)), "float32")) == ""


def test_the_lexicon_chooses_between_hypotheses_that_sound_alike():
    """xue2 xi1 is no word: the second hypothesis, a little less probable by sound, is one."""
    tokens = TOKENS
    heard = [(tokens.encode("xue2 xi1"), -1.0), (tokens.encode("xue2 xi2"), -1.5)]
    assert tokens.choose(heard) == "学习"
    assert tokens.choose([]) == ""


def test_pronunciation_and_encoding():
    assert LEXICON.pronounce("你好学习") == ["ni3", "hao3", "xue2", "xi2"]
    assert TOKENS.encode("你好") == TOKENS.encode("ni3 hao3")
    with pytest.raises(InvalidArgument, match="text: '猫' is in no word"):
        LEXICON.pronounce("你猫")


def test_files(tmp_path):
    TOKENS.save(tmp_path)
    again = load_tokens(tmp_path)
    assert isinstance(again, LexiconTokens)
    assert (again.vocabulary, again.lexicon.words, again.weight) == (TOKENS.vocabulary, WORDS, TOKENS.weight)
    assert again.lexicon.note == "made for a test"


def test_files_that_are_wrong(tmp_path):
    TOKENS.save(tmp_path)
    path = tmp_path / "lexicon.txt"
    path.unlink()
    with pytest.raises(InvalidArgument, match=r"expected a file lexicon\.txt, found none"):
        load_tokens(tmp_path)
    for wrong in ("你好 ni3 hao3", "你好 ni hao 5", "你好", ""):
        path.write_text(f"# note\n你 ni3 5\n{wrong}\n", encoding="utf-8")
        with pytest.raises(InvalidArgument, match=r"lexicon.txt, line 3: expected a word, its pinyin"):
            load_tokens(tmp_path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidArgument, match="expected UTF-8"):
        load_tokens(tmp_path)
    path.write_text("# empty\n")
    with pytest.raises(InvalidArgument, match="words: expected at least one"):
        load_tokens(tmp_path)


def test_bad_logits():
    with pytest.raises(InvalidArgument, match="logits: expected numbers, got NaN"):
        TOKENS.decode(np.full((3, len(TOKENS)), np.nan, "float32"))
    with pytest.raises(InvalidArgument, match=r"logits: expected \[frames, 217\]"):
        TOKENS.decode(np.zeros((3, 5), "float32"))
