"""Preflight: what would fail, or go wrong unnoticed, in the middle of a training is said before it begins.

A `Setting` holds what is known of a run. `intended.py` makes one of the options of `orl-codegen doctor`, `watching.py`
of a trainer whose first rollout begins; `checks.py` turns either into a diagnosis for each check.
"""
