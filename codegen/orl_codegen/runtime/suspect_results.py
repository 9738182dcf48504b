"""A warning about tool results that could pass for turns of the conversation."""

from __future__ import annotations

import logging

from orl_codegen.chat_tokens import CHAT_TOKENS
from orl_codegen.errors import printable

logger = logging.getLogger(__name__)

_warned: set[str] = set()  # by adapter: a result is not worth a line of the log each time


def warn_of_chat_tokens(adapter: type, result: str) -> None:
    """Log the first control token of a chat template that a tool of the adapter answers in this process."""
    name = f"{adapter.__module__}.{adapter.__qualname__}"
    found = None if name in _warned else CHAT_TOKENS.search(result)
    if found is not None:
        _warned.add(name)
        logger.warning(
            "A tool of %s answered with %s, which chat templates use as a control token. The model may take what "
            "follows for a turn of the conversation. Escape such text in the environment. This is logged once.",
            printable(adapter.__name__),
            printable(ascii(found[0]), 60),
        )
