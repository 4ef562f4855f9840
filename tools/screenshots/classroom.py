"""The pages that a member of a class sees, under a real JupyterHub with accounts of their own; needs root."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.webapp.hub.classroom import SERVICE, WEEK, WRONG, Learner, Teacher
from tests.webapp.hub.serving import NOTEBOOK, ClassHub, serving, wait_for

from .camera import LOCALES, Camera

PEOPLE = "name,first_name,last_name,email,role\nada,Ada,Lovelace,,learner\ntia,Tia,Zhang,,teacher\n"
PAGES = [
    ("class_login", "A class: login", "The Hub's page."),
    ("class_starting", "A class: start", "The Hub starts the learner's own Studio."),
    ("class_home", "A class: Home", "With what is new and what is due."),
    ("class_assignments", "A class: assignments", "Deadlines, hand-ins, receipts, marks."),
    ("class_handed_in", "A class: handed in", "Marks and comments that the teacher returned."),
    ("class_waiting", "A class: waiting", "All places are in use."),
    ("class_stop", "A class: my Studio", "The Hub's page to stop it."),
    ("class_teacher", "A class: the teacher's page", "Learners and exercises, terms, announcements."),
]


@contextmanager
def hub() -> Iterator[ClassHub]:
    """A class with one learner and one place for sessions."""
    before = os.environ.get("SAMPAN_CPU_SLOTS")
    os.environ["SAMPAN_CPU_SLOTS"] = "1"
    try:
        with serving(people=PEOPLE) as running:
            yield running
    finally:
        os.environ.pop("SAMPAN_CPU_SLOTS")
        if before is not None:
            os.environ["SAMPAN_CPU_SLOTS"] = before


def tour(camera: Camera, running: ClassHub) -> None:
    """One assignment from handing out to the returned comment, then the pages in each language."""

    def new_page(logged_in: bool, at: ClassHub, **options: Any) -> Any:
        return camera.open("zh" if options.pop("locale", "") == LOCALES["zh"] else "en", **options)

    teacher = Teacher(new_page, running, "tia")
    teacher.arrive()
    teacher.hand_out(time.time() + 3 * 86400)
    worked = False
    for lang, locale in LOCALES.items():
        learner = Learner(new_page, running, "ada", locale=locale)
        page = learner.page
        page.goto(running.url)
        camera.take(page, "class_login", lang)
        page.locator("#username_input").fill("ada")
        page.locator("#password_input").fill(running.passwords["ada"])
        page.locator("#login_submit").click(no_wait_after=True)
        page.wait_for_url(re.compile("/hub/spawn-pending/ada|/user/ada/studio"))
        # The Hub is done before it is photographed: its page stands still without its reports.
        quiet = camera.open(lang)
        quiet.context.add_cookies(page.context.cookies())
        quiet.route("**/api/users/**", lambda route: route.abort())
        quiet.goto(f"{running.url}/hub/spawn-pending/ada")
        camera.take(quiet, "class_starting", lang)
        quiet.context.close()
        page.wait_for_url("**/user/ada/studio")
        page.locator("[data-live] .sp-notice").first.wait_for()
        camera.take(page, "class_home", lang)
        if not worked:
            worked = True
            learner.fetch()
            learner.answer(WRONG)
            learner.hand_in()
            wait_for(lambda: "0.2" in teacher.shown().get("ada", ("", ""))[1], 120)
            teacher.comment("ada", "0.5", "Which numbers does clamp(max=0) keep? Try it on [-1, 2].")
            teacher.return_marks(1)
        for name, path in (("assignments", "assignments"), ("handed_in", "courses/handed-in")):
            page.goto(f"{running.url}/user/ada/studio/{path}")
            camera.take(page, f"class_{name}", lang)
        page.goto(f"{running.url}/user/ada/studio/open/lab/assignments/{WEEK}/{NOTEBOOK}.ipynb")
        page.locator(".sampan-session").get_by_text("CPU").wait_for()  # the notebook has the only place
        page.goto(f"{running.url}/user/ada/studio/open/page/tape")
        page.locator("[data-queue]").wait_for()
        camera.take(page, "class_waiting", lang)
        page.goto(f"{running.url}/hub/home")
        camera.take(page, "class_stop", lang)
        if lang != list(LOCALES)[-1]:
            page.locator("#stop").click()
            page.locator("#stop").wait_for(state="detached")
        page.context.close()
        own = Teacher(new_page, running, "tia", locale=locale)
        own.page.goto(f"{running.url}{SERVICE}/grading/7b?assignment={WEEK}")
        own.page.locator("#username_input").fill("tia")
        own.page.locator("#password_input").fill(running.passwords["tia"])
        own.page.locator("#login_submit").click()
        own.page.locator("#learner-ada").wait_for()
        camera.take(own.page, "class_teacher", lang)
        own.page.context.close()
