"""Write a bundle in another format: a workbook, a notebook, an RO-Crate, a folder for output checkers."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from distpriv.bundle.exporting.acro import acro_outputs
from distpriv.bundle.exporting.notebook import notebook
from distpriv.bundle.exporting.ro_crate import ro_crate
from distpriv.bundle.exporting.xlsx import workbook
from distpriv.bundle.write import RELEASE_FILE, BundleFolder, bundled_files, read_record
from distpriv.errors import InvalidInput
from distpriv.framework.domains import did_you_mean
from distpriv.framework.folders import File, write_whole
from distpriv.framework.records import plain

__all__ = ["export_bundle"]

FILES: Mapping[str, tuple[str, Callable[[Mapping[str, Any], str], File]]] = {
    "xlsx": (".xlsx", workbook),
    "notebook": (".ipynb", notebook),
}
FOLDERS = {"ro-crate": ("-ro-crate", ro_crate), "acro": ("-acro", acro_outputs)}
"""What follows the bundle's name, and the function that returns the content."""


def export_bundle(bundle: str, to: str, out: str | None = None) -> Path:
    """Write a bundle in another format, all of it or nothing.

    Args:
        bundle: the folder of the bundle, or its release.json.
        to: the format: xlsx, notebook, ro-crate or acro.
        out: the file or folder to write; beside the bundle when not given.

    Raises:
        InvalidInput: it is no bundle, there is no such format, or the export cannot be written.
    """
    if to not in {*FILES, *FOLDERS}:
        raise InvalidInput(f"there is no export to {to!r}: {did_you_mean(to, [*FILES, *FOLDERS])}")
    record = read_record(bundle)
    document: dict[str, Any] = plain(record)
    given = Path(os.path.abspath(os.path.expanduser(bundle)))
    folder = given if given.is_dir() else given.parent
    suffix = FILES[to][0] if to in FILES else FOLDERS[to][0]
    target = Path(f"{folder}{suffix}" if out is None else os.path.abspath(os.path.expanduser(out)))
    if folder.resolve() in target.resolve().parents:
        raise InvalidInput(f"{str(target)!r} lies in the bundle, which would no longer be whole: give another --out.")
    if os.path.lexists(target):
        raise InvalidInput(f"{str(target)!r} exists: move it away, or give another --out.")
    try:
        if to in FILES:
            content = FILES[to][1](document, folder.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, content)
        else:
            files = {RELEASE_FILE: (folder / RELEASE_FILE).read_bytes(), **bundled_files(folder, record)}
            with ExitStack() as ending:
                unfinished = BundleFolder.prepared(target)
                ending.callback(unfinished.discard)
                unfinished.write({**files, **FOLDERS[to][1](document, files)})
    except InvalidInput:
        raise
    except (KeyError, IndexError, TypeError, ValueError) as failure:
        raise InvalidInput(
            f"{bundle!r} is not as a release writes it: see what distpriv verify says of it."
        ) from failure
    except OSError as failure:
        raise InvalidInput(f"{str(target)!r} cannot be written ({failure.strerror}): give another --out.") from failure
    return target
