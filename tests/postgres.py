"""A PostgreSQL server of one's own for tests; without its programs they are skipped, and the reason is printed."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import field, frozen

__all__ = ["PASSWORDS", "Server", "postgres"]

PASSWORDS = {"keeper": "kept-7f3a", "clerk": "appends-91bc", "auditor": "reads-5d2e"}
"""Roles with their passwords: who makes the ledger, who may append to it, and who may read it."""

VARIABLE = "DISTPRIV_POSTGRES"


def programs() -> Path | None:
    """Return the folder with PostgreSQL's programs, which Debian has in none that is on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: float(place.parent.name))
    on_path = shutil.which("initdb")
    places = [*map(Path, filter(None, [os.environ.get(VARIABLE)])), *found[::-1]]
    places += [Path(on_path).parent] if on_path else []
    return next((place for place in places if (place / "initdb").exists()), None)


@frozen(kw_only=True)
class Server:
    """A server that can be stopped, killed and started again; it syncs as a real one does."""

    programs: Path
    folder: Path
    port: int
    _user: str | None = field(repr=False)
    """PostgreSQL refuses to run as root, so it runs as somebody else then."""

    def url(self, role: str = "keeper", database: str = "postgres") -> str:
        """Return where a database is; the password is not in it."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def run(self, program: str, *arguments: str, text: str | None = None) -> str:
        """Run one of PostgreSQL's programs."""
        done = subprocess.run(
            [self.programs / program, *arguments],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PGPASSWORD": PASSWORDS["keeper"]},
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self.run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options)

    def stop(self, how: str = "fast") -> None:
        """Stop it: `fast` breaks off what is going on, `immediate` is a crash."""
        self.run("pg_ctl", "stop", "-w", "-D", str(self.folder / "data"), "-m", how)

    def sql(self, text: str, database: str = "postgres") -> str:
        """Run statements as the one to whom everything belongs."""
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "keeper", "-d", database]
        return self.run("psql", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *where, text=text).strip()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    """A server for the tests of a file."""
    pytest.importorskip("psycopg", reason="no PostgreSQL: Psycopg is not installed")
    place = programs()
    if place is None:
        pytest.skip(f"no PostgreSQL: initdb is neither on the path nor in {VARIABLE}")
    root = os.name == "posix" and os.getuid() == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="distpriv-postgres-"))
    server = Server(programs=place, folder=folder, port=port, user="postgres" if root else None)
    try:
        (folder / "password").write_text(PASSWORDS["keeper"], encoding="utf-8")
        if root:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres", "postgres")
        safe = ["-A", "scram-sha-256", "-U", "keeper", "--pwfile", str(folder / "password")]
        server.run("initdb", "-D", str(folder / "data"), *safe)
        server.start()
        for role in ("clerk", "auditor"):
            server.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORDS[role]}'")
        yield server
        server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
