"""The language of what a notebook prints."""

import pytest

from sampan import learn
from sampan.learn.language import say


def test_a_text_is_said_in_the_language_that_was_chosen():
    assert say(("yes", "是")) == "yes"
    learn.language("zh")
    try:
        assert say(("yes", "是")) == "是"
    finally:
        learn.language("en")
    assert say(("yes", "是")) == "yes"


@pytest.mark.parametrize("lang", ["fr", "EN", None, 1])
def test_another_language_is_refused(lang):
    with pytest.raises(ValueError, match=f"lang must be 'en' or 'zh', got {lang!r}"):
        learn.language(lang)
