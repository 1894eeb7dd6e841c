"""What a release is: numbers with noise, where the true ones are, and what is promised about them."""

from collections.abc import Mapping
from typing import Any, Self

from attrs import field, frozen

from distpriv._version import __version__
from distpriv.framework.queries import Query
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.releasing.fixed import Fixed, drawn_to_dict, named_by
from distpriv.releasing.joint import EarlierReleases, Questions
from distpriv.releasing.ledger import Entry

__all__ = ["Release"]


@frozen(kw_only=True)
class Release:
    """What was released, and what is promised about it; made by `distpriv.release`.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), processes=1)
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> shown = dp.release(plan, rows.slice(1000, 20), ledger=ledger, dataset="clinic-2026")
    >>> low, high = shown.intervals["hours"]
    >>> low < shown.values["hours"] < high, round(high - low, 3)
    (True, 0.196)
    >>> shown.certificate.holds, shown.joint.holds, shown.position, shown.repeated
    (True, True, 1, False)
    >>> sorted(shown.to_dict())
    ['certificate', 'dataset', 'distpriv', 'intervals', 'joint_certificate', 'ledger', 'mechanism', 'noise', 'position',
    'questions', 'time', 'values']
    >>> shown.questions, sorted(shown.ledger)
    ('first', ['head', 'id', 'number'])
    >>> shown.drawn  # what coupled draws showed, where a certificate rests on them
    {'release': None, 'joint': None}

    The ledger has it, and shows it again:

    >>> entry = ledger.history("clinic-2026").entries[0]
    >>> dp.Release.of(entry, model.query, repeated=True).values == shown.values
    True
    """

    values: Mapping[str, float]
    """The statistics with their noise: what may be shown to anyone."""
    intervals: Mapping[str, tuple[float, float]]
    """For each statistic, where the true one is with a probability of 95 %."""
    mechanism: AdditiveMechanism
    """The noise that was added, and its certificate."""
    joint: Certificate | None
    """What holds for all releases of the dataset together; none without a ledger."""
    dataset: str | None
    """What the ledger calls the dataset."""
    position: int | None
    """The number of this release among all of the dataset; none without a ledger."""
    time: str | None
    """When it was written down, in UTC; none without a ledger."""
    repeated: bool
    """Whether the query had been answered before, so that the same answer was shown again."""
    questions: Questions
    """Why it is no danger if a question depends on an earlier answer."""
    ledger: Mapping[str, Any] | None
    """Where the ledger has it: the ledger's id, the entry's number, and its digest, in which all earlier ones are."""
    earlier: EarlierReleases | None = field(default=None, repr=False, eq=False)
    """What it was certified together with; none without a ledger, or where it was only read from one."""

    @property
    def certificate(self) -> Certificate:
        """What is promised about this release alone."""
        return self.mechanism.certificate

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        return {
            "distpriv": __version__,
            "dataset": self.dataset,
            "position": self.position,
            "time": self.time,
            "values": dict(self.values),
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "mechanism": self.mechanism.name,
            "noise": self.mechanism.noise.to_dict(),
            "certificate": self.certificate.to_dict(),
            "joint_certificate": None if self.joint is None else self.joint.to_dict(),
            "questions": self.questions,
            "ledger": None if self.ledger is None else dict(self.ledger),
        }

    @property
    def drawn(self) -> dict[str, Any]:
        """The coupled draws that the certificates rest on, written down; none where they rest on moments."""
        joint = None if self.joint is None else self.joint.drawn
        return {"release": drawn_to_dict(self.certificate.drawn), "joint": drawn_to_dict(joint)}

    @classmethod
    def of(cls, entry: Entry, query: Query, *, repeated: bool, ledger: str | None = None) -> Self:
        """Return the release that a ledger holds, its statistics by the names of the query that asks for them.

        Its certificates are those that were written down with it.

        Args:
            entry: what the ledger holds.
            query: the query that asks.
            repeated: whether it was answered before.
            ledger: the id of the ledger.
        """
        question, content = Fixed.answered(entry), entry.content
        names = {new: old for old, new in named_by(content, query).items()}
        assert entry.position is not None
        return cls(
            values={name: content["values"][names[name]] for name in query.names},
            intervals={name: tuple(content["intervals"][names[name]]) for name in query.names},
            mechanism=question.mechanism(query),
            joint=question.joint_certificate(),
            dataset=entry.dataset,
            position=entry.position,
            time=entry.time,
            repeated=repeated,
            questions=content.get("questions", "first" if entry.position == 1 else "assumed"),
            ledger={"id": ledger, "number": entry.number, "head": entry.digest},
        )

    def __str__(self) -> str:
        width = max(map(len, self.values))
        lines = [
            f"  {name.ljust(width)}  {value:12.6g}   {low:.6g} to {high:.6g} (95 %)"
            for (name, value), (low, high) in zip(self.values.items(), self.intervals.values(), strict=True)
        ]
        own, joint = self.certificate, self.joint
        if joint is None or (joint.epsilon, joint.delta) == (own.epsilon, own.delta):
            return "\n".join([*lines, str(own)])
        together = f"all releases of the dataset together: {joint}"
        return "\n".join([*lines, together, f"this release alone: {own}"])
