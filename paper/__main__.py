"""Run every experiment in both protocols, compare with the published numbers, and write a report for each."""

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import get_args

from paper.experiments import EXPERIMENTS
from paper.report import write_report
from paper.setting import Protocol, Setting


def main() -> int:
    """Return 0 if all published numbers are within three standard errors of ours."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("--protocol", choices=get_args(Protocol), help="one of them only")
    parser.add_argument("--seed", type=int, default=Setting().seed)
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="a folder, by default build/paper")
    given = parser.parse_args()
    protocols = [given.protocol] if given.protocol else get_args(Protocol)
    return max(_run(Setting(protocol=protocol, seed=given.seed), given.out / protocol) for protocol in protocols)


def _run(setting: Setting, folder: Path) -> int:
    results = []
    for experiment in EXPERIMENTS.values():
        started = perf_counter()
        result = experiment(setting)
        results.append(result)
        agrees = f"{result.agreeing} of {len(result.comparisons)}" if result.comparisons else ""
        print(f"{setting.protocol:8}{result.title:66}{agrees:>10}{perf_counter() - started:8.1f} s", flush=True)
        for one in result.comparisons:
            if not one.agrees:
                print(f"        {one.label}: published {one.published:g}, ours {one.ours:.4g}, z = {one.z:+.1f}")
    agreeing, compared = sum(one.agreeing for one in results), sum(len(one.comparisons) for one in results)
    print(f"{agreeing} of {compared} published numbers are within three standard errors of ours.")
    print(f"The report: {write_report(results, setting, folder)}\n")
    return int(agreeing < compared)


if __name__ == "__main__":
    sys.exit(main())
