"""Whether a ledger holds what a bundle says that it released."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from distpriv.framework.target import PrivacyTarget
from distpriv.releasing.release import Release
from distpriv.workflow.bundled_policy import policy_in_release

__all__ = ["LedgerBook", "ledger_problem"]


class LedgerEntry(Protocol):
    """One entry of the chain."""

    @property
    def number(self) -> int: ...
    @property
    def position(self) -> int | None: ...
    @property
    def digest(self) -> str: ...
    @property
    def time(self) -> str: ...
    @property
    def content(self) -> Mapping[str, Any]: ...


class LedgerHistory(Protocol):
    """All releases of a dataset, from a chain that is unbroken."""

    @property
    def total(self) -> PrivacyTarget | None: ...
    @property
    def entries(self) -> Sequence[Any]: ...
    @property
    def ledger(self) -> str | None: ...


class LedgerBook(Protocol):
    """What is asked of a ledger: `history` refuses a broken chain."""

    def history(self, dataset: str) -> Any: ...  # noqa: D102


def ledger_problem(document: Mapping[str, Any], ledger: LedgerBook) -> str | None:
    """Return in what a ledger contradicts a bundle, if in anything.

    Raises:
        DistprivError: the ledger cannot be read, or its chain is broken.
    """
    return next(_contradictions(document, ledger.history(document["dataset"])), None)


def _contradictions(document: Mapping[str, Any], history: LedgerHistory) -> Iterator[str]:
    said, position = document["ledger"], document["position"]
    if history.ledger != said["id"]:
        yield "this is another ledger than the one that has the release"
    entry: LedgerEntry | None = next((one for one in history.entries if one.position == position), None)
    if entry is None or (entry.number, entry.digest) != (said["number"], said["head"]):
        yield "its chain does not hold this release, so it was rolled back or is another one"
        return
    if history.total != PrivacyTarget(**{key: document["policy"]["ledger"][key] for key in ("epsilon", "delta")}):
        yield "it holds the dataset to another total than the policy"
    yield from _contents(document, entry)
    joint = document["evidence"]["joint"]
    for number, noise in zip(joint["releases"], joint["noises"], strict=True) if joint is not None else ():
        held = next((one for one in history.entries if one.position == number), None)
        if number is not None and (held is None or held.content["noise"] != noise):
            yield "other releases had other noise than the bundle says"


def _contents(document: Mapping[str, Any], entry: LedgerEntry) -> Iterator[str]:
    """Say what was written down otherwise; statistics may have other names where a question was asked again."""
    held = Release.of(entry, policy_in_release(document).query(), repeated=True)  # type: ignore[arg-type]
    found = held.to_dict()
    for key in ("dataset", "position", "time", "values", "intervals", "mechanism", "noise"):
        if found[key] != document[key]:
            yield f"it holds another {key} for this release"
    same = entry.content["protected_pairs"] == document["evidence"]["model"]["protected_pairs"]
    if same and entry.content["certificate"]["target"] == document["certificate"]["target"]:
        newest = _is_newest(document)
        for key in ("certificate", "joint_certificate") if newest else ("certificate",):
            if found[key] != document[key]:
                yield f"it holds another {key.replace('_', ' ')} for this release"
        for key in ("release", "joint") if newest else ("release",):
            if held.drawn[key] != document["evidence"]["drawn"][key]:
                yield "it holds other draws for this release"


def _is_newest(document: Mapping[str, Any]) -> bool:
    """Tell whether a bundle speaks of the releases that there were when it was made, rather than of later ones too."""
    joint = document["evidence"]["joint"]
    positions = [] if joint is None else [number for number in joint["releases"] if number is not None]
    newest = max(positions, default=document["position"])
    return bool(document["questions"] == "declared" or newest == document["position"])
