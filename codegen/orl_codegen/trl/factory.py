"""The `environment_factory` of a trainer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.plan import Plan
from orl_codegen.sessions.loop import close_on_signals
from orl_codegen.trl.owning import owning
from orl_codegen.trl.preflight.beginning import Preflight, calling_trainer

Adapter = TypeVar("Adapter", bound=RolloutAdapter)


class Factory(Generic[Adapter]):
    """Makes one adapter for each rollout. It pickles.

    Where it was unpickled, reward functions are not given its adapters: `AsyncGRPOTrainer` runs the rollouts in a
    process of their own. So there an adapter owns its reward, see `owning.py`.
    """

    def __init__(self, adapter: type[Adapter], plan: Plan, unpickled: bool = False) -> None:
        self._adapter, self._plan = adapter, plan
        self._made: type[Adapter] = owning(adapter) if unpickled else adapter  # type: ignore[arg-type,assignment]
        self._preflights: WeakKeyDictionary[Any, Preflight] = WeakKeyDictionary()
        close_on_signals()

    def __call__(self) -> Adapter:
        rollout = self._made(self._plan)
        trainer = calling_trainer()
        if trainer is not None:
            rollout._preflight = self._preflights.setdefault(trainer, Preflight(trainer, self._plan))
        return rollout

    def __repr__(self) -> str:
        return f"<environment_factory of {self._adapter.__qualname__}>"

    def __copy__(self) -> Factory[Adapter]:
        return self  # copies stay in this process, and `__reduce__` would be asked for them

    def __deepcopy__(self, memo: dict[int, Any]) -> Factory[Adapter]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Over there a group is scored in a session of its own: see `group.py`.
        return Factory, (self._adapter, replace(self._plan, keep_for_group=False), True)
