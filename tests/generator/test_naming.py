"""Names: every wire name and key gets a Python name that collides with nothing."""

from __future__ import annotations

import inspect
import keyword
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from orl_codegen.generator.contract.naming import (
    ADAPTER_MEMBERS,
    BUILTINS,
    LONGEST_TYPE_NAME,
    MODULE_NAMES,
    method_names,
    parameter_names,
    pascal,
    snake,
    type_name,
    type_scope,
)
from orl_codegen.generator.output.rendering import render
from orl_codegen.runtime import RolloutAdapter
from tests.generator import golden

ANY_NAMES = st.lists(
    st.text(max_size=8)
    | st.sampled_from(["a", "A", "a-b", "a_b", "a b", "ﬁ", "fi", "__x", "_x", "x", "reset", "class"]),
    unique=True,
    max_size=12,
)


@given(ANY_NAMES)
def test_method_names_are_public_unique_and_free(names: list[str]) -> None:
    """A method name is an identifier, not private, and neither Python's, TRL's, the adapter's nor the template's."""
    made = list(method_names(names).values())
    assert len({unicodedata.normalize("NFKC", name) for name in made}) == len(names)
    for name in made:
        assert name.isidentifier() and not name.startswith("_") and not keyword.iskeyword(name)
        assert name not in ADAPTER_MEMBERS | MODULE_NAMES | BUILTINS


@given(ANY_NAMES)
def test_parameter_names_are_unique_and_survive_the_compiler(keys: list[str]) -> None:
    """A parameter name is an identifier that Python neither mangles nor folds and the docstring parser can read."""
    made = list(parameter_names(keys).values())
    assert len({unicodedata.normalize("NFKC", name) for name in made}) == len(keys)
    for name in made:
        assert name.isidentifier() and not name.startswith("__") and not keyword.iskeyword(name) and name != "self"
        assert re.fullmatch(r"\w+", name) and unicodedata.normalize("NFKC", name) == name


@given(ANY_NAMES.flatmap(lambda names: st.tuples(st.just(names), st.permutations(names))))
def test_the_order_of_the_server_changes_no_name(orders: tuple[list[str], list[str]]) -> None:
    """Names depend on the set of wire names alone."""
    names, shuffled = orders
    assert method_names(names) == method_names(shuffled)
    assert parameter_names(names) == parameter_names(shuffled)


@given(st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True))
def test_a_key_that_python_can_spell_is_its_own_name(key: str) -> None:
    """Nothing is renamed or shortened without need."""
    if not keyword.iskeyword(key) and key != "self":
        assert parameter_names([key]) == {key: key}


def test_an_underscore_is_a_name() -> None:
    """A key may be private by its spelling, unless Python has other plans for it; `-` only becomes one."""
    assert parameter_names(["_", "_x", "_X_"]) == {"_": "_", "_x": "_x", "_X_": "_X_"}
    assert parameter_names(["_", "-", "__x__"]) == {"_": "_", "-": "parameter", "__x__": "x"}


def test_the_members_of_the_adapter_are_all_reserved() -> None:
    """No tool can hide an attribute of the base class, even one that is added later."""
    made = golden.contract(golden.read("no-parameters"))
    adapter = golden.adapter_of(render(made, "adapter"), made)
    instance = {name for name in vars(adapter()) if not name.startswith("_")}
    members = {name for name, _ in inspect.getmembers(RolloutAdapter) if not name.startswith("_")}
    assert instance | members <= ADAPTER_MEMBERS


def test_class_names_that_differ_only_in_case_do_not_collide() -> None:
    """Types of the tools `Run` and `run` do not collide."""
    scope = type_scope()
    assert [type_name(["Run", "options"], scope), type_name(["run", "options"], scope)] == ["RunOptions", "RunOptions2"]


def test_slugs_and_classes_read_like_their_source() -> None:
    """A catalog name becomes the class and module names that one would choose by hand."""
    assert (pascal("Eigent/SETA"), snake("Eigent/SETA")) == ("EigentSETA", "eigent_seta")
    assert (pascal("search-recipes"), snake("KitchenHTTPServer")) == ("SearchRecipes", "kitchen_http_server")


def test_names_of_types_do_not_grow_without_end() -> None:
    """Each is made of the keys that lead to it: sixty long ones made a module of 22 MB. Two that are cut stay two."""
    scope = type_scope()
    first, second = (type_name(["tool", *["long key"] * 60, last], scope) for last in ("a", "b"))
    assert len(first) == LONGEST_TYPE_NAME and second == f"{first}2"
