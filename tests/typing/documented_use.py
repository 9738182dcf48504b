"""Read by mypy only: the use that the documentation shows type-checks, and what a model could get wrong does not."""

from __future__ import annotations

from typing import assert_type

from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec, combine, serve

with serve("orl_codegen.environments.kitchen:Kitchen") as url:
    spec = OpenRewardSpec(Kitchen, base_url=url, num_tasks=2)
    both = combine({"one": spec, "other": OpenRewardSpec(Kitchen, base_url=url, split="test")})
    trainer_arguments = (both.train_dataset, both.environment_factory, both.reward_funcs)

rollout = spec.environment_factory()
assert_type(spec, OpenRewardSpec[Kitchen])
assert_type(rollout, Kitchen)
rollout.serve_dish(dish="risotto", ingredients=["rice"])
rollout.serve_dish(dish="risotto")  # type: ignore[call-arg]  # the factory makes a Kitchen, whose parameters are known
rollout.open_fridge()  # type: ignore[attr-defined]  # and whose tools are
OpenRewardSpec(str)  # type: ignore[type-var]  # only adapters can be trained with

kitchen = Kitchen()
kitchen.reset(task_index=0)
kitchen.search_recipes(filters={"cuisine": "italian"}, limit=3)
kitchen.search_recipes(filters=None)
kitchen.serve_dish(dish="risotto", ingredients=["rice"])
score: float | None = kitchen.reward

kitchen.search_recipes("risotto")  # type: ignore[call-arg]  # keyword only
kitchen.search_recipes(limit=None)  # type: ignore[arg-type]  # omitted is not null
kitchen.search_recipes(filters={"cuisine": "french"})  # type: ignore[arg-type]  # not in the enum
kitchen.search_recipes(filters={})  # type: ignore[arg-type]  # a field is missing
kitchen.serve_dish(dish="risotto")  # type: ignore[call-arg]  # a parameter is missing
kitchen.preheat_oven(celsius="hot")  # type: ignore[arg-type]  # another type
