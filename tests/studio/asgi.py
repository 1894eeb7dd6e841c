"""A browser without a window: requests to the application itself, with the headers that a browser sends."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Self

from attrs import define, field, frozen

from distpriv.studio.access import COOKIE, Gate, Guard

__all__ = ["Answer", "Visitor"]


@frozen(kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


@define(kw_only=True)
class Visitor:
    """One browser; its cookie is kept as browsers keep it."""

    app: Guard
    gate: Gate
    cookie: str | None = None

    @classmethod
    def let_in(cls, app: Guard, gate: Gate) -> Self:
        """Return a browser that has used a link."""
        found = cls(app=app, gate=gate)
        assert found.get(gate.link().removeprefix(gate.origin)).status == 200
        return found

    def get(self, path: str, **headers: str) -> Answer:
        return asyncio.run(self.request("GET", path, None, headers))

    def post(self, name: str, body: object, **headers: str) -> Answer:
        content = json.dumps(body).encode()
        given = {"origin": self.gate.origin, "content_type": "application/json", **headers}
        return asyncio.run(self.request("POST", f"{self.gate.place}/{name}", content, given))

    async def request(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Answer:
        path, _, query = target.partition("?")
        own = {"host": self.gate.host} | ({} if self.cookie is None else {"cookie": self.cookie})
        named = {name.replace("_", "-"): value for name, value in {**own, **headers}.items() if value != ""}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
            "server": ("127.0.0.1", self.gate.port), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        sent: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": content or b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return waiting.pop(0) if waiting else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        first = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        if COOKIE in first.get("set-cookie", ""):
            self.cookie = first["set-cookie"].partition(";")[0]
        parts = [message.get("body", b"") for message in sent[1:]]
        return Answer(status=sent[0]["status"], headers=first, body=b"".join(parts))
