"""What every part of the tests starts from."""

from __future__ import annotations

import os

# Nothing that a developer's shell sets may change a test, and no library may look for news on the network.
for name in ("OPENREWARD_API_KEY", "OPENREWARD_URL", "OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
    os.environ.pop(name, None)
os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"
os.environ["OPENREWARD_LOG_LEVEL"] = "CRITICAL"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
