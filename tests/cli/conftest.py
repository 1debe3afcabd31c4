"""Calling the command line, and a run that the tests of all commands look at."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from damastes import samples
from damastes.cli import main

COMMAND = Path(sys.executable).with_name("damastes")


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str

    @property
    def json(self):
        return json.loads(self.stdout)

    def assert_one_line_error(self, *words, status=2):
        assert self.returncode == status, self.stderr
        assert self.stdout == ""
        assert "Traceback" not in self.stderr
        assert len(self.stderr.splitlines()) == 1, self.stderr
        assert self.stderr.startswith("damastes: ")
        for word in words:
            assert str(word) in self.stderr


def _call(*arguments, stdin=""):
    out, err = io.StringIO(), io.StringIO()
    terminated = signal.getsignal(signal.SIGTERM)
    argv = ["damastes", *map(str, arguments)]
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(out),
            redirect_stderr(err),
            patch.object(sys, "argv", argv),
            patch.object(sys, "stdin", io.StringIO(stdin)),
        ):
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as ended:
                main()
    finally:
        signal.signal(signal.SIGTERM, terminated)
    return Done(ended.value.code or 0, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def call():
    """Call the command line in this process, which saves importing everything each time."""
    return _call


@pytest.fixture(scope="session")
def command():
    """The installed command, and an environment in which its output is UTF-8 whatever the terminal."""
    return COMMAND, {**os.environ, "PYTHONUTF8": "1", "COLUMNS": "120"}


@pytest.fixture(scope="session")
def run(command):
    """Call the installed command as a person does."""

    def run(*arguments, **options):
        path, environment = command
        done = subprocess.run(
            [path, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=120, **options
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def write_npz(path, labels, matrix):
    np.savez(path, words=np.array(labels), vectors=matrix)
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory, run):
    """Two vector files, a lexicon, and the directory `run` that `damastes align` wrote for them; not to be changed."""
    folder = tmp_path_factory.mktemp("cli")
    for language in ("en", "es"):
        head = samples.load(language).head(800)
        write_npz(folder / f"{language}.npz", head.labels, head.matrix)
    (folder / "lexicon.txt").write_text("".join(f"{a}\t{b}\n" for a, b in samples.lexicon()), encoding="utf-8")
    options = ("--lexicon", folder / "lexicon.txt", "--json")
    done = run("align", folder / "en.npz", folder / "es.npz", "-o", folder / "run", *options)
    assert done.returncode == 0, done.stderr
    (folder / "align.json").write_text(done.stdout, encoding="utf-8")
    return folder
