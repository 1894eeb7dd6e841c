"""Run the worked examples, and write their numbers and what they print to docs/images/examples/numbers.json.

Usage: python scripts/example_numbers.py [census company hospital regression salaries]     (about three minutes)
"""

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import attrs
import numpy as np

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "images" / "examples" / "numbers.json"
PAGES = ROOT / "docs" / "examples"
sys.path.insert(0, str(ROOT))

from distpriv.auditing.report import AuditReport  # noqa: E402
from examples import census, company, hospital, regression, salaries  # noqa: E402

EXAMPLES: dict[str, Callable[[], Any]] = {
    "census": census.main,
    "company": company.main,
    "hospital": hospital.main,
    "regression": regression.main,
    "salaries": salaries.main,
}
MORE_DRAWS = 20_000
"""With how many draws the noise of the regression is measured once more."""


def measured(example: Callable[[], Any]) -> dict[str, Any]:
    """Return the numbers of an example that come out again, and everything it prints."""
    with redirect_stdout(io.StringIO()) as printed:
        result = example()
    return {**numbers(result), "printed": printed.getvalue().rstrip("\n")}


def numbers(result: Any) -> dict[str, Any]:
    """Return the result of an example as JSON can hold it, without what was released."""
    found: dict[str, Any] = json.loads(json.dumps(plain(result)))
    found.pop("released")
    return found


def plain(value: Any) -> Any:
    """Return a value without types of its own; of an audit what a page can quote, six digits of every number."""
    if isinstance(value, AuditReport):
        attacks = {a.name: [rounded(a.undefended.accuracy), rounded(a.accuracy)] for a in value.attacks}
        kept = {"ceiling": value.attack_accuracy_ceiling, "epsilon_lower_bound": value.epsilon_lower_bound}
        return {**plain(kept), "failed": value.failed, "attacks": attacks}
    if attrs.has(type(value)):
        return {name: plain(each) for name, each in attrs.asdict(value, recurse=False).items()}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return rounded(value) if isinstance(value, float) else value


def rounded(number: float) -> float:
    """Return six digits."""
    return float(f"{number:.6g}")


def with_output(page: str, printed: str) -> str:
    """Return a page with what its example prints between the marks."""
    head, rest = page.split("<!-- output -->\n")
    tail = rest.split("<!-- end -->")[1]
    return f"{head}<!-- output -->\n```text\n{printed}\n```\n<!-- end -->{tail}"


def more_draws() -> dict[str, Any]:
    """Return the noise of the balanced regression when more is drawn."""
    public, _ = regression.split(regression.people())
    variances = np.diag(regression.planned(public, balanced=True, draws=MORE_DRAWS).mechanism.noise.covariance)
    return {"draws": MORE_DRAWS, "errors": [rounded(error) for error in np.sqrt(variances).tolist()]}


if __name__ == "__main__":
    recorded = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}
    for name in sys.argv[1:] or EXAMPLES:
        recorded[name] = measured(EXAMPLES[name])
        if name == "regression":
            recorded[name]["more_draws"] = more_draws()
        TARGET.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        page = PAGES / f"{name}.md"
        if page.exists():
            page.write_text(with_output(page.read_text(encoding="utf-8"), recorded[name]["printed"]), encoding="utf-8")
        print(f"{name}: done", flush=True)
