from io import StringIO

from rich.console import Console

from distpriv.cli.demo import show_demo


def test_the_demo_shows_models_and_mechanisms_with_what_they_really_hold() -> None:
    shown = StringIO()
    show_demo(Console(file=shown, width=140))
    for expected in (
        "45,222 complete records",
        "income = '>50K' @ 0.45 against income = '>50K' @ 0.55",
        "40.015 ± 1.220",
        "together they are 1.42 standard deviations apart",
        "income: every mechanism for ε = 1, δ = 0.001",
        "directional_uncertainty",
        "1.5e-3",
        "assumed*",
        "of 100 records",
        "1506.63",
    ):
        assert expected in shown.getvalue()
