"""What a page asks for: the choices of its form, turned into a policy and back."""

import re
from collections.abc import Mapping
from typing import Any, Self

from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.domains import real, whole
from distpriv.workflow.policy.toml_writing import toml_document

__all__ = ["Draft", "form_of"]

PRIVACY = ("epsilon", "delta", "max_attack_accuracy")
"""The keys of [privacy] and [ledger] that the form has."""

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,80}\.toml")


def _mapping(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput(f"{what} must be a table of names and values, got {value!r}: reload the page.")
    return dict(value)


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{what} must be some text, got {value!r}: fill it in.")
    return value.strip()


@frozen(kw_only=True)
class Draft:
    """The choices of a form.

    >>> draft = Draft.from_json({
    ...     "table": "census.csv", "records": 100, "statistics": {"age": "mean(age)"}, "tables": {},
    ...     "secret": {"share": "income = '>50K'", "values": [0.2, 0.3]}, "privacy": {"max_attack_accuracy": 0.6},
    ...     "total": None, "dataset": "ward-7", "private": "ward.csv", "file": "policy.toml",
    ... })
    >>> print(draft.text("census.csv", {}).partition("[release.statistics]")[0].rstrip())
    [data]
    reference = "census.csv"
    private = "ward.csv"
    id = "ward-7"
    <BLANKLINE>
    [release]
    records = 100
    """

    table: str
    """Which of the tables that are offered."""
    records: int
    statistics: Mapping[str, str]
    tables: Mapping[str, Any]
    secret: Mapping[str, Any] | None
    """A share with its two values; nothing where the policy's own secrets stay as they are."""
    privacy: Mapping[str, float]
    total: Mapping[str, float] | None
    """What all releases together may give away; that of this release where nothing is said."""
    dataset: str
    private: str | None = field(repr=False)
    """Where the private rows are; nothing where the policy's own path stays as it is."""
    file: str
    """The name of the policy file to write."""

    @classmethod
    def from_json(cls, body: object) -> Self:
        """Read what a page sent, or say in one sentence what is wrong with it."""
        form = _mapping("what was sent", body)
        records = whole("the number of records", form.get("records"), InvalidInput, at_least=1, cure="100 are few")
        secret, total, private = form.get("secret"), form.get("total"), form.get("private")
        statistics = _mapping("the statistics", form.get("statistics"))
        tables = _mapping("the tables", form.get("tables"))
        if not statistics and not tables:
            raise InvalidInput("nothing is published yet: choose a mean, a count or a table.")
        return cls(
            table=_text("the public table", form.get("table")),
            records=records,
            statistics={name: _text(f"the statistic {name!r}", text) for name, text in statistics.items()},
            tables={name: _mapping(f"the table {name!r}", each) for name, each in tables.items()},
            secret=None if secret is None else _secret(secret),
            privacy=_target("how well to hide it", form.get("privacy")),
            total=None if total is None else _target("the total of all releases", total),
            dataset=_text("the dataset's name in the ledger", form.get("dataset")),
            private=None if private is None else _text("the path of the private table", private),
            file=_file_name(form.get("file")),
        )

    @property
    def question(self) -> str:
        """What a model depends on, as a text to know it by: all but how private, and where private things are."""
        parts = (self.table, self.records, self.statistics, self.tables, self.secret)
        return repr(parts)

    def document(self, reference: str | None, base: Mapping[str, Any]) -> dict[str, Any]:
        """Return the policy as values.

        Args:
            reference: what the policy calls the public table; nothing where it stays as it is.
            base: a policy whose other keys are kept; empty for a new one.
        """
        data = dict(base.get("data", {}))
        data |= {} if reference is None else {"reference": reference}
        data |= {} if self.private is None else {"private": self.private}
        release = {**base.get("release", {}), "records": self.records, "statistics": dict(self.statistics)}
        release.pop("tables", None)
        if self.tables:
            release["tables"] = dict(self.tables)
        if not self.statistics:
            del release["statistics"]
        return {
            **base,
            "data": {**data, "id": self.dataset},
            "release": release,
            "protect": base.get("protect", []) if self.secret is None else [dict(self.secret)],
            "privacy": {**_without_target(base.get("privacy", {})), **self.privacy},
            "ledger": {
                "url": "sqlite:///ledger.db",
                **_without_target(base.get("ledger", {})),
                **(self.total or {}),
            },
        }

    def text(self, reference: str | None, base: Mapping[str, Any]) -> str:
        """Return the policy as a file has it."""
        return toml_document(self.document(reference, base))


def form_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices of a policy for a form, without anything of where private things are.

    Raises:
        InvalidInput: it has several releases, which a form cannot show.
    """
    release, protect = document["release"], document["protect"]
    one = protect[0] if len(protect) == 1 else {}
    simple = set(one) == {"share", "values"} and len(one["values"]) == 2
    ledger = {key: document.get("ledger", {}).get(key) for key in PRIVACY}
    return {
        "records": release["records"],
        "statistics": dict(release.get("statistics", {})),
        "tables": dict(release.get("tables", {})),
        "secret": dict(one) if simple else None,
        "privacy": {key: document["privacy"][key] for key in PRIVACY if key in document["privacy"]},
        "total": {key: value for key, value in ledger.items() if value is not None} or None,
        "dataset": document["data"]["id"],
        "private": None,
    }


def _without_target(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in PRIVACY}


def _secret(value: object) -> dict[str, Any]:
    given = _mapping("what to hide", value)
    values = given.get("values")
    if not isinstance(values, list) or len(values) != 2:
        raise InvalidInput(f"a share is hidden by two values, got {values!r}: set both sliders.")
    cure = "it is a share between 0 and 1"
    ends = [real("a share to hide", each, InvalidInput, at_least=0, at_most=1, cure=cure) for each in values]
    return {"share": _text("what to hide", given.get("share")), "values": ends}


def _target(what: str, value: object) -> dict[str, float]:
    given = _mapping(what, value)
    cure = "move the slider"
    return {key: real(key, given[key], InvalidInput, at_least=0, cure=cure) for key in PRIVACY if key in given}


def _file_name(value: object) -> str:
    name = _text("the name of the policy file", value)
    if not _FILE_NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is no name for a policy file here: write plain letters and digits that end in .toml, as "
            "policy.toml, without a folder."
        )
    return name
