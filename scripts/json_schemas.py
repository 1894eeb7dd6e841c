"""What distpriv reads and writes, as JSON schemas made of types; `python -m scripts.schema_page` writes them down."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from distpriv.auditing.report import AuditReport
from distpriv.bundle import Check
from distpriv.framework.records import Format
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance, Certificate
from distpriv.modelling.utility import Objective
from distpriv.noise.laws import NoiseLaw
from distpriv.policy.schema import PolicyFile
from distpriv.releasing.record import Ends, ReleaseRecord

__all__ = ["SCHEMAS", "schema_text"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Numbers = Mapping[str, float]


@frozen(kw_only=True)
class Option:
    """A mechanism that applies."""

    mechanism: str
    error: float
    errors: Numbers
    estimate_error: float
    """Of the estimates made from the noisy values and from what is public."""
    estimate_errors: Numbers
    information: float
    """The share of the public uncertainty that the release removes."""
    too_large: tuple[str, ...]
    """The statistics whose error is larger than allowed."""
    half_widths: Numbers
    expected_l2: float
    expected_rms: float
    attack_accuracy: float
    delta_is: Literal["exact", "bound"]
    certificate: Certificate
    noise: NoiseLaw


@frozen(kw_only=True)
class Refused:
    """A mechanism that does not apply, or was not tried."""

    mechanism: str
    reason: str


@frozen(kw_only=True)
class Made:
    """How a model was made."""

    method: str
    records: int | None
    draws: int | None


@frozen(kw_only=True)
class Plan:
    """What distpriv plan --json prints."""

    distpriv: str
    target: PrivacyTarget
    assurance: Assurance
    statistics: tuple[str, ...]
    weights: tuple[float, ...]
    objective: Objective
    max_error: Numbers
    """The largest errors that are allowed, by statistic."""
    public_error: float
    """The error of printing the public mean, without a release."""
    public_errors: Numbers
    gains: Numbers
    """The share of the public uncertainty that is removed, by statistic; a table is one."""
    scenarios: tuple[str, ...]
    protected_pairs: tuple[tuple[str, str], ...]
    model: Made
    undefended_attack_accuracy: float
    chosen: str | None
    """The mechanism to use; null if none holds."""
    options: tuple[Option, ...]
    """Every mechanism that applies, least error first."""
    refusals: tuple[Refused, ...]
    skipped: tuple[Refused, ...]
    out_of_time: bool
    """Whether time ran out, so that the choice is the best found until then."""
    earlier_releases: int
    answered_in: int | None
    """The release that answered this before."""


@frozen(kw_only=True)
class Verified:
    """What distpriv verify --json prints."""

    holds: bool
    verdict: str
    path: str
    checks: tuple[Check, ...]
    """What was looked at; the first that fails is the last."""
    reference: bool
    """Whether the model was rebuilt from the reference."""
    ledger: bool
    """Whether the bundle was held against the ledger."""
    trusted: tuple[str, ...]
    """What nothing was compared with."""


@frozen(kw_only=True)
class Listed:
    """A release in a ledger."""

    number: int
    """Its place in the ledger, over all datasets."""
    digest: str
    position: int
    time: str
    statistics: Mapping[str, str]
    values: Numbers
    intervals: Mapping[str, Ends]
    estimates: Numbers
    """As they were then."""
    estimate_intervals: Mapping[str, Ends]
    mechanism: str
    certificate: Certificate
    joint_certificate: Certificate


@frozen(kw_only=True)
class Declared:
    """All questions of a dataset."""

    number: int
    time: str
    digest: str
    content: Mapping[str, Any]


@frozen(kw_only=True)
class Dataset:
    """What a ledger has of a dataset."""

    dataset: str
    continues: str | None
    """The id whose budget it shares; null where it has its own."""
    total: PrivacyTarget | None
    looks: int
    """How often the private table was looked at."""
    looks_without_release: int
    declaration: Declared | None
    """All questions, where they were declared before the first answer."""
    releases: tuple[Listed, ...]


@frozen(kw_only=True)
class Listing:
    """What distpriv ledger --json prints."""

    ledger: str | None
    """The ledger's own id; null where there is no ledger."""
    head: str | None
    """The digest of its newest entry."""
    datasets: tuple[Dataset, ...]


@frozen(kw_only=True)
class Written:
    """What distpriv init --json prints."""

    policy: str
    left_out: Mapping[str, str]


@frozen(kw_only=True)
class Released(ReleaseRecord):
    """What distpriv release --json prints."""

    evidence: Any = field(metadata={"unwritten": True})
    repeated: bool
    bundle: str


TYPES: Mapping[str, tuple[type[Any], str]] = {
    "release": (ReleaseRecord, "The release.json of a bundle"),
    "release_output": (Released, "What distpriv release --json prints"),
    "audit": (AuditReport, "What distpriv audit --json prints, and the audit.json of a bundle"),
    "plan": (Plan, "What distpriv plan --json prints"),
    "verify": (Verified, "What distpriv verify --json prints"),
    "ledger": (Listing, "What distpriv ledger --json prints"),
    "init": (Written, "What distpriv init --json prints"),
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "policy": {"$schema": DIALECT, **PolicyFile.model_json_schema(), "title": "A policy file, read as TOML"},
    **{name: {"$schema": DIALECT, **Format(of).json_schema(), "title": title} for name, (of, title) in TYPES.items()},
}


def schema_text(name: str) -> str:
    """Return a schema as its file has it."""
    return json.dumps(SCHEMAS[name], indent=2, ensure_ascii=False) + "\n"
