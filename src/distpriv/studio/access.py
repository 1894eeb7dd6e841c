"""Who may speak to a studio: browsers on this machine that were let in by a link that works once.

The page is bound to 127.0.0.1, which is no protection by itself: any page of the web that the same browser shows can
send requests there, by a name of its own that leads to this machine too. So every request must name this very address
as its host, must come from the page itself where a browser says where it comes from, and must have the cookie that a
link with a token was exchanged for. The cookie is of one path that has a name by chance, since browsers send cookies to
all ports of a machine.
"""

import hmac
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["ADDRESS", "COOKIE", "PAGE_POLICY", "REPORT_POLICY", "Gate", "Guard"]

ADDRESS = "127.0.0.1"
COOKIE = "distpriv_studio"

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""What the page may load: its own files, and nothing from anywhere else; no script or style inside of it runs."""

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
"""The same for a report, which is one file with its styles in it and without a script."""

FREE = ("/open", "/favicon.ico")
"""What is answered without a cookie: the exchange of a token, and that there is no icon, which browsers ask for."""

HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@define
class Gate:
    """The tokens that work once, and the browsers that were let in."""

    port: int
    place: str = field(factory=lambda: f"/{secrets.token_hex(12)}", init=False)
    """The path that everything is below; by chance, so that other servers on this machine are not sent the cookie."""
    _tokens: set[str] = field(factory=set, init=False, repr=False)
    _sessions: set[str] = field(factory=set, init=False, repr=False)

    @property
    def host(self) -> str:
        """The only host that requests may name."""
        return f"{ADDRESS}:{self.port}"

    @property
    def origin(self) -> str:
        """The only origin that requests may come from."""
        return f"http://{self.host}"

    def link(self) -> str:
        """Return an address that lets one browser in, once."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(token)
        return f"{self.origin}/open?token={token}"

    def exchange(self, token: str) -> str | None:
        """Return the cookie of a new session for a token, which does not work any more then; None for any other."""
        found = _same(token, self._tokens)
        if found is None:
            return None
        self._tokens.remove(found)
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        return f"{COOKIE}={session}; Path={self.place}; HttpOnly; SameSite=Strict"

    def knows(self, cookies: str) -> bool:
        """Tell whether a browser was let in."""
        try:
            found = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return False
        return found is not None and _same(found.value, self._sessions) is not None

    def refusal(self, method: str, path: str, headers: dict[str, list[str]]) -> str | None:
        """Return why a request is not answered, in one sentence; None for one that may be."""
        if headers.get("host") != [self.host]:
            return "this studio answers at its own address alone: open the link that it printed."
        origins = headers.get("origin", [])
        if (origins or method not in ("GET", "HEAD")) and origins != [self.origin]:
            return "this request comes from another page, and is not answered."
        if path in FREE:
            return None
        if set(headers.get("sec-fetch-site", [])) - {"same-origin", "none"}:
            return "this request comes from another page, and is not answered."
        if not self.knows("; ".join(headers.get("cookie", []))):
            return "this browser was not let in: open a new link, from the page in a browser that was, or start anew."
        return None


@define
class Guard:
    """Lets no request through that the gate refuses, and puts the headers on every answer."""

    app: "ASGIApp"
    gate: Gate

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer, or refuse with 403 and one sentence."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_missing(message["headers"])]}
            await send(message)

        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        refusal = self.gate.refusal(scope["method"], scope["path"], headers)
        if refusal is None:
            await self.app(scope, receive, guarded)
            return
        from starlette.responses import PlainTextResponse

        await PlainTextResponse(refusal, status_code=403)(scope, receive, guarded)


def _missing(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers that an answer does not have already."""
    there = {name.decode("latin-1").lower() for name, _ in given}
    return [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.lower() not in there]


def _same(text: str, known: Iterable[str]) -> str | None:
    """Return the one that is the same, in a time that does not tell how much of it is."""
    found = None
    for each in known:
        if hmac.compare_digest(each.encode(), text.encode("utf-8", "replace")):
            found = each
    return found
