"""What distpriv reads and writes, as JSON schemas; `python -m scripts.schema_page` writes them down."""

import json
import tomllib
from typing import Any, get_args

from scripts.schema_words import (
    AT_LEAST_0,
    COUNT,
    NUMBER,
    SHARE,
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

from distpriv.guarantees.certificate import Status, Trust
from distpriv.guarantees.drawn import Measure
from distpriv.workflow.bundle import FORMAT
from distpriv.workflow.policy_shape import PolicyShape

__all__ = ["SCHEMAS", "SHARED", "schema_text"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

MATRIX = some(some(NUMBER))
TARGET = table(epsilon=AT_LEAST_0, delta=SHARE)
NAMED_VALUES = said("The released numbers, as they were drawn.", by_name(NUMBER))
INTERVALS = said("For each number, where the true one is with a probability of 95 %.", by_name(ends(NUMBER)))
STATISTICS = said("Names, in order.", some(TEXT))

SHARED: dict[str, Schema] = {
    "certificate": said(
        "What is promised, held against a target.",
        table(
            target=TARGET,
            epsilon=AT_LEAST_0,
            delta=AT_LEAST_0,
            holds=TRUTH,
            trust={"enum": list(get_args(Trust))},
            theorem=TEXT,
            assumptions=some(table(statement=TEXT, status={"enum": list(get_args(Status))}, evidence=TEXT)),
            contradicted=TRUTH,
        ),
    ),
    "noise": said(
        "A law of noise; axes are rows.",
        {
            "oneOf": [
                table(law={"const": "gaussian"}, axes=MATRIX, variances=some(AT_LEAST_0)),
                table(law={"const": "laplace"}, axes=MATRIX, scales=some(AT_LEAST_0)),
                table(law={"const": "unimodal"}, axes=MATRIX, edges=some(NUMBER), masses=some(AT_LEAST_0)),
                table(law={"const": "sum"}, parts=some(shared("noise"))),
                table(law={"const": "none"}, dimension=COUNT),
            ]
        },
    ),
    "model": said(
        "The moments of the statistics in every scenario.",
        table(
            method=TEXT,
            records=maybe(COUNT),
            draws=maybe(COUNT),
            statistics=STATISTICS,
            steps=some(AT_LEAST_0),
            record_sensitivities=some(maybe(AT_LEAST_0)),
            scenarios=by_name(
                table(
                    share=maybe(TEXT),
                    positives=maybe(COUNT),
                    mean=some(NUMBER),
                    covariance=MATRIX,
                    lattice=maybe(MATRIX),
                )
            ),
            protected_pairs=some(ends(TEXT)),
        ),
    ),
    "drawn": said(
        "Histograms of coupled draws that a certificate rests on; null where it rests on moments.",
        maybe(
            table(
                "rounds",  # where it is not written it is 1
                measure={"enum": list(get_args(Measure))},
                noise=shared("noise"),
                scale=AT_LEAST_0,
                epsilon=AT_LEAST_0,
                limit=AT_LEAST_0,
                failure=SHARE,
                rounds=COUNT,
                laws=some(
                    table(
                        zero=COUNT, infinite=COUNT, gaps=some({"type": "integer"}), counts=some(COUNT), bet=AT_LEAST_0
                    )
                ),
            )
        ),
    ),
    "measures": said(
        "What an attack achieves on releases that it has not seen.",
        table(accuracy=SHARE, interval=ends(SHARE), auc=SHARE, tpr_at_1_percent_fpr=SHARE),
    ),
}

WRITTEN_POLICY = table(
    data=table(reference=maybe(TEXT), id=TEXT),
    release=table(records=COUNT, statistics=by_name(TEXT)),
    protect=some({"type": "object"}),
    privacy=table(
        epsilon=AT_LEAST_0,
        delta=SHARE,
        trust={"enum": list(get_args(Trust))},
        weights=maybe({"anyOf": [{"const": "relative"}, by_name(AT_LEAST_0)]}),
    ),
    ledger=TARGET,
    model=table(
        method=TEXT, replacement=TRUTH, missing=TEXT, draws=COUNT, seed=COUNT, pool=maybe(COUNT), key=maybe(TEXT)
    ),
)

PRINTED_RELEASE: dict[str, Schema] = {
    "format": {"const": FORMAT},
    "distpriv": said("The version that released.", TEXT),
    "dataset": TEXT,
    "position": said("The number of this release among all of the dataset.", {"type": "integer", "minimum": 1}),
    "time": TIME,
    "values": NAMED_VALUES,
    "intervals": INTERVALS,
    "mechanism": TEXT,
    "noise": shared("noise"),
    "certificate": shared("certificate"),
    "joint_certificate": said("What is promised about all releases so far.", shared("certificate")),
    "display": said("The same numbers for people.", by_name(NUMBER)),
    "statistics": STATISTICS,
    "attacker": said("How often the best attacker is right.", table(undefended=SHARE, at_most=SHARE)),
    "policy": said("With every default filled in, and nothing private.", WRITTEN_POLICY),
    "versions": said("Of Python and the libraries.", by_name(TEXT)),
}

EVIDENCE = said(
    "What verify needs.",
    table(
        model=shared("model"),
        joint=maybe(table(model=shared("model"), noises=some(shared("noise")))),
        drawn=table(release=shared("drawn"), joint=shared("drawn")),
    ),
)

OPTION = table(
    mechanism=TEXT,
    error=AT_LEAST_0,
    errors=by_name(AT_LEAST_0),
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
    trust={"enum": list(get_args(Trust))},
    statistics=STATISTICS,
    weights=some(AT_LEAST_0),
    scenarios=some(TEXT),
    protected_pairs=some(ends(TEXT)),
    model=table(method=TEXT, records=maybe(COUNT), draws=maybe(COUNT)),
    undefended_attack_accuracy=SHARE,
    chosen=said("The mechanism to use; null if none holds.", maybe(TEXT)),
    options=said("Every mechanism that applies, least error first.", some(OPTION)),
    refusals=some(table(mechanism=TEXT, reason=TEXT)),
    earlier_releases=COUNT,
    answered_in=said("The release that answered this before.", maybe(COUNT)),
)

AUDIT = table(
    mechanism=TEXT,
    pair=ends(TEXT),
    epsilon=AT_LEAST_0,
    delta=SHARE,
    certificate_holds=TRUTH,
    attack_accuracy_ceiling=SHARE,
    modelled_accuracy=maybe(SHARE),
    attacks=some(
        table(
            name=TEXT,
            defended=shared("measures"),
            undefended=shared("measures"),
            accuracy_lower_bound=SHARE,
            epsilon_lower_bound=AT_LEAST_0,
        )
    ),
    confidence=SHARE,
    shadows=COUNT,
    releases=COUNT,
    seed=COUNT,
    populations=TEXT,
    failed=TRUTH,
    verdict=TEXT,
    epsilon_lower_bound=AT_LEAST_0,
)

VERIFY = table(holds=TRUTH, verdict=TEXT, checks=some(table(name=TEXT, passed=TRUTH, found=TEXT)), not_checked=TEXT)

LEDGER = table(
    ledger=said("The ledger's own id; null where there is no ledger.", maybe(TEXT)),
    version=maybe(COUNT),
    head=said("The digest of its newest entry.", maybe(TEXT)),
    datasets=some(
        table(
            dataset=TEXT,
            total=maybe(TARGET),
            looks=said("How often the private table was looked at.", COUNT),
            looks_without_release=COUNT,
            declaration=said(
                "All questions, where they were declared before the first answer.",
                maybe(table(number=COUNT, time=TIME, digest=TEXT, content={"type": "object"})),
            ),
            releases=some(
                table(
                    number=said("Its place in the ledger, over all datasets.", maybe(COUNT)),
                    digest=maybe(TEXT),
                    position=COUNT,
                    time=TIME,
                    statistics=by_name(TEXT),
                    values=NAMED_VALUES,
                    intervals=INTERVALS,
                    mechanism=TEXT,
                    certificate=shared("certificate"),
                    joint_certificate=shared("certificate"),
                )
            ),
        )
    ),
)


def policy_schema() -> Schema:
    """Return the schema that policies are read by, with its examples of TOML as the values that they are."""
    schema = PolicyShape.model_json_schema()
    for part in (schema, *schema["$defs"].values()):
        for key, field in part["properties"].items():
            field.pop("title", None)
            examples = [value for text in field.pop("examples", []) for value in _values(key, text)]
            field.update({"examples": examples} if examples else {})
    return schema


def _values(key: str, text: str) -> list[Any]:
    try:
        return [tomllib.loads(text)[key]]
    except tomllib.TOMLDecodeError:
        return []


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
    "policy": {"$schema": DIALECT, **policy_schema(), "title": "A policy file, read as TOML"},
    "release": _document("The release.json of a bundle", table(**PRINTED_RELEASE, evidence=EVIDENCE)),
    "release_output": _document(
        "What distpriv release --json prints", table(**PRINTED_RELEASE, repeated=TRUTH, bundle=TEXT)
    ),
    "audit": _document("What distpriv audit --json prints, and the audit.json of a bundle", AUDIT),
    "plan": _document("What distpriv plan --json prints", PLAN),
    "verify": _document("What distpriv verify --json prints", VERIFY),
    "ledger": _document("What distpriv ledger --json prints", LEDGER),
    "init": _document("What distpriv init --json prints", table(policy=TEXT)),
}


def schema_text(name: str) -> str:
    """Return a schema as its file has it."""
    return json.dumps(SCHEMAS[name], indent=2, ensure_ascii=False) + "\n"
