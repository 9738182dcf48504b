"""Stand-ins for an environment: an ORS server made from a committed snapshot.

    from orl_codegen.standin import mock

    with mock("generated/kitchen.json", rewards=[None, 1.0]) as kitchen:
        spec = OpenRewardSpec(Kitchen, base_url=kitchen.url)

Importing this costs next to nothing: pytest imports the plugin in this folder wherever the package is installed.
"""

from __future__ import annotations

from orl_codegen.standin.mocking import StandIn, mock

__all__ = ["StandIn", "mock"]
