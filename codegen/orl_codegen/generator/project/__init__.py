"""What `init` adds to a project beside the adapter: the configuration, the workflow and the pre-commit hook.

Everything here returns text; `generator/output/writing.py` writes it, together with the adapter.
"""
