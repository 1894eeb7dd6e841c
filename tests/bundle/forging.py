"""Real bundles to forge, and ways to do it: a forger edits every file, and makes again what can be made of it."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from attrs import evolve
from tests.bundle.mutants import text_of
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

from distpriv.auditing.audit import audit as attack
from distpriv.bundle import verify_bundle
from distpriv.bundle.recertify import witnessed as witnesses
from distpriv.bundle.verify import Opened
from distpriv.bundle.write import bundled_tables, csv_text, digest, record_in
from distpriv.errors import DistprivError
from distpriv.framework.records import json_text, plain
from distpriv.guarantees.certify import gaussian_certificate
from distpriv.policy import Policy
from distpriv.releasing.record import ModelRecord
from distpriv.releasing.released_tables import table_files
from distpriv.workflow.release_policy import release_policy

Document = dict[str, Any]
Change = Callable[[Document], None]

AGE = 'age = "mean(age, resolution = 1)"\n'
NEVER = "never_married = \"count(marital_status = 'Never-married')\"\n"
PROVED = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')
TABLE = (
    f"[release.statistics]\n{AGE}{NEVER}",
    '[release.tables.people]\ncount = true\nby = ["sex", "race"]\nlevels = {race = ["White"]}\nother = true\n\n',
)


class Bundles(dict[str, Path]):
    """Releases alone, after another release, by coupled draws, of a table, and under attack; made when asked for."""

    def __init__(self, folder: Path, adult: pa.Table) -> None:
        super().__init__()
        self._folder, self._adult = folder, adult

    def __missing__(self, kind: str) -> Path:
        place = self._folder / kind
        place.mkdir()
        write_tables(place, self._adult)
        return self.setdefault(kind, _release(kind, place))


def _release(kind: str, place: Path) -> Path:
    mechanisms = {"coupled": "coupled_gaussian", "table": "group_privacy_gaussian"}
    with only(mechanisms.get(kind, "certified_gaussian")):
        if kind == "joint":
            total = ("epsilon = 2.0\ndelta = 0.02\n", 'adaptive = "assumed"\n')
            release_policy(str(write_policy(place, total, SAMPLE, (AGE, ""))), place / "first")
            return release_policy(str(write_policy(place, total, SAMPLE, (NEVER, ""))), place / "out").folder
        edits = {"coupled": (PROVED,), "alone": (SAMPLE,), "table": (TABLE,), "audited": ()}[kind]
        audited = kind == "audited"
        return release_policy(str(write_policy(place, *edits)), place / "out", audit=audited, releases=1000).folder


def read(bundle: Path) -> Document:
    """Return what its release.json holds."""
    found: Document = json.loads((bundle / "release.json").read_text(encoding="utf-8"))
    return found


def forged(bundle: Path, to: Path, change: Change | None = None, files: Mapping[str, str | None] | None = None) -> Path:
    """Copy a bundle with its release.json changed, files put in or taken away, and all digests made to fit."""
    document = read(bundle)
    for name, text in (files or {}).items():
        document["manifest"].pop(name, None)
        if text is not None:
            document["manifest"][name] = digest(text)
    if change is not None:
        change(document)
    return put(bundle, to, text_of(document), files or {})


def put(bundle: Path, to: Path, text: str, files: Mapping[str, str | None] | None = None) -> Path:
    """Copy a bundle with another release.json; what follows from it is made again, where it is one, unless given.

    The manifest gets the digests of files that are others now; what it says of those that stay is left as it is.
    """
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(bundle, to)
    given = dict(files or {})
    with suppress(DistprivError, ValueError, LookupError, TypeError, AttributeError):
        record = record_in(text.encode(), "release.json")
        opened = Opened(record=record, path=to, reference=None)
        made = {"release.csv": csv_text(record), **table_files(bundled_tables(record.tables, opened.policy.query()))}
        if plain(record.policy) != read(bundle)["policy"]:
            made["policy.toml"] = opened.policy.public_text()
        given = {**made, **given}
        fitting = {name: digest(content) for name, content in given.items() if content is not None}
        kept = {entry.name: digest(entry.read_bytes()) for entry in bundle.iterdir()}
        others = {name: of for name, of in fitting.items() if of != kept.get(name)}
        text = json_text(evolve(record, manifest=dict(sorted({**record.manifest, **others}.items()))))
    for name, content in given.items():
        if content is None:
            (to / name).unlink()
        else:
            (to / name).write_text(content, encoding="utf-8")
    (to / "release.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    return to


def accepted(bundle: Path, of: Path | None = None) -> bool:
    """Tell whether `verify` says that a bundle holds; what it cannot read it does not accept.

    Args:
        bundle: the bundle.
        of: the honest one that it was made of, whose reference and ledger are given.
    """
    given: dict[str, Any] = {} if of is None else everything(of)
    try:
        with remembering():
            return verify_bundle(bundle, **given).holds
    except DistprivError:
        return False


def everything(bundle: Path) -> dict[str, str]:
    """Return where the reference and the ledger of an honest bundle are."""
    folder = bundle.parent
    return {"reference": str(folder / "adult.parquet"), "ledger": f"sqlite:///{folder / 'ledger.db'}"}


_known: dict[tuple[str, ...], Any] = {}


@contextmanager
def remembering() -> Iterator[None]:
    """Do what takes time once: build models of the same rows, draw by the same seed, certify the same noise."""
    build, draw, certify = Policy.model, witnesses, gaussian_certificate

    def model(policy: Policy) -> Any:
        return once(("model", str(policy.reference), repr(policy.to_dict()), str(policy.asked)), lambda: build(policy))

    def witnessed(claim: Any) -> Any:
        drawn = json_text({"drawn": claim.drawn, "noises": claim.noises, "facts": claim.written.evidence})
        return once(("draws", _of(claim.model), drawn, repr(claim.target)), lambda: draw(claim))

    def gaussian(model: Any, target: Any, noise: Any, theorem: str, law: Any = None) -> Any:
        key = ("certificate", _of(model), json_text(noise), repr(target), theorem, repr(law))
        return once(key, lambda: certify(model, target, noise, theorem, law=law))

    def attacked(mechanism: Any, *, model: Any, **options: Any) -> Any:
        key = ("attack", _of(model), json_text({"of": mechanism.noise}), repr(mechanism.certificate), repr(options))
        return once(key, lambda: attack(mechanism, model=model, **options))

    with (
        patch.object(Policy, "model", model),
        patch("distpriv.bundle.verify.attack", attacked),
        patch("distpriv.bundle.verify.witnessed", witnessed),
        patch("distpriv.bundle.recertify.gaussian_certificate", gaussian),
    ):
        yield


def _of(model: Any) -> str:
    return f"{json_text(ModelRecord.of(model))} {model.provenance} {model.simulator is not None}"


def once(key: tuple[str, ...], make: Callable[[], Any]) -> Any:
    """Return what was made before, or what is made now."""
    if key not in _known:
        _known[key] = make()
    return _known[key]
