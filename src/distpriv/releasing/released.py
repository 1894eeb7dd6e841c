"""What a release is: numbers with noise, where the true ones are, and what is promised about them."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from attrs import field, frozen

from distpriv._version import __version__
from distpriv.errors import InvalidInput
from distpriv.framework.display import rounded
from distpriv.framework.domains import did_you_mean
from distpriv.framework.folders import write_whole
from distpriv.framework.queries import Query
from distpriv.framework.records import plain
from distpriv.framework.spreadsheets import table_text
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Entry
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import HALF_WIDTH, Fit
from distpriv.modelling.utility import gain
from distpriv.noise.laws import NoiseLaw
from distpriv.releasing.estimating import Estimates, with_covariance
from distpriv.releasing.fixed import Fixed, named_by
from distpriv.releasing.joint import EarlierReleases, Questions
from distpriv.releasing.record import DrawnRecord
from distpriv.releasing.released_tables import ReleasedTable, released_tables, table_files
from distpriv.releasing.synthetic import synthetic_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TABLE", "Release", "csv_rows", "noise_deviations"]

TABLE = ("statistic", "estimate", "low", "high", "noisy_value", "noise")
"""The columns of a release.csv: the ends of the estimate's interval, and the standard deviation of the noise."""


@frozen(kw_only=True)
class Release:
    """What was released, and what is promised about it; made by `distpriv.release`.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), mechanisms=["certified_gaussian"])
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> shown = dp.release(plan, rows.slice(1000, 20), ledger=ledger, dataset="clinic-2026")
    >>> low, high = shown.intervals["hours"]
    >>> low < shown.values["hours"] < high, round((high - low) / shown.noise_deviations["hours"], 2)
    (True, 3.92)
    >>> shown.certificate.holds, shown.joint.holds, shown.position, shown.repeated
    (True, True, 1, False)
    >>> sorted(shown.to_dict())
    ['certificate', 'dataset', 'distpriv', 'estimate_intervals', 'estimates', 'fit', 'intervals', 'joint_certificate',
    'ledger', 'mechanism', 'noise', 'position', 'public_errors', 'public_means', 'questions', 'time', 'values']
    >>> low, high = shown.estimate_intervals["hours"]
    >>> low < shown.estimates["hours"] < high, shown.estimate_errors["hours"] < shown.public_errors["hours"]
    (True, True)
    >>> shown.fit.fits, round(shown.public_means["hours"], 1)
    (True, 42.4)
    >>> list(shown.to_rows()[0])
    ['statistic', 'estimate', 'low', 'high', 'noisy_value', 'noise', 'public_mean', 'public_error', 'gain']
    >>> shown.to_frame().loc["hours", "noisy_value"] == shown.values["hours"] == shown.answer[0]
    True
    >>> sorted(file.name for file in shown.save("clinic").iterdir())
    ['release.csv', 'release.json', 'report.html']
    >>> [label.get_text() for label in shown.plot().get_yticklabels()]
    ['hours']
    >>> shown.questions, sorted(shown.ledger)
    ('first', ['head', 'id', 'number'])
    >>> shown.tables  # none was asked for
    {}
    >>> shown.drawn.release is shown.drawn.joint is None  # no certificate rests on coupled draws
    True

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
    estimated: Estimates = field(repr=False)
    """What it tells together with public knowledge."""
    model: QueryModel | None = field(default=None, repr=False, eq=False)
    """The law of its statistics; none where it was only read from a ledger."""
    earlier: EarlierReleases | None = field(default=None, repr=False, eq=False)
    """What it was certified together with; none without a ledger, or where it was only read from one."""

    @property
    def certificate(self) -> Certificate:
        """What is promised about this release alone."""
        return self.mechanism.certificate

    @property
    def estimates(self) -> Mapping[str, float]:
        """The best guess at every statistic, from all answers of the dataset and what is public.

        They are right on average if the private data are like one of the scenarios; `values` are whatever these are
        worth. Both are covered by the same certificate.
        """
        return self.estimated.values

    @property
    def estimate_intervals(self) -> Mapping[str, tuple[float, float]]:
        """For each statistic, where it is with a probability of 95 %, on average over the scenarios."""
        return self.estimated.intervals

    @property
    def estimate_errors(self) -> Mapping[str, float]:
        """The root mean square error of each estimate, on average over the scenarios."""
        return self.estimated.errors

    @property
    def fit(self) -> Fit:
        """How plausible all answers of the dataset are if the private data are like the reference."""
        return self.estimated.fit

    @property
    def public_means(self) -> Mapping[str, float]:
        """What was known of every statistic without any release."""
        return self.estimated.public_means

    @property
    def public_errors(self) -> Mapping[str, float]:
        """The root mean square error of `public_means`: what a release has to be better than."""
        return self.estimated.public_errors

    def synthetic(self, rows: int | None = None, *, seed: int = 0) -> pa.Table:
        """Draw rows of the public reference, weighed so that its statistics are the estimates.

        No row is of the private data. The rows agree with the private data in the released statistics, as far as the
        estimates do, and in nothing else: whatever else is found in them is in the reference. They are made of
        estimates and public rows, so the certificate of the release covers them (post-processing).

        Args:
            rows: how many, as many as there are records when not given; the same row may be drawn several times.
            seed: the same seed gives the same rows.

        Returns:
            A pyarrow table with the reference's columns, which says what it is in its metadata.

        Raises:
            InvalidInput: a statistic is no mean or count of rows, no weights of the reference's rows give the
                estimates, or the release was only read from a ledger.

        >>> import distpriv as dp
        >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
        >>> model = dp.model(rows, dp.Query(hours=dp.mean("hours_per_week")), secret, records=100)
        >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), mechanisms=["certified_gaussian"])
        >>> shown = dp.release(plan, rows.slice(1000, 100), ledger=None)
        >>> table = shown.synthetic(rows=50_000, seed=1)
        >>> bool(abs(table["hours_per_week"].to_numpy().mean() - shown.estimates["hours"]) < 0.3)
        True
        """
        if self.model is None:
            raise InvalidInput(
                "this release was read from a ledger, which does not hold the reference: ask the same question again "
                "with distpriv.release(…) to draw synthetic rows."
            )
        records = self.model.provenance.records if rows is None else rows
        return synthetic_rows(self.model, self.estimates, self.estimated.prior, records or 0, seed)

    def to_frame(self) -> Any:
        """Return a pandas table with a row for each statistic: estimate, interval, noisy value, noise, public mean.

        Raises:
            InvalidInput: pandas is not installed.
        """
        try:
            return pa.Table.from_pylist(self.to_rows()).to_pandas().set_index("statistic")
        except ImportError as failure:
            raise InvalidInput(
                "a frame needs pandas, which is not installed here: install it, or use release.to_rows()."
            ) from failure

    @property
    def tables(self) -> Mapping[str, ReleasedTable]:
        """The tables of the release, with estimates that could be true: no count is negative, and all sums are kept.

        Raises:
            InvalidInput: the release was only read from a ledger.
        """
        if self.model is None or self.model.query is None:
            raise InvalidInput(
                "this release was read from a ledger, which does not hold the reference: ask the same question again "
                "with distpriv.release(…) to see its tables."
            )
        if not self.model.query.tables:
            return {}
        prior = dict(self.estimated.prior) or None
        earlier = self.earlier or EarlierReleases(releases=(), total=self.certificate.target, questions="alone")
        known, found = with_covariance(self.values, self.mechanism, self.model, earlier, prior)
        return released_tables(self.model.query, self.model, known, found, self.values, self.noise_deviations)

    def table(self, name: str, *, wide: bool = False) -> Any:
        """Return one of the tables as a pandas frame, with a row for every cell.

        Args:
            name: what the query calls it.
            wide: whether the levels of the last column stand side by side, with the sums of rows and columns.

        Raises:
            InvalidInput: there is no such table, the release was only read from a ledger, or pandas is not installed.

        >>> import distpriv as dp
        >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.2, 0.4))
        >>> query = dp.Query(people=dp.table("count", by=["sex", "race"], levels={"race": ["White"]}, other=True))
        >>> model = dp.model(rows, query, secret, records=100)
        >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), mechanisms=["group_privacy_gaussian"])
        >>> shown = dp.release(plan, rows.slice(1000, 100), ledger=None)
        >>> list(shown.tables), shown.tables["people"].table.text
        (['people'], 'count by sex, race')
        >>> list(shown.table("people").columns)
        ['estimate', 'low', 'high', 'noisy_value', 'noise', 'public_mean', 'information']
        >>> round(float(shown.table("people", wide=True).loc["total", "total"]), 6)
        100.0
        """
        tables = self.tables
        if name not in tables:
            raise InvalidInput(
                f"there is no table {name!r} in this release: {did_you_mean(str(name), tables)}"
                if tables
                else "there is no table in this release: ask for one with distpriv.table(…)."
            )
        names, rows = tables[name].wide() if wide else tables[name].long()
        labels = list(tables[name].table.by)[: -1 if wide else None]
        try:
            import pandas as pd
        except ImportError as failure:
            raise InvalidInput(
                "a frame needs pandas, which is not installed here: install it, or use release.tables."
            ) from failure
        frame = pd.DataFrame(rows, columns=names)
        return frame.set_index(labels) if labels else frame

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw estimates and noisy values with their intervals, around what was public before.

        Args:
            axes: where to draw; new Matplotlib axes when not given.

        Returns:
            The axes, to be changed or saved with ``axes.figure.savefig(…)``.
        """
        from distpriv.report.figures import release_axes

        return release_axes(self, axes)

    def _repr_html_(self) -> str:
        from distpriv.report.page import notebook_view, release_page
        from distpriv.report.summary import release_summary

        return notebook_view(release_page(release_summary(self), figures=False))

    def save(self, folder: str | Path) -> Path:
        """Write release.json, which has everything, release.csv, a table, and report.html, a page, into a new folder.

        A bundle that `distpriv verify` checks has the policy too: `distpriv release` writes that.

        Args:
            folder: one that is not there yet, or is empty.

        Returns:
            The folder.

        Raises:
            InvalidInput: it cannot be written, or has files in it.
        """
        from distpriv.report.page import release_page, render
        from distpriv.report.summary import release_summary

        place = Path(folder)
        numbers = csv_rows(self.to_dict(), self.noise_deviations)
        files = {"release.csv": table_text(TABLE, numbers), "release.json": f"{json.dumps(self.to_dict(), indent=1)}\n"}
        files["report.html"] = render(release_page(release_summary(self)))
        files |= table_files(self.tables.values()) if self.model is not None else {}
        try:
            place.mkdir(parents=True, exist_ok=True)
            if any(place.iterdir()):
                raise InvalidInput(f"the folder {str(folder)!r} has files in it: give one that is not there yet.")
            for name, text in files.items():
                write_whole(place / name, text)
        except OSError as failure:
            raise InvalidInput(
                f"the folder {str(folder)!r} cannot be written ({failure.strerror}): give another one."
            ) from failure
        return place

    def to_rows(self) -> list[dict[str, Any]]:
        """Return for each statistic its estimate with its interval, the noisy value with its noise, the public mean.

        `noise` is the standard deviation of the noise, `public_error` the root mean square error of the public mean,
        and `gain` the share of the public uncertainty (variance) that the estimate removes.
        """
        noise = self.noise_deviations
        return [
            {
                "statistic": name,
                "estimate": self.estimates[name],
                "low": self.estimate_intervals[name][0],
                "high": self.estimate_intervals[name][1],
                "noisy_value": value,
                "noise": noise[name],
                "public_mean": self.public_means[name],
                "public_error": self.public_errors[name],
                "gain": gain(self.estimate_errors[name], self.public_errors[name]),
            }
            for name, value in self.values.items()
        ]

    @property
    def noise_deviations(self) -> dict[str, float]:
        """The standard deviation of the noise of each statistic."""
        return noise_deviations(self.mechanism.noise, self.mechanism.statistics)

    @property
    def answer(self) -> tuple[float, ...]:
        """The values in the order of the noise."""
        return tuple(self.values[name] for name in self.mechanism.statistics)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        found: dict[str, Any] = plain(
            {
                "distpriv": __version__,
                "dataset": self.dataset,
                "position": self.position,
                "time": self.time,
                "values": self.values,
                "intervals": self.intervals,
                **self.estimated.shown(),
                "mechanism": self.mechanism.name,
                "noise": self.mechanism.noise,
                "certificate": self.certificate,
                "joint_certificate": self.joint,
                "questions": self.questions,
                "ledger": self.ledger,
            }
        )
        return found

    @property
    def drawn(self) -> DrawnRecord:
        """The coupled draws, or exact laws, that the certificates rest on; none where they rest on moments."""
        return DrawnRecord(release=self.certificate.drawn, joint=None if self.joint is None else self.joint.drawn)

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
        stored = {new: old for old, new in named_by(content, query).items()}
        names = {name: stored[name] for name in query.names}
        assert entry.position is not None
        return cls(
            values={new: content["values"][old] for new, old in names.items()},
            intervals={new: tuple(content["intervals"][old]) for new, old in names.items()},
            mechanism=question.mechanism(query),
            joint=question.joint_certificate(),
            dataset=entry.dataset,
            position=entry.position,
            time=entry.time,
            repeated=repeated,
            questions=content["questions"],
            ledger={"id": ledger, "number": entry.number, "head": entry.digest},
            estimated=Estimates.read(content).renamed(names),
        )

    def __str__(self) -> str:
        from distpriv.report.summary import release_summary
        from distpriv.report.text import release_text

        return release_text(release_summary(self))


def csv_rows(document: Mapping[str, Any], noise: Mapping[str, float]) -> list[tuple[str, list[float]]]:
    """Return the rows of a release.csv, rounded as on the page: counts whole, all else by its 95 % interval.

    Args:
        document: the keys of a release.json; `display` says which numbers are counts or shares, where it is there.
        noise: the standard deviation of the noise, by name.
    """
    found = []
    for name, value in document["values"].items():
        low, high = document["estimate_intervals"][name]
        half, shown = (high - low) / 2, document.get("display", {}).get(name, value)
        estimate = document["estimates"][name]
        if isinstance(shown, int):
            numbers: list[float] = [round(estimate), math.floor(low), math.ceil(high), shown]
        else:
            numbers = [rounded(each, half) for each in (estimate, low, high)]
            numbers.append(rounded(shown, HALF_WIDTH * noise[name]))
        found.append((name, [*numbers, float(f"{noise[name]:.3g}")]))
    return found


def noise_deviations(noise: NoiseLaw, names: Sequence[str]) -> dict[str, float]:
    """Return the standard deviation of the noise of each statistic.

    >>> from distpriv.noise.laws import GaussianNoise
    >>> noise_deviations(GaussianNoise.isotropic(1, 2.0), ["age"])
    {'age': 2.0}
    """
    return {name: math.sqrt(v) for name, v in zip(names, noise.covariance.diagonal().tolist(), strict=True)}
