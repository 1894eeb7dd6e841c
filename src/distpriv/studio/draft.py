"""What a page asks for: the choices of its form, read strictly, and put into a policy whose other lines stay."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from distpriv.errors import InvalidInput
from distpriv.policy.schema import HiddenShare, PolicyFile

__all__ = ["Draft", "form_of"]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

_WHAT = {
    "table": "the public table must be some text",
    "records": "the number of records must be a whole number, at least 1",
    "statistics": "statistics must be texts by name",
    "tables": "tables must be tables by name",
    "secret": "a share is hidden by a condition and two values between 0 and 1",
    "privacy": "how well to hide it must be numbers of at least 0",
    "total": "the total of all releases must be numbers of at least 0",
    "dataset": "the dataset's name in the ledger must be some text",
    "private": "the path of the private table must be some text",
    "file": "the name of the policy file must be plain letters and digits that end in .toml, without a folder",
}


class _Choices(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class ChosenShare(_Choices):
    """A share to hide, and the two values to keep apart."""

    share: Text
    values: list[Annotated[float, Field(ge=0, le=1)]] = Field(min_length=2, max_length=2)


class ChosenTarget(_Choices):
    """How private: the keys of [privacy] and [ledger] that the form has."""

    epsilon: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    delta: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    max_attack_accuracy: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class Draft(_Choices):
    r"""The choices of a form.

    >>> draft = Draft.from_json({
    ...     "table": "census.csv", "records": 100, "statistics": {"age": "mean(age)"}, "tables": {},
    ...     "secret": {"share": "income = '>50K'", "values": [0.2, 0.3]}, "privacy": {"max_attack_accuracy": 0.6},
    ...     "total": None, "dataset": "ward-7", "private": "ward.csv", "file": "policy.toml",
    ... })
    >>> print(draft.text("census.csv", "# ours\n[data]\nid = 'w'  # the ward").partition("[release.statistics]")[0])
    # ours
    [data]
    id = "ward-7"  # the ward
    reference = "census.csv"
    private = "ward.csv"
    <BLANKLINE>
    [release]
    records = 100
    <BLANKLINE>
    <BLANKLINE>
    """

    table: Text
    """Which of the tables that are offered."""
    records: int = Field(ge=1)
    statistics: dict[str, Text]
    tables: dict[str, dict[str, Any]]
    secret: ChosenShare | None = None
    """None where the policy's own secrets stay as they are."""
    privacy: ChosenTarget
    total: ChosenTarget | None = None
    """What all releases together may give away; None for that of this release."""
    dataset: Text
    private: Text | None = Field(default=None, repr=False)
    """Where the private rows are; None where the policy's own path stays as it is."""
    file: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]{0,80}\.toml\z")]
    """The name of the policy file to write."""

    @classmethod
    def from_json(cls, body: object) -> Self:
        """Read what a page sent, or say in one sentence what is wrong with it."""
        try:
            draft = cls.model_validate(body)
        except ValidationError as failure:
            first = failure.errors(include_url=False)[0]
            what = _WHAT.get(str(next(iter(first["loc"]), "")), "what was sent must be the choices of a form")
            raise InvalidInput(f"{what}, got {first['input']!r:.80}: change it, or reload the page.") from None
        if not draft.statistics and not draft.tables:
            raise InvalidInput("nothing is published yet: choose a mean, a count or a table.")
        return draft

    @property
    def question(self) -> str:
        """What a model depends on, as a text to know it by: all but how private, and where private things are."""
        return repr((self.table, self.records, self.statistics, self.tables, self.secret))

    def text(self, reference: str | None, base: str) -> str:
        """Return a policy with these choices, and with all other keys and comments of the one it is made from.

        Args:
            reference: what the policy calls the public table; None where it stays as it is.
            base: the text of the policy; empty for a new one.
        """
        policy = tomlkit.parse(base)
        _put(policy, "data", {"reference": reference, "private": self.private, "id": self.dataset})
        release = policy.get("release")
        if isinstance(release, list):  # the only one of [[release]]
            policy["release"] = release[0]
        _put(policy, "release", {"records": self.records})
        for key, asked in (("statistics", self.statistics), ("tables", self.tables)):
            _put(policy["release"], key, {**dict.fromkeys(policy["release"].get(key, {})), **asked}, exactly=True)
        if self.secret is not None:
            _hide(policy, self.secret)
        _put(policy, "privacy", self.privacy.model_dump(), exactly=True)
        _put(policy, "ledger", {"url": policy.get("ledger", {}).get("url", "sqlite:///ledger.db")})
        _put(policy, "ledger", (self.total or ChosenTarget()).model_dump(), exactly=True)
        return tomlkit.dumps(policy)


def _put(table: Any, key: str, values: Mapping[str, Any], *, exactly: bool = False) -> None:
    """Set the values of a table that are others now; None leaves one as it is, or exactly takes it out."""
    if key not in table and any(value is not None for value in values.values()):
        table[key] = tomlkit.table()
    inner = table.get(key, {})
    for name, value in values.items():
        if value is None and exactly:
            inner.pop(name, None)
        elif value is not None and (name not in inner or inner[name] != value):
            inner[name] = value
    if key in table and not inner:
        del table[key]


def _hide(policy: Any, secret: ChosenShare) -> None:
    """Protect a share alone; where the policy protects one already, its line is changed."""
    values = secret.model_dump()
    protected = policy.get("protect", [])
    if len(protected) == 1 and {"share", "values"} <= set(protected[0]):
        for key in set(protected[0]) - set(values):
            del protected[0][key]
        _put({"": protected[0]}, "", values)
    else:
        policy["protect"] = tomlkit.item([values])


def form_of(policy: PolicyFile) -> dict[str, Any]:
    """Return the choices of a policy for a form, without anything of where private things are."""
    (release,), hidden = policy.releases, policy.protect[0]
    simple = len(policy.protect) == 1 and isinstance(hidden, HiddenShare) and len(hidden.values or ()) == 2
    simple = simple and hidden.model_fields_set == {"share", "values"}
    keys = set(ChosenTarget.model_fields)
    return {
        "records": release.records,
        "statistics": release.statistics,
        "tables": {name: table.model_dump(exclude_none=True) for name, table in release.tables.items()},
        "secret": hidden.model_dump(exclude_unset=True) if simple else None,
        "privacy": policy.privacy.model_dump(include=keys, exclude_none=True),
        "total": policy.ledger.model_dump(include=keys, exclude_none=True) or None,
        "dataset": policy.data.id,
        "private": None,
    }
