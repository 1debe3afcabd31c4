"""What the documentation shows is what happens: docstring examples and the README's code."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import damastes

README = Path(__file__).parents[1] / "README.md"
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(damastes.__path__, "damastes.")
    if ">>>" in Path(importlib.util.find_spec(module.name).origin).read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", ["damastes", *MODULES])
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted > 0


def test_readme_code_runs(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
