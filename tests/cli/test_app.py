"""What all commands have in common: help, errors, statuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from damastes.cli.terminal import print_text

COMMANDS = ("demo", "align", "evaluate", "translate", "lexicon", "apply", "convert", "info", "fetch", "reproduce")


class TestHelp:
    def test_it_comes_without_the_numerics(self):
        code = (
            "import sys, damastes.cli\n"
            "sys.argv = ['damastes', '--help']\n"
            "try: damastes.cli.main()\n"
            "except SystemExit as done: assert not done.code\n"
            "print('loaded:', [name for name in ('numpy', 'scipy', 'torch', 'pyarrow') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert "loaded: []" in done.stdout
        assert all(command in done.stdout for command in COMMANDS)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_has_an_example_and_json(self, call, name):
        done = call(name, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"Example: damastes {name}" in done.stdout
        assert "--json" in done.stdout

    def test_version(self, call):
        done = call("--version")
        assert done.returncode == 0
        assert done.stdout.startswith("damastes ")

    def test_no_command_shows_the_help(self, call):
        done = call()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == call("--help").stdout
        assert "\nCommands:\n" in done.stdout


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("align",), "Missing argument 'SOURCE'. See 'damastes align --help'."),
            (("align", "a", "b"), "'--output'"),
            (("no-such-command",), "no-such-command"),
            (("align", "a", "b", "-o", "c", "--no-such-option"), "--no-such-option"),
            (("translate", "nowhere", "word", "-k", "0"), "'-k'"),
        ],
    )
    def test_a_wrong_call_is_one_line(self, call, arguments, words):
        call(*arguments).assert_one_line_error(words)

    @pytest.mark.parametrize("place", [0, 3])
    def test_debug_shows_the_traceback(self, run, tmp_path, place):
        arguments = ["info", tmp_path / "nowhere.vec", "--json"]
        arguments.insert(place, "--debug")
        done = run(*arguments)
        assert done.returncode != 0
        assert "Traceback" in done.stderr
        assert "FileFormatError" in done.stderr

    def test_debug_without_an_error_changes_nothing(self, call, folder):
        assert call("lexicon", folder / "run", "--top", 1, "--debug").returncode == 0

    def test_a_reader_that_has_seen_enough(self, command, folder):
        path, environment = command
        process = subprocess.Popen(
            [path, "lexicon", folder / "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        process.wait(timeout=30)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_paragraph_is_broken_between_words_at_a_terminal_alone(monkeypatch, capsys, terminal):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    text = "held-out points come within cosine 0.62 of their answers"
    print_text(text)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines) == text
    assert (max(map(len, lines)) <= 30) == terminal
