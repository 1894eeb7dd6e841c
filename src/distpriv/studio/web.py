"""The studio as a web application: which address answers what; everything else is in other files."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread
from attrs import Factory, define, field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from distpriv._version import __version__
from distpriv.errors import DistprivError, InvalidInput
from distpriv.studio.access import REPORT_POLICY, Gate, Guard
from distpriv.studio.answering import Studio
from distpriv.studio.certifying import Certifier
from distpriv.studio.draft import Draft
from distpriv.studio.views import View, Views

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["studio_app"]

LONGEST = 200_000
"""Bytes of a request."""

STATIC = {
    "studio.js": "text/javascript; charset=utf-8",
    "form.js": "text/javascript; charset=utf-8",
}
"""The files that the page asks for, beside its style."""

SCRIPTS = Path(__file__).parent / "static"
NO_JSON = "a page sends JSON to its studio: reload the page."
CRASHED = "planning has ended without an answer: see the terminal that the studio was started in."


def studio_app(studio: Studio, gate: Gate, views: Views | None = None) -> Guard:
    """Return the application, behind its gate; the pages that it opens are kept where they are asked to be."""
    desk = _Desk(studio=studio, gate=gate, views=Views() if views is None else views)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        desk.certifier.prepare()
        yield
        desk.views.close()
        await desk.certifier.close()
        studio.folder.close()

    posts = {"offer": desk.offer, "answer": desk.answer, "curve": desk.curve, "certify": desk.certify,
             "save": desk.save, "example": desk.example, "release": desk.release, "link": desk.link}  # fmt: skip
    inside = [
        Route("/", desk.page),
        Route("/studio.css", desk.style),
        Route("/static/{name}", desk.static),
        Route("/events", desk.events),
        Route("/bundle/{name}/report.html", desk.report),
        *(Route(f"/{name}", partial(_answered, studio, act), methods=["POST"]) for name, act in posts.items()),
    ]
    routes = [Route("/open", desk.open), Route("/favicon.ico", _no_icon), Mount(gate.place, routes=inside)]
    return Guard(Starlette(routes=routes, lifespan=lifespan), gate)


async def _no_icon(_: Request) -> Response:
    return Response(status_code=204)


async def _answered(studio: Studio, act: Callable[[Any], Awaitable[dict[str, Any]]], request: Request) -> Response:
    """Answer what a page sent as JSON; a refusal is an answer too, its sentence."""
    try:
        return JSONResponse(await act(await _body(request)))
    except DistprivError as refusal:
        return JSONResponse({"refusal": studio.folder.told(str(refusal))})
    except RecursionError:  # what was sent is nested too deeply to be read, shown or written
        return JSONResponse({"refusal": NO_JSON})


async def _body(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InvalidInput(NO_JSON)
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > LONGEST:
            raise InvalidInput("this is more than a page sends: choose fewer statistics.")
    try:
        body = json.loads(content)
        json.dumps(body, ensure_ascii=False).encode()  # half a character can neither be written nor shown
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InvalidInput(NO_JSON)
    return body


@define
class _Desk:
    """What is done for each request."""

    studio: Studio
    gate: Gate
    views: Views
    certifier: Certifier = field(
        default=Factory(lambda self: Certifier(self.studio.folder.place), takes_self=True), init=False
    )
    _one: CapacityLimiter = field(factory=lambda: CapacityLimiter(1), init=False)
    """Numbers are computed one after the other, so that stale questions are passed over."""

    async def open(self, request: Request) -> Response:
        """Let a browser in for a token that was not used; the page is asked for by the answer, not by a redirect.

        A browser that was sent here by a link in another page does not send a strict cookie after a redirect. What only
        asks whether a link leads anywhere, with HEAD, uses no token, and is told the same of all of them.
        """
        if request.method == "HEAD":
            return Response()
        cookie = self.gate.exchange(request.query_params.get("token", ""))
        if cookie is None:
            said = "this link was used, or is of another studio: take a new one, from the page or by starting anew."
            return PlainTextResponse(said, status_code=403)
        page = _templates().get_template("open.html").render(place=f"{self.gate.place}/")
        return HTMLResponse(page, headers={"Set-Cookie": cookie})

    async def page(self, _: Request) -> Response:
        """Return the page, with a name of its own."""
        folder = self.studio.folder
        start = {
            "view": self.views.opened(),
            "tables": folder.tables(),
            "form": folder.form(),
            "folder": folder.place.name,
        }
        template = _templates().get_template("studio.html")
        return HTMLResponse(template.render(start=json.dumps(start), folder=folder.place.name, version=__version__))

    async def style(self, _: Request) -> Response:
        """Return the style of the page, with the colours of reports."""
        return Response(_templates().get_template("studio.css").render(), media_type="text/css")

    async def static(self, request: Request) -> Response:
        """Return a script by its name, which is one of few."""
        name = request.path_params["name"]
        if name not in STATIC:
            return PlainTextResponse("there is no such file.", status_code=404)
        return Response((SCRIPTS / name).read_bytes(), media_type=STATIC[name])

    async def report(self, request: Request) -> Response:
        """Return the report of a release that was made here."""
        path = self.studio.report(request.path_params["name"])
        if path is None or not path.is_file():
            return PlainTextResponse("there is no such report.", status_code=404)
        return HTMLResponse(path.read_text(encoding="utf-8"), headers={"Content-Security-Policy": REPORT_POLICY})

    async def events(self, request: Request) -> Response:
        """Return what is on its way to a page, one event after the other."""
        view = self.views.of(request.query_params.get("view"))
        if view is None:
            return PlainTextResponse("there is no such page.", status_code=404)

        async def lines() -> AsyncIterator[str]:
            async for event in view.events():
                yield ": still here\n\n" if event is None else f"data: {json.dumps(event)}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def offer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return what a table offers."""
        return await to_thread.run_sync(self.studio.offer, body.get("table"))

    async def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return numbers at once; what is certified takes longer, and follows over the events."""
        view, number, draft = self._asked(body)
        if not view.asks(number):
            return {"stale": True}
        view.give_up()
        async with self._one:
            if number < view.newest:
                return {"stale": True}
            found = await to_thread.run_sync(self.studio.answer, draft)
        return {"number": number, **found}

    async def curve(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return errors against ε."""
        view, number, draft = self._asked(body)
        async with self._one:
            if number < view.newest:
                return {"stale": True}
            return {"number": number, **await to_thread.run_sync(self.studio.curve, draft)}

    async def certify(self, body: dict[str, Any]) -> dict[str, Any]:
        """Begin the real plan, unless something newer is asked soon."""
        view, number, draft = self._asked(body)
        if number < view.newest:
            return {"stale": True}
        policy = await to_thread.run_sync(self.studio.to_certify, draft)

        async def work() -> None:
            last = None
            with suppress(OSError, ValueError):  # a process that was ended by others, perhaps in the middle of a line
                async with aclosing(self.certifier.lines(*policy)) as events:
                    async for event in events:
                        last = event["kind"]
                        if "refusal" in event:
                            event["refusal"] = self.studio.folder.told(event["refusal"])
                        view.tell({**event, "number": number})
            if last not in ("certified", "refused"):
                view.tell({"kind": "refused", "refusal": CRASHED, "number": number})

        view.instead(work)
        return {"number": number}

    async def save(self, body: dict[str, Any]) -> dict[str, Any]:
        """Write the policy file."""
        return await to_thread.run_sync(self.studio.save, Draft.from_json(body.get("draft")))

    async def example(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make a private table to try everything with."""
        return await to_thread.run_sync(self.studio.example, Draft.from_json(body.get("draft")))

    async def release(self, body: dict[str, Any]) -> dict[str, Any]:
        """Release what was confirmed, and answer when it is done; how far it is goes over the events."""
        view = self._view(body)
        loop = asyncio.get_running_loop()
        view.give_up()

        def progress(task: str, done: int, total: int) -> None:
            event = {"kind": "releasing", "task": task, "done": done, "total": total}
            loop.call_soon_threadsafe(view.tell, event)

        return await to_thread.run_sync(self.studio.release, body.get("file"), body.get("digest"), progress)

    async def link(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a link that lets another browser in."""
        self._view(body)
        return {"link": self.gate.link()}

    def _asked(self, body: dict[str, Any]) -> tuple[View, int, Draft]:
        number = body.get("number")
        if not isinstance(number, int):
            raise InvalidInput(f"questions of a page are numbered, got {number!r}: reload the page.")
        return self._view(body), number, Draft.from_json(body.get("draft"))

    def _view(self, body: dict[str, Any]) -> View:
        view = self.views.of(body.get("view"))
        if view is None:
            raise InvalidInput("this page is of an earlier start of the studio: reload it.")
        return view


@cache
def _templates() -> "Environment":
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader("distpriv.studio"), PackageLoader("distpriv.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
