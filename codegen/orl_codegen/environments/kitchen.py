"""The demo environment: a kitchen that takes an order, with one example of each thing that tools can have.

Shared tools, a task tool that only some tasks offer, a parameter that is a nested object, an enum, a tool whose name
is not a Python identifier, a reward that only the last call gives, and two splits. `make demo` runs it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from openreward.environments import (
    Blocks,
    Environment,
    JSONObject,
    ListToolsOutput,
    RunToolOutput,
    Split,
    TextBlock,
    ToolOutput,
    ToolSpec,
    tool,
)
from pydantic import BaseModel, Field

RECIPES: dict[str, dict[str, Any]] = {
    "pad thai": {"cuisine": "thai", "minutes": 30, "ingredients": ["noodles", "tofu", "peanuts"]},
    "green curry": {"cuisine": "thai", "minutes": 45, "ingredients": ["coconut milk", "basil", "aubergine"]},
    "risotto": {"cuisine": "italian", "minutes": 40, "ingredients": ["rice", "stock", "parmesan"]},
    "carbonara": {"cuisine": "italian", "minutes": 20, "ingredients": ["pasta", "eggs", "guanciale"]},
}

TASKS: dict[str, list[dict[str, Any]]] = {
    "train": [
        {"id": "train-0", "dish": "carbonara", "cuisine": "italian", "minutes": 25, "oven": False},
        {"id": "train-1", "dish": "pad thai", "cuisine": "thai", "minutes": 30, "oven": False},
        {"id": "train-2", "dish": "risotto", "cuisine": "italian", "minutes": 60, "oven": True},
        {"id": "train-3", "dish": "green curry", "cuisine": "thai", "minutes": 60, "oven": True},
    ],
    "test": [{"id": "test-0", "dish": "risotto", "cuisine": "italian", "minutes": 40, "oven": False}],
}


# The input models have no docstrings: pydantic would send them to the model as descriptions of the tools.


class Filters(BaseModel):
    cuisine: Literal["thai", "italian"] = Field(description="Where the dish comes from")
    max_minutes: int | None = Field(None, ge=5, le=240, description="Longest time that it may take")


class SearchRecipes(BaseModel):
    query: str = Field("", description="Words that the name of the dish must contain")
    filters: Filters | None = Field(None, description="Narrow the search.")
    limit: int = Field(10, ge=1, le=50, description="How many recipes to return")


class ReadRecipe(BaseModel):
    dish: str = Field(description="Name of the dish, as the search gives it")


class Convert(BaseModel):
    amount: float = Field(gt=0, description="The amount to convert")
    unit: Literal["cup", "tablespoon", "teaspoon"] = Field(description="The unit that it is in")


class Preheat(BaseModel):
    celsius: int = Field(ge=50, le=300, description="Temperature to reach")


class Serve(BaseModel):
    dish: str = Field(description="Name of the dish")
    ingredients: list[str] = Field(min_length=1, description="What went into it")


MILLILITRES = {"cup": 240.0, "tablespoon": 15.0, "teaspoon": 5.0}


def reply(text: str, reward: float | None = None, finished: bool = False) -> ToolOutput:
    """The output of a tool: one block of text."""
    return ToolOutput(blocks=[TextBlock(text=text)], reward=reward, finished=finished)


class Kitchen(Environment):
    """A guest orders a dish by its cuisine and the time there is; find it, read the recipe, serve it."""

    @classmethod
    def list_splits(cls) -> Sequence[Split | str]:
        """Two splits."""
        return [Split(name="train", type="train"), Split(name="test", type="test")]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[JSONObject]:
        """Four tasks for training, two of which come with an oven; one for testing."""
        return TASKS[split]

    def get_prompt(self) -> Blocks:
        """The order."""
        task = self.task_spec
        text = f"A guest wants something {task['cuisine']}, ready in {task['minutes']} minutes. Serve a dish that fits."
        return [TextBlock(text=text)]

    @classmethod
    def list_tools(cls) -> ListToolsOutput:
        """The tools of the class, and one whose name no method can have."""
        listed = super().list_tools()
        schema = SearchRecipes.model_json_schema()
        description = "Find recipes.\n\nReturns a JSON list of the names of the dishes that match."
        search = ToolSpec(name="search-recipes", description=description, input_schema=schema)
        return listed.model_copy(update={"tools": [search, *listed.tools]})

    async def _call_tool(self, name: str, input: JSONObject) -> RunToolOutput:
        return await super()._call_tool("_search_recipes" if name == "search-recipes" else name, input)

    def list_task_tools(self) -> ListToolsOutput:
        """The oven, in kitchens that have one."""
        if not self.task_spec["oven"]:
            return ListToolsOutput(tools=[])
        spec = ToolSpec(name="preheat_oven", description="Preheat the oven.", input_schema=Preheat.model_json_schema())
        return ListToolsOutput(tools=[spec])

    @tool(shared=False)
    def _search_recipes(self, search: SearchRecipes) -> ToolOutput:
        """Find recipes (`search-recipes` on the wire)."""
        found = [name for name, recipe in RECIPES.items() if search.query in name and fits(recipe, search.filters)]
        return reply(json.dumps(found[: search.limit]))

    @tool
    def read_recipe(self, recipe: ReadRecipe) -> ToolOutput:
        """Read what a dish needs.

        Args:
            dish: Must be one of the dishes that the search found.

        Returns:
            The minutes it takes and its ingredients, as JSON.
        """
        return reply(json.dumps(RECIPES.get(recipe.dish, {"error": "no such recipe"})))

    @tool
    def convert(self, measure: Convert) -> ToolOutput:
        """Convert a kitchen measure to millilitres."""
        return reply(f"{measure.amount * MILLILITRES[measure.unit]:g} ml")

    @tool(shared=False)
    def preheat_oven(self, oven: Preheat) -> ToolOutput:
        """Preheat the oven."""
        return reply(f"The oven is at {oven.celsius} °C.")

    @tool(exclusive=True)
    def serve_dish(self, plate: Serve) -> ToolOutput:
        """Serve the dish. This ends the task, and only this is rewarded."""
        recipe = RECIPES.get(plate.dish)
        wanted = Filters(cuisine=self.task_spec["cuisine"], max_minutes=self.task_spec["minutes"])
        if recipe is None or not fits(recipe, wanted):
            return reply("That is not what was ordered.", reward=0.0, finished=True)
        right = len(set(plate.ingredients) & set(recipe["ingredients"])) / len(recipe["ingredients"])
        return reply("The guest tastes it.", reward=round(right, 2), finished=True)


def fits(recipe: dict[str, Any], filters: Filters | None) -> bool:
    """Whether a recipe meets the conditions."""
    if filters is None:
        return True
    in_time = filters.max_minutes is None or recipe["minutes"] <= filters.max_minutes
    return recipe["cuisine"] == filters.cuisine and in_time
