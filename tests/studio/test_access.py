"""Who a studio speaks to: one browser for each link, from its own page, by its own address."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from tests.studio.asgi import Visitor
from tests.studio.drafts import draft

from distpriv.studio.access import Gate, Guard
from distpriv.studio.answering import Studio
from distpriv.studio.folder import Folder
from distpriv.studio.web import studio_app

POSTS = ("offer", "answer", "curve", "certify", "save", "example", "release", "link")


@pytest.fixture
def gate() -> Gate:
    return Gate(8765)


@pytest.fixture
def app(gate: Gate, tmp_path: Path) -> Guard:
    return studio_app(Studio(Folder.started(tmp_path, None)), gate)


def test_a_link_lets_one_browser_in_and_works_no_second_time(app: Guard, gate: Gate) -> None:
    link = gate.link().removeprefix(gate.origin)
    first, second = Visitor(app=app, gate=gate), Visitor(app=app, gate=gate)
    opened = first.get(link)
    assert opened.status == 200
    assert f"url={gate.place}/" in opened.text
    cookie = opened.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", f"Path={gate.place}"} <= set(cookie.split("; "))
    assert first.get(f"{gate.place}/").status == 200
    refused = second.get(link)
    assert (refused.status, second.cookie) == (403, None)
    assert refused.text.startswith("this link was used, or is of another studio: take a new one")
    assert second.get(f"{gate.place}/").status == 403


def test_asking_whether_a_link_leads_anywhere_does_not_use_it(app: Guard, gate: Gate) -> None:
    link = gate.link().removeprefix(gate.origin)
    checker, browser = Visitor(app=app, gate=gate), Visitor(app=app, gate=gate)
    asked = [asyncio.run(checker.request("HEAD", link, None, {})) for _ in range(2)]
    assert [answer.status for answer in asked] == [200, 200]
    assert all("set-cookie" not in answer.headers and not answer.body for answer in asked)
    assert checker.get(f"{gate.place}/").status == 403
    assert browser.get(link).status == 200
    assert browser.get(f"{gate.place}/").status == 200
    assert checker.get(link).status == 403


def test_asking_so_tells_nobody_whether_a_token_is_one(app: Guard, gate: Gate) -> None:
    link, visitor = gate.link().removeprefix(gate.origin), Visitor(app=app, gate=gate)
    good, guessed = (asyncio.run(visitor.request("HEAD", path, None, {})) for path in (link, "/open?token=x"))
    assert good == guessed
    foreign = asyncio.run(visitor.request("HEAD", link, None, {"host": "evil.example"}))
    assert foreign.status == 403


def test_a_second_browser_comes_in_by_a_link_that_the_first_one_asks_for(app: Guard, gate: Gate) -> None:
    first = Visitor.let_in(app, gate)
    view = _view(first)
    link = first.post("link", {"view": view}).json()["link"]
    second = Visitor(app=app, gate=gate)
    assert second.get(link.removeprefix(gate.origin)).status == 200
    assert first.cookie != second.cookie
    assert first.get(f"{gate.place}/").status == second.get(f"{gate.place}/").status == 200


def test_a_restart_forgets_all_links_and_all_browsers(app: Guard, gate: Gate, tmp_path: Path) -> None:
    link, before = gate.link().removeprefix(gate.origin), Visitor.let_in(app, gate)
    again = Gate(8765)
    anew = studio_app(Studio(Folder.started(tmp_path, None)), again)
    stranger = Visitor(app=anew, gate=again, cookie=before.cookie)
    assert stranger.get(link).status == 403
    assert stranger.get(f"{again.place}/").status == 403
    assert again.place != gate.place


@pytest.mark.parametrize("token", ["", "x", "?", "é", "A" * 5000])
def test_a_guessed_token_is_refused(app: Guard, gate: Gate, token: str) -> None:
    gate.link()
    assert Visitor(app=app, gate=gate).get(f"/open?token={token}").status == 403


@pytest.mark.parametrize("path", ["/", "/studio.css", "/static/studio.js", "/events?view=x", "/bundle/b/report.html"])
def test_nothing_is_shown_without_the_cookie(app: Guard, gate: Gate, path: str) -> None:
    stranger = Visitor(app=app, gate=gate)
    assert stranger.get(f"{gate.place}{path}").status == 403
    for cookie in ("distpriv_studio=", "distpriv_studio=x", "other=1", "distpriv_studio", 'a="'):
        stranger.cookie = cookie
        assert stranger.get(f"{gate.place}{path}").status == 403


@pytest.mark.parametrize(
    "host",
    ["localhost:8765", "127.0.0.1", "127.0.0.1:80", "evil.example:8765", "127.0.0.1:8765.evil.example", "[::1]:8765"],
)
def test_a_foreign_host_is_refused_whatever_the_cookie(app: Guard, gate: Gate, host: str) -> None:
    known = Visitor.let_in(app, gate)
    for path in (f"{gate.place}/", gate.link().removeprefix(gate.origin)):
        answer = known.get(path, host=host)
        assert answer.status == 403
        assert "set-cookie" not in answer.headers
    assert known.post("link", {"view": _view(known)}, host=host).status == 403


@pytest.mark.parametrize(
    "origin", ["", "null", "https://evil.example", "http://127.0.0.1:8766", "http://localhost:8765"]
)
def test_a_foreign_origin_or_none_is_refused(app: Guard, gate: Gate, origin: str) -> None:
    known = Visitor.let_in(app, gate)
    for name in POSTS:
        answer = known.post(name, {"view": _view(known), "number": 1, "draft": draft()}, origin=origin)
        assert answer.status == 403
        assert answer.text == "this request comes from another page, and is not answered."


def test_a_page_elsewhere_cannot_even_read_with_the_cookie(app: Guard, gate: Gate) -> None:
    known = Visitor.let_in(app, gate)
    assert known.get(f"{gate.place}/", origin="https://evil.example").status == 403
    for site in ("cross-site", "same-site"):
        assert known.get(f"{gate.place}/", sec_fetch_site=site).status == 403
    for site in ("same-origin", "none"):
        assert known.get(f"{gate.place}/", sec_fetch_site=site).status == 200


def test_that_there_is_no_icon_is_all_that_is_said_to_strangers(app: Guard, gate: Gate) -> None:
    stranger = Visitor(app=app, gate=gate)
    answer = stranger.get("/favicon.ico")
    assert (answer.status, answer.body) == (204, b"")
    assert stranger.get("/favicon.ico", host="evil.example").status == 403


def test_a_form_of_another_page_is_no_json(app: Guard, gate: Gate) -> None:
    known = Visitor.let_in(app, gate)
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = known.post("save", {"draft": draft()}, content_type=kind)
        assert (answer.status, answer.json()["refusal"]) == (200, "a page sends JSON to its studio: reload the page.")


def test_every_answer_has_the_policy_that_lets_no_foreign_thing_in(app: Guard, gate: Gate) -> None:
    known, stranger = Visitor.let_in(app, gate), Visitor(app=app, gate=gate)
    answers = [
        known.get(f"{gate.place}/"),
        known.get(f"{gate.place}/nowhere"),
        known.post("answer", {}),
        stranger.get("/"),
        stranger.get(gate.link().removeprefix(gate.origin)),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"


def test_the_page_asks_for_its_own_files_alone_and_has_nothing_inline(app: Guard, gate: Gate) -> None:
    known = Visitor.let_in(app, gate)
    html = known.get(f"{gate.place}/").text
    assert re.findall(r'(?:src|href)="([^"]*)"', html) == ["data:,", "studio.css", "static/studio.js"]
    assert "<style" not in html
    assert " style=" not in html
    assert " on" not in re.sub(r">[^<]*<", "><", html).replace(" only", "")
    css = known.get(f"{gate.place}/studio.css")
    assert css.headers["content-type"].startswith("text/css")
    assert "url(" not in css.text
    assert "@import" not in css.text
    for name in ("studio.js", "form.js"):
        script = known.get(f"{gate.place}/static/{name}")
        assert script.headers["content-type"].startswith("text/javascript")
        assert "://" not in script.text
        assert "innerHTML" not in script.text


@pytest.mark.parametrize(
    "path",
    ["static/../web.py", "static/..%2Fweb.py", "static/%2e%2e/web.py", "bundle/../policy.toml", "bundle/./report.html",
     "bundle/..%2f/report.html", "bundle/release-1/../report.html", "bundle/release-1/report.html", "../open"],
)  # fmt: skip
def test_no_other_file_can_be_asked_for(app: Guard, gate: Gate, path: str, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("private")
    (tmp_path / "release-1").mkdir()
    (tmp_path / "release-1" / "report.html").write_text("of another studio")
    answer = Visitor.let_in(app, gate).get(f"{gate.place}/{path}")
    assert answer.status in (403, 404, 405)
    assert "private" not in answer.text


def test_what_is_not_answered_is_not_answered_in_other_ways_either(app: Guard, gate: Gate) -> None:
    known = Visitor.let_in(app, gate)
    assert known.get(f"{gate.place}/save").status == 405
    assert known.post("", {}).status == 405
    assert known.post("answer", [1]).json() == {"refusal": "a page sends JSON to its studio: reload the page."}
    huge = known.post("answer", {"draft": "x" * 300_000})
    assert huge.json() == {"refusal": "this is more than a page sends: choose fewer statistics."}
    gone = known.post("answer", {"view": "x", "number": 1, "draft": draft()})
    assert gone.json() == {"refusal": "this page is of an earlier start of the studio: reload it."}


def test_half_a_character_is_refused_wherever_it_is(app: Guard, gate: Gate) -> None:
    known = Visitor.let_in(app, gate)
    for changes in ({"statistics": {"\ud800": "mean(age)"}}, {"statistics": {"a": "count(sex = '\ud800')"}}):
        answer = known.post("save", {"draft": draft(**changes)})
        assert answer.json() == {"refusal": "a page sends JSON to its studio: reload the page."}


@pytest.mark.parametrize("depth", [500, 5_000, 95_000])
def test_json_that_is_nested_too_deeply_is_refused_as_any_other_that_no_page_sends(
    app: Guard, gate: Gate, depth: int
) -> None:
    known = Visitor.let_in(app, gate)
    headers = {"origin": gate.origin, "content_type": "application/json"}
    deep = "[" * depth + "]" * depth
    form = json.dumps(draft(tables={"people": {"count": True, "by": "DEEP"}})).replace('"DEEP"', deep)
    for text in ("[" * 150_000, deep, f'{{"draft": {deep}}}', f'{{"draft": {form}}}'):
        answer = asyncio.run(known.request("POST", f"{gate.place}/save", text.encode(), headers))
        assert (answer.status, list(answer.json())) == (200, ["refusal"])
    unfinished = asyncio.run(known.request("POST", f"{gate.place}/save", b"[" * 150_000, headers))
    assert unfinished.json() == {"refusal": "a page sends JSON to its studio: reload the page."}


def _view(visitor: Visitor) -> str:
    found = re.search(r"view&#34;: &#34;([\w-]+)&#34;", visitor.get(f"{visitor.gate.place}/").text)
    assert found is not None
    return found[1]
