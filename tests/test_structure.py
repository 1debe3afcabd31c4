"""The house: imports point one way, the public names are what they are, only the command line prints."""

import ast
from pathlib import Path

import pytest

import damastes

ROOT = Path(damastes.__file__).parent

# Data walks through the rooms in this order; a room imports only from rooms before it.
ROOMS = [
    "errors",
    "_arrays",
    "procrustes",
    "spectrum",
    "components",
    "transport",
    "matching",
    "retrieval",
    "frame",
    "pairs",
    "initializers",
    "solvers",
    "recipes",
    "verdict",
    "mapping",
    "vectors",
    "io",
    "alignment",
    "estimator",
    "evaluation",
    "samples",
    "experiments",
    "cli",
]


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "damastes":
            parts = node.module.split(".")
            yield from ([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("damastes."))


MODULES = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def test_every_room_is_listed():
    assert {room_of(path) for path in MODULES} == set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    here = ROOMS.index(room_of(path))
    for room in imported_rooms(path):
        if room in ROOMS:  # a public name imported from the package itself is a matter for the command line only
            assert ROOMS.index(room) <= here, f"{path.name} imports {room}, which comes later"
        else:
            assert room_of(path) == "cli", f"{path.name} imports {room} from the package's own front door"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_line_prints(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    prints = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
    assert not prints or room_of(path) == "cli"


def test_public_names():
    assert damastes.__all__ == sorted(damastes.__all__) == dir(damastes)
    assert set(damastes.__all__) == {
        *("align", "Alignment", "WassersteinProcrustes", "Recipe", "Frame", "Map", "match_graphs"),
        *("Vectors", "read_vectors", "write_vectors", "read_lexicon", "load_map", "evaluate", "Evaluation"),
        *("procrustes", "transport", "matching", "retrieval", "initializers", "solvers", "evaluation", "samples"),
    }
    for name in damastes.__all__:
        assert getattr(damastes, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        damastes.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "room", ["transport", "matching", "retrieval", "initializers", "solvers", "evaluation", "procrustes", "samples"]
)
def test_rooms_offer_what_they_list(room):
    module = getattr(damastes, room)
    for name in module.__all__:
        assert getattr(module, name).__doc__, f"{room}.{name} needs a docstring"
