"""A class under JupyterHub with real accounts: two learners, a teacher, the grading account."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import psutil
import pytest
import requests

from studio import moments
from studio.grading import release
from studio.grading.bubble import available
from studio.hub import proxy
from studio.paths import NOTEBOOKS
from tests.webapp import test_endpoints
from tests.webapp.hub import namespace
from tests.webapp.hub.serving import NOTEBOOK, ClassHub, Visitor, serving, wait_for

pytest.importorskip("jupyterhub", reason="needs the extra `hub`")


def missing() -> str:
    """What this machine lacks for these tests."""
    if not namespace.possible():
        return "needs root, and the right to make mount namespaces"
    programs = ("useradd", "chpasswd", "setpriv", "nsenter")
    if not all(map(shutil.which, programs)):
        return f"needs the programs {', '.join(programs)}"
    try:
        proxy.find()
    except ValueError:
        return f"needs Node.js and {proxy.PROGRAM}"
    return "" if available() is None else "needs the sandbox: bubblewrap, libseccomp, user namespaces"


pytestmark = [
    pytest.mark.servers,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]
SERVICE = "/services/sampan-7b"
COPY = f"course/{NOTEBOOK}"
endpoints = test_endpoints.endpoints  # the routing table of a Studio


@pytest.fixture(scope="module")
def hub() -> Iterator[ClassHub]:
    with serving() as running:
        yield running
        secret = running.program("studio.hub.service").environ()["JUPYTERHUB_API_TOKEN"]
        printed = running.printed()
        assert not any(word in printed for word in (*running.passwords.values(), secret))


@pytest.fixture(scope="module")
def ada(hub: ClassHub) -> Visitor:
    """A learner in front of the own Studio."""
    visitor = hub.visitor("ada")
    visitor.open_studio("ada")
    return visitor


@pytest.fixture(scope="module")
def tokens(hub: ClassHub) -> dict[str, dict[str, str]]:
    """Headers by which each is recognised. The grader is the service itself, with the token that the Hub gave it."""
    people = {name: {"Authorization": f"token {hub.token(name)}"} for name in ("ada", "bob", "tia")}
    given = hub.program("studio.hub.service").environ()["JUPYTERHUB_API_TOKEN"]
    wrong = {"Authorization": "token 0123456789abcdef0123456789abcdef"}
    return {**people, "grader": {"Authorization": f"token {given}"}, "nobody": {}, "wrong": wrong}


Ask = Callable[..., requests.Response]


@pytest.fixture(scope="module")
def ask(hub: ClassHub, tokens: dict[str, dict[str, str]]) -> Ask:
    """`ask(who, method, path, **options)`, without cookies or redirects."""

    def once(who: str, method: str, path: str, **options: Any) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            address = path if path.startswith("http") else hub.url + path
            return session.request(
                method, address, headers=tokens[who], allow_redirects=False, **{"timeout": 90, **options}
            )

    return once


def solved() -> bytes:
    return nbformat.writes(release.read(NOTEBOOKS / f"{NOTEBOOK}.ipynb")).encode()


def untouched() -> bytes:
    return nbformat.writes(release.release(release.read(NOTEBOOKS / f"{NOTEBOOK}.ipynb"))).encode()


def graded(ask: Ask, who: str, learner: str = "") -> dict[str, Any]:
    """The one submission of a learner, once its verdict is there."""

    def found() -> dict[str, Any] | None:
        told = ask(
            who, "GET", f"{SERVICE}/api/submissions", params={"learner": learner} if learner else {}
        ).json()
        return next((one for one in told["submissions"] if one["graded"]), None)

    return wait_for(found, 120)  # type: ignore[no-any-return]  # `wait_for` is not typed


# ---- the learner's path


def test_a_learner_checks_and_hands_in_from_the_own_studio(hub: ClassHub, ada: Visitor, ask: Ask) -> None:
    courses = "/user/ada/studio/courses"
    assert ada.press(courses, f"{courses}/{NOTEBOOK}/open").status_code == 303
    copy = hub.root.parent / "home" / "ada" / "sampan-work" / "notebooks" / f"{NOTEBOOK}.ipynb"
    assert release.leaks(release.read(NOTEBOOKS / copy.name), release.read(copy)) == []
    copy.write_bytes(solved())
    assert ada.press(courses, f"{courses}/{NOTEBOOK}/check").status_code == 303
    card = wait_for(
        lambda: None if "data-active" in (text := ada.get(f"{courses}/{NOTEBOOK}/check").text) else text, 120
    )
    assert "1 of 1 solved" in card, card
    reply = ada.press(courses, f"{courses}/{NOTEBOOK}/hand-in")
    assert reply.status_code == 303 and reply.headers["Location"] == f"{courses}/handed-in"
    page = wait_for(
        lambda: None if "will be graded" in (text := ada.get(f"{courses}/handed-in").text) else text, 120
    )
    assert "1 of 1 points" in page
    receipt = json.loads(next(iter((copy.parents[1] / ".studio" / "receipts").glob("*.json"))).read_text())
    assert receipt["learner"] == "ada" and receipt["notebook"] == NOTEBOOK
    for told, valid in ((receipt, True), ({**receipt, "received": receipt["received"] - 3600}, False)):
        reply = ask("tia", "POST", f"{SERVICE}/api/receipts", data=json.dumps(told))
        assert reply.json() == {"valid": valid}


def test_after_the_deadline_the_class_decides(hub: ClassHub, ada: Visitor, ask: Ask) -> None:
    courses, page, teacher = "/user/ada/studio/courses", f"{SERVICE}/studio/grading/7b", hub.visitor("tia")
    at = {"assignment": "course"}

    def terms(deadline: float | None, late: str) -> None:
        values = {**at, "deadline": moments.field(deadline), "late": late}
        assert teacher.press(f"{page}?assignment=course", f"{page}/terms", **values).status_code == 303

    terms(time.time() - 3600, "refused")
    refused = ada.press(courses, f"{courses}/{NOTEBOOK}/hand-in")
    assert refused.status_code == 409 and "The deadline has passed" in refused.text
    late = ask("bob", "POST", f"{SERVICE}/api/submissions/{COPY}", data=untouched())
    assert late.status_code == 409 and late.json()["error"] == "closed"
    extended = {**at, "learner": "ada", "days": "1"}
    assert teacher.press(f"{page}?assignment=course", f"{page}/extension", **extended).status_code == 303
    assert ada.press(courses, f"{courses}/{NOTEBOOK}/hand-in").status_code == 303
    shown = ada.get("/user/ada/studio/assignments").text
    assert "with your extension" in shown and re.search(r"Receipt ([0-9A-F]{4}-){2}[0-9A-F]{4}", shown)
    terms(None, "marked")


def test_the_teacher_sees_marks_under_real_names(hub: ClassHub, ask: Ask) -> None:
    assert ask("bob", "POST", f"{SERVICE}/api/submissions/{COPY}", data=untouched()).status_code == 201
    assert graded(ask, "tia", "bob")["verdict"]["exercises"][0]["verdict"] == "not_attempted"
    teacher = hub.visitor("tia")
    page = teacher.get(f"{SERVICE}/studio/grading/7b")
    assert page.ok and "Lovelace" in page.text and "Müller" in page.text
    rows = teacher.get(f"{SERVICE}/studio/grading/7b/marks.csv").text.splitlines()
    assert next(row for row in rows if ",bob,Müller,Bob," in row).endswith(",0.0,0.0,0.0,1.0")


def test_marks_by_hand_come_back_to_the_learner_and_to_nobody_else(
    hub: ClassHub, ada: Visitor, ask: Ask
) -> None:
    page = f"{SERVICE}/studio/grading/7b/work/course/{NOTEBOOK}/ada"
    teacher = hub.visitor("tia")
    text = teacher.get(page).text
    seen = re.search(r'name="seen-0" value="([0-9a-f]+)"', text)
    xsrf = re.search(r'name="_xsrf" value="([^"]*)"', text)
    assert seen and xsrf
    typed = {
        "seen-0": seen[1],
        "manual-0-0": "0.5",
        "extra-0-0": "",
        "comment-0": "Compare with <np.maximum>.",
    }
    assert "Saved." in teacher.post(page, typed, xsrf[1]).text
    assert ask("ada", "GET", f"{SERVICE}/api/feedback").json() == {"feedback": []}
    back = {"assignment": "course", "learner": "ada"}
    assert teacher.post(f"{SERVICE}/studio/grading/7b/return", back, xsrf[1]).ok
    (one,) = ask("ada", "GET", f"{SERVICE}/api/feedback").json()["feedback"]
    assert one["notebooks"][0]["exercises"][0]["comment"] == typed["comment-0"]
    handed_in = ada.get("/user/ada/studio/courses/handed-in").text
    assert "Compare with &lt;np.maximum&gt;." in handed_in and "0.5 of 1 points" in handed_in
    for who in ("bob", "tia"):  # whom the token names decides, not the request
        told = ask(who, "GET", f"{SERVICE}/api/feedback", params={"learner": "ada"})
        assert told.json() == {"feedback": []}
    assert ask("ada", "POST", f"{SERVICE}/studio/grading/7b/return", data=back).status_code == 403
    assert teacher.post(f"{SERVICE}/studio/grading/7b/return", {**back, "withdraw": "1"}, xsrf[1]).ok
    assert ask("ada", "GET", f"{SERVICE}/api/feedback").json() == {"feedback": []}


def test_a_page_that_computes_has_a_kernel_behind_the_proxy(hub: ClassHub, ada: Visitor, ask: Ask) -> None:
    reply = ada.get("/user/ada/studio/page/tape")
    assert reply.ok and '"baseUrl": "/user/ada/"' in reply.text, reply.text[:3000]
    assert "unsafe-inline" not in re.search(r"script-src[^;]*", reply.headers["Content-Security-Policy"])[0]  # type: ignore[index]  # a policy without it fails here
    kernels = ada.get("/user/ada/api/kernels").json()
    assert [kernel["name"] for kernel in kernels] == ["sampan"]
    upgrade = {
        **{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"},
        **{"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": hub.url},
    }
    address = f"/user/ada/api/kernels/{kernels[0]['id']}/channels"
    with ada.get(address, headers=upgrade, stream=True) as socket:
        assert socket.status_code == 101
    with ada.get(address, headers={**upgrade, "Origin": "http://evil.example"}, stream=True) as socket:
        assert socket.status_code == 403
    # Its place is one of the class's, which the service lends to all learners.
    seen = {
        who: ask(who, "POST", f"{SERVICE}/api/leases/leases", data='{"owner": null}').json()["leases"]
        for who in ("ada", "bob", "tia")
    }
    assert [(one["ask"]["owner"], one["ask"]["title"]) for one in seen["ada"]] == [("ada", "tape")]
    assert seen["tia"] == seen["ada"] and seen["ada"][0]["holder"]["pid"] > 0
    assert [(one["ask"]["owner"], one["ask"]["title"], one["holder"]) for one in seen["bob"]] == [
        ("·", "", None)
    ]
    told = ask(
        "bob",
        "POST",
        f"{SERVICE}/api/leases/extend",
        data=json.dumps({"lease": seen["ada"][0]["id"], "seconds": 60}),
    )
    assert told.json() == {
        "error": "LookupError",
        "words": f"there is no lease '{seen['ada'][0]['id']}' of bob",
    }
    page = ada.get("/user/ada/studio/sessions")
    assert page.ok and "Tape" in page.text


def warm_process(hub: ClassHub) -> psutil.Process | None:
    """Root's, which forks the servers and kernels of all members."""
    for child in psutil.Process(hub.process.pid).children():
        with suppress(psutil.NoSuchProcess):  # one that has just ended, as a zombie has
            if "studio.compute.zygote.server" in child.cmdline():
                return child
    return None


def test_one_warm_process_forks_all_servers_and_kernels(hub: ClassHub, ada: Visitor, ask: Ask) -> None:
    assert ada.get("/user/ada/studio/page/tape").ok
    warm = warm_process(hub)
    assert warm is not None and warm.num_threads() == 1

    def forks_are_members() -> bool:
        """The server, and a kernel or more; a fork that has just begun or ended may still be root's or gone."""
        with suppress(psutil.NoSuchProcess):
            accounts = [fork.uids().real for fork in warm.children()]
            return accounts.count(hub.uid("ada")) >= 2 and 0 not in accounts
        return False

    wait_for(forks_are_members, 60)
    secret = hub.program("studio.hub.service").environ()["JUPYTERHUB_API_TOKEN"]
    assert secret not in " ".join(warm.environ().values())
    tia = hub.visitor("tia")
    tia.open_studio("tia")
    login = next(cookie for cookie in tia.session.cookies if cookie.name == "jupyterhub-user-tia")
    assert login.path == "/user/tia/"  # it is for no other member's server
    ask("tia", "DELETE", "/hub/api/users/tia/server")
    wait_for(lambda: ask("tia", "GET", "/hub/api/user").json()["server"] is None, 120)
    warm.kill()
    tia.open_studio("tia")  # before there is another one, whose imports take seconds
    assert "The server of tia starts without the warm process" in hub.printed()
    assert ada.get("/user/ada/studio").ok  # its forks live on
    wait_for(lambda: warm_process(hub), 60)


def test_nothing_that_was_handed_in_is_lost_when_the_service_is_killed(hub: ClassHub, ask: Ask) -> None:
    receipt = ask("bob", "POST", f"{SERVICE}/api/submissions/{COPY}", data=solved()).json()
    killed = hub.program("studio.hub.service")
    killed.kill()  # before it can be graded; the Hub starts another
    wait_for(lambda: hub.program("studio.hub.service").pid != killed.pid, 300)
    wait_for(lambda: ask("bob", "GET", f"{SERVICE}/api/submissions").ok, 300)

    def found() -> dict[str, Any] | None:
        one = graded(ask, "bob")
        return one if one["sha256"] == receipt["sha256"] else None

    verdict = wait_for(found, 120)["verdict"]
    assert [exercise["passed"] for exercise in verdict["exercises"]] == [True]


def leave_pages(visitor: Visitor, name: str) -> None:
    """As closing the tabs of a browser does: the places of pages that compute are given back."""
    for kernel in visitor.get(f"/user/{name}/api/kernels").json():
        left = visitor.post(
            f"/user/{name}/voila/api/shutdown/{kernel['id']}", {}, visitor.xsrf(f"/user/{name}/")
        )
        assert left.status_code == 204


def test_competitions_of_the_class_are_at_the_service(hub: ClassHub, ada: Visitor) -> None:
    leave_pages(ada, "ada")  # the notebook that is scored waits for a place
    teacher, page = hub.visitor("tia"), f"{SERVICE}/studio/competitions"
    assert teacher.press(page, f"{page}/example").status_code == 303
    seen = ada.get("/user/ada/studio/competitions")  # the link in the navigation of the learner's own Studio
    assert seen.ok and seen.url == hub.url + page and "handwritten digits" in seen.text
    assert f'"{page}/new"' not in seen.text and ada.get(f"{page}/new").status_code == 403
    row = re.compile(r'<th scope="row">baseline .*?<strong>([\d.]+)</strong>', re.DOTALL)
    board = wait_for(lambda: row.search(ada.get(f"{page}/two-digits/board").text), 180)
    assert 0.3 < float(board[1]) < 1  # the notebook's; by chance 0.05
    kept = hub.root / "grading" / ".studio" / "competitions"
    assert kept.stat().st_uid == hub.uid("sampan-grader") and not kept.stat().st_mode & 0o077


# ---- who may do what

METHODS = ("GET", "POST", "DELETE")


@pytest.fixture(scope="module")
def routes() -> list[tuple[str, str]]:
    """(a path that the pattern takes, the handler's name) of every route of the service."""
    from jupyterhub.services.auth import HubOAuth

    from studio.hub import service
    from studio.hub.folder import ClassFolder

    desk: Any = SimpleNamespace(folder=ClassFolder(Path("/srv/7b")), store=None)
    auth = HubOAuth(api_token="x", oauth_client_id="service-sampan-7b", api_url="http://127.0.0.1:1/hub/api")
    rules = service.application(desk, auth, f"{SERVICE}/").default_router.rules[0].target.rules
    return sorted(
        {(test_endpoints._example(rule.matcher.regex.pattern), rule.target.__name__) for rule in rules}
    )


OPEN = {"FileFindHandler", "Preferences", "JupyterHubOAuthCallbackHandler", "RedirectHandler"}
# What every member may enter; tests/webapp/competitions/test_pages.py has who may do what there.
MEMBERS = {
    *(
        "Cards",
        "About",
        "Data",
        "File",
        "Baseline",
        "Submit",
        "TeamPage",
        "Leaderboard",
        "Mine",
        "Entry",
        "Choose",
        "ReceiptFile",
    ),
    *("Health", "NotFound"),
}


def refused(reply: requests.Response) -> bool:
    to_login = reply.status_code == 302 and "/hub/" in reply.headers["Location"]
    return to_login or reply.status_code in (401, 403, 405)


@pytest.mark.parametrize("who", ["nobody", "wrong", "grader", "ada"])
def test_the_service_is_closed_to_all_but_the_teacher(
    ask: Ask, routes: list[tuple[str, str]], who: str
) -> None:
    assert {
        "ClassPage",
        "RunPage",
        "Marks",
        "Return",
        "WorkNotebook",
        "HandIn",
        "Check",
        "Manage",
        "Feedback",
        "SetTerms",
        "Announce",
        "Released",
        *MEMBERS,
    } <= {name for _, name in routes}
    entered = []
    for path, handler in routes:
        if handler in OPEN or (who == "ada" and "/api/" in path):
            continue  # the calls of a learner are tested below
        if who == "ada" and handler in MEMBERS:
            continue
        if who == "grader" and handler in ("Health", "NotFound"):
            continue  # the version, and that nothing is there
        for method in METHODS:
            reply = ask(who, method, path)
            if not refused(reply):
                entered.append((method, path, handler, reply.status_code))
    assert entered == []


def test_the_teacher_enters_the_pages_of_the_own_class(ask: Ask, routes: list[tuple[str, str]]) -> None:
    for path, handler in routes:
        if "/grading" in path:
            assert ask("tia", "GET", path).status_code in (200, 404, 405), (path, handler)
    assert ask("tia", "GET", f"{SERVICE}/studio/grading/7b").ok


def test_the_page_of_the_administrator_is_closed_to_teachers_and_learners(ada: Visitor, ask: Ask) -> None:
    for who in ("ada", "tia"):
        for method, path in (("GET", "admin"), ("GET", "admin/live"), ("POST", "admin/backup")):
            assert ask(who, method, f"{SERVICE}/studio/{path}").status_code == 403
    assert ada.get("/user/ada/studio/admin").status_code == 403


@pytest.mark.parametrize("who", ["bob", "tia", "grader", "nobody", "wrong"])
def test_a_learners_studio_is_closed_to_everyone_else(
    hub: ClassHub, ada: Visitor, ask: Ask, endpoints: list[tuple[str, str]], who: str
) -> None:
    """Straight at the learner's server, without the proxy: programs of other accounts of the machine can do that."""
    server = hub.program("studio.hub.singleuser", "ada")
    address = hub.variable(server, "JUPYTERHUB_SERVICE_URL").rstrip("/")
    entered = []
    public = {**test_endpoints.PUBLIC, "JupyterHubOAuthCallbackHandler": "", "JupyterHubLogoutHandler": ""}
    for path, handler in endpoints:
        if handler in test_endpoints.FILES or {handler, path} & public.keys():
            continue
        for method in METHODS:
            reply = ask(who, method, address + path)
            if not refused(reply):
                entered.append((method, path, handler, reply.status_code))
    assert entered == []
    assert ask("ada", "GET", f"{address}/studio/health").ok  # the way in exists


def test_a_learner_reads_only_the_own_submissions(ask: Ask) -> None:
    own = ask("ada", "GET", f"{SERVICE}/api/submissions").json()
    assert own["learner"] == "ada" and {one["notebook"] for one in own["submissions"]} == {NOTEBOOK}
    assert ask("ada", "GET", f"{SERVICE}/api/submissions", params={"learner": "bob"}).status_code == 403
    assert ask("ada", "POST", f"{SERVICE}/api/receipts", data="{}").status_code == 403
    assert ask("tia", "GET", f"{SERVICE}/api/submissions", params={"learner": "bob"}).ok


def test_calls_that_do_not_fit_are_refused(hub: ClassHub, ask: Ask) -> None:
    call = f"{SERVICE}/api/submissions"
    for place in (
        "course/99_none",
        "other/" + NOTEBOOK,
        "..%2F..%2Froot/" + NOTEBOOK,
        "course/..%2F" + NOTEBOOK,
    ):
        assert ask("ada", "POST", f"{call}/{place}", data=solved()).status_code == 404, place
    assert ask("ada", "POST", f"{call}/{COPY}", data=b"").status_code == 413
    assert ask("ada", "POST", f"{call}/{COPY}", data=b"x" * (21 << 20)).status_code == 413
    told = ask("ada", "POST", f"{SERVICE}/api/check/{COPY}", data=b"not a notebook").json()
    assert told["error"] == "broken"
    names = {path.name for path in (hub.root / "grading" / "classes" / "7b" / "submitted").iterdir()}
    assert names == {"ada", "bob"}


def test_no_other_site_can_act_for_a_teacher(hub: ClassHub) -> None:
    teacher = hub.visitor("tia")
    assert teacher.get(f"{SERVICE}/studio/grading/7b").ok
    for headers in ({"Origin": "http://evil.example", "Referer": "http://evil.example/"}, {}):
        terms = ("terms", "extension", "visible", "announcements")
        for path in ("run", "import", "release", "cancel", "return", f"work/course/{NOTEBOOK}/ada", *terms):
            address = f"{hub.url}{SERVICE}/studio/grading/7b/{path}"
            reply = teacher.session.post(address, data={"assignment": "course"}, headers=headers, timeout=60)
            assert reply.status_code == 403, (path, headers, reply.status_code)


# ---- what a learner's own program can reach

ATTACK = """
import json, os, pathlib
def tried(act):
    try: return repr(act())[:200]
    except OSError as error: return type(error).__name__
root, home, victim, service = pathlib.Path(%r), pathlib.Path(%r), %d, %d
print(json.dumps({
    "course": tried(lambda: list((root / "grading").iterdir())),
    "checks": tried(lambda: (root / "grading/course/checks/%s.py").read_text()),
    "gradebook": tried(lambda: open(root / "grading/classes/7b/gradebook.db", "ab")),
    "packaged": tried(lambda: list(pathlib.Path(%r).iterdir())),
    "competitions": tried(lambda: list((root / "grading/.studio/competitions").iterdir())),
    "secrets": tried(lambda: (root / "hub/cookie_secret").read_bytes()),
    "settings": tried(lambda: (root / "hub/serve.json").read_text()),
    "released": tried(lambda: (root / "released/en/%s.ipynb").write_text("x")),
    "roster": tried(lambda: (root / "roster.json").read_text()),
    "neighbour": tried(lambda: list(home.iterdir())),
    "token": tried(lambda: pathlib.Path(f"/proc/{victim}/environ").read_bytes()),
    "service": tried(lambda: pathlib.Path(f"/proc/{service}/environ").read_bytes()),
    "signal": tried(lambda: os.kill(victim, 0)),
    "end": tried(lambda: os.kill(service, 15)),
    "own": tried(lambda: (root / "released/en/%s.ipynb").stat().st_size > 0),
}))
"""


def test_a_learners_program_reaches_neither_checks_nor_marks_nor_neighbours(
    hub: ClassHub, ada: Visitor
) -> None:
    victim, service = hub.program("studio.hub.singleuser", "ada"), hub.program("studio.hub.service")
    code = ATTACK % (
        *(str(hub.root), "/home/ada", victim.pid, service.pid),
        *(NOTEBOOK, str(NOTEBOOKS), NOTEBOOK, NOTEBOOK),
    )
    run = hub.run_as("bob", code)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told.pop("own") == "True"
    assert set(told.values()) == {"PermissionError"}, told
    assert service.uids().real == hub.uid("sampan-grader") and victim.uids().real == hub.uid("ada")


def test_the_token_of_a_learners_server_opens_nothing_else(hub: ClassHub, ada: Visitor) -> None:
    """What a notebook can find: the token in its server's environment."""
    token = hub.variable(hub.program("studio.hub.singleuser", "ada"), "JUPYTERHUB_API_TOKEN")
    headers = {"Authorization": f"token {token}"}
    asked = {
        path: requests.get(f"{hub.url}/hub/api/{path}", headers=headers, timeout=30).status_code
        for path in ("user", "users", "users/bob", "groups", "services", "proxy", "users/bob/tokens")
    }
    assert asked.pop("user") == 200
    assert set(asked.values()) <= {403, 404}, asked
    reply = requests.get(f"{hub.url}{SERVICE}/studio/grading/7b", headers=headers, timeout=30)
    assert reply.status_code == 403


# ---- a trial


def test_a_trial_serves_a_class_without_root() -> None:
    with serving(trial=True) as trial:
        told = trial.printed()
        assert "This is a trial. Every learner's code runs as the account tim" in told
        found = dict(re.findall(r"(Learners|Teachers) log in with their name and the password (\S+)", told))
        learner, teacher = trial.log_in("ada", found["Learners"]), trial.log_in("tia", found["Teachers"])
        assert learner.open_studio("ada").ok
        assert NOTEBOOK in learner.get("/user/ada/studio/courses").text
        assert teacher.get(f"{SERVICE}/studio/grading/7b").ok
        assert learner.get(f"{SERVICE}/studio/grading/7b").status_code == 403
        # The learners' password opens no teacher's door, and nobody else's at all.
        for name in ("tia", "eve"):
            stranger = Visitor(trial.url)
            assert "Invalid username or password" in stranger.log_in(name, found["Learners"]).text
