"""Two clouds of labelled points side by side, for print: told apart without colour, and no label upon another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import numpy as np

from damastes._arrays import NumpyArray
from damastes.errors import MissingExtraError
from damastes.io.atomic import atomic_writer

__all__ = ["Panel", "draw_panels", "need_matplotlib"]

# In grey print, full circles and empty squares, upright and slanted letters still differ.
_STYLES = (
    {"color": "#1b3a6b", "fill": "#1b3a6b", "marker": "o", "style": "normal"},
    {"color": "#b85000", "fill": "white", "marker": "s", "style": "italic"},
)
_POINT, _RADIUS = 7.0, 4.0  # label size and marker size, in points


@dataclass(frozen=True, slots=True)
class Panel:
    """Pairs of labels with the places (n, 2) of their points."""

    title: str
    labels: Sequence[tuple[str, str]]
    source: NumpyArray
    target: NumpyArray


def need_matplotlib() -> Any:
    """Return matplotlib, or say what to install."""
    try:
        import matplotlib

        return matplotlib
    except ImportError:
        raise MissingExtraError("figures need matplotlib: pip install 'damastes[plot]'") from None


def draw_panels(panels: Sequence[Panel], sides: Sequence[str], stem: Path) -> list[str]:
    """Write STEM.png and STEM.svg, the same bytes for the same panels; return their names."""
    matplotlib = need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fixed = {"font.family": "DejaVu Sans", "svg.hashsalt": "damastes", "path.simplify": False}
    names = []
    with matplotlib.rc_context(fixed):
        figure = Figure(figsize=(7.2, 3.9), dpi=300)
        FigureCanvasAgg(figure)  # knows how wide a label is
        axes = np.ravel(figure.subplots(1, len(panels)))
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.09, top=0.93, wspace=0.03)
        for ax, panel in zip(axes, panels, strict=True):
            _draw(figure, ax, panel)
        handles = [
            axes[0].plot([], [], style["marker"], color=style["color"], mfc=style["fill"], ms=_RADIUS, label=side)[0]
            for style, side in zip(_STYLES, sides, strict=True)
        ]
        figure.legend(handles=handles, loc="lower center", ncols=2, fontsize=8, frameon=False, handletextpad=0.2)
        for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            path = stem.with_name(stem.name + suffix)
            with atomic_writer(path) as file:
                figure.savefig(file, format=suffix[1:], metadata=metadata)
            names.append(path.name)
    return names


def _draw(figure: Any, ax: Any, panel: Panel) -> None:
    ax.set_title(panel.title, fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_color("#999999")
        side.set_linewidth(0.6)
    everything = np.concatenate([panel.source, panel.target])
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.16 * np.maximum(high - low, 1e-9)
    ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
    ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
    for a, b in zip(panel.source, panel.target, strict=True):
        ax.plot([a[0], b[0]], [a[1], b[1]], color="#b8b8b8", linewidth=0.5, zorder=1)
    for points, style, order in zip((panel.source, panel.target), _STYLES, (3, 2), strict=True):
        x, y = points.T
        ax.plot(x, y, style["marker"], color=style["color"], mfc=style["fill"], ms=_RADIUS, zorder=order)
    _label(figure, ax, panel)


def _label(figure: Any, ax: Any, panel: Panel) -> None:
    """Put every label at the nearest free place around its point, those in the densest parts first."""
    renderer = figure.canvas.get_renderer()
    scale = figure.dpi / 72
    inside = ax.get_window_extent(renderer).padded(-2 * scale)
    words = [(k, side) for k in range(len(panel.labels)) for side in (0, 1)]
    places = ax.transData.transform(np.concatenate([panel.source, panel.target]))
    own = {(k, side): places[k + side * len(panel.labels)] for k, side in words}
    crowd = {word: sum(1 / (20 * scale + np.hypot(*(place - own[word]))) for place in places) for word in words}
    half = (0.5 * _RADIUS + 0.5) * scale
    taken = [(x - half, y - half, x + half, y + half) for x, y in places]
    for k, side in sorted(words, key=lambda word: (-crowd[word], word)):
        x, y = own[k, side]
        style = _STYLES[side]
        text = ax.text(0, 0, panel.labels[k][side], fontsize=_POINT, fontstyle=style["style"], color=style["color"])
        extent = text.get_window_extent(renderer)
        others = np.delete(places, k + side * len(panel.labels), axis=0)

        def cost(candidate: tuple[float, _Box], others: NumpyArray = others) -> float:
            reach, box = candidate
            return (
                (_overlap(box, taken) + _outside(box, inside)) * 50 + 3 * _misleading(reach, box, others, scale) + reach
            )

        best = min(_candidates(x, y, extent.width, extent.height, scale), key=cost)
        box = best[1]
        # Lines end before the letters.
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.3})
        text.set_zorder(1.5)
        taken.append(box)
        text.set_position(ax.transData.inverted().transform((box[0], box[1])))
        text.set_verticalalignment("bottom")
        # Far from its point, or nearer to another: a thin line leads there, above the other labels.
        if best[0] > 6 * scale or _misleading(best[0], box, others, scale) > 0:
            middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            end = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
            end = end if end != (x, y) else middle
            line = ax.transData.inverted().transform([(x, y), end])
            ax.plot(line[:, 0], line[:, 1], color=style["color"], linewidth=0.35, zorder=1.7)


_Box = tuple[float, float, float, float]


def _candidates(x: float, y: float, width: float, height: float, scale: float) -> list[tuple[float, _Box]]:
    """Boxes around a point, with their distance from it: twelve directions, nearer ones first."""
    found = []
    for distance in (3.5, 6.0, 9.0, 13.0, 18.0, 24.0, 31.0):
        for step in range(12):
            dx, dy = cos(step * pi / 6), sin(step * pi / 6)
            reach = distance * scale
            cx, cy = x + dx * (reach + width / 2), y + dy * (reach + height / 2)
            found.append((reach, (cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)))
    return found


def _overlap(box: _Box, taken: Sequence[_Box]) -> float:
    """The root of the area that is covered already: even a little is worse than the longest way."""
    areas = [
        max(min(box[2], other[2]) - max(box[0], other[0]), 0.0)
        * max(min(box[3], other[3]) - max(box[1], other[1]), 0.0)
        for other in taken
    ]
    return float(np.sqrt(sum(areas)))


def _misleading(reach: float, box: _Box, others: NumpyArray, scale: float) -> float:
    """By how much a box is nearer to another point than it ought to be: that is farther away than its own, by a little."""
    if not len(others):
        return 0.0
    x, y = others.T
    dx = np.maximum(np.maximum(box[0] - x, x - box[2]), 0)
    dy = np.maximum(np.maximum(box[1] - y, y - box[3]), 0)
    return float(max(reach + 2 * scale - np.hypot(dx, dy).min(), 0.0))


def _outside(box: _Box, inside: Any) -> float:
    """How far a box sticks out of the panel."""
    return float(
        max(inside.x0 - box[0], 0)
        + max(box[2] - inside.x1, 0)
        + max(inside.y0 - box[1], 0)
        + max(box[3] - inside.y1, 0)
    )
