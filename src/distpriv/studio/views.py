"""Open pages: what each of them asked last, and what is on its way to it."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from attrs import define, field

__all__ = ["View", "Views"]

MOST = 50
"""Pages that are remembered; the oldest make room."""

QUIET = 0.6
"""Seconds without another question after which the real plan of the last one is begun."""

ALIVE = 15.0
"""Seconds after which a page that hears nothing is told that the studio is still there."""

CLOSED = "closed"
"""The kind of the last event."""

Event = dict[str, Any]


@define(eq=False)
class View:
    """One page in one browser."""

    newest: int = 0
    """The number of the last question; older ones are stale."""
    _events: asyncio.Queue[Event] = field(factory=asyncio.Queue, init=False, repr=False)
    _work: asyncio.Task[None] | None = field(default=None, init=False, repr=False)

    def asks(self, number: int) -> bool:
        """Take note of a question, and tell whether it is the newest one."""
        if number < self.newest:
            return False
        self.newest = number
        return True

    def tell(self, event: Event) -> None:
        """Send something to the page."""
        self._events.put_nowait(event)

    def instead(self, work: Callable[[], Awaitable[None]], *, after: float = QUIET) -> None:
        """Begin some work after a moment, and give up what was under way."""
        self.give_up()

        async def begun() -> None:
            await asyncio.sleep(after)
            await work()

        self._work = asyncio.create_task(begun())

    def give_up(self) -> None:
        """End what is under way."""
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def close(self) -> None:
        """End what is under way, and tell the page that there is nothing more to come."""
        self.give_up()
        self._events.put_nowait({"kind": CLOSED})

    async def events(self) -> AsyncGenerator[Event | None, None]:
        """Yield what is told to the page, and nothing now and then, until the studio is closed."""
        event: Event | None = None
        try:
            while event is None or event["kind"] != CLOSED:
                try:
                    event = await asyncio.wait_for(self._events.get(), ALIVE)
                except TimeoutError:
                    event = None
                yield event
        finally:
            self.give_up()


@define(eq=False)
class Views:
    """All open pages, by a name that only the page knows."""

    _open: dict[str, View] = field(factory=dict, init=False, repr=False)

    def opened(self) -> str:
        """Return the name of a new page."""
        while len(self._open) >= MOST:
            self._open.pop(next(iter(self._open))).give_up()
        name = secrets.token_urlsafe(16)
        self._open[name] = View()
        return name

    def of(self, name: object) -> View | None:
        """Return a page by its name."""
        return self._open.get(name) if isinstance(name, str) else None

    def close(self) -> None:
        """End all work, and every stream of events: a server waits for them before it ends."""
        for view in self._open.values():
            view.close()
