"""The entries of a ledger, chained by their digests: none can be changed, left out or put in without being noticed."""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from attrs import asdict, frozen
from attrs.filters import exclude

from distpriv.errors import BudgetSpent, InvalidInput
from distpriv.framework.target import PrivacyTarget

__all__ = [
    "Chain",
    "ChainBroken",
    "Entry",
    "History",
    "Kind",
    "canonical",
    "content_of",
    "dataset_id",
    "linked",
    "start_of",
    "total_of",
]

Kind = Literal["dataset", "look", "declaration", "release"]
"""A dataset and its total, a look at the private table, all questions of a dataset, or an answer."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


class ChainBroken(Exception):
    """Says which entry of a ledger is not as it was written; a ledger puts its own name in front."""


@frozen(kw_only=True)
class Entry:
    """One entry of a ledger, as it was written down.

    >>> import distpriv as dp
    >>> ledger, total = dp.Ledger.create("sqlite:///ledger.db"), dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> entry = ledger.append(ledger.history("clinic-2026"), total, "mean age", {"values": {"age": 40.1}})
    >>> entry.dataset, entry.position, entry.content["values"]
    ('clinic-2026', 1, {'age': 40.1})

    The first entry of a dataset is its total, so this is the second one of the ledger:

    >>> entry.kind, entry.number
    ('release', 2)
    """

    number: int
    """Its place in the ledger, over all datasets: 1, 2, … without gaps."""
    kind: Kind
    """Whether it is about a dataset, a look at the private table, a declaration or a release."""
    dataset: str
    """What the ledger calls the dataset."""
    position: int | None
    """Of releases only: 1 for the first one of the dataset, and so on without gaps."""
    query_key: str | None
    """Of looks and releases: what makes two queries the same, whatever their statistics are called."""
    time: str
    """When it was written down, in UTC."""
    content: Mapping[str, Any]
    """Of a release: statistics, values, noise and certificates, as plain numbers, lists and text."""
    previous: str
    """The digest of the entry before; that of the ledger's own id before the first one."""
    digest: str
    """SHA-256 of all of the above, written as JSON."""


@frozen(kw_only=True)
class History:
    """All releases of one dataset so far, and what they may cost together.

    >>> import distpriv as dp
    >>> ledger, total = dp.Ledger.create("sqlite:///ledger.db"), dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> look = ledger.look(ledger.history("clinic-2026"), total, "mean age")
    >>> entry = ledger.append(ledger.history("clinic-2026"), total, "mean age", {"values": {"age": 40.1}})
    >>> history = ledger.history("clinic-2026")
    >>> history.total, len(history.entries), history.next_position
    (PrivacyTarget(epsilon=1.0, delta=0.001), 1, 2)
    >>> history.answer_to("mean age") == entry, history.answer_to("mean hours")
    (True, None)
    >>> history.looks, history.looks_without_release, history.head == entry.digest
    (1, 0, True)
    """

    dataset: str
    """What the ledger calls the dataset."""
    total: PrivacyTarget | None
    """None before the first look, declaration or release."""
    entries: tuple[Entry, ...]
    """The releases, the first one first."""
    declaration: Entry | None = None
    """All questions of the dataset, where they were declared before the first answer."""
    looks: int = 0
    """How often the private table was looked at, whether a release came of it or not."""
    ledger: str | None = None
    """The ledger's own id."""
    head: str | None = None
    """The digest of the newest entry of the whole ledger."""

    @property
    def next_position(self) -> int:
        """The number of the next release."""
        return len(self.entries) + 1

    @property
    def looks_without_release(self) -> int:
        """How many looks at the private table ended without a release."""
        return max(0, self.looks - len(self.entries))

    def answer_to(self, query_key: str) -> Entry | None:
        """Return the release of the same query, if there was one: it is shown again, not drawn anew."""
        return next((entry for entry in self.entries if entry.query_key == query_key), None)

    def check_total(self, total: PrivacyTarget) -> None:
        """Refuse a total that differs from the one the first release was made under.

        Raises:
            BudgetSpent: it differs.

        >>> import distpriv as dp
        >>> from distpriv.releasing.ledger import History
        >>> history = History(dataset="clinic-2026", total=dp.PrivacyTarget(epsilon=1, delta=0.001), entries=())
        >>> history.check_total(dp.PrivacyTarget(epsilon=2, delta=0.001))
        Traceback (most recent call last):
        distpriv.errors.BudgetSpent: the ledger holds dataset 'clinic-2026' to epsilon = 1 and delta = 0.001 in total
        since it was first asked about: give these, or another id for other data.
        """
        if self.total is not None and self.total != total:
            raise BudgetSpent(
                f"the ledger holds dataset {self.dataset!r} to epsilon = {self.total.epsilon:g} and delta = "
                f"{self.total.delta:g} in total since it was first asked about: give these, or another id for other "
                "data."
            )


@frozen(kw_only=True)
class Chain:
    """All entries of a ledger in their order, each of which was held against the one before."""

    ledger: str
    """The ledger's own id."""
    entries: tuple[Entry, ...]

    @property
    def head(self) -> str:
        """The digest that the next entry will name."""
        return self.entries[-1].digest if self.entries else start_of(self.ledger)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The ids of all datasets, sorted."""
        return tuple(sorted({entry.dataset for entry in self.entries}))

    def digest_at(self, number: int) -> str | None:
        """Return the digest of an entry; that of the ledger's id at 0, and none where there is no such entry."""
        if number == 0:
            return start_of(self.ledger)
        return self.entries[number - 1].digest if 0 < number <= len(self.entries) else None

    def following(self, facts: Iterable[Mapping[str, Any]]) -> list[Entry]:
        """Return entries that say these facts and come after all others, one after the other."""
        found: list[Entry] = []
        for number, fact in enumerate(facts, len(self.entries) + 1):
            found.append(linked(found[-1].digest if found else self.head, number, **fact))
        return found

    def holds(self, entries: Sequence[Entry]) -> bool:
        """Tell whether these entries, if there are any, are in it at their places."""
        return bool(entries) and all(self.digest_at(entry.number) == entry.digest for entry in entries)

    def history(self, dataset: str) -> History:
        """Return what there is about a dataset."""
        entries = [entry for entry in self.entries if entry.dataset == dataset]
        declared = [entry for entry in entries if entry.kind == "declaration"]
        return History(
            dataset=dataset,
            total=total_of(entries[0].content) if entries else None,
            entries=tuple(entry for entry in entries if entry.kind == "release"),
            declaration=declared[0] if declared else None,
            looks=sum(entry.kind == "look" for entry in entries),
            ledger=self.ledger,
            head=self.entries[-1].digest if self.entries else None,
        )

    @classmethod
    def checked(cls, ledger: str, entries: Iterable[Entry]) -> "Chain":
        """Return a chain, or say what is wrong with it.

        Raises:
            ChainBroken: an entry was changed, taken out or put in, or one cannot stand where it does.
        """
        chain = cls(ledger=ledger, entries=tuple(entries))
        before, known, asked = start_of(ledger), Counter[str](), set[tuple[str, str | None]]()
        for number, entry in enumerate(chain.entries, 1):
            if entry.number != number:
                raise ChainBroken(f"entry {number} is missing")
            facts = asdict(entry, recurse=False, filter=exclude("digest"))
            if entry.previous != before or entry.digest != _digest(facts):
                raise ChainBroken(f"entry {number} was changed, or the one before it")
            _check_place(entry, known, asked)
            before = entry.digest
        return chain


def _check_place(entry: Entry, known: "Counter[str]", asked: set[tuple[str, str | None]]) -> None:
    """Refuse an entry that cannot come after those that are known: positions have no gaps, and a total comes first."""
    key, at = (entry.dataset, entry.query_key), f"entry {entry.number}"
    if entry.kind not in get_args(Kind) or not _ID.fullmatch(entry.dataset):
        raise ChainBroken(f"{at} is of a kind or of a dataset that there is not")
    if (entry.kind == "dataset") == (known[entry.dataset] > 0):
        raise ChainBroken(f"{at} is of a dataset that has no total, or a second one")
    if entry.kind == "dataset":
        total_of(entry.content)
    if (entry.position is None) != (entry.kind != "release") or (entry.query_key is None) != (
        entry.kind in {"dataset", "declaration"}
    ):
        raise ChainBroken(f"{at} has a position or a key where there is none, or lacks one")
    if entry.kind == "release":
        if entry.position != known[f"{entry.dataset} release"] + 1 or key in asked:
            raise ChainBroken(f"{at} has a position that leaves a gap, or a key for the second time")
        asked.add(key)
    if entry.kind == "declaration" and known[f"{entry.dataset} release"] + known[f"{entry.dataset} declaration"]:
        raise ChainBroken(f"{at} declares questions after the first answer, or for the second time")
    known.update([entry.dataset, f"{entry.dataset} {entry.kind}"])


def linked(previous: str, number: int, **facts: Any) -> Entry:
    """Return an entry that comes after another one and says these facts, with its digest."""
    said = {"position": None, "query_key": None, **facts, "number": number, "previous": previous}
    return Entry(**said, digest=_digest(said))


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(facts).encode()).hexdigest()


def start_of(ledger: str) -> str:
    """Return what stands before the first entry: a digest of the ledger's own id."""
    return hashlib.sha256(ledger.encode()).hexdigest()


def canonical(content: Mapping[str, Any]) -> str:
    """Return the one way to write numbers, lists and text as JSON.

    >>> canonical({"b": (1, 2.5), "a": "π"})
    '{"a":"π","b":[1,2.5]}'
    """
    try:
        text = json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise InvalidInput(
            f"an entry of a ledger is plain numbers, lists and text as in JSON, and this is not ({failure}): convert "
            "it first."
        ) from failure
    return text


def content_of(text: object) -> dict[str, Any]:
    """Return what a text of JSON says.

    Raises:
        ValueError: it is no text, no JSON, no table, or has a number that is none.
    """

    def no_number(name: str) -> float:
        raise ValueError(name)

    if not isinstance(text, str):
        raise ValueError("no text")
    try:
        content = json.loads(text, parse_constant=no_number)
        canonical(content)
    except RecursionError as failure:
        raise ValueError("nested too deeply") from failure
    if not isinstance(content, dict):
        raise ValueError("no table")
    return content


def total_of(content: Mapping[str, Any]) -> PrivacyTarget:
    """Return the total that a dataset's own entry holds it to."""
    try:
        return PrivacyTarget(epsilon=content["epsilon"], delta=content["delta"])
    except (KeyError, TypeError, ValueError) as failure:
        raise ChainBroken("a dataset has no total that can be read") from failure


def dataset_id(text: object) -> str:
    """Return the one spelling of a dataset's id: NFKC and casefolded, of letters, digits, dots, dashes and underscores.

    >>> dataset_id("Hospital-2026"), dataset_id("ＨＯＳＰＩＴＡＬ－２０２６")
    ('hospital-2026', 'hospital-2026')
    >>> dataset_id("ward 7")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: an id of a dataset is up to 100 letters a to z, digits, dots, dashes and underscores,
    a letter or a digit first, got 'ward 7': write one such as 'hospital-2026'.
    """
    if isinstance(text, str):
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        if _ID.fullmatch(plain):
            return plain
    raise InvalidInput(
        "an id of a dataset is up to 100 letters a to z, digits, dots, dashes and underscores, a letter or a digit "
        f"first, got {text!r}: write one such as 'hospital-2026'."
    )
