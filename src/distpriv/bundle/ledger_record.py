"""Whether a ledger holds what a bundle says that it released."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from distpriv.framework.records import plain
from distpriv.framework.secrets import protect
from distpriv.ledger.chain import Entry, History
from distpriv.policy import Policy
from distpriv.policy.load import policy_in_release
from distpriv.releasing.certified_laws import NEAR, same_moments
from distpriv.releasing.record import ModelRecord, ReleaseRecord
from distpriv.releasing.release import Release
from distpriv.releasing.written_queries import query_from_dict

__all__ = ["LedgerBook", "is_made_anew", "ledger_problem"]


class LedgerBook(Protocol):
    """What is asked of a ledger: `history` refuses a broken chain."""

    def history(self, dataset: str) -> History: ...  # noqa: D102


def ledger_problem(record: ReleaseRecord, policy: Policy, ledger: LedgerBook) -> str | None:
    """Return in what a ledger contradicts a bundle, if in anything.

    Raises:
        DistprivError: the ledger cannot be read, or its chain is broken.
    """
    return next(_problems(record, policy, ledger.history(record.dataset)), None)


def _problems(record: ReleaseRecord, policy: Policy, history: History) -> Iterator[str]:
    said, joint = record.ledger, record.evidence.joint
    if history.ledger != said.id:
        yield "this is another ledger than the one that has the release"
    entry = next((one for one in history.entries if one.position == record.position), None)
    if entry is None or (entry.number, entry.digest) != (said.number, said.head):
        yield "its chain does not hold this release, so it was rolled back or is another one"
        return
    if history.total != policy.ledger.total:
        yield "it holds the dataset to another total than the policy"
    held = Release.of(entry, policy.query(), repeated=True)
    terms = entry.content["terms"]
    if terms is not None and not is_made_anew(record, entry) and _asked(terms) != _asked(record.policy):
        yield "it holds another policy for this release"
    for key, right in {**_facts(held), **_certificates(record, entry, held)}.items():
        if plain(right) != plain(_at(record, key)):
            yield f"it holds another {key.rpartition('.')[2].replace('_', ' ')} for this release"
    if _seen(held.certificate.law) != _seen(record.certificate.law):
        yield "it holds something else that the rows showed of this release"
    yield from _laws(entry.content, record, record.evidence.model, 0)
    if joint is not None:
        yield from _others(record, history)
    elif history.declaration is not None and len(history.declaration.content["blocks"]) > 1:
        yield "it has declared questions that the bundle does not speak of"


def is_made_anew(record: ReleaseRecord, entry: Entry) -> bool:
    """Tell whether a certificate is for another target than the ledger has: the question was asked again."""
    same = entry.content["certificate"]["target"] == plain(record.certificate.target)
    return not same or _other_pairs(record, entry)


def _other_pairs(record: ReleaseRecord, entry: Entry) -> bool:
    known, told = (set(map(frozenset, pairs)) for pairs in (entry.content["protected_pairs"], _pairs(record)))
    return known != told


def _asked(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a policy asks for, whatever it calls things and wherever they are.

    A question may be asked again by other names; the content of the reference is compared by its digest.
    """
    release = policy["release"]
    named = ("title", "license", "name")
    asked = [
        {key: value for key, value in one.items() if key not in named}
        | {"statistics": sorted(one.get("statistics", {}).values()), "tables": [*one.get("tables", {}).values()]}
        for one in (release if isinstance(release, list) else [release])
    ]
    privacy = {key: value for key, value in policy["privacy"].items() if key not in ("weights", "max_error")}
    by_name = [sorted(numbers.values()) for numbers in _by_name(policy["privacy"])]
    ledger = {key: value for key, value in policy["ledger"].items() if key != "create"}
    return {**policy, "data": None, "ledger": ledger, "release": asked, "privacy": [privacy, by_name]}


def _by_name(privacy: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a policy says of statistics by their names."""
    found = (privacy.get(key) for key in ("weights", "max_error"))
    return [of if isinstance(of, Mapping) else {"": str(of)} for of in found]


def _facts(held: Release) -> dict[str, Any]:
    """Return what is the same however often a question is asked again."""
    facts = {key: getattr(held, key) for key in ("dataset", "position", "time", "values", "intervals")}
    return {**facts, "mechanism": held.mechanism.name, "noise": held.mechanism.noise}


def _certificates(record: ReleaseRecord, entry: Entry, held: Release) -> dict[str, Any]:
    """Return the certificates, with their draws, that the ledger must have as the bundle does.

    One that was made anew is for other pairs or another target; that of all releases may then stay as it was.
    """
    if _other_pairs(record, entry):
        return {}
    joint = record.evidence.joint
    newest = max((number for number in joint.releases if number is not None), default=0) if joint else record.position
    same = held.certificate.target == record.certificate.target
    found: dict[str, Any] = {}
    if same:
        found |= {"certificate": held.certificate, "evidence.drawn.release": held.drawn.release}
    if (same or joint is not None) and (record.questions == "declared" or newest == record.position):
        found |= {"joint_certificate": held.joint, "evidence.drawn.joint": held.drawn.joint}
    return found


def _pairs(record: ReleaseRecord) -> list[tuple[str, ...]]:
    """Return the pairs that the policy of a bundle protects."""
    policy = policy_in_release({"policy": record.policy, "question": record.question})
    return list(protect(policy.secrets(), policy.records).pairs)


def _at(record: Any, key: str) -> Any:
    for part in key.split("."):
        record = getattr(record, part)
    return record


def _seen(law: Any) -> list[Any]:
    """Return what the rows showed of the statistics with their noise, whatever ε and δ were asked for."""
    return [] if law is None else [law.ripple, law.peak, law.missed]


def _others(record: ReleaseRecord, history: History) -> Iterator[str]:
    """Say where the questions that a release was certified with are others than the ledger has."""
    joint = record.evidence.joint
    assert joint is not None
    declared = () if history.declaration is None else history.declaration.content["blocks"]
    if record.questions == "declared" and len(declared) != len(joint.noises):
        yield "it does not hold a declaration of these questions"
        return
    start = 0
    for place, (number, noise, asked, answer) in enumerate(
        zip(joint.releases, joint.noises, joint.asked, joint.values, strict=True)
    ):
        held = next((one.content for one in history.entries if number is not None and one.position == number), None)
        if plain(answer) != (None if held is None else _answer(held)):
            yield "other releases had other answers than the bundle says"
        held = declared[place] if held is None and place < len(declared) else held
        if held is None or held["noise"] != plain(noise):
            yield "other releases had other noise than the bundle says"
            return
        if asked is not None and list(asked.values()) != _texts(held):
            yield "other releases asked something else than the bundle says"
        yield from _laws(held, record, joint.model, start)
        start += len(held["laws"]["statistics"])


def _answer(content: Mapping[str, Any]) -> list[float]:
    """Return what was answered, in the order in which it was asked."""
    return [content["values"][name] for name in content["laws"]["statistics"]]


def _texts(content: Mapping[str, Any]) -> list[str]:
    return [statistic.text for _, statistic in query_from_dict(content["query"]).statistics]


def _laws(content: Mapping[str, Any], record: ReleaseRecord, model: ModelRecord, start: int) -> Iterator[str]:
    """Say where what a release was certified on, by the ledger, is something else by the bundle."""
    laws, pairs = content["laws"], {frozenset(pair) for pair in _pairs(record)}
    if not pairs >= {frozenset(pair) for pair in content["protected_pairs"]}:
        yield "it protects pairs that the bundle does not"
    drawing = record.policy["model"]
    for key in ("missing", "reference", "weight", "robust"):
        if drawing.get(key) != laws["drawing"].get(key):
            yield f"it was certified for datasets with another {key} than the bundle says"
    place = slice(start, start + len(laws["statistics"]))
    for name, moments in model.scenarios.items():
        if name not in laws["moments"]:
            continue
        if laws["tables"].get(name) != record.evidence.reference.get(name):
            yield "it was certified on another reference than the bundle says"
        if start == 0 and laws["draws"] != model.draws:
            yield "it holds moments of another number of draws than the bundle says"
        share = NEAR if model.draws is None else 20 / model.draws**0.5
        if not same_moments(laws["moments"][name], moments.mean[place], moments.covariance[place, place], share):
            yield "it holds other moments for a release than the bundle says"
            return
