"""The stylesheet: one set of colours, two themes, enough contrast in each."""

from __future__ import annotations

import re

import pytest

from studio.paths import STATIC, STYLES, stylesheet

CSS = stylesheet()
BLOCK = re.compile(r"(:root[^{]*)\{(.*?)\n\s*\}", re.S)


def colours(body: str) -> dict[str, str]:
    return dict(re.findall(r"(--sp-[\w-]+):\s*(#[0-9a-f]{6})", body))


BLOCKS = [(selector.strip(), colours(body)) for selector, body in BLOCK.findall(CSS)]
LIGHT, DARK_BY_SYSTEM, DARK_BY_CHOICE = (block for _, block in BLOCKS)


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance of an sRGB colour."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_formula() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_dark_is_the_same_by_system_and_by_choice() -> None:
    assert [selector for selector, _ in BLOCKS][1:] == [
        ':root:not([data-theme="light"])',
        ':root[data-theme="dark"]',
    ]
    assert DARK_BY_SYSTEM == DARK_BY_CHOICE != {}


def test_dark_names_every_colour() -> None:
    assert LIGHT.keys() == DARK_BY_CHOICE.keys()


@pytest.mark.parametrize("theme", [LIGHT, DARK_BY_CHOICE], ids=["light", "dark"])
def test_text_can_be_read(theme: dict[str, str]) -> None:
    grounds = ("paper", "surface", "sunk")
    pairs = [(ink, ground) for ink in ("ink", "soft", "accent", "bad") for ground in grounds]
    pairs += [
        ("on-accent", "accent"),
        ("on-accent", "accent-strong"),
        ("good", "good-wash"),
        ("bad", "bad-wash"),
    ]
    pairs += [("ink", "wash"), ("ink", "good-wash"), ("ink", "bad-wash"), ("accent-strong", "wash")]
    for ink, ground in pairs:
        found = contrast(theme[f"--sp-{ink}"], theme[f"--sp-{ground}"])
        assert found >= 4.5, f"{ink} on {ground}: {found:.2f}"


@pytest.mark.parametrize("theme", [LIGHT, DARK_BY_CHOICE], ids=["light", "dark"])
def test_controls_and_curves_can_be_seen(theme: dict[str, str]) -> None:
    for name in ("edge", "accent", "run-1", "run-2", "run-3", "run-4", "run-5"):
        for ground in ("paper", "surface"):
            found = contrast(theme[f"--sp-{name}"], theme[f"--sp-{ground}"])
            assert found >= 3, f"{name} on {ground}: {found:.2f}"


def test_no_colour_outside_the_variables() -> None:
    rest = BLOCK.sub("", CSS)
    rest = re.sub(r"/\*.*?\*/", "", rest, flags=re.S)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(", rest) == []


def test_every_part_is_linked_and_none_is_long() -> None:
    found = [path.relative_to(STATIC).as_posix() for path in (STATIC / "styles").glob("*.css")]
    assert sorted(found) == sorted(set(STYLES) - {"studio.css"})
    for name in STYLES:
        text = (STATIC / name).read_text("utf-8")
        assert text.startswith("/* ") and text.count("\n") <= 120, name


def test_every_variable_that_is_used_exists() -> None:
    defined = set(re.findall(r"(--sp-[\w-]+):", CSS))
    assert set(re.findall(r"var\((--sp-[\w-]+)", CSS)) <= defined
