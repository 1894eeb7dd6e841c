"""Everything distpriv refuses to do, and what it says about it.

::

    DistprivError
    ├── AssumptionViolated                  a theorem's hypothesis, without which its formula means nothing
    ├── NotCertified                        no mechanism's certificate holds as was asked
    │   ├── AuditFailed                     attacks on simulated releases rule out what the certificate promises
    │   ├── BudgetSpent                     all releases of a dataset together would be more than was allowed
    │   ├── LawsChanged                     the reference is not the one that earlier releases were certified on
    │   └── QuestionNotDeclared             a question that may depend on earlier answers, which nothing covers
    ├── LedgerUnavailable                   the ledger is not there, or not as it was written: nothing is released
    ├── LedgerChanged                       another release was written since the history was read
    ├── PrivateTableRefused                 the private table does not fit the reference, or cannot be used
    ├── BundleNotWritten                    a release is in the ledger, and its bundle is not on the disk
    └── InvalidInput (also a ValueError)    what was given cannot be used
        ├── InvalidTarget                   an ε, δ or attack accuracy outside its range
        ├── InvalidQuery                    a statistic or a query that makes no sense
        ├── InvalidSecret                   a secret, a scenario or a pair that makes no sense
        ├── InvalidExpression               SQL text that is refused or does not fit the table
        ├── InvalidSource                   a file, a table or a column that cannot be read
        │   └── MissingValues               nulls or NaN where numbers are needed
        ├── InvalidModel                    moments, samples or draws that are no model of the query
        └── InvalidPolicy                   a policy file that cannot be followed; names the key and the line

Every message is one sentence that says what was wrong, where, and what to do about it. On the command line it is the
one line on standard error; the exit code is 2 for an InvalidInput and 1 for everything else.

>>> from distpriv import errors
>>> issubclass(errors.BudgetSpent, errors.NotCertified), issubclass(errors.InvalidSource, ValueError)
(True, True)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

__all__ = [
    "AssumptionViolated",
    "AuditFailed",
    "BudgetSpent",
    "BundleNotWritten",
    "DistprivError",
    "InvalidExpression",
    "InvalidInput",
    "InvalidModel",
    "InvalidPolicy",
    "InvalidQuery",
    "InvalidSecret",
    "InvalidSource",
    "InvalidTarget",
    "LawsChanged",
    "LedgerChanged",
    "LedgerUnavailable",
    "MissingValues",
    "NotCertified",
    "PrivateTableRefused",
    "QuestionNotDeclared",
]

About = tuple[Literal["statistic", "share", "property", "scenario", "table", "option"], str]
"""What an error is about: a statistic or a scenario by its name, a share by its predicate, another property of the rows
as it is written, a table, an option."""


class DistprivError(Exception):
    """The root of the tree, never raised itself: catch it to catch everything distpriv raises on purpose.

    Cure: show the message to whoever asked, since it says what to do; anything that is no DistprivError is a mistake in
    the library or in a function of your own.

    >>> import distpriv as dp
    >>> try:
    ...     dp.PrivacyTarget(epsilon=-1)
    ... except dp.errors.DistprivError as refusal:
    ...     print(f"{type(refusal).__name__}: {refusal}")
    InvalidTarget: epsilon must be at least 0, got -1: smaller is more private, and 1 is a common choice.

    Args:
        sentence: what was wrong, and what to do about it.
        where: what the sentence is put behind, such as the name of a statistic.
        about: what the error is about, for whoever has to find it.
        key: the key of a policy that it is about, such as ``privacy.epsilon``.
    """

    code: ClassVar[str] = "DP400"
    """What `distpriv explain` knows it by; every class has its own."""

    def __init__(self, sentence: str = "", *, where: str = "", about: About | None = None, key: str = "") -> None:
        super().__init__(f"{where}: {sentence}" if where else sentence)
        self.sentence, self.about, self.key = sentence, about, key


@contextmanager
def about(*what: *About) -> Iterator[None]:
    """Say of what is refused inside what it is about, unless it says so itself.

    >>> try:
    ...     with about("statistic", "age"):
    ...         raise InvalidInput("there is no column 'agee': did you mean 'age'?")
    ... except InvalidInput as refusal:
    ...     print(refusal.about)
    ('statistic', 'age')
    """
    try:
        yield
    except DistprivError as failure:
        failure.about = failure.about or what
        raise


class AssumptionViolated(DistprivError):
    """The model lacks a hypothesis of a theorem without which its formula means nothing; names the theorem.

    Cure: give the option that the message names, or take a mechanism that assumes less, such as certified_gaussian; a
    plan does so by itself.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"boom": [0, 0], "bust": [1, 0], "war": [0, 1]},
    ...     covariances=[[1, 0], [0, 1]],
    ...     pairs=[("boom", "bust"), ("boom", "war")],
    ... )
    >>> dp.mechanisms.directional_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    Traceback (most recent call last):
    distpriv.errors.AssumptionViolated: Theorem 4.3 with Gaussian noise needs mean shifts that are all parallel, and
    these are up to 1 off one direction: use directions='several' where there is such an option, or another
    mechanism.
    """

    code = "DP401"


class NotCertified(DistprivError):
    """No mechanism's certificate holds at the target and the assurance that were asked for.

    Cure: ask for a larger ε or δ, or for less assurance; the printed plan says of every mechanism why it does not hold.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"boom": [0], "bust": [1]}, covariances=[[1]], pairs=[("boom", "bust")])
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001), assurance="proved")
    >>> plan.mechanism
    Traceback (most recent call last):
    distpriv.errors.NotCertified: no mechanism meets epsilon = 1, delta = 0.001 at assurance 'proved' on this model:
    print the plan to see why, and ask for a larger epsilon or delta, or for less assurance.
    """

    code = "DP402"


class AuditFailed(NotCertified):
    """Attacks on simulated releases do better than the certificate allows, so that nothing is released.

    Cure: see with `distpriv audit` which attack did it; leave out the statistic whose values repeat, or round them, or
    ask for assurance "proved".

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"boom": [0], "bust": [1]}, covariances=[[1]], pairs=[("boom", "bust")])
    >>> bare = dp.mechanisms.no_noise(model, dp.PrivacyTarget(epsilon=0.1, delta=0.001))
    >>> dp.audit(bare, model=model, attacks=["bayes"], releases=20_000).require_passed()
    Traceback (most recent call last):
    distpriv.errors.AuditFailed: the audit fails, so nothing is released: the best attack, bayes, measured 69...
    """

    code = "DP403"


class BudgetSpent(NotCertified):
    """All releases of a dataset together would be more than its ledger allows.

    Cure: keep the total and the protected pairs of the dataset's first release, and plan all its statistics at once;
    where there is no room left, release nothing more of it.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), processes=1)
    >>> ledger = dp.Ledger.create("sqlite:///spent.db")
    >>> release = dp.release(plan, rows.slice(1000, 20), ledger=ledger, dataset="clinic")
    >>> dp.earlier_releases(ledger, "clinic", model, total=dp.PrivacyTarget(epsilon=3, delta=0.05))
    Traceback (most recent call last):
    distpriv.errors.BudgetSpent: the ledger holds dataset 'clinic' to epsilon = 2 and delta = 0.05 in total since
    it was first asked about: give these, or another id for other data.
    """

    code = "DP404"


class LawsChanged(NotCertified):
    """What an earlier release was certified on is not what this one is modelled on, so that they cannot be joined.

    Cure: give the reference as it was when the dataset's first release was made, drawn from in the same way; keep a
    copy of it beside the ledger.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> query, target = dp.Query(hours=dp.mean("hours_per_week")), dp.PrivacyTarget(epsilon=2, delta=0.05)
    >>> model = dp.model(rows.slice(0, 1000), query, secret, records=20)
    >>> plan = dp.plan(model, target, processes=1)
    >>> ledger = dp.Ledger.create("sqlite:///laws.db")
    >>> release = dp.release(plan, rows.slice(1000, 20), ledger=ledger, dataset="clinic")
    >>> refreshed = dp.model(rows.slice(0, 2000), dp.Query(age=dp.mean("age")), secret, records=20)
    >>> dp.earlier_releases(ledger, "clinic", refreshed, total=target)
    Traceback (most recent call last):
    distpriv.errors.LawsChanged: the table that "income = '>50K' @ 0.4" is drawn from has other rows than when release 1
    of dataset 'clinic' was certified: give the table as it was, since all releases of a dataset are certified on the
    same laws.
    """

    code = "DP405"


class QuestionNotDeclared(NotCertified):
    """A later question, which may have been chosen by earlier answers, was not declared before the first of them.

    Cure: declare all questions of a dataset before the first answer, with `[[release]]` blocks in its policy or
    `distpriv.declare`; or state with ``adaptive = "assumed"`` that questions do not depend on answers; or use noise
    that hides every dataset by itself from the first release on, with ``adaptive = "immune"``.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> target = dp.PrivacyTarget(epsilon=2, delta=0.05)
    >>> plans = [
    ...     dp.plan(dp.model(rows.slice(0, 1000), query, secret, records=20), target, processes=1)
    ...     for query in (dp.Query(hours=dp.mean("hours_per_week")), dp.Query(age=dp.mean("age")))
    ... ]
    >>> ledger = dp.Ledger.create("sqlite:///undeclared.db")
    >>> release = dp.release(plans[0], rows.slice(1000, 20), ledger=ledger, dataset="clinic")
    >>> dp.release(plans[1], rows.slice(1000, 20), ledger=ledger, dataset="clinic")
    Traceback (most recent call last):
    distpriv.errors.QuestionNotDeclared: dataset 'clinic' has answered 1 question already, and this one was not
    declared before the first answer: ask the same again, or say adaptive = "assumed" if this one does not depend on an
    answer.
    """

    code = "DP406"


class LedgerUnavailable(DistprivError):
    """The ledger cannot be read or written, or is not as it was written, so nothing is released.

    Cure: make the ledger where there was none, see that the database may be written to and that its disk has room, and
    put the newest copy of it back where it was changed; then ask again.

    >>> import distpriv as dp
    >>> dp.Ledger.open("sqlite:///no/such/folder/ledger.db")
    Traceback (most recent call last):
    distpriv.errors.LedgerUnavailable: there is no ledger sqlite:///no/such/folder/ledger.db, so nothing is released:
    make it once, on purpose, with `distpriv ledger POLICY --create` or distpriv.Ledger.create(…).
    """

    code = "DP407"


class LedgerChanged(DistprivError):
    """Another release of the dataset was written since its history was read.

    Cure: read the history again and certify the release together with what is new; `distpriv.release` does so by
    itself, and raises this only if others never stop writing.

    >>> import distpriv as dp
    >>> ledger, total = dp.Ledger.create("sqlite:///changed.db"), dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> history = ledger.history("clinic")
    >>> entry = ledger.append(history, total, "mean age", {"values": {"age": 40.1}})
    >>> ledger.append(history, total, "mean hours", {"values": {"hours": 38.2}})
    Traceback (most recent call last):
    distpriv.errors.LedgerChanged: another release of dataset 'clinic' was written meanwhile: ask again.
    """

    code = "DP408"


class PrivateTableRefused(DistprivError):
    """The private table does not fit the reference; an analyst is not told why, as that would tell about its rows.

    Cure: correct the table, or declare what may differ: `missing`, `levels` and `clip` in `[data]`, or as arguments of
    `distpriv.release`. `distpriv check` shows everything that is wrong, for the curator's eyes only.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), processes=1)
    >>> dp.release(plan, rows.slice(1000, 21), ledger=None)
    Traceback (most recent call last):
    distpriv.errors.PrivateTableRefused: the private table does not fit, and nothing was released or spent; correct or
    declare it:
      the private table has 21 rows, and records = 20: give the table with all its rows, or change records and plan
    again.
    """

    code = "DP409"


class BundleNotWritten(DistprivError):
    """A release is in the ledger, and its bundle could not be written; asking again completes it.

    Cure: make room or give another folder, and run the same command again: it shows the same answer, and costs nothing
    more.

    >>> from distpriv.bundle.write import replace_files
    >>> replace_files("bundle", {"release.json": "{}"})  # as when a disk goes away after the release
    Traceback (most recent call last):
    distpriv.errors.BundleNotWritten: 'bundle/release.json' could not be written (No such file or directory): see that
    the bundle is there, may be written to and has room, and run the same command again.
    """

    code = "DP410"


class InvalidInput(DistprivError, ValueError):
    """Something that was given cannot be used.

    Cure: give what the message asks for; it shows what was given.

    >>> import distpriv as dp
    >>> dp.release("policy.toml", dp.datasets.adult(), ledger=None)
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: a release needs a plan, got 'policy.toml': make one with distpriv.plan(…).
    """

    code = "DP411"


class InvalidTarget(InvalidInput):
    """An ε, a δ or an attack accuracy outside its range, or one that a mechanism cannot reach.

    Cure: give ε of at least 0 and δ of at least 0 and below 1, not both 0; mechanisms with Gaussian noise need δ above
    0 and those with Laplace noise ε above 0.

    >>> import distpriv as dp
    >>> dp.PrivacyTarget(epsilon=1, delta=1)
    Traceback (most recent call last):
    distpriv.errors.InvalidTarget: delta must be at least 0 and below 1, got 1: it is a small probability, such as
    0.001.
    """

    code = "DP412"


class InvalidQuery(InvalidInput):
    """A statistic or a query that makes no sense, or a function of yours that fails.

    Cure: name each statistic and make it by mean, count, proportion, total, variance, quantile, function
    or table.

    >>> import distpriv as dp
    >>> dp.Query(age="age")
    Traceback (most recent call last):
    distpriv.errors.InvalidQuery: statistic 'age' is 'age': use mean, count, proportion, total, variance, quantile,
    function or table, as in age=mean('age').
    """

    code = "DP413"


class InvalidSecret(InvalidInput):
    """A secret, a scenario or a protected pair that makes no sense, or that the reference rows are too few for.

    Cure: give shares between 0 and 1 that so many records can have, and pairs of scenarios by their names.

    >>> import distpriv as dp
    >>> dp.Share("income = '>50K'", values=(45, 55))
    Traceback (most recent call last):
    distpriv.errors.InvalidSecret: a share must be at least 0 and at most 1, got 45: write 45 % as 0.45.
    """

    code = "DP414"


class InvalidExpression(InvalidInput):
    """SQL text that is refused or does not fit the table.

    Cure: write one expression over the columns of one row, a number or a comparison, without subqueries, aggregates or
    functions that depend on anything else.

    >>> import distpriv as dp
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("agee")), secret, records=100)
    Traceback (most recent call last):
    distpriv.errors.InvalidExpression: statistic 'age': there is no column 'agee' in 'agee': did you mean 'age'?
    """

    code = "DP415"


class InvalidSource(InvalidInput):
    """A file, a table or a column that cannot be read.

    Cure: check the path, and give CSV or Parquet files, a DuckDB table, or a pandas, polars or pyarrow table, with rows
    in it and finite numbers in the columns that are used.

    >>> import distpriv as dp
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> dp.model("/data/census.csv", dp.Query(age=dp.mean("age")), secret, records=100)
    Traceback (most recent call last):
    distpriv.errors.InvalidSource: there is no file '/data/census.csv': check the path.
    """

    code = "DP416"


class MissingValues(InvalidSource):
    """Nulls or NaN where numbers are needed.

    Cure: fill them in, leave out all rows of the reference that have any in any column with ``missing="drop"``, or
    provide for them in the expression, as in ``coalesce(occupation, '') = 'Sales'``. Rows of the private table are
    never left out: one without a value is read as the reference's median, or as not so. To release statistics of
    complete rows, make a private table of these, if their number is public. A column that nothing asks for and that
    is mostly empty is best left out of the reference.

    >>> import distpriv as dp
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> query = dp.Query(sales=dp.count("occupation = 'Sales'"))
    >>> dp.model(dp.datasets.adult(complete=False), query, secret, records=100)
    Traceback (most recent call last):
    distpriv.errors.MissingValues: the pyarrow table has nulls or NaN in column 'occupation' (2,809 of 48,842 rows):
    mend them, or leave all rows out that have any in any column with missing='drop', which leaves out none of the
    private table's.
    """

    code = "DP417"


class InvalidModel(InvalidInput):
    """Moments, samples or draws that are no model of the query, or a model that lacks what is asked of it.

    Cure: give moments that some law has, for every scenario; where rows are needed, make the model with
    `distpriv.model`.

    >>> import distpriv as dp
    >>> means = {"boom": [0, 0], "bust": [1, 0]}
    >>> dp.gaussian_model(means=means, covariances=[[1, 2], [2, 1]], pairs=[("boom", "bust")])
    Traceback (most recent call last):
    distpriv.errors.InvalidModel: the covariance of scenario 'boom' is indefinite (least eigenvalue -1 in units of
    the standard deviations), so it is no covariance: check its entries.
    """

    code = "DP418"


class InvalidPolicy(InvalidInput):
    """A policy file that cannot be followed; names the key and the line.

    Cure: change the line that the message names; `distpriv init` writes a policy that can be followed.

    >>> from distpriv.workflow.plan_policy import plan_policy
    >>> from distpriv.policy.draft import draft_policy
    >>> policy = draft_policy("policy.toml").path  # as `distpriv init` does
    >>> written = policy.write_text(policy.read_text().replace("accuracy = 0.6 ", "accuracy = 0.4 "))
    >>> plan_policy("policy.toml")
    Traceback (most recent call last):
    distpriv.errors.InvalidPolicy: policy.toml, line 33, privacy.max_attack_accuracy: this must be above 0.5, got 0.4:
    write max_attack_accuracy = 0.6.
    """

    code = "DP419"
