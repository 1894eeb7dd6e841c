import inspect

from distpriv import errors


def test_every_error_is_exported_and_drawn_in_the_tree() -> None:
    classes = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
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
