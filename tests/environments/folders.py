"""The document toolsets with a sandbox: a folder of this machine, in which their commands run."""

from __future__ import annotations

import asyncio
import tempfile

from orl_codegen.environments import documents


class Folder:
    """A temporary folder with a shell, for the fixed commands of tests."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory()

    async def run(self, command: str, max_bytes: int) -> tuple[str, int]:
        """Run a command of a toolset; returns what it printed, and its exit status."""
        shell = await asyncio.create_subprocess_shell(
            command, cwd=self._place.name, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        printed, _ = await shell.communicate()
        return printed[:max_bytes].decode(errors="replace"), shell.returncode or 0

    def close(self) -> None:
        """Remove it."""
        self._place.cleanup()


class Documents(documents.Documents):
    """The same environment, where its tools can work."""

    def setup(self) -> None:
        """Make the folder."""
        self.sandbox = Folder()

    def teardown(self) -> None:
        """Remove it."""
        self.sandbox.close()
