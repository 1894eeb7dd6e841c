import ast
import builtins
import inspect
import re
import subprocess
import sys
from doctest import DocTestFinder, Example
from functools import cache
from importlib import import_module
from itertools import pairwise
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any

import attrs
import pytest

import distpriv as dp
from distpriv import datasets, distances, errors, mechanisms
from distpriv.auditing.diagnostics import Diagnostics, PairDiagnostics, StatisticDiagnostics
from distpriv.auditing.measures import Measures
from distpriv.auditing.report import AttackResult, AuditReport
from distpriv.framework.scenarios import ProtectedScenarios, Scenario
from distpriv.framework.statistics import FunctionOfRows, Quantile, RowMean, Statistic, Variance
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Entry, History
from distpriv.modelling.model import Provenance, QueryDistribution
from distpriv.modelling.public_knowledge import Fit
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, Noise, NoNoise, SumNoise, UnimodalNoise
from distpriv.planning.option import Option, Refusal
from distpriv.releasing.joint import EarlierRelease, EarlierReleases

HEAVY = (
    "duckdb",
    "sklearn",
    "matplotlib",
    "opendp",
    "pyspark",
    "scipy",
    "pyarrow",
    "sqlglot",
    "joblib",
    "pandas",
    "pydantic",
    "sqlalchemy",
    "jinja2",
)

PACKAGES = (dp, mechanisms, distances, datasets, errors)
NAMES = [(package, name) for package in PACKAGES for name in package.__all__]

RETURNED = (
    *(Statistic, RowMean, Variance, Quantile, FunctionOfRows),
    *(Scenario, ProtectedScenarios),
    *(QueryDistribution, Provenance, Diagnostics, PairDiagnostics, StatisticDiagnostics),
    *(AdditiveMechanism, Certificate, Evidence),
    *(Noise, GaussianNoise, LaplaceNoise, NoNoise, SumNoise, UnimodalNoise),
    *(Fit, Option, Refusal, Entry, History, EarlierRelease, EarlierReleases),
    *(AuditReport, AttackResult, Measures),
)
"""What functions of the public surface take or return, and a user comes to hold."""

CLASSES = (
    *(dp.PrivacyTarget, dp.Query, dp.Share, dp.Scenarios, dp.QueryModel, dp.Plan, dp.Release, dp.Ledger),
    dp.Declaration,
    *(distances.HockeyStick, distances.HockeySticks),
    *RETURNED,
)

MEMBERS = [
    (class_, name)
    for class_ in CLASSES
    for name, member in vars(class_).items()
    if not name.startswith("_") and isinstance(member, FunctionType | property | classmethod | staticmethod)
    # What every statistic, or every law of noise, answers is said and shown once.
    if not any(issubclass(class_, base) and class_ is not base and hasattr(base, name) for base in (Statistic, Noise))
]

NAMED_FIELDS = [
    *((dp.PrivacyTarget, name) for name in ("epsilon", "delta")),
    *((dp.QueryModel, name) for name in ("names", "distributions", "protected_pairs", "steps", "provenance")),
    *((QueryDistribution, name) for name in ("mean", "covariance")),
    *((AdditiveMechanism, name) for name in ("noise", "certificate")),
    *((Certificate, name) for name in ("target", "epsilon", "delta", "assurance", "theorem", "evidence")),
    *((Evidence, name) for name in ("code", "status", "facts")),
    *((dp.Plan, name) for name in ("options", "refusals", "undefended_attack_accuracy")),
    *((dp.Release, name) for name in ("values", "intervals")),
    *((Fit, name) for name in ("p_value", "distance")),
    *((AuditReport, name) for name in ("attacks", "epsilon", "delta")),
    *((AttackResult, name) for name in ("name", "defended", "undefended")),
]
"""Attributes that are fields, and that a user reads."""


IMPORT = (ast.Import, ast.ImportFrom)

SHOWN = list(dict.fromkeys([*(getattr(package, name) for package, name in NAMES if name != "__version__"), *CLASSES]))


@cache
def examples_of_module(module: str) -> dict[str, list[Example]]:
    """The examples that a doctest run of the module finds, by what they belong to."""
    found = DocTestFinder().find(import_module(module), module)
    return {test.name.removeprefix(f"{module}.") if test.name != module else "": test.examples for test in found}


def examples_of(thing: Any, member: str | None = None) -> list[Example]:
    if isinstance(thing, ModuleType):
        return examples_of_module(thing.__name__).get("", [])
    path = thing.__qualname__ if member is None else f"{thing.__qualname__}.{member}"
    return examples_of_module(thing.__module__).get(path, [])


def uses(examples: list[Example], pattern: str) -> bool:
    """Whether the examples have the word in their code, and come to a result that can be wrong."""
    code = "".join(example.source for example in examples)
    results = "".join(example.want for example in examples)
    return bool(re.search(pattern, code)) and bool(re.search(r"\w", results))


@pytest.mark.parametrize(("package", "name"), NAMES, ids=lambda value: getattr(value, "__name__", value))
def test_every_public_name_has_an_example_that_shows_it(package: ModuleType, name: str) -> None:
    thing = import_module("distpriv._version") if name == "__version__" else getattr(package, name)
    assert thing.__doc__
    # A class that is made by a function is shown by what it can do, and an error by being raised.
    made_elsewhere = thing in (*CLASSES, *(getattr(errors, each) for each in errors.__all__))
    assert uses(examples_of(thing), "" if made_elsewhere else rf"\b{name}\b")


@pytest.mark.parametrize("class_", RETURNED, ids=lambda class_: class_.__name__)
def test_so_has_every_class_that_its_functions_take_or_return(class_: type) -> None:
    assert class_.__doc__
    assert uses(examples_of(class_), "")


@pytest.mark.parametrize(("class_", "name"), MEMBERS, ids=lambda value: getattr(value, "__name__", value))
def test_every_method_and_property_is_documented_and_used_in_an_example(class_: type, name: str) -> None:
    assert getattr(class_, name).__doc__
    assert uses([*examples_of(class_), *examples_of(class_, name)], rf"\.{name}\b")


@pytest.mark.parametrize(("class_", "name"), NAMED_FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_every_field_that_a_user_reads_is_used_in_an_example(class_: type, name: str) -> None:
    assert name in attrs.fields_dict(class_)
    assert uses(examples_of(class_), rf"\.{name}\b")


def described_fields(class_: type) -> set[str]:
    """The fields that a string stands below, which is where a documentation of attributes is looked for."""
    [definition] = ast.parse(dedent(inspect.getsource(class_))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id
        for field, below in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }


@pytest.mark.parametrize("class_", CLASSES, ids=lambda class_: class_.__name__)
def test_every_field_is_described(class_: type) -> None:
    public = {name for name in attrs.fields_dict(class_) if not name.startswith("_")}
    assert public - described_fields(class_) == set()


def missing_names(examples: list[Example]) -> set[str]:
    """The names that code uses without importing or assigning them, wherever that is done in it."""
    nodes = [node for example in examples for node in ast.walk(ast.parse(example.source))]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | {*dir(builtins), "__name__"}
    known |= {alias.asname or alias.name for node in nodes if isinstance(node, IMPORT) for alias in node.names}
    known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    known |= {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    return {node.id for node in names} - known


@pytest.mark.parametrize("thing", SHOWN, ids=lambda thing: thing.__name__)
def test_examples_can_be_copied_as_they_are(thing: Any) -> None:
    """They import what they use, rather than find it in the module that they stand in."""
    members = [name for class_, name in MEMBERS if class_ is thing]
    for examples in [examples_of(thing), *(examples_of(thing, name) for name in members)]:
        assert missing_names(examples) == set()


def test_a_name_that_an_example_does_not_import_is_noticed() -> None:
    code = [Example("import numpy as np", ""), Example("[k + np.pi + lost for k in range(2)]", "")]
    assert missing_names(code) == {"lost"}


def test_the_names_are_those_that_dir_lists() -> None:
    assert set(dp.__all__) <= set(dir(dp))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'modle'"):
        _ = dp.modle


def test_importing_distpriv_loads_nothing_heavy() -> None:
    code = f"import distpriv, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
