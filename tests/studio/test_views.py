"""Only the newest question of a page counts, and what it makes stale is given up."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.studio.asgi import Visitor
from tests.studio.drafts import draft
from tests.workflow.small import POLICY

from distpriv.studio.access import Gate
from distpriv.studio.answering import Studio
from distpriv.studio.certifying import Certifier
from distpriv.studio.folder import Folder
from distpriv.studio.views import MOST, View, Views
from distpriv.studio.web import studio_app


def test_an_older_question_is_stale() -> None:
    view = View()
    assert view.asks(1)
    assert view.asks(3)
    assert not view.asks(2)
    assert view.asks(3)


def test_newer_work_ends_older_work_and_alone_is_heard_of() -> None:
    async def told() -> list[Any]:
        view, ended = View(), []

        async def old() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("old")

        async def new() -> None:
            view.tell({"from": "new"})

        view.instead(old, after=0)
        await asyncio.sleep(0.01)
        view.instead(new, after=0)
        events = view.events()
        found = [await anext(events), list(ended)]
        await events.aclose()
        return found

    assert asyncio.run(told()) == [{"from": "new"}, ["old"]]


def test_the_oldest_pages_make_room() -> None:
    views = Views()
    first = views.opened()
    assert views.of(first) is not None
    for _ in range(MOST):
        views.opened()
    assert views.of(first) is None
    assert views.of(None) is None


def test_answers_are_numbered_and_a_page_hears_what_was_certified_of_its_newest_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends without an answer is told of too."""

    async def lines(self: Certifier, text: str, name: str) -> AsyncGenerator[dict[str, Any], None]:
        assert "max_attack_accuracy" in text
        assert (name, self.folder) == ("the policy", tmp_path)
        yield {"kind": "tried", "mechanism": "certified_gaussian", "said": "holds"}

    monkeypatch.setattr(Certifier, "lines", lines)
    monkeypatch.setattr(View.instead, "__kwdefaults__", {"after": 0.0})
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(View, "tell", lambda _, event: told.append(event))
    gate = Gate(8765)
    visitor = Visitor.let_in(studio_app(Studio(Folder.started(tmp_path, None)), gate), gate)

    async def exchange() -> list[dict[str, Any]]:
        page = await visitor.request("GET", f"{gate.place}/", None, {})
        found = re.search(r"view&#34;: &#34;([\w-]+)&#34;", page.text)
        assert found is not None
        view, headers = found[1], {"origin": gate.origin, "content-type": "application/json"}

        async def post(name: str, number: int) -> Any:
            body = json.dumps({"view": view, "number": number, "draft": draft()}).encode()
            return (await visitor.request("POST", f"{gate.place}/{name}", body, headers)).json()

        answers = [await post("answer", 2), await post("answer", 1), await post("certify", 1), await post("certify", 2)]
        while len(told) < 2:
            await asyncio.sleep(0.01)
        return answers

    answers = asyncio.run(exchange())
    assert answers[0]["number"] == 2
    assert answers[0]["provisional"]
    assert answers[1:] == [{"stale": True}, {"stale": True}, {"number": 2}]
    assert [event["kind"] for event in told] == ["tried", "refused"]
    assert {event["number"] for event in told} == {2}


@pytest.mark.slow
def test_another_process_certifies_and_ends_with_a_sentence_or_when_nobody_listens(tmp_path: Path) -> None:
    async def lines() -> tuple[list[dict[str, Any]], Any]:
        certifier = Certifier(tmp_path)
        try:
            found = [event async for event in certifier.lines("[data]\n", "the policy")]
            async with aclosing(certifier.lines(POLICY, "the policy")) as events:
                return found, await anext(events)
        finally:
            await certifier.close()

    (tmp_path / "json.py").write_text("raise SystemExit('imported from the folder')")
    pq.write_table(pa.table({"age": [1, 2] * 50, "income": [">50K", "<=50K"] * 50}), tmp_path / "adult.parquet")
    refused, first = asyncio.run(lines())
    assert [event["kind"] for event in refused] == ["refused"]
    assert refused[0]["refusal"].startswith("the policy, line 1, data.id: this is missing")
    assert first["kind"] in ("tried", "progress", "refused")
