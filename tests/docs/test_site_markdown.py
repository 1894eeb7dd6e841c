import pytest
from markdown import Markdown
from scripts.site_markdown import SiteMarkdown, formula


def html(text: str) -> str:
    """Return a text as the site shows it."""
    return Markdown(extensions=["pymdownx.superfences", "tables", SiteMarkdown()]).convert(text)


def test_a_formula_in_a_line_becomes_mathml() -> None:
    assert html(r"for $\mathbb E_\pi$ and *for* `$x$`") == (
        "<p>for <math><msub><mi>𝔼</mi><mi>π</mi></msub></math> and <em>for</em> <code>$x$</code></p>"
    )


def test_stars_and_lines_in_a_formula_are_no_emphasis() -> None:
    assert "<em>" not in html("$a_1 * b_2$ and $c_1 * d_2$ and $e_x_y$".replace("e_x_y", "e_{x_y}"))


def test_a_formula_that_stands_alone_is_a_box_of_its_own() -> None:
    shown = html("Then\n\n$$\na\n> b\n$$\n\nand so on")
    assert shown.startswith('<p>Then</p>\n<div class="formula" tabindex="0"><math display="block">')
    assert "blockquote" not in shown
    assert shown.endswith("<p>and so on</p>")


def test_formulas_of_docstrings_are_shown_too() -> None:
    assert html(":math:`v_k^⊤`") == html(r"$v_k^\top$")
    assert html("That is\n\n.. math:: a =\n    b\n\nand more") == html("That is\n\n$$a =\n    b$$\n\nand more")


def test_other_roles_are_code() -> None:
    assert html("see :func:`~distpriv.plan`") == "<p>see <code>distpriv.plan</code></p>"


def test_money_and_code_are_no_formulas() -> None:
    assert "<math" not in html("it costs 5$ or 6$, see\n\n```text\n$x$ $$y$$\n```\n")


def test_a_doctest_in_text_is_code() -> None:
    shown = html("One.\n\n>>> 1 + 1\n2\n\nTwo.\n\n```pycon\n>>> 3\n\n>>> 4\n```\n")
    assert shown.count("<pre>") == 2
    assert "blockquote" not in shown


@pytest.mark.parametrize("tex", [r"\nosuchcommand", r"\frac{a", "a & b", r"50 % of it"])
def test_a_formula_that_cannot_be_shown_is_an_error(tex: str) -> None:
    with pytest.raises(ValueError, match="formula"):
        formula(tex, alone=False)
    with pytest.raises(ValueError, match="formula"):
        html(f"here ${tex}$")
    with pytest.raises(ValueError, match="formula"):
        html(f"$$\n{tex}\n$$")
