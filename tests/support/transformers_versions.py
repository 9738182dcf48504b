"""`get_json_schema` of two transformers releases: the installed one, and the oldest one supported.

`make test` unpacks the oldest one into the virtual environment, without its dependencies. Its parser does not need
them: the module is loaded from its own file, into the installed package.
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
