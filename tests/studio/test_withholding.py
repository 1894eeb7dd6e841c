"""Of an opened policy, no page is told where the ledger is."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.studio.asgi import Visitor
from tests.workflow.small import write_policy, write_tables

from distpriv.errors import LedgerUnavailable
from distpriv.ledger import Ledger
from distpriv.studio.access import Gate
from distpriv.studio.answering import Studio
from distpriv.studio.certifying import Certifier
from distpriv.studio.folder import Folder
from distpriv.studio.views import View
from distpriv.studio.web import studio_app
from distpriv.studio.withholding import without_ledger

WORDS = ("hidden", "anna", "geheim", "127.0.0.1", "54329")


def opened(place: Path, adult: pa.Table, url: str) -> tuple[Studio, Visitor]:
    write_tables(place, adult)
    path = write_policy(place, ("sqlite:///ledger.db", url), ("create = true\n", ""))
    studio, gate = Studio(Folder.started(place, str(path))), Gate(8765)
    return studio, Visitor.let_in(studio_app(studio, gate), gate)


def view_of(visitor: Visitor) -> str:
    found = re.search(r"view&#34;: &#34;([\w-]+)&#34;", visitor.get(f"{visitor.gate.place}/").text)
    assert found is not None
    return found[1]


def test_a_confirmation_does_not_name_the_ledger_of_an_opened_policy(tmp_path: Path, adult: pa.Table) -> None:
    studio, visitor = opened(tmp_path, adult, "sqlite:///hidden-ledger.db")
    saved = visitor.post("save", {"draft": studio.folder.form()})
    assert saved.json()["spends"][3].endswith("There is no ledger yet: it is made first.")
    assert "hidden" not in saved.text


def test_a_ledger_that_cannot_be_made_is_refused_without_saying_where(tmp_path: Path, adult: pa.Table) -> None:
    studio, visitor = opened(tmp_path, adult, "sqlite:///hidden/ward.db")
    saved = visitor.post("save", {"draft": studio.folder.form()}).json()
    asked = {"view": view_of(visitor), "file": saved["file"], "digest": saved["digest"]}
    refused = visitor.post("release", asked).json()["refusal"]
    assert refused.startswith("the ledger cannot be made: nothing was released; see that its folder exists")
    assert not [word for word in (*WORDS, "ward.db", str(tmp_path)) if word in refused]


def test_a_ledger_without_its_key_is_refused_without_its_name(tmp_path: Path, adult: pa.Table) -> None:
    studio, visitor = opened(tmp_path, adult, "sqlite:///hidden.db")
    Ledger.create(f"sqlite:///{tmp_path / 'hidden.db'}")
    (tmp_path / "hidden.db.key").unlink()
    refused = visitor.post("save", {"draft": studio.folder.form()}).json()["refusal"]
    assert refused.startswith("the ledger is not as it was written, as its key is not beside it")
    assert "hidden" not in refused


def test_what_a_plan_says_of_the_ledger_is_told_without_where_it_is(
    tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"the ledger sqlite:///{tmp_path / 'hidden.db'} is of version 1, so nothing is released."

    async def lines(*_: object) -> AsyncGenerator[dict[str, Any], None]:
        yield {"kind": "refused", "refusal": said}

    told: list[dict[str, Any]] = []
    monkeypatch.setattr(Certifier, "lines", lines)
    monkeypatch.setattr(View.instead, "__kwdefaults__", {"after": 0.0})
    monkeypatch.setattr(View, "tell", lambda _, event: told.append(event))
    studio, visitor = opened(tmp_path, adult, "sqlite:///hidden.db")
    body = {"view": view_of(visitor), "number": 1, "draft": studio.folder.form()}
    headers = {"origin": visitor.gate.origin, "content-type": "application/json"}

    async def exchange() -> None:
        await visitor.request("POST", f"{visitor.gate.place}/certify", json.dumps(body).encode(), headers)
        while not told:
            await asyncio.sleep(0.01)

    asyncio.run(exchange())
    assert told == [{"kind": "refused", "refusal": "the ledger is of version 1, so nothing is released.", "number": 1}]


def test_a_server_that_does_not_answer_is_not_named() -> None:
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://anna:geheim@127.0.0.1:54329/hidden"
    with pytest.raises(LedgerUnavailable) as refused:
        Ledger.exists(url)
    assert "hidden" in str(refused.value)
    sentence = without_ledger(str(refused.value), url)
    assert re.match(r"the ledger cannot [a-z ]+: nothing was released; see that its server runs", sentence)
    assert not [word for word in WORDS if word in sentence]


def test_where_no_policy_was_opened_the_ledger_is_named_as_it_is(tmp_path: Path) -> None:
    assert Folder.started(tmp_path, None).told("there is no ledger.db here") == "there is no ledger.db here"
