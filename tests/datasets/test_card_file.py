"""Cards of data sets: a bad one is named, and the project's are whole."""

import pytest

from sampan import datasets
from sampan.datasets import card_file, places
from tests.datasets.miniature import miniature

pytestmark = pytest.mark.usefixtures("own_folders")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('licence = "Apache-2.0"\n', "", "has no `licence`"),
        ("scale = 255", 'scale = "255"', "`scale` .* is str, expected int"),
        ('name = "tiny"', 'name = "other"', "names the data set 'other', its folder says 'tiny'"),
        ('origin = "made"', 'origin = "found"', "expected 'real' or 'made'"),
        ('reader = "idx"', 'reader = "pickle"', "'pickle', expected one of idx"),
        ("[layouts.files.test_labels]", "[layouts.files.labels]", "expected .*'test_labels'"),
        ('title = "Tiny"', 'title = "Tiny', "not a card in TOML"),
        ('source = "tests"', 'source = "tests"\nsauce = "none"', "unknown keys: sauce"),
    ],
)
def test_a_bad_card_is_named(tmp_path, old, new, message):
    miniature(tmp_path)
    path = tmp_path / "tiny" / "card.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as caught:
        card_file.read_card(path)
    assert str(path) in str(caught.value)


def test_every_card_of_the_project_is_whole():
    known = datasets.cards()
    assert set(known) == {path.name for path in places.bundled().iterdir()}
    texts = {"hotel_reviews", "takeaway_reviews", "shopping_reviews", "news_titles"}
    assert set(known) >= {
        "digits",
        "mnist",
        "cifar10",
        "coriolanus",
        "tinyshakespeare",
        "meshes",
        "movielens_latest_small",
        *("cora", "citeseer", "dblp_four_area", "wn18rr", "bitcoin_otc"),
        *texts,
    }
    sound = {"recording", "label", "speaker"}
    log = {"users", "items", "values", "times", "titles", "genres"}
    for card in known.values():
        assert card.origin == "real" and card.licence and card.source.startswith("http")
        assert card.about and card.about_zh
        shapes = ({"grids", "labels", "parts"}, {"vertices", "triangles"}, log, sound)
        if card.layouts[0].reader in datasets.graphs.MADE:
            assert any(name.startswith("graph") for name in card.schema)
        else:
            assert set(card.schema) in ({"images", "labels"}, {"text"}, {"texts", "labels"}, *shapes)
            # meshes: views of all, no parts
            assert card.size["train"] >= card.size["test"] > 0 or card.name == "meshes"
        assert all(len(sha256) == 64 for sha256 in card.sha256.values())
        assert len({ord(letter) > 0x4E00 for letter in card.title_zh}) == 2
