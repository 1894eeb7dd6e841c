"""What distpriv reads and writes, as JSON schemas; `python -m scripts.schema_page` writes them down."""

import json
from typing import Any, get_args

from distpriv.guarantees.certificate import Assurance
from distpriv.modelling.utility import OBJECTIVES
from distpriv.policy.schema import PolicyFile
from distpriv.workflow.release_schema import (
    AT_LEAST_0,
    AUDIT,
    COUNT,
    ESTIMATE_INTERVALS,
    ESTIMATES,
    INTERVALS,
    NAMED_VALUES,
    PRINTED_RELEASE,
    RELEASE,
    SHARE,
    SHARED,
    STATISTICS,
    TARGET,
    TEXT,
    TIME,
    TRUTH,
    Schema,
    by_name,
    ends,
    maybe,
    said,
    shared,
    some,
    table,
)

__all__ = ["SCHEMAS", "SHARED", "schema_text"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

OPTION = table(
    mechanism=TEXT,
    error=AT_LEAST_0,
    errors=by_name(AT_LEAST_0),
    estimate_error=said("Of the estimates made from the noisy values and from what is public.", AT_LEAST_0),
    estimate_errors=by_name(AT_LEAST_0),
    information=said("The share of the public uncertainty that the release removes.", SHARE),
    too_large=said("The statistics whose error is larger than allowed.", some(TEXT)),
    half_widths=by_name(AT_LEAST_0),
    expected_l2=AT_LEAST_0,
    expected_rms=AT_LEAST_0,
    attack_accuracy=SHARE,
    delta_is={"enum": ["exact", "bound"]},
    certificate=shared("certificate"),
    noise=shared("noise"),
)

PLAN = table(
    distpriv=TEXT,
    target=TARGET,
    assurance={"enum": list(get_args(Assurance))},
    statistics=STATISTICS,
    weights=some(AT_LEAST_0),
    objective={"enum": list(OBJECTIVES)},
    max_error=said("The largest errors that are allowed, by statistic.", by_name(AT_LEAST_0)),
    public_error=said("The error of printing the public mean, without a release.", AT_LEAST_0),
    public_errors=by_name(AT_LEAST_0),
    gains=said("The share of the public uncertainty that is removed, by statistic; a table is one.", by_name(SHARE)),
    scenarios=some(TEXT),
    protected_pairs=some(ends(TEXT)),
    model=table(method=TEXT, records=maybe(COUNT), draws=maybe(COUNT)),
    undefended_attack_accuracy=SHARE,
    chosen=said("The mechanism to use; null if none holds.", maybe(TEXT)),
    options=said("Every mechanism that applies, least error first.", some(OPTION)),
    refusals=some(table(mechanism=TEXT, reason=TEXT)),
    skipped=some(table(mechanism=TEXT, reason=TEXT)),
    out_of_time=said("Whether time ran out, so that the choice is the best found until then.", TRUTH),
    earlier_releases=COUNT,
    answered_in=said("The release that answered this before.", maybe(COUNT)),
)

VERIFY = table(
    holds=TRUTH,
    verdict=TEXT,
    checks=some(table(name=TEXT, passed=TRUTH, found=TEXT)),
    not_checked=said("What a bundle cannot show.", some(table(name=TEXT, what=TEXT))),
)

LEDGER = table(
    ledger=said("The ledger's own id; null where there is no ledger.", maybe(TEXT)),
    head=said("The digest of its newest entry.", maybe(TEXT)),
    datasets=some(
        table(
            dataset=TEXT,
            continues=said("The id whose budget it shares; null where it has its own.", maybe(TEXT)),
            total=maybe(TARGET),
            looks=said("How often the private table was looked at.", COUNT),
            looks_without_release=COUNT,
            declaration=said(
                "All questions, where they were declared before the first answer.",
                maybe(table(number=COUNT, time=TIME, digest=TEXT, content={"type": "object"})),
            ),
            releases=some(
                table(
                    number=said("Its place in the ledger, over all datasets.", COUNT),
                    digest=TEXT,
                    position=COUNT,
                    time=TIME,
                    statistics=by_name(TEXT),
                    values=NAMED_VALUES,
                    intervals=INTERVALS,
                    estimates=said("As they were then.", ESTIMATES),
                    estimate_intervals=ESTIMATE_INTERVALS,
                    mechanism=TEXT,
                    certificate=shared("certificate"),
                    joint_certificate=shared("certificate"),
                )
            ),
        )
    ),
)


def _used(schema: Any) -> set[str]:
    """Return the shared schemas that one refers to, and those that these refer to."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).removeprefix("#/$defs/")
            if name and name not in found:
                found.add(name)
                waiting.append(SHARED[name])
        waiting.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
    return found


def _document(title: str, schema: Schema) -> Schema:
    definitions = {name: SHARED[name] for name in sorted(_used(schema))}
    return {"$schema": DIALECT, "title": title, **schema, **({"$defs": definitions} if definitions else {})}


SCHEMAS: dict[str, Schema] = {
    "policy": {"$schema": DIALECT, **PolicyFile.model_json_schema(), "title": "A policy file, read as TOML"},
    "release": _document("The release.json of a bundle", RELEASE),
    "release_output": _document(
        "What distpriv release --json prints", table("tables", **PRINTED_RELEASE, repeated=TRUTH, bundle=TEXT)
    ),
    "audit": _document("What distpriv audit --json prints, and the audit.json of a bundle", AUDIT),
    "plan": _document("What distpriv plan --json prints", PLAN),
    "verify": _document("What distpriv verify --json prints", VERIFY),
    "ledger": _document("What distpriv ledger --json prints", LEDGER),
    "init": _document("What distpriv init --json prints", table(policy=TEXT, left_out=by_name(TEXT))),
}


def schema_text(name: str) -> str:
    """Return a schema as its file has it."""
    return json.dumps(SCHEMAS[name], indent=2, ensure_ascii=False) + "\n"
