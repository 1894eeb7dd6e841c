"""The folder that a studio was started in: which tables it offers, and how a policy gets into it."""

import atexit
import hashlib
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import tomlkit
from attrs import define, field, frozen

from distpriv.engines.source_names import source_name
from distpriv.errors import InvalidInput, InvalidSource
from distpriv.framework.folders import write_whole
from distpriv.policy import Policy, policy_of, read_policy
from distpriv.policy.schema import PolicyFile, validated
from distpriv.policy.sources import same_source, source
from distpriv.policy.toml_text import TomlText
from distpriv.studio.draft import Draft, form_of
from distpriv.studio.withholding import without_ledger

__all__ = ["EMBEDDED", "Folder", "Written"]

EMBEDDED = "embedded:adult"
"""What the embedded table is called in a form."""

AS_WRITTEN = "policy:reference"
"""What the public tables of a policy are called there, wherever they are."""

ADULT = "adult.parquet"
"""What a policy on the embedded table calls its file."""

EXAMPLE = "private.parquet"
"""The private table that can be made to try it all."""

DRAFT = "the policy"
"""What messages call a policy that is no file yet."""

_KINDS = (".parquet", ".csv")


@frozen(kw_only=True)
class Written:
    """A policy file that was written, and how to know that it is still the same."""

    path: Path
    digest: str
    policy: Policy = field(repr=False)
    """What these bytes mean."""


@define(kw_only=True)
class Folder:
    """A folder, the policy that was opened in it if any, and the files that were written."""

    place: Path
    base: str = field(default="", repr=False)
    """The text of the policy that was opened; empty where none was."""
    keys: PolicyFile | None = field(default=None, repr=False)
    """What it says; None where none was opened."""
    opened: Path | None = None
    ledger: str | None = field(default=None, repr=False)
    """Where the ledger of the opened policy is, which no page is told; nothing where none was opened."""
    known: dict[Path, str] = field(factory=dict, repr=False)
    """The digests of policy files that were opened or written here, which alone may be replaced."""
    secret: set[Path] = field(factory=set, repr=False)
    """Files that were named as private, which are never offered."""
    _held: Path | None = field(default=None, repr=False)
    """A folder of its own, for the embedded table."""

    @classmethod
    def started(cls, place: Path, policy: str | None) -> Self:
        """Return a folder to work in; where a policy is given, it is the policy's own.

        Raises:
            InvalidInput: the policy cannot be read, or has several releases.
        """
        if policy is None:
            return cls(place=place.resolve())
        read = read_policy(policy)
        if read.declares:
            raise InvalidInput(
                f"{policy} has several releases, and the studio shows one: plan them by distpriv plan with --only."
            )
        path = Path(policy).expanduser().resolve()
        ledger = read.ledger.url if "url" in read.written.ledger.model_fields_set else None
        known = {path: _digest(path.read_bytes())}
        return cls(
            place=path.parent,
            base=read.file.text,
            keys=validated(read.file),
            opened=path,
            ledger=ledger,
            known=known,
        )

    def tables(self) -> list[dict[str, str]]:
        """Return the public tables to choose from; what is named as private is none.

        A file is read when it is chosen and not before, so the first one is never a file that happens to be there.
        """
        own = [{"name": AS_WRITTEN, "label": "as the policy says"}] if self.keys else []
        embedded = {"name": EMBEDDED, "label": "Adult (embedded)"}
        return [*own, embedded, *({"name": name, "label": name} for name in self._files())]

    def form(self) -> dict[str, Any]:
        """Return the choices to begin with; none where no policy was opened."""
        if self.opened is None or self.keys is None:
            return {"file": self._free_name(), "private": EXAMPLE}
        return {**form_of(self.keys), "table": AS_WRITTEN, "file": self.opened.name}

    def source(self, table: str) -> str:
        """Return where a table that is offered is.

        Raises:
            InvalidSource: it is not offered: another folder, a private table, or gone.
        """
        if table == EMBEDDED:
            return str(self._embedded())
        if table == AS_WRITTEN and self.keys:
            reference = self.keys.data.reference
            if reference is None:
                raise InvalidSource("this policy has no reference table, only scenarios: statistics stay as they are.")
            return source(reference, self.place)
        if table not in self._files():
            raise InvalidSource(
                f"{table!r} is not a public table in the folder of this studio: choose one of those offered."
            )
        return str(self.place / table)

    def policy(self, draft: Draft) -> Policy:
        """Return what a draft means, as a policy that is no file."""
        self._note_private(draft)
        text = draft.text(self.reference_now(draft), self.base)
        return policy_of(TomlText.parse(text, name=DRAFT), self.place)

    def reference_now(self, draft: Draft) -> str | None:
        """Return where the public table of a draft is now; nothing where it stays as the opened policy says."""
        return None if draft.table == AS_WRITTEN else self.source(draft.table)

    def text(self, draft: Draft) -> str:
        """Return the policy file that a draft would be."""
        return draft.text(self._reference(draft), self.base)

    def shown_text(self, draft: Draft) -> str:
        """Return the same without where the private rows and the ledger of the opened policy are, and its comments."""
        document = tomllib.loads(self.text(draft))
        if draft.private is None:
            document["data"].pop("private", None)
        if self.keys is not None and "url" in self.keys.ledger.model_fields_set:
            document["ledger"].pop("url")
        return tomlkit.dumps(document)

    def write(self, draft: Draft) -> Written:
        """Write the policy of a draft, and the embedded table beside it if it is about that.

        Raises:
            InvalidInput: there is a file that this studio neither opened nor wrote, or it was changed since.
        """
        self.policy(draft)
        path, content = self.place / draft.file, self.text(draft).encode()
        if os.path.lexists(path) and (path.is_symlink() or self.known.get(path) != _digest(path.read_bytes())):
            raise InvalidInput(
                f"there is a file {draft.file!r} that this studio did not write or that was changed since, and it is "
                "left alone: give another name."
            )
        if draft.table == EMBEDDED:
            self._put(ADULT, self._embedded().read_bytes())
        policy = self._meant(path, content)
        with _writing(draft.file):
            write_whole(path, content)
        self.known[path] = _digest(content)
        return Written(path=path, digest=self.known[path], policy=policy)

    def confirmed(self, file: str, digest: str) -> Policy:
        """Return what a policy file means that is still as it was confirmed; its bytes are read once.

        Raises:
            InvalidInput: it is another one, or its private table has come to be outside of the folder.
        """
        path = self.place / file
        if self.known.get(path) != digest or path.is_symlink() or not path.is_file():
            raise InvalidInput(f"{file!r} is not the policy that was confirmed: write it again, and look at it.")
        content = path.read_bytes()
        if _digest(content) != digest:
            raise InvalidInput(f"{file!r} was changed since it was confirmed: write it again, and look at it.")
        policy = self._meant(path, content)
        private = policy.written.data.private
        if private is not None and (self.keys is None or private != self.keys.data.private):
            self._inside(private)
        return policy

    def told(self, sentence: str) -> str:
        """Return a sentence as a page may read it: without where the ledger of the opened policy is."""
        return sentence if self.ledger is None else without_ledger(sentence, self.ledger)

    def make_example(self, draft: Draft) -> str:
        """Write a private table to try everything with: rows of the embedded table, in the middle of what is hidden.

        Raises:
            InvalidInput: there is such a file, or the draft is not about the embedded table.
        """
        if draft.table != EMBEDDED or draft.secret is None:
            raise InvalidInput("an example of a private table is made of the embedded one: choose that first.")
        import pyarrow as pa
        import pyarrow.parquet as pq

        from distpriv.studio.example import example_rows

        path = self.place / EXAMPLE
        self.secret.add(path)
        if os.path.lexists(path):
            raise InvalidInput(f"there is a file {EXAMPLE!r} already, and it is left alone: move it away first.")
        rows = example_rows(pq.read_table(self._embedded()), draft)
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink)
        self._put(EXAMPLE, sink.getvalue().to_pybytes())
        return EXAMPLE

    def next_bundle(self) -> str:
        """Return the name of a folder that is not there yet."""
        return next(name for k in range(1, 10**6) if not os.path.lexists(self.place / (name := f"release-{k}")))

    def close(self) -> None:
        """Take away what was held for the embedded table."""
        if self._held is not None:
            shutil.rmtree(self._held, ignore_errors=True)
            self._held = None

    def _reference(self, draft: Draft) -> str | None:
        if draft.table == AS_WRITTEN:
            return None
        return ADULT if draft.table == EMBEDDED else draft.table

    def _files(self) -> list[str]:
        """Return the names of tables in the folder itself, but for links and for what is private."""
        private = self._private()
        return [
            file.name
            for file in sorted(self.place.iterdir())
            if file.suffix.lower() in _KINDS
            and file.is_file()
            and not file.is_symlink()
            and not file.name.lower().startswith((".", "private"))
            and not any(same_source(str(file), other) for other in private)
        ]

    def _private(self) -> list[str]:
        """Return what the policies in the folder, and drafts, name as private."""
        found = [str(path) for path in self.secret]
        for file in self.place.glob("*.toml"):
            with suppress(OSError, ValueError, LookupError, RecursionError, AttributeError, TypeError):
                named = tomllib.loads(file.read_text(encoding="utf-8-sig"))["data"].get("private")
                found += [] if named is None else [source(named, self.place)]
        return found

    def _note_private(self, draft: Draft) -> None:
        """Keep in mind which file a draft names as private, and refuse one that is not in the folder."""
        if draft.private is not None:
            self.secret.add(Path(self._inside(draft.private)))

    def _inside(self, private: str) -> str:
        """Return the source that a private table is read from, or refuse it if any file of it is not in the folder."""
        if ":" not in private and "\0" not in private:
            found = source(private, self.place)
            named = os.path.normpath(self.place / os.path.expanduser(private))
            real = map(os.path.realpath, (named, *source_name(found).files[1:]))
            if all(Path(file).is_relative_to(self.place) for file in (named, *real)):
                return found
        raise InvalidSource(
            "the private table must be a file in the folder of this studio, named by its path from there: write "
            "another path into the policy by hand if it is elsewhere."
        )

    def _meant(self, path: Path, content: bytes) -> Policy:
        """Return the policy that the bytes of a file are."""
        return policy_of(TomlText.parse(content.decode(), name=str(path)), self.place)

    def _embedded(self) -> Path:
        """Return a file with the embedded table, complete rows alone."""
        if self._held is None:
            import pyarrow.parquet as pq

            from distpriv.datasets import adult

            self._held = Path(tempfile.mkdtemp(prefix="distpriv-studio-"))
            atexit.register(self.close)
            pq.write_table(adult(), self._held / ADULT)
        return self._held / ADULT

    def _put(self, name: str, content: bytes) -> None:
        """Write a new file, or find it as it would be written."""
        path = self.place / name
        if os.path.lexists(path):
            if path.is_symlink() or path.read_bytes() != content:
                raise InvalidInput(f"there is another file {name!r} already, and it is left alone: move it away first.")
            return
        with _writing(name), open(path, "xb") as file:
            file.write(content)

    def _free_name(self) -> str:
        names = ("policy.toml", *(f"policy-{k}.toml" for k in range(2, 1000)))
        return next(name for name in names if not os.path.lexists(self.place / name))


@contextmanager
def _writing(name: str) -> Iterator[None]:
    """Say in one sentence that a file cannot be written."""
    try:
        yield
    except OSError as failure:
        raise InvalidInput(
            f"the file {name!r} cannot be written ({failure.strerror or failure}): see to the folder."
        ) from failure


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
