"""What people of a class do in their browsers: the acts of the scripted classroom in `test_browser_classroom.py`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from playwright.sync_api import Error

from tests.webapp.conftest import accessibility_problems
from tests.webapp.hub.serving import NOTEBOOK, ClassHub

OPENING_MS = 180_000  # the start of a learner's Studio, JupyterLab, a verdict: on a busy machine
SERVICE = "/services/sampan-7b/studio"
WEEK = "week 1"
CONTEST = "coins"
RIGHT = '@learn.exercise("ops.relu")\ndef relu(x):\n    out = x.clamp(min=0)\n    return out, lambda g: g * (x > 0)\n'
WRONG = RIGHT.replace("min=0", "max=0")  # one case of five is right: 0.2 points
COINS = 12


class Person:
    """Someone in front of a browser. Every page of ours that is looked at must be accessible and fit its window."""

    seen: ClassVar[set[str]] = set()  # pages of learners that were looked at: those of thirty are alike

    def __init__(self, new_page: Callable[..., Any], hub: ClassHub, name: str, **options: Any) -> None:
        self.hub, self.name = hub, name
        self.page = new_page(logged_in=False, at=hub, **{"locale": "en-US", **options})
        self.page.set_default_timeout(OPENING_MS)

    def log_in(self, path: str) -> None:
        self.page.goto(self.hub.url + path)
        self.look()
        self.page.get_by_label("Name").fill(self.name)
        self.page.get_by_label("Password").fill(self.hub.passwords[self.name])
        self.page.get_by_role("button", name="Log in").click(no_wait_after=True)

    def go(self, path: str) -> None:
        self.page.goto(self.hub.url + path)
        self.look()

    def press(self, name: str, **options: Any) -> None:
        self.page.get_by_role("button", name=name, exact=True).click(**options)

    def look(self) -> None:
        assert accessibility_problems(self.page) == [], self.page.url
        width, window = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= window, f"{self.page.url} is {width} px wide in a window of {window} px"

    def text(self) -> str:
        return str(self.page.locator("main").inner_text())

    def leave(self) -> None:
        """Close the browser: a page that computes gives its place back when it is left."""
        for page in self.page.context.pages:
            page.goto("about:blank")
        self.page.context.close()


class Teacher(Person):
    def arrive(self) -> None:
        self.log_in(f"{SERVICE}/grading/7b")
        self.page.get_by_role("heading", name="7b", level=1).wait_for()
        self.look()

    def hand_out(self, deadline: float) -> None:
        page = self.page
        page.get_by_label("Assignment", exact=True).last.fill(WEEK)
        page.get_by_label("Orientation").check()
        self.press("Hand out")
        page.get_by_text("The assignment is released.").wait_for()
        self.set_terms(deadline)
        page.get_by_label("Text: paragraphs and links").fill("Welcome. Start with week 1.")
        self.press("Announce")
        page.locator("article", has_text="Welcome. Start with week 1.").wait_for()
        self.look()

    def set_terms(self, deadline: float) -> None:
        """A tenth of the points for each started day; three hand-ins."""
        page = self.page
        page.goto(f"{self.hub.url}{SERVICE}/grading/7b?assignment={WEEK}")
        page.get_by_label("Deadline (empty: none)").fill(
            time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(deadline))
        )
        page.get_by_label("After the deadline").select_option("penalty")
        page.get_by_label("Percent of the points for each started day").fill("10")
        page.get_by_label("Hand-ins of each notebook").fill("3")
        page.locator("form[action$='/terms']").get_by_role("button", name="Save").click()
        page.get_by_text(f"Due {time.strftime('%Y-%m-%d', time.localtime(deadline))}").wait_for()

    def make_competition(self, folder: Path) -> None:
        page = self.page
        sides = ["heads" if number % 3 else "tails" for number in range(COINS)]
        rows = [
            f"{number},{side},{'Public' if number < COINS // 2 else 'Private'}"
            for number, side in enumerate(sides)
        ]
        solution, data = folder / "solution.csv", folder / "coins.csv"
        solution.write_text("id,label,part\n" + "\n".join(rows) + "\n")
        data.write_text(
            "id,year\n" + "\n".join(f"{number},{1900 + number}" for number in range(COINS)) + "\n"
        )
        self.go(f"{SERVICE}/competitions")
        page.get_by_role("link", name="New competition").click()
        self.look()
        page.get_by_label("Name in addresses").fill(CONTEST)
        page.get_by_label("Title", exact=True).fill("Heads or tails")
        page.get_by_label("Description, in Markdown").fill("Say how each coin fell.")
        page.get_by_label("Solution: CSV with the ids and the labels").set_input_files(solution)
        page.get_by_label("Files for learners").set_input_files(data)
        page.get_by_label("Column of the split, if any").fill("part")
        self.press("Create the competition")
        page.wait_for_url(f"**/competitions/{CONTEST}/manage")
        self.look()

    def shown(self) -> dict[str, tuple[str, str]]:
        """Of each learner in the heat map: the points, and the mark of the exercise in words."""
        self.page.goto(f"{self.hub.url}{SERVICE}/grading/7b?assignment={WEEK}")
        found = {}
        for row in self.page.locator("tr[id^='learner-']").all():
            points, mark = row.locator("td").nth(0).inner_text(), row.locator("td").nth(1).inner_text()
            found[str(row.get_attribute("id")).removeprefix("learner-")] = (
                points.split()[0],
                " ".join(mark.split()),
            )
        return found

    def comment(self, learner: str, mark: str, words: str) -> None:
        page = self.page
        page.locator(f"#learner-{learner} td a").first.click()
        page.wait_for_url(f"**/{NOTEBOOK}/{learner}")
        assert "max=0" in self.text()  # the answer as it was written, beside its verdict
        page.get_by_label("Mark by hand").fill(mark)
        page.get_by_label("Comment for the learner").fill(words)
        self.press("Save")
        page.get_by_text("Saved.").wait_for()
        self.look()

    def return_marks(self, count: int) -> None:
        self.go(f"{SERVICE}/grading/7b?assignment={WEEK}")
        self.press("Return to all")
        self.page.get_by_text(f"Returned to {count} of {count}.").wait_for()

    def end_competition(self) -> None:
        self.go(f"{SERVICE}/competitions/{CONTEST}/manage")
        self.press("End now")
        self.page.get_by_text("Ended").first.wait_for()


class Learner(Person):
    @property
    def own(self) -> str:
        return f"/user/{self.name}"

    def look(self) -> None:
        kind = re.sub(r"learner\d+|[0-9a-f]{32}|\?.*", "", self.page.url)
        if kind not in self.seen:
            super().look()
            self.seen.add(kind)

    def come(self) -> None:
        """Log in: the Hub begins to start the own Studio."""
        self.log_in("/")
        self.page.wait_for_url(re.compile("/hub/spawn|/user/"), wait_until="commit")

    def arrive(self) -> None:
        """Wait on the Hub's page until the own Studio has started."""
        self.page.wait_for_url(re.compile(f"/hub/spawn-pending/{self.name}|{self.own}/studio"))
        if "spawn-pending" in self.page.url:
            with suppress(Error):  # the browser may go on meanwhile
                try:
                    self.look()
                except AssertionError:  # a page that is only half there
                    if "spawn-pending" in self.page.url:
                        raise
        self.page.wait_for_url(f"**{self.own}/studio")
        self.look()

    def fetch(self) -> None:
        """From the assignment to JupyterLab, or to a place in the queue."""
        self.go(f"{self.own}/studio/assignments")
        card = self.page.locator(f"[data-assignment='{WEEK}']")
        assert "Late work costs 10 % of the points for each started day" in card.inner_text()
        card.get_by_role("button", name=re.compile("^(Fetch and open|Open)")).click(no_wait_after=True)
        self.page.wait_for_url(re.compile("/studio/open/lab/|/lab/tree/"), wait_until="commit")

    def waits(self, place: str) -> None:
        self.page.get_by_text(place, exact=True).wait_for()
        assert "All places of this machine are in use." in self.text()
        self.look()

    def answer(self, code: str) -> str:
        """Write the exercise in JupyterLab, check it, and read the verdict."""
        page = self.page
        page.wait_for_url("**/lab/tree/**", wait_until="commit")
        cell = page.locator(".jp-CodeCell", has_text="@learn.exercise")
        cell.locator(".sampan-exercise").wait_for()
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(code)
        page.keyboard.press("Control+Enter")
        self.tool("Check my work").click()
        verdict = page.locator(".sampan-lesson .sp-steps > li")
        verdict.wait_for()
        return str(verdict.get_attribute("data-kind"))

    def hand_in(self) -> str:
        """The number of the receipt."""
        self.tool("Hand in").click()
        self.page.locator(".jp-Dialog").get_by_role("button", name="Hand in").click()
        said = self.page.locator(".sampan-lesson [data-said]")
        said.get_by_text("Receipt").wait_for()
        found = re.search(r"Receipt ((?:[0-9A-F]{4}-){2}[0-9A-F]{4})", said.inner_text())
        assert found, said.inner_text()
        return found[1]

    def tool(self, name: str) -> Any:
        return self.page.locator(".jp-NotebookPanel-toolbar").get_by_role("button", name=name).first

    def free_the_place(self) -> None:
        self.go(f"{self.own}/studio/sessions")
        self.page.locator(".sp-session").get_by_role("button", name="Stop").click()
        self.page.get_by_text("No session is running.").wait_for()

    def compute(self) -> None:
        """A page that computes: an expression on Tape, forward and backward."""
        page = self.page
        page.goto(f"{self.hub.url}{self.own}/studio/open/page/tape", wait_until="commit")
        page.wait_for_url("**/studio/page/tape?**", wait_until="commit")
        page.locator("#content .jupyter-widgets").first.wait_for()
        page.get_by_role("button", name="Next").first.wait_for()
        self.look()

    def compete(self, folder: Path, right: int) -> None:
        """Submit predictions of which the first `right` say heads or tails correctly, and read the score."""
        page = self.page
        page.goto(f"{self.hub.url}{self.own}/studio/competitions")
        page.get_by_role("link", name="Heads or tails").click()
        page.get_by_role("link", name="Data", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("link", name="coins.csv").click()
        ids = [line.split(",")[0] for line in Path(download.value.path()).read_text().splitlines()[1:]]
        truth = ["heads" if int(one) % 3 else "tails" for one in ids]
        wrong = {"heads": "tails", "tails": "heads"}
        rows = [
            f"{one},{side if n < right else wrong[side]}"
            for n, (one, side) in enumerate(zip(ids, truth, strict=True))
        ]
        path = folder / f"{self.name}.csv"
        path.write_text("id,label\n" + "\n".join(rows) + "\n")
        page.get_by_role("link", name="Submit", exact=True).click()
        self.look()
        page.get_by_label("CSV file or notebook").set_input_files(path)
        self.press("Submit")
        page.locator("main .is-good").get_by_text("Public score").wait_for()
        self.look()

    def board(self) -> list[str]:
        """The rows of the leaderboard, as read."""
        self.go(f"{SERVICE}/competitions/{CONTEST}/board")
        rows = self.page.locator(".sp-board tbody tr")
        rows.first.wait_for()
        return [" ".join(row.split()) for row in rows.all_inner_texts()]

    def marks(self) -> str:
        self.go(f"{self.own}/studio/courses/handed-in")
        return self.text()

    def stop(self) -> None:
        """Stop the own Studio, as a class with little memory is asked to, and log out."""
        self.go("/hub/home")
        self.press("Stop my Studio")
        self.page.get_by_text("It does not run now.").wait_for()
        self.look()
        self.page.get_by_role("link", name=f"Log out {self.name}").click()
        self.page.get_by_role("button", name="Log in").wait_for()
