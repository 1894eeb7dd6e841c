"""What archives and output checkers read of a bundle: whether it says what the other files say."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.workflow.bundle import RELEASE_FILE
from distpriv.workflow.output_checking import CHECKSUMS, RESULTS_FILE, checksum_files, results_json, same_results
from distpriv.workflow.ro_crate import CRATE_FILE, crate_json, same_crate
from distpriv.workflow.strict_json import strict_json

__all__ = ["Files", "companion_problems"]


@frozen(kw_only=True)
class Files:
    """What is beside a release.json."""

    contents: Mapping[str, bytes] = field(repr=False)
    odd: tuple[str, ...] = ()
    """What is no plain file, or cannot be read."""
    own: bytes = field(default=b"", repr=False)
    """The release.json itself."""
    checksums: Mapping[str, bytes] | None = field(default=None, repr=False)
    """What the folder of digests holds; none where there is no such folder."""


def companion_problems(files: Files, document: Mapping[str, Any]) -> Iterator[str]:
    """Say where metadata, results or digests are not those of the bundle."""
    contents = files.contents
    others = {name: content for name, content in contents.items() if name not in (RESULTS_FILE, CRATE_FILE)}
    if RESULTS_FILE in contents and not same_results(_json(contents[RESULTS_FILE]), results_json(document, others)):
        yield f"{RESULTS_FILE!r} says something else of the outputs than the release"
    every = {name: content for name, content in contents.items() if name != CRATE_FILE}
    if CRATE_FILE in contents and not same_crate(_json(contents[CRATE_FILE]), crate_json(document, every)):
        yield f"{CRATE_FILE!r} says something else of the files than they are"
    if files.checksums is not None or RESULTS_FILE in contents:
        yield from _wrong_checksums(files)


def _wrong_checksums(files: Files) -> Iterator[str]:
    expected = checksum_files({**files.contents, RELEASE_FILE: files.own})
    there = files.checksums or {}
    found = {f"{CHECKSUMS}{name}": content.decode("utf-8", "replace") for name, content in there.items()}
    for name in sorted({*expected, *found}):
        if expected.get(name) != found.get(name):
            yield f"{name!r} is missing, or not the digest of a file of this bundle"


def _json(content: bytes) -> Any:
    """Return what a file holds; nothing where it is not JSON that means one thing."""
    with suppress(InvalidInput):
        return strict_json(content, "it")
    return None
