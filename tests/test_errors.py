import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import distpriv
from distpriv import errors

SOURCE = Path(distpriv.__file__).parent
FINDINGS = ("bundle/recertify.py",)
"""What is wrong with a bundle: `distpriv verify` says so in a sentence of its own, and nothing can be done."""
FILES = sorted(name for file in SOURCE.rglob("*.py") if (name := file.relative_to(SOURCE).as_posix()) not in FINDINGS)


def test_every_error_is_exported_and_drawn_in_the_tree() -> None:
    classes = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)}
    assert classes == set(errors.__all__)
    assert errors.__doc__ is not None
    drawn = [line.split()[1] if line.strip()[0] in "├└│" else line.split()[0] for line in tree_lines(errors.__doc__)]
    assert {name for name in classes if name in errors.__doc__} == classes
    assert len(drawn) == len(classes)


def tree_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("    ")]


def test_the_tree_is_the_one_in_the_code() -> None:
    """Each class stands below its base, indented by four more columns."""
    assert errors.__doc__ is not None
    stack: list[tuple[int, type]] = []
    for line in tree_lines(errors.__doc__):
        name = next(word for word in line.replace("│", " ").split() if word in errors.__all__)
        indent, class_ = line.index(name), getattr(errors, name)
        while stack and stack[-1][0] >= indent:
            stack.pop()
        assert not stack or stack[-1][1] in class_.__bases__
        stack.append((indent, class_))


def test_what_was_given_wrong_can_be_caught_as_a_value_error() -> None:
    assert issubclass(errors.InvalidInput, ValueError)
    assert all(issubclass(getattr(errors, name), errors.DistprivError) for name in errors.__all__)


def messages(code: str) -> Iterator[str]:
    """The text of every error of the tree that is made in the code, with … for what is filled in."""
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {*errors.__all__, "error"}
        ):
            text = node.args[0] if node.args else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value
            elif isinstance(text, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in text.values)


def says_what_to_do(message: str) -> bool:
    """Whether it is one sentence, and goes on after what is wrong or says what must be."""
    one = message[-1] in ".…" and not re.search(r"[.!?] [A-Z]", message)
    return one and bool(re.search(r"[:;] \S|\b(must|needs|may)\b", message))


@pytest.mark.parametrize("file", FILES)
def test_every_message_is_one_sentence_that_says_what_to_do(file: str) -> None:
    found = messages((SOURCE / file).read_text(encoding="utf-8"))
    assert [message for message in found if not says_what_to_do(message)] == []


def test_a_message_without_a_cure_is_noticed() -> None:
    code = """
raise InvalidInput("no such thing.")
raise InvalidModel(f"{x} is wrong: mend it.")
raise InvalidQuery(f"this is wrong: {why}. Do that.")
raise error("it must be 2")
"""
    assert [says_what_to_do(message) for message in messages(code)] == [False, True, False, False]
