"""Names: what a server calls things, as Python identifiers that collide with nothing.

Wire names and keys never change; this module only decides how Python spells them. A name depends on the set of names
around it, not on their order, so nothing changes when a server lists its tools in another order.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable

from orl_codegen.errors import UNSEEN

ADAPTER_MEMBERS = frozenset("reset get_reward reward rewards metadata finished last_output failure".split())
"""The public members of `runtime.RolloutAdapter`, and TRL's `get_reward` (a test checks that the list is complete)."""

MODULE_NAMES = frozenset(
    "annotations TYPE_CHECKING Any Literal NotRequired TypedDict "
    "UNSET Environment RolloutAdapter TerminalTool ToolResult tool self".split()
)
"""The names that the template itself uses in a module: a method of that name would hide them in the class body."""

BUILTINS = frozenset(
    "abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex "
    "copyright credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals "
    "hasattr hash help hex id input int isinstance issubclass iter len license list locals map max memoryview min "
    "next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod "
    "str sum super tuple type vars zip".split()
)
"""Listed here instead of read from the interpreter, so that names are the same under every version of Python."""

ENDS_PARAMETERS = ("Returns", "Raises")

KEYWORDS = frozenset(keyword.kwlist)


class Identifier(str):
    """A Python identifier made by this module: nothing else that a server sends becomes code."""

    __slots__ = ()


LONGEST_TYPE_NAME = 200
"""Characters. The name of a type deep inside of others is made of all their keys, however long a server makes them."""


class Scope:
    """The names taken so far in one namespace. Names count as the same if NFKC and case folding make them so."""

    def __init__(self, taken: Iterable[str] = (), reserved: Collection[str] = frozenset()) -> None:
        self.folded = {_fold(name) for name in taken}
        self.reserved = reserved
        self.numbers: dict[str, int] = {}

    def claim(self, name: str) -> Identifier:
        """Take the name, or the first free one after it: `read_file_2`, `Options2`."""
        candidate, number = name, self.numbers.get(name, 1)
        while candidate in self.reserved or _fold(candidate) in self.folded:
            number += 1
            candidate = f"{name.rstrip('_')}{'' if name[:1].isupper() else '_'}{number}"
        self.numbers[name] = number
        self.folded.add(_fold(candidate))
        return Identifier(candidate)


def method_names(wire_names: Collection[str]) -> dict[str, Identifier]:
    """One method name for each tool, unique and public (TRL ignores members that begin with an underscore)."""
    return _assign(wire_names, _method_name, ADAPTER_MEMBERS | MODULE_NAMES | BUILTINS | KEYWORDS)


def parameter_names(keys: Collection[str]) -> dict[str, Identifier]:
    """One parameter name for each key: the key itself wherever Python and the docstring parser can read it."""
    return _assign(keys, _parameter_name, KEYWORDS | {"self"})


def type_scope(taken: Iterable[str] = ()) -> Scope:
    """A namespace for classes beside the names in `taken`."""
    return Scope([*taken, *MODULE_NAMES, *BUILTINS, *KEYWORDS])


def type_name(words: Iterable[str], scope: Scope) -> Identifier:
    """A class name made of words; one that is too long is cut."""
    return scope.claim(pascal(" ".join(words))[:LONGEST_TYPE_NAME] or "Type")


def pascal(text: str) -> str:
    """`search-recipes` and `search_recipes` as `SearchRecipes`; capitals inside a word stay (`EigentSETA`)."""
    name = "".join(word[:1].upper() + word[1:] for word in _words(text))
    return f"T{name}" if name[:1].isdigit() else name


def snake(text: str) -> str:
    """`Eigent/SETA` as `eigent_seta`, `SearchRecipes` as `search_recipes`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", " ".join(_words(text)))
    return re.sub(r"[ _]+", "_", parted).strip("_").lower()


def _words(text: str) -> list[str]:
    """The runs of ASCII letters and digits; accents are dropped, and so are other scripts."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.findall(r"[A-Za-z0-9]+", plain)


def _assign(
    wire_names: Collection[str], spell: Callable[[str], str], reserved: frozenset[str]
) -> dict[str, Identifier]:
    """Names that are usable stay as they are; the others follow in the order of their wire names."""
    names = {name: Identifier(name) for name in wire_names if spell(name) == name and name not in reserved}
    scope = Scope(names, reserved)
    for wire_name in sorted(set(wire_names) - names.keys()):
        spelled = spell(wire_name)
        names[wire_name] = scope.claim(f"{spelled}_" if spelled in reserved else spelled)
    return names


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _method_name(wire_name: str) -> str:
    name = _identifier(wire_name)
    if name.startswith("_"):
        name = name.strip("_")
    return f"tool_{name}".rstrip("_") if not name or name[0].isdigit() else name


def _parameter_name(key: str) -> str:
    name = _identifier(key)
    if name.startswith("__"):  # a method's `__x` is mangled by the compiler, and `__x__` belongs to Python
        name = name.strip("_")
    if not name or (name != key and not name.strip("_")):
        name = "parameter"
    if name.endswith(ENDS_PARAMETERS):  # followed by a colon, it would be the next section of the docstring
        name = f"{name}_"
    return f"_{name}" if name[0].isdigit() else name


def _identifier(text: str) -> str:
    r"""Every run of characters outside `\w` (a name, for the docstring parser), or unseen, becomes one underscore."""
    name = re.sub(r"\W+", "_", UNSEEN.sub(" ", unicodedata.normalize("NFKC", text)))
    # `\w` is a little wider than what Python allows in a name ('²' is one of its digits, for example).
    name = "".join(character if f"a{character}".isidentifier() else "_" for character in name)
    return unicodedata.normalize("NFKC", name)
