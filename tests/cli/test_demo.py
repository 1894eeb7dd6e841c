from io import StringIO

from rich.console import Console

from distpriv.cli.demo import show_demo


def test_the_demo_shows_the_models_of_both_secrets() -> None:
    shown = StringIO()
    show_demo(Console(file=shown, width=140))
    for expected in (
        "45,222 complete records",
        "income: exact moments",
        "40.015 ± 1.220",
        "work class: exact moments",
        "the two scenarios are 1.42 standard deviations apart",
        "median_age",
    ):
        assert expected in shown.getvalue()
