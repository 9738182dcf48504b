"""The GitHub workflow that checks the environments of a project on each pull request, and every morning."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from orl_codegen.errors import UsageError, printable
from orl_codegen.generator.options import Job
from orl_codegen.generator.project.places import Places, text_in
from orl_codegen.generator.target import CatalogName, PythonClass, ServerURL, Target
from orl_codegen.version import REPOSITORY, __version__

API_KEY = "OPENREWARD_API_KEY"

_HEAD = """\
# Does each environment still match its committed adapter? On a pull request, the lines of the adapter are annotated,
# and one comment is kept up to date. Written by `orl-codegen init`; it is yours to change.
name: drift
on:
  pull_request:
  schedule:
    - cron: "0 6 * * *"
permissions:
  contents: read
  pull-requests: write
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
"""

_COMMENT = """\
      # A pull request from a fork may not comment; it still has the annotations and the job summary.
      - if: >-
          failure() && steps.drift.outputs.report
          && github.event.pull_request.head.repo.full_name == github.repository
        env:
          GH_TOKEN: ${{ github.token }}
          PR: ${{ github.event.pull_request.number }}
          REPORT: ${{ steps.drift.outputs.report }}
        run: |
          comments="repos/$GITHUB_REPOSITORY/issues/$PR/comments"
          id=$(gh api --paginate "$comments" \\
            --jq '.[] | select(.body | startswith("<!-- orl-codegen check -->")) | .id' | head -n 1)
          if [ -n "$id" ]; then
            gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F body=@"$REPORT" --silent
          else
            gh pr comment "$PR" --repo "$GITHUB_REPOSITORY" --body-file "$REPORT"
          fi
"""


def workflow(places: Places, jobs: Sequence[Job]) -> str:
    """The text of the workflow.

    Raises:
        UsageError: An environment variable with a secret has a name that GitHub refuses.
    """
    return "".join([_HEAD, *_install(places, jobs), *_check(places, jobs), _COMMENT])


def variables(jobs: Iterable[Job]) -> tuple[str, ...]:
    """The environment variables that asking the environments takes: those with keys and secrets."""
    named = [name for job in jobs for name in (_key(job), *job.options.secrets.values()) if name]
    return tuple(dict.fromkeys(named))


def is_local(target: Target) -> bool:
    """Whether an environment is a server on this machine, which a runner of GitHub cannot reach."""
    if not isinstance(target, ServerURL):
        return False
    host = urlsplit(target.url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _key(job: Job) -> str | None:
    return job.options.api_key_env or (API_KEY if isinstance(job.target, CatalogName) else None)


def _install(places: Places, jobs: Sequence[Job]) -> Iterator[str]:
    """The step that installs what a Python environment class imports, where the project says what that is."""
    if not any(isinstance(job.target, PythonClass) for job in jobs):
        return
    if (places.root / "requirements.txt").is_file():
        yield f"      - run: python -m pip install --requirement requirements.txt\n{_inside(places)}"
    elif "build-system" in tomllib.loads(text_in(places.pyproject) or ""):
        yield f"      - run: python -m pip install --editable .\n{_inside(places)}"


def _inside(places: Places) -> str:
    return "" if places.inside == "." else f"        working-directory: {_quoted(places.inside)}\n"


def _check(places: Places, jobs: Sequence[Job]) -> Iterator[str]:
    yield f"      - id: drift\n        uses: {REPOSITORY}/.github/actions/check@v{__version__}\n"
    inputs = [] if places.inside == "." else [f"working-directory: {_quoted(places.inside)}"]
    if any(is_local(job.target) for job in jobs):
        inputs.append('offline: "true"  # a server on your machine cannot be asked from here')
    names = [_accepted(name) for name in variables(jobs)]
    yield from _mapping("with", inputs)
    yield from _mapping("env", [f"{name}: ${{{{ secrets.{name} }}}}" for name in names])


def _mapping(key: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"        {key}:\n"
        yield from (f"          {line}\n" for line in lines)


def _quoted(text: str) -> str:
    """A YAML string in double quotes, whose escapes are those of JSON."""
    import json

    return json.dumps(text)


def _accepted(name: str) -> str:
    if not re.fullmatch(r"(?!GITHUB_)[A-Za-z_]\w*", name, re.ASCII | re.IGNORECASE):
        raise UsageError(
            f"`{printable(name)}` cannot be the name of a secret on GitHub, which the workflow would take it from. Use "
            "an environment variable whose name has only letters, digits and underscores, and which does not "
            "begin with GITHUB_."
        )
    return name
