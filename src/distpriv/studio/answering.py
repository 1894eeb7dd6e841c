"""What a studio answers, whoever asks: a table's columns, a draft's numbers, a policy file, a release."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from attrs import define, field

from distpriv.errors import InvalidInput
from distpriv.framework.target import PrivacyTarget
from distpriv.progress import Progress
from distpriv.report.figures import error_curve
from distpriv.studio.draft import Draft
from distpriv.studio.folder import DRAFT, Folder
from distpriv.studio.offering import offered
from distpriv.studio.outlook import Outlook
from distpriv.studio.releasing import commands, released, spending

__all__ = ["Studio"]

KEPT = 16
"""Models of questions that are kept."""

PATIENCE = 5.0
"""Seconds for which a page waits until another one has written its policy."""

EPSILONS = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.5, 2.5, 4.0, 6.0, 8.0)
ACCURACIES = (0.51, 0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.65, 0.68, 0.72, 0.78, 0.85, 0.95)
"""Where the curve of errors is computed; between them it is straight."""


@define
class Studio:
    """A folder with what was computed about it so far."""

    folder: Folder
    _outlooks: OrderedDict[str, Outlook] = field(factory=OrderedDict, init=False, repr=False)
    _offers: dict[tuple[str, float], dict[str, Any]] = field(factory=dict, init=False, repr=False)
    _bundles: set[str] = field(factory=set, init=False, repr=False)
    _lock: Lock = field(factory=Lock, init=False, repr=False)
    _changing: Lock = field(factory=Lock, init=False, repr=False)
    """Held while a policy is written, and while one is released."""

    def offer(self, table: object) -> dict[str, Any]:
        """Return what can be clicked together from a table."""
        source = self.folder.source(str(table))
        files = Path(source)
        key = (source, files.stat().st_mtime if files.is_file() else 0.0)
        if key not in self._offers:
            self._offers[key] = offered(source)
        return self._offers[key]

    def answer(self, draft: Draft) -> dict[str, Any]:
        """Return the numbers of a draft at once, and the policy that it is."""
        target = _target(draft.privacy.model_dump(exclude_none=True))
        return {
            **self._outlook(draft).numbers(target),
            "target": {"epsilon": target.epsilon, "delta": target.delta},
            "ceiling": target.attack_accuracy_ceiling,
            "policy": self.folder.shown_text(draft),
            "commands": commands(draft.file, self.folder.next_bundle()),
        }

    def curve(self, draft: Draft) -> dict[str, Any]:
        """Return the error against ε, or against what an attacker may reach, whichever a draft is about, as a figure.

        What is drawn is provisional, the draft's own point too.
        """
        outlook, privacy = self._outlook(draft), draft.privacy.model_dump(exclude_none=True)
        key, places = ("epsilon", EPSILONS) if "epsilon" in privacy else ("max_attack_accuracy", ACCURACIES)
        errors = [outlook.error_at(_target({**privacy, key: place})) for place in places]
        public = outlook.criterion.public.error(outlook.criterion.weights)
        chosen = (privacy[key], outlook.error_at(_target(privacy)))
        curve = error_curve(dict(zip(places, errors, strict=True)), public, chosen, log=key == "epsilon")
        return {"svg": curve, "errors": errors, "public_error": public}

    def to_certify(self, draft: Draft) -> tuple[str, str]:
        """Return the text and the name of the policy to be planned; by its file, if that says the same."""
        written = self.folder.place / draft.file
        text = self.folder.text(draft)
        if self.folder.known.get(written) and written.is_file() and written.read_text(encoding="utf-8") == text:
            return text, str(written)
        self.folder.policy(draft)
        return draft.text(self.folder.reference_now(draft), self.folder.base), DRAFT

    def save(self, draft: Draft) -> dict[str, Any]:
        """Write the policy file, and return what a release of it would spend."""
        with self._alone():
            written = self.folder.write(draft)
        bundle = self.folder.next_bundle()
        return {
            "file": written.path.name,
            "digest": written.digest,
            "bundle": bundle,
            "commands": commands(written.path.name, bundle),
            "spends": spending(written.policy, names_ledger=self.folder.ledger is None),
        }

    def example(self, draft: Draft) -> dict[str, str]:
        """Make a private table to try everything with."""
        return {"private": self.folder.make_example(draft)}

    def release(self, file: object, digest: object, progress: Progress) -> dict[str, Any]:
        """Release what a policy file asks for that was written and confirmed here."""
        with self._alone():
            policy = self.folder.confirmed(str(file), str(digest))
            made = released(policy, self.folder.place / self.folder.next_bundle(), progress)
        self._bundles.add(made["bundle"])
        return made

    def report(self, bundle: str) -> Path | None:
        """Return the page of a release that was made here; no other file can be asked for."""
        return self.folder.place / bundle / "report.html" if bundle in self._bundles else None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nothing be written or released meanwhile, or say that something is."""
        if not self._changing.acquire(timeout=PATIENCE):
            raise InvalidInput("a release is under way: wait until it is done.")
        try:
            yield
        finally:
            self._changing.release()

    def _outlook(self, draft: Draft) -> Outlook:
        """Return the model of a question, made once; its numbers are those of the policy's other keys too."""
        key = draft.question
        with self._lock:
            if key in self._outlooks:
                self._outlooks.move_to_end(key)
                return self._outlooks[key]
        found = Outlook.of(self.folder.policy(draft))
        with self._lock:
            self._outlooks[key] = found
            while len(self._outlooks) > KEPT:
                self._outlooks.popitem(last=False)
        return found


def _target(privacy: Mapping[str, float]) -> PrivacyTarget:
    if "max_attack_accuracy" in privacy:
        return PrivacyTarget.from_attack_accuracy(privacy["max_attack_accuracy"], delta=privacy.get("delta"))
    return PrivacyTarget(epsilon=privacy.get("epsilon", 0.0), delta=privacy.get("delta", 0.0))
