"""The environments that ship with the package: a demo, and one with the document toolsets of the SDK."""

from __future__ import annotations

from orl_codegen.extras import require

require("generate", "An environment that ships with orl-codegen", ["openreward"])
