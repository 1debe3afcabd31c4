from __future__ import annotations

import sys

import numpy as np
import pytest

from damastes.errors import MissingExtraError
from damastes.experiments import experiment
from damastes.experiments.cells import Setting
from damastes.experiments.data import Data
from damastes.experiments.drawing import Panel, draw_panels
from damastes.experiments.running import run


@pytest.fixture(scope="module")
def drawn(cut_sample, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    setting = Setting(Data.open(cut_sample), quick=True)
    return run(experiment("figure1"), setting, out, command="damastes reproduce figure1"), out


def test_translations_meet_in_the_figure(drawn):
    (cell,) = drawn[0].record["cells"].values()
    result = cell["result"]

    def apart(name):
        source, target = (np.array(result[name][side]) for side in ("source", "target"))
        others = np.linalg.norm(source[:, None] - target[None], axis=2).mean()
        return np.linalg.norm(source - target, axis=1).mean() / others

    assert apart("after") < 0.5
    assert apart("before") > 0.8
    assert all(word["after"] > word["before"] for word in result["words"])


def test_files(drawn):
    outcome, out = drawn
    assert outcome.files[2:] == ("figure1-quick.png", "figure1-quick.svg")
    assert (out / "figure1-quick.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (out / "figure1-quick.svg").read_bytes()[:1000]
    assert "coverage" in outcome.layout.to_text()


def panel(rng):
    labels = [(f"word{k}", f"palabra{k}") for k in range(12)]
    return Panel("dense", labels, rng.standard_normal((12, 2)), rng.standard_normal((12, 2)))


def test_the_same_points_give_the_same_bytes(tmp_path, rng):
    panels = [panel(rng), panel(rng)]
    first = [(tmp_path / name).read_bytes() for name in draw_panels(panels, ("A", "B"), tmp_path / "one")]
    again = [(tmp_path / name).read_bytes() for name in draw_panels(panels, ("A", "B"), tmp_path / "two.more")]
    assert first == again
    assert (tmp_path / "two.more.svg").is_file()


def test_labels_do_not_overlap(tmp_path, rng, monkeypatch):
    from matplotlib.figure import Figure

    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))
    draw_panels([panel(rng), panel(rng)], ("A", "B"), tmp_path / "figure")
    figure = figures[0]
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        boxes = [text.get_window_extent(renderer) for text in axes.texts]
        assert len(boxes) == 24
        frame = axes.get_window_extent(renderer)
        assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
        for k, box in enumerate(boxes):
            assert not any(box.padded(-0.5).overlaps(other.padded(-0.5)) for other in boxes[:k])


def test_without_matplotlib_it_says_what_to_install_before_the_work(cut_sample, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'damastes\[plot\]'"):
        experiment("figure1").needs(Setting(Data.open(cut_sample)))
