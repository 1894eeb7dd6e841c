"""Files and folders that appear whole or not at all, and nowhere else than where they were asked for."""

import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["File", "partial_folder", "write_file", "write_whole"]

File = str | bytes
"""What is in a file: text, which is written as UTF-8, or bytes."""

_PARTIAL = re.compile(r"\..+\.([0-9a-f]{8})-([0-9]+)-[0-9a-f]{16}\.partial")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def partial_folder(target: Path) -> tuple[Path, int]:
    """Make a folder beside a target that is to become it, open to its owner alone, and return what mode it shall have.

    That is the mode of an empty folder which is there, or else what the umask leaves. What killed processes left
    beside the target is taken away.
    """
    _sweep(target.parent)
    partial = target.with_name(_partial_name(target.name))
    partial.mkdir()
    mode = stat.S_IMODE((target if target.is_dir() else partial).stat().st_mode)
    partial.chmod(0o700)
    return partial, mode


def write_file(path: Path, content: File) -> None:
    """Write a file that is not there yet, and have it on the disk."""
    with open(os.open(path, _NEW, 0o666), "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def write_whole(target: Path, content: File) -> None:
    """Put a file in place of what has its name, all of it or nothing; a link there is replaced, not followed."""
    _sweep(target.parent)
    partial = target.with_name(_partial_name(target.name))
    try:
        write_file(partial, content)
        with suppress(FileNotFoundError):
            before = target.lstat()
            if stat.S_ISREG(before.st_mode):
                partial.chmod(stat.S_IMODE(before.st_mode))
        partial.replace(target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _partial_name(name: str) -> str:
    return f".{name}.{_machine()}-{os.getpid()}-{secrets.token_hex(8)}.partial"


def _sweep(folder: Path) -> None:
    """Take away what processes of this machine and this user left in a folder when they were killed."""
    if not hasattr(os, "getuid"):  # where asking for a process would end it
        return
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            named = _PARTIAL.fullmatch(entry.name)
            if not named or named[1] != _machine() or _lives(int(named[2])):
                continue
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif entry.is_file(follow_symlinks=False):
                    os.unlink(entry.path)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


@cache
def _machine() -> str:
    """Return what tells this machine, or container, from others that see the same folder: they count processes anew."""
    namespace = ""
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(f"{platform.node()} {namespace}".encode()).hexdigest()[:8]
