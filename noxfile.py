"""`make test-matrix`: the suite on the oldest and the newest supported versions, on every Python that is installed.

A Python that is not there is named and skipped. `make test-matrix MATRIX_ARGS="-p 3.11 -- -k naming"` narrows it.
"""

from __future__ import annotations

import nox

nox.options.error_on_missing_interpreters = False

OLDEST = ("trl==1.16.0", "transformers==5.2.0", "openreward==0.1.160", "datamodel-code-generator==0.89.0")
"""The lower bounds of pyproject.toml, for the packages whose behaviour the generated modules depend on."""


@nox.session(python=["3.11", "3.12", "3.13"])
@nox.parametrize("versions", ["oldest", "newest"])
def suite(session: nox.Session, versions: str) -> None:
    """Install the versions without constraints.txt, and run all tests."""
    session.install("pip>=25.1")  # the first with dependency groups
    session.install("torch==2.13.0")  # first and alone: what depends on it then keeps this build
    session.install("--editable", ".[generate,trl,eval]", "--group", "test", *(OLDEST if versions == "oldest" else ()))
    docstring_parser = f"{session.virtualenv.location}/oldest-transformers"
    session.install("--no-deps", "--target", docstring_parser, "transformers==5.2.0")
    session.run("python", "-m", "pytest", "-q", *(session.posargs or ["-n", "2"]))
