"""The entries of a ledger, chained by their digests: none can be changed, removed or inserted without being noticed."""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from attrs import asdict, field, frozen
from attrs.filters import exclude

from distpriv.errors import BudgetSpent, InvalidInput
from distpriv.framework.target import PrivacyTarget

__all__ = ["Chain", "ChainBroken", "Continues", "Entry", "History", "Kind", "canonical", "content_of", "dataset_id"]

Kind = Literal["dataset", "look", "declaration", "release"]
"""A dataset and its total, an access to the private table, all queries of a dataset, or an answer."""

Continues = str | Literal[False] | None
"""The id whose budget a dataset shares; False where it is to have a budget of its own; None where nothing is said."""

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
    """Whether it is about a dataset, an access to the private table, a declaration or a release."""
    dataset: str
    """The id of the dataset."""
    position: int | None
    """Of releases only: 1 for the first one of the dataset, and so on without gaps."""
    query_key: str | None
    """Of accesses and releases: what makes two queries the same, whatever their statistics are called."""
    time: str
    """When it was written down, in UTC."""
    content: Mapping[str, Any]
    """The total of a dataset, what was declared, or what was released, as plain JSON."""
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
    """The id of the dataset."""
    total: PrivacyTarget | None
    """None before the first access, declaration or release."""
    entries: tuple[Entry, ...]
    """The releases, the first one first; those of an id that it continues included."""
    declaration: Entry | None = None
    """All queries of the dataset, where they were declared before the first answer."""
    looks: int = 0
    """How often the private table was accessed, whether a release came of it or not."""
    ledger: str | None = None
    """The ledger's own id."""
    head: str | None = None
    """The digest of the newest entry of the whole ledger."""
    continues: Continues = None
    """The id whose budget it shares, or False where it was said to have one of its own."""

    @property
    def next_position(self) -> int:
        """The number of the next release."""
        return len(self.entries) + 1

    @property
    def looks_without_release(self) -> int:
        """How many accesses to the private table ended without a release."""
        return max(0, self.looks - len(self.entries))

    def answer_to(self, query_key: str) -> Entry | None:
        """Return the release of the same query, if there was one: it is shown again, not drawn anew."""
        return next((entry for entry in self.entries if entry.query_key == query_key), None)

    def check_total(self, total: PrivacyTarget) -> None:
        """Refuse a total that differs from the one the first release was made under.

        Raises:
            BudgetSpent: it differs.

        >>> import distpriv as dp
        >>> from distpriv.ledger import History
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
    """All entries of a ledger in their order, each checked against the one before."""

    ledger: str
    """The ledger's own id."""
    entries: tuple[Entry, ...]
    roots: Mapping[str, str] = field(factory=dict)
    """The id under which the budget of each dataset began: its own, unless it continues another one."""

    @property
    def head(self) -> str:
        """The digest that the next entry will name."""
        return self.entries[-1].digest if self.entries else start_of(self.ledger)

    def digest_at(self, number: int) -> str | None:
        """Return the digest of an entry; that of the ledger's id at 0, and None where there is no such entry."""
        if number == 0:
            return start_of(self.ledger)
        return self.entries[number - 1].digest if 0 < number <= len(self.entries) else None

    def following(self, facts: Iterable[Mapping[str, Any]]) -> list[Entry]:
        """Return entries that say these facts and come after all others, one after the other."""
        found: list[Entry] = []
        for number, fact in enumerate(facts, len(self.entries) + 1):
            previous = found[-1].digest if found else self.head
            said = {"position": None, "query_key": None, **fact, "number": number, "previous": previous}
            found.append(Entry(**said, digest=_digest(said)))
        return found

    def holds(self, entries: Sequence[Entry]) -> bool:
        """Tell whether these entries, if there are any, are in it at their places."""
        return bool(entries) and all(self.digest_at(entry.number) == entry.digest for entry in entries)

    def history(self, dataset: str, continues: Continues = None) -> History:
        """Return what there is about a dataset, and about the id that it continues.

        Raises:
            InvalidInput: it cannot continue that id.
        """
        said = next((one.content.get("continues") for one in self._begun(dataset)), None)
        root = self.roots.get(dataset, dataset)
        if continues and continues not in self.roots:
            raise InvalidInput(f"the ledger has no dataset {continues!r} to continue: see `distpriv ledger`.")
        wanted = root if continues is None else self.roots[continues] if continues else dataset
        if wanted != root and not self._is_unused(dataset):
            raise InvalidInput(
                f"dataset {dataset!r} has releases in the ledger, with a budget that is "
                f"{'its own' if root == dataset else f'shared with {root!r}'}: leave `continues` out, or give the data "
                "another id."
            )
        entries = [entry for entry in self.entries if wanted == self.roots[entry.dataset] or dataset == entry.dataset]
        return History(
            dataset=dataset,
            total=next((total_of(one.content) for one in self._begun(wanted)), None),
            entries=tuple(entry for entry in entries if entry.kind == "release"),
            declaration=next((entry for entry in entries if entry.kind == "declaration"), None),
            looks=sum(entry.kind == "look" for entry in entries),
            ledger=self.ledger,
            head=self.entries[-1].digest if self.entries else None,
            continues=said if continues is None else continues,
        )

    def _begun(self, dataset: str) -> Iterator[Entry]:
        """Yield what was said of a dataset's budget, the newest first."""
        return (one for one in reversed(self.entries) if (one.kind, one.dataset) == ("dataset", dataset))

    def _is_unused(self, dataset: str) -> bool:
        """Tell whether a dataset has a budget of its own, if any, of which nothing was promised."""
        if dataset in self.roots and [name for name, root in self.roots.items() if root == dataset] != [dataset]:
            return False
        return all(one.kind in {"dataset", "look"} for one in self.entries if one.dataset == dataset)

    @classmethod
    def checked(cls, ledger: str, entries: Iterable[Entry], *, known: int = 0) -> "Chain":
        """Return a chain, or say what is wrong with it; the digests of the first `known` entries were checked before.

        Raises:
            ChainBroken: an entry was changed, removed or inserted, or one cannot stand where it does.
        """
        before, so_far, roots = start_of(ledger), _SoFar(), dict[str, str]()
        every = tuple(entries)
        for number, entry in enumerate(every, 1):
            if entry.number != number:
                raise ChainBroken(f"entry {number} is missing")
            if number > known:
                facts = asdict(entry, recurse=False, filter=exclude("digest"))
                if entry.previous != before or entry.digest != _digest(facts):
                    raise ChainBroken(f"entry {number} was changed, or the one before it")
            so_far.add(entry, roots)
            before = entry.digest
        return cls(ledger=ledger, entries=every, roots=roots)


@frozen
class _SoFar:
    """How many entries of each kind every budget has, and the queries that it answered."""

    counts: "Counter[tuple[str, str]]" = field(factory=Counter)
    answered: set[tuple[str, str | None]] = field(factory=set)
    totals: dict[str, PrivacyTarget] = field(factory=dict)

    def add(self, entry: Entry, roots: dict[str, str]) -> None:
        """Refuse an entry that cannot come next: a total comes first, and positions have no gaps."""
        at, kind = f"entry {entry.number}", entry.kind
        if kind not in get_args(Kind) or not _ID.fullmatch(entry.dataset):
            raise ChainBroken(f"{at} is of a kind or of a dataset that there is not")
        continues = entry.content.get("continues") if kind == "dataset" else None
        anew = continues is not None and [n for n, root in roots.items() if root == entry.dataset] == [entry.dataset]
        anew = anew and not self.counts[entry.dataset, "release"] + self.counts[entry.dataset, "declaration"]
        if (kind == "dataset") == (entry.dataset in roots) and not anew:
            raise ChainBroken(f"{at} is of a dataset that has no total, or a second one")
        if kind == "dataset":
            other, total = continues or entry.dataset, total_of(entry.content)
            roots[entry.dataset] = root = entry.dataset if other == entry.dataset else roots.get(str(other), "")
            if self.totals.setdefault(root, total) != total or not root:
                raise ChainBroken(f"{at} continues a dataset that there is not, or with another total")
        root = roots[entry.dataset]
        no_key = kind in {"dataset", "declaration"}
        if (entry.position is None) != (kind != "release") or (entry.query_key is None) != no_key:
            raise ChainBroken(f"{at} has a position or a key where there is none, or lacks one")
        if kind == "release":
            if entry.position != self.counts[root, kind] + 1 or (root, entry.query_key) in self.answered:
                raise ChainBroken(f"{at} has a position that leaves a gap, or a key for the second time")
            self.answered.add((root, entry.query_key))
        if kind == "declaration" and self.counts[root, "release"] + self.counts[root, kind]:
            raise ChainBroken(f"{at} declares queries after the first answer, or for the second time")
        self.counts[root, kind] += 1


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
            f"an entry of a ledger consists of numbers, lists and text as in JSON, and this does not ({failure}): "
            "convert it first."
        ) from failure
    return text


def content_of(text: object) -> dict[str, Any]:
    """Return the object that canonical JSON says.

    Raises:
        ValueError: it is not text, not JSON, not an object, or not written as `canonical` writes it.
    """
    if not isinstance(text, str):
        raise ValueError("not text")
    try:
        content = json.loads(text)
        same = canonical(content) == text  # which has no NaN, no infinity and no lone surrogate
    except RecursionError as failure:
        raise ValueError("nested too deeply") from failure
    if not isinstance(content, dict) or not same:
        raise ValueError("not an object as it is written")
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
    distpriv.errors.InvalidInput: the id of a dataset has up to 100 letters a to z, digits, dots, dashes and
    underscores, a letter or a digit first, got 'ward 7': write one such as 'hospital-2026'.
    """
    if isinstance(text, str):
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        if _ID.fullmatch(plain):
            return plain
    raise InvalidInput(
        "the id of a dataset has up to 100 letters a to z, digits, dots, dashes and underscores, a letter or a digit "
        f"first, got {text!r}: write one such as 'hospital-2026'."
    )
