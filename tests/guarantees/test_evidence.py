"""Evidence: every code that src has is in the registry, and every sentence has the facts that it needs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.evidence_page import PAGE, page

import distpriv
from distpriv.errors import InvalidInput
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.evidence_text import explanation, named_facts, refusals, registry, sentence

SOURCE = Path(distpriv.__file__).parent


def emitted() -> Iterator[tuple[str, set[str] | None]]:
    """Yield the codes of every `Evidence.of(…)` in src with the names of its facts; None where there are more."""
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        local = {
            target.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "Evidence.of" and node.args):
                continue
            first = node.args[0]
            first = local.get(first.id, first) if isinstance(first, ast.Name) else first
            names = {keyword.arg for keyword in node.keywords}
            for code in re.findall(r"DP\d{3}", ast.unparse(first)):
                yield code, None if None in names else {name for name in names if name}


EMITTED = list(emitted())


def test_every_code_is_emitted_and_every_code_that_is_emitted_is_in_the_registry() -> None:
    assert {code for code, _ in EMITTED} == set(registry())
    assert not set(registry()) & set(refusals())
    assert len(refusals()) == len(distpriv.errors.__all__)


@pytest.mark.parametrize("code", registry())
def test_sentences_have_the_facts_they_name(code: str) -> None:
    entry, given = registry()[code], [names for of, names in EMITTED if of == code]
    assert all(names is None or names >= set(named_facts(entry.sentence)) for names in given)
    if None not in given:
        anywhere = set().union(*(names for names in given if names))
        assert anywhere >= {name for detail in entry.details for name in named_facts(detail)}
    for text in (entry.title, entry.sentence, entry.explanation, entry.cure, *entry.details):
        assert text
        assert not re.search(r"held against|told apart|of itself|whatever", text)
    assert entry.title in explanation(code.lower())


def test_a_sentence_leaves_out_what_has_no_facts_and_refuses_others() -> None:
    draws = {"delta": 1e-3, "draws": 9, "estimate": 9e-4, "standard_error": 1e-5, "pair": ["a", "b"], "ripple": None}
    assert "periodic structure of" not in sentence(Evidence.of("DP202", **draws))
    assert "of amplitude 1.0e-04" in sentence(Evidence.of("DP202", **{**draws, "ripple": 1e-4}))
    for code, facts in (("DP199", {}), ("DP203", {"delta": "small", "epsilon": 1.0})):
        with pytest.raises(InvalidInput, match="has no words"):
            sentence(Evidence.of(code, **facts))
    with pytest.raises(InvalidInput, match="cannot be 'proved'"):
        Evidence(code="DP301", status="proved")


def test_refusals_are_explained_too() -> None:
    assert explanation("DP412").startswith("DP412 (refused): InvalidTarget")
    with pytest.raises(InvalidInput, match="there is no code"):
        explanation("DP999")


def test_the_page_is_what_the_registry_says() -> None:
    """Run scripts/evidence_page.py to write it anew."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_nothing_in_src_reads_a_sentence() -> None:
    renders = {path.name for path in SOURCE.rglob("*.py") if "evidence_text" in path.read_text(encoding="utf-8")}
    assert not renders & {path.name for path in (SOURCE / "workflow" / "verifying").glob("*.py")}
