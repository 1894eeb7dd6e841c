"""Starting a studio: an address on this machine, a link that works once, and a browser that opens it."""

import logging
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from distpriv.errors import InvalidInput
from distpriv.extras import extra_needed
from distpriv.studio.access import ADDRESS, Gate
from distpriv.studio.folder import Folder

__all__ = ["serve"]


def serve(policy: str | None, *, port: int, open_browser: bool, say: Callable[[str], None]) -> None:
    """Serve a studio until it is interrupted.

    Args:
        policy: the policy to open; none to begin with an empty form.
        port: where to listen; 0 for any that is free.
        open_browser: whether to open the link in the browser of this machine.
        say: is told the link.

    Raises:
        InvalidInput: the extra is not installed, the policy cannot be shown, or the port is taken.
    """
    with extra_needed("studio", "the studio"):
        import starlette  # noqa: F401
        import uvicorn
    from distpriv.studio.answering import Studio
    from distpriv.studio.views import Views
    from distpriv.studio.web import studio_app

    studio = Studio(Folder.started(Path.cwd(), policy))
    listening = _listening(port)
    gate, views = Gate(listening.getsockname()[1]), Views()
    link = gate.link()
    say(link)
    if open_browser:
        webbrowser.open(link)
    config = uvicorn.Config(
        studio_app(studio, gate, views),
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
    )

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            views.close()
            await super().shutdown(sockets)

    with listening, suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    """Return a socket of this machine alone."""
    if not 0 <= port <= 65535:
        raise InvalidInput(f"a port is a number from 0 to 65535, got {port}: leave --port out for any that is free.")
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.bind((ADDRESS, port))
        found.listen()  # from now on a browser waits, and is not turned away
    except OSError as failure:
        found.close()
        raise InvalidInput(
            f"port {port} cannot be listened at ({failure.strerror}): leave --port out for any that is free."
        ) from failure
    return found
