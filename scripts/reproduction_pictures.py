"""Draw docs/images/figure_*.svg: the paper's figures for income, by expectations.

Usage: python scripts/reproduction_pictures.py [FOLDER], the folder that `distpriv reproduce --out FOLDER` writes to.
"""

import shutil
import sys
from pathlib import Path

from distpriv.experiments.setting import Setting
from distpriv.workflow.reproducing import reproduce

__all__ = ["IMAGES", "SHOWN"]

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SHOWN = {
    "figure_2_income": "figure_2",
    "figure_3_income": "figure_3",
    "figure_4": "figure_4",
    "figure_4_lattice": "figure_4",
    "figure_5_mean_age": "figure_5",
}
"""Each picture with its experiment."""


def main() -> None:
    """Read the results, or compute them, and take the pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduction")
    setting = Setting(protocol="exact")
    reproduce(dict.fromkeys(SHOWN.values()), setting=setting, out=folder)
    for name in SHOWN:
        print(shutil.copy(folder / setting.protocol / f"{name}.svg", IMAGES))


if __name__ == "__main__":
    main()
