from __future__ import annotations

import os

import pytest

from damastes.io.atomic import atomic_writer


def test_a_file_appears_at_once_with_its_directories(tmp_path):
    path = tmp_path / "a" / "b" / "file.bin"
    with atomic_writer(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["file.bin"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def write():
        with atomic_writer(path) as file:
            file.write(b"half of the n")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.bin"]


def test_a_directory_in_the_way_is_not_replaced(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="directory"), atomic_writer(tmp_path / "taken") as file:
        file.write(b"new")
    assert os.listdir(tmp_path) == ["taken"]


def test_others_may_read_it_as_far_as_they_may_read_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_writer(tmp_path / "file.bin") as file:
        file.write(b"new")
    assert (tmp_path / "file.bin").stat().st_mode == (tmp_path / "plain").stat().st_mode
