"""The layouts of AISHELL-1 and WenetSpeech, made in a folder, and what is malformed in them."""

import json

import pytest

from sampan.datasets.speech_layouts import aishell, wenetspeech
from sampan.engine.errors import InvalidArgument


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "transcript").mkdir()
    lines = "BAC009S0002W0122 而 对 楼市\n\nBAC009S0003W0123 限购  一\nBAC009S0004W0001 无 声\n"
    (tmp_path / "transcript" / "aishell_transcript_v0.8.txt").write_text(lines, encoding="utf-8")
    for place in (
        "train/S0003/BAC009S0003W0123",
        "train/S0002/BAC009S0002W0122",
        "train/S0002/none",
        "dev/x/y",
    ):
        path = tmp_path / "wav" / f"{place}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def test_aishell(corpus):
    found = aishell(corpus)
    assert [(u.name, u.text, u.speaker) for u in found] == [
        ("BAC009S0002W0122", "而对楼市", "S0002"),
        ("BAC009S0003W0123", "限购一", "S0003"),
    ]
    assert found[0].path == corpus / "wav" / "train" / "S0002" / "BAC009S0002W0122.wav"
    assert aishell(corpus, separator=" ")[1].text == "限购 一"


def test_malformed_aishell(corpus, tmp_path):
    with pytest.raises(
        InvalidArgument, match=r"part: expected recordings with transcripts in .*dev, found none"
    ):
        aishell(corpus, "dev")
    path = corpus / "transcript" / "aishell_transcript_v0.8.txt"
    path.write_text("a 一\nb\n", encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"v0.8.txt:2: expected a name and words, got 'b'"):
        aishell(corpus)
    path.write_bytes("a 而对楼市".encode("gbk"))
    with pytest.raises(InvalidArgument, match=r"expected UTF-8"):
        aishell(corpus)
    path.unlink()
    with pytest.raises(InvalidArgument, match=r"expected a file of transcripts, found none"):
        aishell(corpus)


SEGMENTS = [
    {"sid": "Y0_S0", "begin_time": 1.5, "end_time": 3.25, "text": "怎么样", "subsets": ["L", "M", "S"]},
    {"sid": "Y0_S1", "begin_time": 4, "end_time": 6, "text": "一", "subsets": ["L"]},
]


def write(folder, content):
    path = folder / "WenetSpeech.json"
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def test_wenetspeech(tmp_path):
    audio = {"aid": "Y0", "path": "audio/train/Y0.opus", "segments": SEGMENTS}
    path = write(tmp_path, {"audios": [audio]})
    (found,) = wenetspeech(path)
    assert (found.name, found.text, found.speaker, found.start, found.end) == (
        "Y0_S0",
        "怎么样",
        "Y0",
        1.5,
        3.25,
    )
    assert found.path == tmp_path / "audio" / "train" / "Y0.opus"
    assert [u.name for u in wenetspeech(path, "L")] == ["Y0_S0", "Y0_S1"]


def test_malformed_wenetspeech(tmp_path):
    audio = {"aid": "Y0", "path": "Y0.opus", "segments": SEGMENTS}
    path = write(tmp_path, {"audios": [audio]})
    with pytest.raises(InvalidArgument, match=r"subset: expected segments of 'XL'"):
        wenetspeech(path, "XL")
    backwards = [SEGMENTS[0] | {"begin_time": 9}]
    with pytest.raises(InvalidArgument, match=r"segment Y0_S0: expected 0 <= begin < end, got 9.0, 3.25"):
        wenetspeech(write(tmp_path, {"audios": [audio | {"segments": backwards}]}))
    for content in ({}, {"audios": [{"aid": "Y0"}]}, [], {"audios": 3}):
        with pytest.raises(InvalidArgument, match=r"expected audios with aid, path and segments"):
            wenetspeech(write(tmp_path, content))
    path.write_text("{")
    with pytest.raises(InvalidArgument, match=r"expected audios"):
        wenetspeech(path)
    with pytest.raises(InvalidArgument, match=r"found none"):
        wenetspeech(tmp_path / "missing.json")
