"""Reproducing the paper: run what has not been run yet, write it down, and put it on one page."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from distpriv.errors import InvalidInput
from distpriv.experiments.result import Result, versions
from distpriv.experiments.runs import EITHER, EXPERIMENTS, chosen, run
from distpriv.experiments.setting import ProtocolName, Setting
from distpriv.framework.folders import write_whole
from distpriv.progress import Progress, silent
from distpriv.report import render, save
from distpriv.report.reproduction import figures_of, reproduction_page

__all__ = ["Reproduction", "reproduce"]

TIMES = "times.json"


@frozen(kw_only=True)
class Reproduction:
    """What was found, by name, and where it was written."""

    results: Mapping[str, Result]
    page: Path
    computed: tuple[str, ...]
    """What was not there from a run before."""

    @property
    def agreeing(self) -> tuple[int, int]:
        """How many published numbers agree with ours, and of how many."""
        results = self.results.values()
        return sum(one.agreeing for one in results), sum(len(one.comparisons) for one in results)


def reproduce(
    names: Iterable[str] | None = None,
    *,
    setting: Setting,
    out: str | Path,
    progress: Progress = silent,
) -> Reproduction:
    """Run experiments and write a JSON file for each, pictures as SVG and PNG, and one page with all of them.

    What is there already for the same setting and versions is read and not run again, and all of it is on the page.

    Args:
        names: which of them; all when none are given.
        setting: the protocol, its seed and its sizes.
        out: a folder, made if it is not there.
        progress: told of each experiment.
    """
    wanted = chosen(names)
    folder = Path(out) / setting.protocol
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise InvalidInput(f"out must be a folder that can be written to, got {str(out)!r}: {failure}.") from failure
    times = _read(folder / TIMES) or {}
    found = {name: _known(folder, name, setting) for name in EXPERIMENTS}
    computed = []
    for name in [name for name in wanted if found[name] is None]:
        result = _from_other_protocol(Path(out), name, setting) if name in EITHER else None
        if result is None:
            result = run(name, setting, progress)
            computed.append(name)
        found[name] = _written(result, folder, times)
    results = {name: result for name, result in found.items() if result is not None}
    page = reproduction_page(results)
    for figure in figures_of(page):
        save(figure, folder)
    place = folder / "reproduction.html"
    place.write_text(render(page), encoding="utf-8", newline="\n")
    return Reproduction(results=results, page=place, computed=tuple(computed))


def _written(result: Result, folder: Path, times: dict[str, Any]) -> Result:
    """Write a result down, the time it took in a file of its own."""
    times[result.name] = result.seconds
    _write(folder / f"{result.name}.json", result.to_dict(time=False))
    _write(folder / TIMES, times)
    return result


def _from_other_protocol(out: Path, name: str, setting: Setting) -> Result | None:
    """Return what a run of the other protocol has found, where that makes no difference."""
    other: ProtocolName = "paper" if setting.protocol == "exact" else "exact"
    found = _known(out / other, name, evolve(setting, protocol=other))
    return None if found is None else evolve(found, setting=setting)


def _known(folder: Path, name: str, setting: Setting) -> Result | None:
    """Return a result of the same setting and versions, if there is one."""
    written = _read(folder / f"{name}.json")
    seconds = (_read(folder / TIMES) or {}).get(name)
    try:
        found = None if written is None else Result.from_dict({**written, "seconds": seconds})
    except (KeyError, TypeError, ValueError):  # written by another version, or by hand
        return None
    if found is None or found.setting != setting or found.versions != versions():
        return None
    return found


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, found: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
