"""The control tokens of chat templates. In text of an environment, a tokenizer may take them for the template's own."""

from __future__ import annotations

import re

CHAT_TOKENS = re.compile(
    r"<\|[^|\n]{1,40}\|>|</?(?:tool_call|tool_response|tools|think|s|start_of_turn|end_of_turn)>|\[/?(?:INST|TOOL_CALLS)\]|<<SYS>>"
)
