"""Stand-ins for an environment: an ORS server made from a committed snapshot, or from a recording of real sessions.

    from orl_codegen.standin import mock, record

    with mock("generated/kitchen.json", rewards=[None, 1.0]) as kitchen:
        spec = OpenRewardSpec(Kitchen, base_url=kitchen.url)

    with record("http://127.0.0.1:8080", "kitchen.cassette.json") as kitchen:  # for mock("kitchen.cassette.json")
        spec = OpenRewardSpec(Kitchen, base_url=kitchen.url)

Importing this costs next to nothing: pytest imports the plugin in this folder wherever the package is installed.
"""

from __future__ import annotations

from orl_codegen.standin.mocking import Recording, StandIn, mock, record

__all__ = ["Recording", "StandIn", "mock", "record"]
