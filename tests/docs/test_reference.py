"""What the reference documents is what distpriv offers, no more and no less."""

import inspect
import re
from types import ModuleType
from typing import Any

import pytest
from tests.docs.pages import DOCS

import distpriv as dp

REFERENCE = DOCS / "reference"
DOCUMENTED = [
    name
    for page in sorted(REFERENCE.rglob("*.md"))
    for name in re.findall(r"^::: (\S+)", page.read_text("utf-8"), re.M)
]
PACKAGES: dict[str, ModuleType] = {
    "distpriv": dp,
    "distpriv.mechanisms": dp.mechanisms,
    "distpriv.distances": dp.distances,
    "distpriv.datasets": dp.datasets,
}
PUBLIC: dict[str, Any] = {
    f"{package}.{name}": getattr(module, name) for package, module in PACKAGES.items() for name in module.__all__
}
EXPLAINED = {name: value for name, value in PUBLIC.items() if not isinstance(value, str)}
"""Everything that can have a docstring: a string, as the version is, cannot."""


def public_name(documented: str) -> str:
    """Return the name that is imported, where a function is documented as that of the file with its name."""
    package, _, name = documented.rpartition(".")
    return package if package.endswith(f".{name}") else documented


def offered(name: str) -> bool:
    """Tell whether a name is imported as it is, and is not one of a type that functions return."""
    return name.rpartition(".")[0] in PACKAGES


def test_the_reference_documents_every_public_name_and_nothing_else() -> None:
    assert sorted(filter(offered, map(public_name, DOCUMENTED))) == sorted(PUBLIC)


def test_types_that_functions_return_are_documented_where_they_are_defined() -> None:
    for name in DOCUMENTED:
        if not offered(public_name(name)):
            module, _, attribute = name.rpartition(".")
            value = getattr(__import__(module, fromlist=[attribute]), attribute)
            assert f"{value.__module__}.{value.__qualname__}" == name


@pytest.mark.parametrize("name", sorted(EXPLAINED))
def test_every_public_name_has_a_docstring_with_a_doctest(name: str) -> None:
    text = vars(EXPLAINED[name]).get("__doc__") if inspect.isclass(EXPLAINED[name]) else EXPLAINED[name].__doc__
    assert text, f"{name} has no docstring"
    assert ">>> " in text, f"{name} has no doctest"


def test_every_error_is_in_the_catalogue() -> None:
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    assert [name for name in dp.errors.__all__ if not re.search(rf"^\| DP\d+ \| `{name}` ", page, re.M)] == []


def test_every_mechanism_has_its_proof() -> None:
    proofs = {page.stem for page in (DOCS / "proofs").glob("*.md")}
    assert set(dp.mechanisms.__all__) <= proofs
