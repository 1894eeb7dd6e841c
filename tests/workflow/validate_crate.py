"""Validate a folder with roc-validator, without a network: run by the Python of an environment that has it.

The meaning of RO-Crate's words is fetched from its site as a rule; here it comes out of the package `rocrate`.
"""

import email.message
import io
import json
import sys
import urllib.request
import urllib.response
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.error import URLError

requests: Any = import_module("requests")  # of the other environment
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
WORDS = Path(str(distribution("rocrate").locate_file("rocrate/data/ro-crate.jsonld"))).read_bytes()


def from_here(_: Any, request: Any, **__: Any) -> Any:
    """Answer what asks for the words, and nothing else."""
    if request.url != CONTEXT:
        raise requests.ConnectionError(f"there is no network, and {request.url} was asked for")
    response = requests.Response()
    response.status_code, response.url, response.request = 200, CONTEXT, request
    response.headers["Content-Type"] = "application/ld+json"
    response.raw = io.BytesIO(WORDS)
    return response


def opened(request: Any, *_: Any, **__: Any) -> Any:
    """Do the same for urllib."""
    url = request.full_url if isinstance(request, urllib.request.Request) else request
    if url != CONTEXT:
        raise URLError(f"there is no network, and {url} was asked for")
    headers = email.message.Message()
    headers["Content-Type"] = "application/ld+json"
    return urllib.response.addinfourl(io.BytesIO(WORDS), headers, CONTEXT, 200)


def main(folder: str) -> None:
    """Print what was found, as JSON: a sentence for every issue."""
    requests.Session.send = from_here
    urllib.request.urlopen = opened  # type: ignore[assignment]
    urllib.request.OpenerDirector.open = lambda _, *given, **named: opened(*given, **named)  # type: ignore[method-assign]
    from rocrate_validator import models, services  # type: ignore[import-not-found]

    found = services.validate(
        services.ValidationSettings(
            rocrate_uri=folder,
            profile_identifier="ro-crate-1.1",
            requirement_severity=models.Severity.RECOMMENDED,
            no_cache=True,
        )
    )
    issues = [f"{issue.severity.name} {issue.check.identifier}: {issue.message}" for issue in found.get_issues()]
    sys.stdout.write(json.dumps({"checks": len(found.executed_checks), "issues": issues}))


if __name__ == "__main__":
    main(sys.argv[1])
