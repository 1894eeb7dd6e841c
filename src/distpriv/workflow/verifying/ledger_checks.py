"""Whether a ledger holds what a bundle says that it released."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from distpriv.ledger.chain import Entry, History
from distpriv.policy.load import policy_in_release
from distpriv.releasing.certified_laws import NEAR, same_moments
from distpriv.releasing.release import Release
from distpriv.releasing.written_queries import query_from_dict
from distpriv.workflow.verifying.problems import first_problem

__all__ = ["LedgerBook", "is_certified_anew", "ledger_problem"]


class LedgerBook(Protocol):
    """What is asked of a ledger: `history` refuses a broken chain."""

    def history(self, dataset: str) -> History: ...  # noqa: D102


@first_problem
def ledger_problem(document: Mapping[str, Any], ledger: LedgerBook) -> Iterator[str]:
    """Say in what a ledger contradicts a bundle.

    Raises:
        DistprivError: the ledger cannot be read, or its chain is broken.
    """
    history = ledger.history(document["dataset"])
    said, position = document["ledger"], document["position"]
    if history.ledger != said["id"]:
        yield "this is another ledger than the one that has the release"
    entry = next((one for one in history.entries if one.position == position), None)
    if entry is None or (entry.number, entry.digest) != (said["number"], said["head"]):
        yield "its chain does not hold this release, so it was rolled back or is another one"
        return
    if history.total != policy_in_release(document).ledger.total:
        yield "it holds the dataset to another total than the policy"
    yield from _contents(document, entry)
    yield from _laws(entry.content, document["evidence"]["model"], 0, document["evidence"]["reference"])
    if document["evidence"]["joint"] is not None:
        yield from _others(document, history)
    elif history.declaration is not None and len(history.declaration.content["blocks"]) > 1:
        yield "it has declared questions that the bundle does not speak of"


def _others(document: Mapping[str, Any], history: History) -> Iterator[str]:
    """Say where the questions that a release was certified with are others than the ledger has."""
    joint = document["evidence"]["joint"]
    declared = () if history.declaration is None else history.declaration.content["blocks"]
    if document["questions"] == "declared" and len(declared) != len(joint["noises"]):
        yield "it does not hold a declaration of these questions"
        return
    start = 0
    for place, (number, noise, asked, answer) in enumerate(
        zip(joint["releases"], joint["noises"], joint["asked"], joint["values"], strict=True)
    ):
        held = next((one.content for one in history.entries if number is not None and one.position == number), None)
        if answer != (None if held is None else _answer(held)):
            yield "other releases had other answers than the bundle says"
        held = declared[place] if held is None and place < len(declared) else held
        if held is None or held["noise"] != noise:
            yield "other releases had other noise than the bundle says"
            return
        if asked is not None and list(asked.values()) != _texts(held):
            yield "other releases asked something else than the bundle says"
        yield from _laws(held, joint["model"], start, document["evidence"]["reference"])
        start += len(held["laws"]["statistics"])


def _answer(content: Mapping[str, Any]) -> list[float]:
    """Return what was answered, in the order in which it was asked."""
    return [content["values"][name] for name in content["laws"]["statistics"]]


def _texts(content: Mapping[str, Any]) -> list[str]:
    return [statistic.text for _, statistic in query_from_dict(content["query"]).statistics]


def _laws(
    content: Mapping[str, Any], model: Mapping[str, Any], start: int, reference: Mapping[str, str]
) -> Iterator[str]:
    """Say where what a release was certified on, by the ledger, is something else by the bundle."""
    known = {tuple(pair) for pair in model["protected_pairs"]}
    if not known >= {tuple(pair) for pair in content["protected_pairs"]}:
        yield "it protects pairs that the bundle does not"
    laws = content["laws"]
    for key, value in laws["drawing"].items():
        if model[key] != value:
            yield f"it was certified for datasets with another {key} than the bundle says"
    place = slice(start, start + len(laws["statistics"]))
    for name, scenario in model["scenarios"].items():
        if name not in laws["moments"]:
            continue
        if laws["tables"].get(name) != reference.get(name):
            yield "it was certified on another reference than the bundle says"
        if start == 0 and laws["draws"] != model["draws"]:
            yield "it holds moments of another number of draws than the bundle says"
        share = NEAR if model["draws"] is None else 20 / model["draws"] ** 0.5
        mean, covariance = np.array(scenario["mean"])[place], np.array(scenario["covariance"])[place, place]
        if not same_moments(laws["moments"][name], mean, covariance, share):
            yield "it holds other moments for a release than the bundle says"
            return


def _contents(document: Mapping[str, Any], entry: Entry) -> Iterator[str]:
    """Say what was written down otherwise; statistics may have other names where a question was asked again."""
    held = Release.of(entry, policy_in_release(document).query(), repeated=True)
    found = held.to_dict()
    for key in ("dataset", "position", "time", "values", "intervals", "mechanism", "noise"):
        if found[key] != document[key]:
            yield f"it holds another {key} for this release"
    if _seen(entry.content["certificate"]) != _seen(document["certificate"]):
        yield "it holds something else that the rows showed of this release"
    for certificate, draws in _written_down(document, entry):
        if found[certificate] != document[certificate]:
            yield f"it holds another {certificate.replace('_', ' ')} for this release"
        if held.drawn[draws] != document["evidence"]["drawn"][draws]:
            yield "it holds other draws for this release"


def _seen(certificate: Mapping[str, Any]) -> list[Any]:
    """Return what the rows showed of the statistics with their noise, whatever ε and δ were asked for."""
    law = certificate["law"]
    return [] if law is None else [law["ripple"], law["peak"], law["missed"]]


CERTIFICATES = (("certificate", "release"), ("joint_certificate", "joint"))
"""What certificates are called in a bundle, and their draws."""


def is_certified_anew(document: Mapping[str, Any], ledger: LedgerBook) -> bool:
    """Tell whether a bundle has a certificate that its ledger has not: one made when a question was asked again."""
    entries = ledger.history(document["dataset"]).entries
    entry = next((one for one in entries if one.position == document["position"]), None)
    return entry is None or len(_written_down(document, entry)) < len(CERTIFICATES)


def _written_down(document: Mapping[str, Any], entry: Entry) -> list[tuple[str, str]]:
    """Return which certificates, with their draws, the ledger must have as the bundle does.

    One that was made anew is for other pairs or another target; that of all releases may then stay as it was.
    """
    if entry.content["protected_pairs"] != document["evidence"]["model"]["protected_pairs"]:
        return []
    same = entry.content["certificate"]["target"] == document["certificate"]["target"]
    several = document["evidence"]["joint"] is not None
    stays = (same, _is_newest(document) and (same or several))
    return [names for names, told in zip(CERTIFICATES, stays, strict=True) if told]


def _is_newest(document: Mapping[str, Any]) -> bool:
    """Tell whether a bundle speaks of the releases that there were when it was made, rather than of later ones too."""
    joint = document["evidence"]["joint"]
    positions = [] if joint is None else [number for number in joint["releases"] if number is not None]
    newest = max(positions, default=document["position"])
    return bool(document["questions"] == "declared" or newest == document["position"])
