"""What release.json and audit.json hold, key by key: `verify` reads by it, and docs/reference/schemas is made of it."""

from typing import Any, get_args

from distpriv.framework.tilts import TiltKind
from distpriv.guarantees.certificate import Assurance
from distpriv.guarantees.drawn import Measure
from distpriv.guarantees.evidence import Status
from distpriv.modelling.drawing import Reference
from distpriv.releasing.joint import Questions

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TRUTH: Schema = {"type": "boolean"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
AT_LEAST_0: Schema = {"type": "number", "minimum": 0}
TIME: Schema = {"type": "string", "format": "date-time"}
DIGEST: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
VERSION: Schema = {"type": "string", "pattern": "^[0-9]+([.][0-9]+)*((a|b|rc|[.]post|[.]dev)[0-9]+)*([+][a-z0-9.]+)?$"}


def said(what: str, schema: Schema) -> Schema:
    """Return a schema with a sentence that says what it is."""
    return {"description": what, **schema}


def some(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def ends(schema: Schema) -> Schema:
    """Return the schema of two of a kind."""
    return {**some(schema), "minItems": 2, "maxItems": 2}


def by_name(schema: Schema) -> Schema:
    """Return the schema of an object with names for keys."""
    return {"type": "object", "additionalProperties": schema}


def maybe(*schemas: Schema) -> Schema:
    """Return the schema of something, of one of several kinds, or null."""
    return {"anyOf": [*schemas, {"type": "null"}]}


def table(*optional: str, **keys: Schema) -> Schema:
    """Return the schema of an object with these keys and no other; those that are optional may be missing."""
    needed = [key for key in keys if key not in optional]
    return {"type": "object", "properties": keys, "required": needed, "additionalProperties": False}


def shared(name: str) -> Schema:
    """Return a reference to a schema that several others use."""
    return {"$ref": f"#/$defs/{name}"}


FORMAT = "distpriv release 3"
"""What release.json begins with."""

LIBRARIES = ("duckdb", "numpy", "opendp", "scipy", "sqlalchemy")
"""Whose versions a bundle tells."""

QUESTIONS = get_args(Questions)
"""How a joint certificate is safe against questions that depend on answers."""

MATRIX = some(some(NUMBER))
TARGET = table(epsilon=AT_LEAST_0, delta=SHARE)
NAMED_VALUES = said("The released numbers, as they were drawn.", by_name(NUMBER))
INTERVALS = said("For each number, where the true one is with a probability of 95 %.", by_name(ends(NUMBER)))
ESTIMATES = said("The best guess at each number, from all answers and what is public.", by_name(NUMBER))
ESTIMATE_INTERVALS = said(
    "For each number, where it is with a probability of 95 %, on average over the scenarios.", by_name(ends(NUMBER))
)
FIT = said(
    "How plausible all answers are if the private data are like the reference.",
    table(
        p_value=said("How often answers would be as far from the public mean, or farther.", SHARE),
        distance=said("From the public mean; null where it is infinite.", maybe(AT_LEAST_0)),
        dimension=COUNT,
        releases=said("How many answers estimates are made with.", COUNT),
        fits=said("Whether the p-value is at least 0.001.", TRUTH),
        sentence=TEXT,
    ),
)
PUBLIC_MEANS = said("What is known of each number without any release.", by_name(NUMBER))
PUBLIC_ERRORS = said("The root mean square error of each public mean.", by_name(AT_LEAST_0))
STATISTICS = said("Names, in order.", some(TEXT))

PROPERTY = table(
    kind={"enum": [kind for kind in get_args(TiltKind) if kind != "joint"]},
    expressions=some(TEXT),
    value=NUMBER,
    level=maybe(SHARE),
)

SHARED: dict[str, Schema] = {
    "certificate": said(
        "What is promised, held against a target.",
        table(
            target=TARGET,
            epsilon=AT_LEAST_0,
            delta=AT_LEAST_0,
            holds=TRUTH,
            assurance={"enum": list(get_args(Assurance))},
            theorem=TEXT,
            evidence=some(table(code=TEXT, status={"enum": list(get_args(Status))}, facts={"type": "object"})),
            contradicted=TRUTH,
            law=maybe(shared("law")),
        ),
    ),
    "law": said(
        "δ as computed from the reference rows, and what is known of its error.",
        table(
            delta=SHARE,
            pair=some(TEXT),
            total_variation=SHARE,
            exact=TRUTH,
            epsilon=AT_LEAST_0,
            estimate=AT_LEAST_0,
            standard_error=AT_LEAST_0,
            normalisation=NUMBER,
            normalisation_error=AT_LEAST_0,
            draws=COUNT,
            pairs=COUNT,
            ripple=AT_LEAST_0,
            peak=maybe(some(NUMBER)),
            missed=SHARE,
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
            "weight",
            "robust",
            method=TEXT,
            records=maybe(COUNT),
            replacement=TRUTH,
            missing=TEXT,
            reference={"enum": list(get_args(Reference))},
            weight=said("How many people each row of the reference stands for, where rows count differently.", TEXT),
            robust=said("How far the law of a record may be from the modelled one: a relative entropy.", AT_LEAST_0),
            draws=maybe(COUNT),
            statistics=STATISTICS,
            steps=some(AT_LEAST_0),
            record_sensitivities=some(maybe(AT_LEAST_0)),
            scenarios=by_name(
                table(
                    "tilt",
                    "reference",
                    reference=said("Which of several references rows are of, from 2 on; missing for the first.", COUNT),
                    share=maybe(TEXT),
                    positives=maybe(COUNT),
                    tilt=said(
                        "Which property of the rows has which value, where records are drawn with weights; missing "
                        "elsewhere.",
                        {
                            "anyOf": [
                                PROPERTY,
                                table(kind={"const": "joint"}, parts=some(PROPERTY)),
                            ]
                        },
                    ),
                    mean=some(NUMBER),
                    covariance=MATRIX,
                    lattice=maybe(MATRIX),
                )
            ),
            protected_pairs=some(ends(TEXT)),
            strata=said(
                "The strata of a reference that is a sample: how many rows each has, the covariance and the kurtoses "
                "of what one row adds to the statistics, and how many rows of it the datasets of each scenario have. "
                "Of rows with weights the number is an effective one, and loads tell the errors of means of a family.",
                some(
                    table(
                        "family",
                        "loads",
                        kind=TEXT,
                        rows=COUNT,
                        covariance=MATRIX,
                        kurtoses=some(AT_LEAST_0),
                        drawn=by_name(COUNT),
                        family=TEXT,
                        loads=MATRIX,
                    )
                ),
            ),
        ),
    ),
    "drawn": said(
        "Histograms of coupled draws, or the exact law of the statistic, that a certificate rests on; null where it "
        "rests on moments.",
        maybe(
            table(
                measure={"const": "cells"},
                steps=some(AT_LEAST_0),
                lowest=some(NUMBER),
                replacement={"type": "boolean"},
                off=AT_LEAST_0,
                sample=said("Whether the rows are a sample, and not the whole population.", TRUTH),
                strata=said(
                    "How many reference rows of each stratum add which whole numbers of steps to the statistics, and "
                    "with what chance a record does, where rows have weights.",
                    some(
                        table(
                            "weights", places=some(some({"type": "integer"})), counts=some(COUNT), weights=some(SHARE)
                        )
                    ),
                ),
                drawn=said("How many rows of which strata a dataset has, by scenario.", by_name(by_name(COUNT))),
            ),
            table(
                measure={"enum": list(get_args(Measure))},
                noise=shared("noise"),
                scale=AT_LEAST_0,
                epsilon=AT_LEAST_0,
                limit=AT_LEAST_0,
                failure=SHARE,
                laws=some(
                    table(
                        zero=COUNT, infinite=COUNT, gaps=some({"type": "integer"}), counts=some(COUNT), bet=AT_LEAST_0
                    )
                ),
            ),
        ),
    ),
    "measures": said(
        "What an attack achieves on releases that it has not seen.",
        table(accuracy=SHARE, interval=ends(SHARE), auc=SHARE, tpr_at_1_percent_fpr=SHARE),
    ),
}

LABEL = {"anyOf": [TEXT, {"type": "integer"}, TRUTH]}

PRINTED_RELEASE: dict[str, Schema] = {
    "format": {"const": FORMAT},
    "distpriv": said("The version that released.", VERSION),
    "dataset": TEXT,
    "position": said("The number of this release among all of the dataset.", {"type": "integer", "minimum": 1}),
    "time": said("When it was written down, in UTC.", TIME),
    "values": NAMED_VALUES,
    "intervals": INTERVALS,
    "estimates": ESTIMATES,
    "estimate_intervals": ESTIMATE_INTERVALS,
    "fit": FIT,
    "public_means": PUBLIC_MEANS,
    "public_errors": PUBLIC_ERRORS,
    "mechanism": TEXT,
    "noise": shared("noise"),
    "certificate": shared("certificate"),
    "joint_certificate": said(
        "What is promised about all releases so far; null where no ledger was used.", maybe(shared("certificate"))
    ),
    "ledger": said(
        "Which ledger has it, under which number, and the digest of its chain there.",
        table(id=TEXT, number={"type": "integer", "minimum": 1}, head=DIGEST),
    ),
    "questions": said(
        "How the joint certificate is safe against questions that depend on answers.", {"enum": list(QUESTIONS)}
    ),
    "question": said("Which of the policy's releases it is; null where the policy has one.", maybe(TEXT)),
    "display": said("The same numbers for people.", by_name(NUMBER)),
    "statistics": STATISTICS,
    "attacker": said(
        "How often the best attacker is right: without noise, at most about this release, and at most about all "
        "releases so far together.",
        table(undefended=SHARE, at_most=SHARE, together=SHARE),
    ),
    "policy": said(
        "As policy.json says, with every default filled in and nothing of where private things are.",
        table(
            data={"type": "object"},
            release={"anyOf": [{"type": "object"}, some({"type": "object"})]},
            protect=some({"type": "object"}),
            privacy={"type": "object"},
            ledger={"type": "object"},
            model={"type": "object"},
        ),
    ),
    "versions": said("Of Python and the libraries.", table(python=VERSION, **dict.fromkeys(LIBRARIES, VERSION))),
    "manifest": said("The SHA-256 of every other file of the bundle.", by_name(DIGEST)),
    "tables": said(
        "The cells of every table: estimates that could be true, with their intervals; none where a mean is not told.",
        by_name(
            some(
                table(
                    "noisy_value",
                    "noise",
                    "count",
                    "total",
                    cell=some(LABEL),
                    estimate=maybe(NUMBER),
                    low=maybe(NUMBER),
                    high=maybe(NUMBER),
                    noisy_value=maybe(NUMBER),
                    noise=maybe(AT_LEAST_0),
                    count=NUMBER,
                    total=NUMBER,
                    public_mean=maybe(NUMBER),
                    information=SHARE,
                )
            )
        ),
    ),
}

EVIDENCE = said(
    "What verify needs.",
    table(
        model=shared("model"),
        joint=maybe(
            table(
                model=shared("model"),
                noises=said("Of every question, in the order of the moments.", some(shared("noise"))),
                values=said(
                    "What every question was answered; null where it was not asked yet.", some(maybe(some(NUMBER)))
                ),
                asked=said("What every question asks; null where that has no text.", some(maybe(by_name(TEXT)))),
                releases=said(
                    "The position of every question's release; null for one that was declared and not asked yet.",
                    some(maybe({"type": "integer", "minimum": 1})),
                ),
            )
        ),
        drawn=table(release=shared("drawn"), joint=shared("drawn")),
        reading=said(
            "How a row of the private table is read: clipped to these ends, and what is missing is `otherwise`.",
            some(table(statistic=TEXT, low=maybe(NUMBER), high=maybe(NUMBER), otherwise=maybe(NUMBER))),
        ),
        reference=said("A digest of the content of every scenario's table.", by_name(DIGEST)),
    ),
)

RELEASE = table("tables", **PRINTED_RELEASE, evidence=EVIDENCE)

AUDIT = table(
    mechanism=TEXT,
    pair=ends(TEXT),
    epsilon=AT_LEAST_0,
    delta=SHARE,
    certificate_holds=TRUTH,
    attack_accuracy_ceiling=SHARE,
    modelled_accuracy=SHARE,
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
