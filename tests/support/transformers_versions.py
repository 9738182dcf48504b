"""`get_json_schema` of every transformers that matters: the installed one, and the oldest that is supported.

`make test` unpacks the oldest one beside the virtual environment, without what it depends on. Its parser needs none of
that: the module is loaded from its own file, into the package that is installed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OLDEST = "5.2.0"

FOLDER = Path(os.environ.get("ORL_OLDEST_TRANSFORMERS", Path(sys.prefix) / "oldest-transformers"))


def _makers() -> dict[str, Callable[[Any], dict[str, Any]]]:
    import transformers.utils

    makers = {"installed": transformers.utils.get_json_schema}
    path = FOLDER / "transformers" / "utils" / "chat_template_utils.py"
    if path.is_file():
        spec = importlib.util.spec_from_file_location("transformers.utils.oldest_chat_template_utils", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        makers[OLDEST] = module.get_json_schema
    return makers


JSON_SCHEMA_MAKERS = _makers()
