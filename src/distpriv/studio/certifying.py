"""The real plan of a draft, in a process of its own: it can be ended when a newer question makes it stale.

``python -m distpriv.studio.certifying`` reads one JSON line, the policy's text, its name and its folder, and prints
JSON lines: each mechanism as soon as it is known, and the certified numbers or a refusal at the end.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field

from distpriv.errors import DistprivError
from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.policy import policy_of
from distpriv.policy.toml_text import TomlText
from distpriv.studio.outlook import shown_curves
from distpriv.workflow.plan_policy import PlannedPolicy, planned

__all__ = ["Certifier", "certified_numbers"]

Event = dict[str, Any]
LONGEST_LINE = 2**24


@define
class Certifier:
    """Processes that plan, one of them always begun beforehand: loading the library takes longer than many a plan."""

    folder: Path
    _spare: "asyncio.Task[Process] | None" = field(default=None, init=False, repr=False)

    def prepare(self) -> None:
        """Begin a process that waits for a policy, unless there is one."""
        if self._spare is None:
            self._spare = asyncio.create_task(_begun(self.folder))

    async def lines(self, text: str, name: str) -> AsyncGenerator[Event, None]:
        """Yield what is found of a policy; the process that finds it ends with whoever iterates."""
        self.prepare()
        assert self._spare is not None
        process = await asyncio.shield(self._spare)
        self._spare = None
        self.prepare()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"text": text, "name": name, "folder": str(self.folder)}).encode() + b"\n")
            async for line in process.stdout:
                yield json.loads(line)
        finally:
            await _ended(process)

    async def close(self) -> None:
        """End the process that waits."""
        if self._spare is not None:
            await _ended(await self._spare)
            self._spare = None


async def _begun(folder: Path) -> Process:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-P", "-m", __name__)  # -P: what lies in the folder is never imported
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=folder, limit=LONGEST_LINE)


async def _ended(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()


def certified_numbers(found: PlannedPolicy) -> Event:
    """Return what a page shows of a plan.

    Raises:
        NotCertified: nothing holds.
    """
    plan = found.plan
    if plan.chosen is None:
        raise found.refusal()
    chosen = plan.chosen
    return {
        "kind": "certified",
        "provisional": False,
        "mechanism": chosen.name,
        "assurance": chosen.mechanism.certificate.assurance,
        "epsilon": chosen.mechanism.certificate.epsilon,
        "delta": chosen.mechanism.certificate.delta,
        "attacker": chosen.attack_accuracy,
        "undefended": plan.undefended_attack_accuracy,
        "information": chosen.information,
        "error": chosen.estimate_error,
        "errors": dict(chosen.estimate_errors),
        "public_error": plan.public_error,
        "public_errors": plan.public_errors,
        "public_means": dict(zip(plan.model.names, plan.public.mean.tolist(), strict=True)),
        "curves": shown_curves(
            plan.model, chosen.mechanism.noise, plan.undefended_attack_accuracy, chosen.attack_accuracy
        ),
        "others": len(found.rest.releases),
        "answered": None if found.answered is None else found.answered.position,
    }


def _as_found(found: Option | Refusal | Skipped) -> Event:
    if isinstance(found, Option):
        holds = "holds" if found.mechanism.certificate.holds else "does not hold"
        said = f"{found.information:.1%} of the uncertainty removed, {holds}"
    else:
        said = "does not apply" if isinstance(found, Refusal) else "cannot win"
    return {"kind": "tried", "mechanism": found.name, "said": said}


def _main(asked: Mapping[str, str]) -> None:
    def say(event: Event) -> None:
        sys.stdout.write(json.dumps(event, allow_nan=False) + "\n")
        sys.stdout.flush()

    def progress(task: str, done: int, total: int) -> None:
        say({"kind": "progress", "task": task, "done": done, "total": total})

    try:
        policy = policy_of(TomlText.parse(asked["text"], name=asked["name"]), Path(asked["folder"]))
        say(certified_numbers(planned(policy, progress, watch=lambda found: say(_as_found(found)))))
    except DistprivError as refusal:
        say({"kind": "refused", "refusal": str(refusal)})


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(5)  # the page's own answers come first
    if asked := sys.stdin.readline():
        _main(json.loads(asked))
