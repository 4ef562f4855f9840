"""The pages of a personal Studio, with work in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from studio.i18n import t
from tests.webapp.cells import write_cells
from tests.webapp.running import Studio, free_port, start_studio, until
from tests.webapp.test_browser_sessions import JOB
from tests.webapp.views.deploy.test_browser import DeployPage
from tests.webapp.views.embeddings.test_browser import EmbeddingsPage
from tests.webapp.views.fleet.test_browser import FleetPage
from tests.webapp.views.graph.test_browser import GraphPage
from tests.webapp.views.sparse.test_browser import SparsePage
from tests.webapp.views.tape.test_browser import TapePage
from tests.webapp.views.train.test_browser import SEVEN, TrainPage
from tools.made_class import ASSIGNMENT, make_class

from .camera import Camera, Subject

LESSON, SECOND = "00_orientation", "01_tensors_and_the_tape"
RELU = '@learn.exercise("ops.relu")\ndef relu(x):\n    out = x.clamp(min=0)\n    return out, lambda g: g * (x > 0)\n'
ANSWERS = {
    "autograd-unbroadcast": '@learn.exercise("autograd.unbroadcast")\ndef unbroadcast(gradient, shape):\n    return gradient\n',
    "ops-multiply": '@learn.exercise("ops.multiply")\ndef multiply(x, y):\n    return x * y, lambda g: (g * y, g * x)\n',
}
CLASS, NOTEBOOK = "spring", "02_training"
CONTEST = "two-digits"  # the example
MODELS = ("wenetspeech_zh", "wenetspeech_zh_int8")  # compared
TABLE = "name,city,age\nLi Wei,Chengdu,14\nZhang Min,Xi'an,15\nWang Fang,Harbin,14\nChen Jie,Kunming,16\n"


@contextmanager
def studio(folder: Path) -> Iterator[Studio]:
    """A Studio with a class of twelve that is graded, a data set of its own, a job, and two lessons that were begun."""
    home = folder / "sampan-work"
    classroom = home / "classes" / CLASS
    make_class(classroom, learners=12, notebooks=(NOTEBOOK,))
    command(home, "grade", str(classroom))
    (folder / "people.csv").write_text(TABLE)
    command(home, "data", "add", str(folder / "people.csv"), "--name", "people", "--licence", "CC0")
    (folder / "train.py").write_text(JOB)
    started = start_studio(home, "--port", str(free_port()), HOME=str(folder), SAMPAN_CPU_SLOTS="16")
    try:
        command(home, "run", str(folder / "train.py"), "--queue")
        yield started
    finally:
        started.stop()


def command(home: Path, *arguments: str) -> None:
    environment = {**os.environ, "SAMPAN_HOME": str(home)}
    subprocess.run([sys.executable, "-m", "studio.cli", *arguments], env=environment, check=True)


# ---- pages without a kernel


def simple(name: str, title: str, about: str, path: str) -> Subject:
    """A page that is photographed as it stands."""

    def act(camera: Camera, lang: str) -> None:
        with camera.visitor(lang, path) as page:
            page.locator("main [data-active]").first.wait_for(state="detached")
            camera.take(page, name, lang)

    return Subject(name, title, about, act)


def login(camera: Camera, lang: str) -> None:
    page = camera.open(lang)
    page.goto(f"{camera.url}studio")
    camera.take(page, "login", lang)
    page.context.close()


def home(camera: Camera, lang: str) -> None:
    with camera.visitor(lang, "studio") as page:
        page.locator("[data-digit][data-best]").wait_for()
        page.wait_for_timeout(1500)  # until the drawing has been read
        camera.front(page, "home", lang)
        camera.take(page, "home", lang)


def courses(camera: Camera, lang: str) -> None:
    """The first lesson is solved, of the second one exercise is right and one is not."""
    with camera.visitor(lang) as page:
        for lesson, answers, right in ((LESSON, {"ops-relu": RELU}, 1), (SECOND, ANSWERS, 1)):
            page.goto(f"{camera.url}studio/courses")
            card = page.locator(f"#lesson-{lesson}")
            if lang == "en":
                card.get_by_role("button", name=t("courses.start", lang)).click(no_wait_after=True)
                page.wait_for_url("**/lab/tree/**", wait_until="commit")
                write_cells(camera.home / "notebooks" / f"{lesson}.ipynb", answers)
                page.goto(f"{camera.url}studio/courses")
                card.get_by_role("button", name=t("courses.check", lang)).click()
            card.locator("[data-kind=passed]").nth(right - 1).wait_for()
        card.evaluate("card => scrollTo(0, card.getBoundingClientRect().top + scrollY - 20)")
        camera.front(page, "courses", lang)
        camera.take(page, "courses", lang)


def lesson(camera: Camera, lang: str) -> None:
    """In JupyterLab, with the verdict beside it."""
    with camera.visitor(lang) as page:
        page.goto(f"{camera.url}studio/courses")
        card = page.locator(f"#lesson-{LESSON}")
        if lang == "zh":
            card.get_by_role("button", name=t("courses.translate", lang)).click()
            page.wait_for_timeout(1000)
        card.get_by_role("button", name=t("courses.open", lang)).click(no_wait_after=True)
        page.wait_for_url("**/lab/tree/**", wait_until="commit")
        bar = page.locator(".sampan-exercise")
        bar.wait_for()
        page.locator(".jp-SideBar.jp-mod-right .lm-TabBar-tab", has_text=t("lesson.title", lang)).click()
        for width, closed in (("wide", {"left": "b"}), ("narrow", {"left": "b", "right": "j"})):
            for side, key in closed.items():  # the side bars take the place of the notebook
                if page.locator(f".jp-SideBar.jp-mod-{side} .lm-mod-current").count():
                    page.keyboard.press(f"Control+{key}")
            page.wait_for_timeout(1000)
            bar.evaluate("bar => bar.parentElement.scrollIntoView({block: 'center'})")
            if width == "wide":
                camera.front(page, "lesson", lang)
            camera.shoot(page, "lesson", lang, width, whole=False)


def models(camera: Camera, lang: str) -> None:
    with camera.visitor(lang, "studio/models") as page:
        for field, name in zip(("a", "b"), MODELS, strict=True):
            page.get_by_label(t(f"models.field.{field}", lang)).select_option(label=name)
        page.get_by_role("button", name=t("models.compare", lang)).click()
        page.locator(".sp-table").first.wait_for()
        camera.take(page, "models", lang)


def competition(camera: Camera, lang: str) -> None:
    at = f"{camera.url}studio/competitions"
    with camera.visitor(lang, "studio/competitions") as page:
        if lang == "en":
            page.get_by_role("button", name=t("competitions.set_up", lang)).click()
            page.wait_for_url(f"**/{CONTEST}")
            until(
                lambda: page.goto(f"{at}/{CONTEST}/board") and "0." in page.locator("main").inner_text(), 180
            )
            page.goto(f"{at}/{CONTEST}/data")
            with page.expect_download() as download:
                page.get_by_role("link", name="sample_submission.csv").click()
            page.goto(f"{at}/{CONTEST}/submit")
            mine = {
                "name": "mine.csv",
                "mimeType": "text/csv",
                "buffer": Path(download.value.path()).read_bytes(),
            }
            page.get_by_label(t("competitions.file_either", lang)).set_input_files(mine)
            page.get_by_role("button", name=t("competitions.send_button", lang), exact=True).click()
            page.locator("main .is-good").get_by_text(t("competitions.score.public", lang)).wait_for()
        page.goto(f"{at}/{CONTEST}/mine")
        entry = page.locator(".sp-entry a").first.get_attribute("href")
        parts = ("", "/data", "/submit", "/board", "/mine", "/manage")
        for part in parts:
            page.goto(f"{at}/{CONTEST}{part}")
            page.wait_for_timeout(500)
            camera.take(page, f"competition{part.replace('/', '_')}", lang)
        page.goto(camera.url.rstrip("/") + str(entry))
        camera.take(page, "competition_entry", lang)


def sessions(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as notebook, camera.visitor(lang) as page:
        notebook.goto(f"{camera.url}lab/tree/notebooks/{LESSON}.ipynb")
        notebook.locator(".sampan-exercise").wait_for()
        page.goto(f"{camera.url}studio/sessions")
        page.locator(".sp-session .sp-curve").first.wait_for()
        page.locator(".sp-session", has_text=f"{LESSON}.ipynb").first.wait_for()
        camera.take(page, "sessions", lang)


# ---- pages that compute


def train(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as page:
        view = TrainPage(page, camera.url, lang)
        done = page.locator(".tr-runs tbody tr").count()
        view.choose_optimizer("SGD", rate="0.1")
        view.fill("epochs", "30")
        view.train(done + 1)
        view.choose_optimizer("Adam", rate="0.001")
        view.fill("epochs", "60")
        view.train(done + 2)
        view.draw(SEVEN)
        view.expect_digit(7)
        page.evaluate("scrollTo(0, 0)")
        camera.front(page, "train", lang)
        camera.take(page, "train", lang)


def tape(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as page:
        view = TapePage(page, camera.url, lang)
        view.wait_for_boxes(7)
        slider = page.get_by_role("slider").first
        slider.focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(1500)
        page.locator(".tp-controls").evaluate(
            "it => scrollTo(0, it.getBoundingClientRect().top + scrollY - 20)"
        )
        camera.front(page, "tape", lang)
        camera.take(page, "tape", lang)


def sparse(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as page:
        view = SparsePage(page, camera.url, lang)
        view.drawn(0)
        page.evaluate("scrollTo(0, 0)")
        camera.front(page, "sparse", lang)
        view.press("sweep")
        for number in (1, 2):
            view.drawn(number)
        for _ in range(2):
            view.slide("resolution", "ArrowLeft")  # 16 voxels a side: quick
        view.choose("seconds", view.t("seconds", count=15))
        view.press("train", ".sx-form >> nth=1")
        page.wait_for_selector('.sx-live .sx-status[data-state="done"]')
        view.drawn(3)
        camera.take(page, "sparse", lang)


def embeddings(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as page:
        view = EmbeddingsPage(page, camera.url, lang)
        view.drawn(0)
        view.type("words.field.asked", "king")
        page.wait_for_selector('[data-kind="neighbours"] li')
        view.press("words.solve", 0)
        page.wait_for_selector('[data-kind="analogy"] li')
        camera.take(page, "embeddings", lang)
        view.open("films")
        view.learn(1, "films", "1")
        view.state(1, "done")
        page.wait_for_selector("[data-user] li")
        view.drawn(1)
        page.wait_for_timeout(2000)
        camera.take(page, "embeddings_films", lang)
        view.open("cache")
        page.wait_for_selector(".em-hits[data-skew]")
        page.wait_for_timeout(2000)
        camera.take(page, "embeddings_hits", lang)


def graph(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as page:
        view = GraphPage(page, camera.url, lang)
        page.wait_for_function("!document.querySelector('.gr-card progress')")
        page.get_by_label(view.t("field.node"), exact=True).fill("34")
        page.get_by_label(view.t("field.node"), exact=True).press("Enter")
        page.wait_for_selector('.gr-sample[data-node="33"]')
        page.get_by_role("heading", name=view.t("heading.explore"), exact=True).evaluate(
            "it => it.scrollIntoView()"
        )
        camera.front(page, "graph", lang)
        view.choose("field.graph", view.t("graph.made"), 1)
        view.press("train", 1)
        page.wait_for_selector('.sx-live .sx-status[data-state="done"]')
        camera.take(page, "graph", lang)


def speech(camera: Camera, lang: str) -> None:
    """A recording that comes with the Studio goes through the recogniser, as from a microphone."""
    with camera.visitor(lang, permissions=["microphone"]) as page:
        page.goto(f"{camera.url}studio/page/speech", wait_until="commit")
        page.wait_for_selector(".so-record:enabled")
        page.get_by_role("button", name=t("speech.play", lang), exact=True).click()
        page.wait_for_selector(".so-text:not([data-lines='0'])")
        page.wait_for_timeout(8000)
        page.get_by_role("heading", name=t("speech.heading.listen", lang), exact=True).evaluate(
            "it => it.scrollIntoView()"
        )
        camera.front(page, "speech", lang)
        camera.take(page, "speech", lang)


def deploy(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as page:
        view = DeployPage(page, camera.url, lang)
        view.drawn("passes")
        view.part("passes").get_by_role("slider").press("End")
        page.wait_for_timeout(1000)
        camera.take(page, "deploy", lang)
        view.open("filters")
        view.drawn("filters")
        view.press("filters", "filters.equal", loss="1.0 %")
        view.press("filters", "filters.prune")
        page.wait_for_selector("[data-rows]")
        camera.take(page, "deploy_filters", lang)
        view.open("bits")
        view.press("bits", "bits.all", bits=4)
        view.drawn("bits")
        page.wait_for_timeout(2000)
        camera.take(page, "deploy_bits", lang)
        view.open("try")
        page.get_by_label(view.t("field.network"), exact=True).select_option(label=view.t("network.reviews"))
        page.wait_for_selector('[data-network="reviews"]')
        page.get_by_label(view.t("try.sentence"), exact=True).fill("房间不干净。")
        page.wait_for_selector('[data-answers="0 0"]')
        camera.take(page, "deploy_sentences", lang)


def fleet(camera: Camera, lang: str) -> None:
    with camera.visitor(lang) as page:
        view = FleetPage(page, camera.url, lang)
        view.start(exchange="half", pace="20", steps="600")
        view.running(after=150)
        view.press("kill", 1)
        view.running(restarts=1, after=200)
        page.locator("#fl-rate-1").select_option("50000")
        view.press("set", 1)
        page.wait_for_timeout(3000)
        view.press("pause", 0)
        page.wait_for_selector('#worker-1[data-waits="0"]')
        camera.take(page, "fleet", lang)
        view.press("stop")
        page.wait_for_selector('#fl-job[data-state="cancelled"]')
        view.open("planner")
        page.wait_for_selector('.sx-tab-planner .sx-plot[data-state="drawn"]')
        view.press("planner.try")
        page.wait_for_selector("[data-tried]")
        page.wait_for_timeout(1000)
        camera.take(page, "fleet_planner", lang)


def trying(camera: Camera, lang: str) -> None:
    with camera.visitor(lang, "studio/page/try?model=activity_small") as page:
        ask = page.get_by_role("button", name=t("try.ask", lang), exact=True).first
        ask.wait_for()
        page.get_by_label(t("try.field.model", lang), exact=True).first.select_option(label="activity_small")
        ask.click()
        page.wait_for_selector(".em-found .em-answer")
        camera.take(page, "try", lang)


AT = f"studio/grading/{CLASS}"
SUBJECTS = [
    Subject("login", "Login", "What a browser without the token sees.", login),
    Subject("courses", "Courses", "The notebooks, their checks and verdicts.", courses),
    Subject("home", "Home", "A digit to draw, a path for the first hour, the pages.", home),
    Subject("lesson", "A lesson", "In JupyterLab, with hints, the check and its verdict.", lesson),
    simple(
        "copy",
        "My copy",
        "What was changed in a notebook, and earlier copies.",
        f"studio/courses/{SECOND}/copy",
    ),
    Subject("train", "Train", "A network learns digits while one watches, and reads a drawn one.", train),
    Subject("tape", "Tape", "A program, step by step, forward and backward.", tape),
    Subject("sparse", "Sparse", "What sparse and dense cost, and a network on points.", sparse),
    Subject("embeddings", "Embeddings: words", "Words on a map, neighbours, analogies.", embeddings),
    Subject("graph", "Graph", "Messages along edges, networks, meta-paths, a stream.", graph),
    Subject("speech", "Speech", "Sound and its text, the beam, the delay; a voice.", speech),
    Subject("deploy", "Deploy", "A network's Program after each pass, and the way to its file.", deploy),
    Subject("fleet", "Fleet", "Workers that train one network, and what one can do to them.", fleet),
    Subject("models", "Models", "Models that are shipped or saved; two of them compared.", models),
    simple("model", "A model", "Its card.", "studio/models/shipped/activity_small"),
    Subject("try", "Try a model", "A model answers in the visitor's kernel.", trying),
    simple("datasets", "Data sets", "What is there, and what was uploaded.", "studio/datasets"),
    simple("dataset", "A data set", "Its card and a look at it.", "studio/datasets/digits"),
    simple("dataset_own", "A data set of one's own", "Its versions.", "studio/datasets/people"),
    Subject("competition", "A competition", "What it is about.", competition),
    simple("competitions", "Competitions", "Their cards.", "studio/competitions"),
    simple("competition_new", "A new competition", "The teacher's form.", "studio/competitions/new"),
    Subject("sessions", "Sessions", "What runs, its use and limits, and a job with its curves.", sessions),
    simple("grading", "Grading", "Classes.", "studio/grading"),
    simple("class", "A class", "Learners and exercises, statistics, terms.", AT),
    simple(
        "work",
        "A submission",
        "Answers beside their verdicts, marks and comments.",
        f"{AT}/work/{ASSIGNMENT}/{NOTEBOOK}/made-05",
    ),
    simple("alike", "Similarity", "Pairs of submissions.", f"{AT}/alike/{ASSIGNMENT}/{NOTEBOOK}"),
    simple(
        "pair",
        "A pair",
        "Two submissions side by side.",
        f"{AT}/alike/{ASSIGNMENT}/{NOTEBOOK}?first=made-01&second=made-02",
    ),
    simple("admin", "Admin", "The state of the machine, errors, backups.", "studio/admin"),
    simple("missing", "An error", "An address where nothing is.", "studio/nothing"),
]
# Pictures that the acts above take on the way.
BESIDE = {
    "deploy": [
        ("deploy_filters", "Deploy: filters", "What each layer can lose, and the smaller network."),
        ("deploy_bits", "Deploy: bits", "Weights with few bits, their levels and the accuracy."),
        ("deploy_sentences", "Deploy: try", "Two networks answer while a sentence is written."),
    ],
    "fleet": [
        ("fleet_planner", "Fleet: planner", "Machines, bytes and steps per second of a table on shards.")
    ],
    "embeddings": [
        (
            "embeddings_films",
            "Embeddings: films",
            "Recommendations beside the most popular films, cold rows.",
        ),
        ("embeddings_hits", "Embeddings: a cache", "Its hit rate."),
    ],
    "competition": [
        ("competition_data", "A competition: data", "The files."),
        ("competition_submit", "A competition: submit", "A file or a notebook, and the team."),
        ("competition_board", "A competition: leaderboard", "The public part of the rows."),
        ("competition_mine", "A competition: my submissions", "Scores so far."),
        ("competition_entry", "A competition: a submission", "Its score and receipt."),
        ("competition_manage", "A competition: manage", "For the teacher."),
    ],
}
