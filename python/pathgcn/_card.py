"""Cards of data sets and models for notebooks, and a figure of a model.

A card is HTML that needs nothing from outside: no script, no font, no style sheet. Text and axes have the colour of
the page around them, so a card suits light and dark pages. Lines have colours that the colour-blind tell apart.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core

if TYPE_CHECKING:
    from .data import Dataset
    from .model import Model

Floats = npt.NDArray[np.float64]

# Okabe and Ito, without yellow, which is lost on white, and black, which is lost on black.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MOST_POINTS = 160  # of a line: more are not seen at this size
_MOST_CLASSES = 12
_MOST_SPLITS = 3

_STYLE = """<style>
.pathgcn-card{font:13px/1.5 system-ui,sans-serif;color:inherit;max-width:720px;border:1px solid #8886;border-radius:8px;
padding:12px 16px;margin:4px 0;box-sizing:border-box}
.pathgcn-card *{color:inherit;box-sizing:border-box}
.pathgcn-card .head{font-size:15px;font-weight:600}
.pathgcn-card .soft{opacity:.7}
.pathgcn-card .row{display:flex;flex-wrap:wrap;gap:8px 16px;margin-top:8px;align-items:flex-start}
.pathgcn-card dl{display:flex;flex-wrap:wrap;gap:2px 20px;margin:6px 0 0}
.pathgcn-card dl div{display:flex;gap:6px}
.pathgcn-card dt{opacity:.7;font-weight:normal;margin:0}
.pathgcn-card dd{margin:0;font-variant-numeric:tabular-nums}
.pathgcn-card table{border-collapse:collapse;background:none;border:0;margin:2px 0;font-size:12px}
.pathgcn-card tr{background:none}
.pathgcn-card td,.pathgcn-card th{padding:1px 14px 1px 0;text-align:left;border:0;background:none;
font-variant-numeric:tabular-nums}
.pathgcn-card th{font-weight:normal;opacity:.7}
.pathgcn-card .n{text-align:right}
.pathgcn-card .settings{columns:2 240px;column-gap:32px;margin-top:4px;font-size:12px}
.pathgcn-card .settings div{display:flex;justify-content:space-between;gap:12px;break-inside:avoid}
.pathgcn-card svg{display:block;max-width:100%;height:auto}
.pathgcn-card svg text{fill:currentColor;font:11px system-ui,sans-serif}
.pathgcn-card ul{margin:6px 0 0;padding-left:18px}
.pathgcn-card summary{cursor:pointer;margin-top:8px}
.pathgcn-card code{font-size:11px;overflow-wrap:anywhere;background:none;padding:0}
</style>"""


def dataset_card(data: Dataset) -> str:
    """What is in a data set, as HTML."""
    about = data.info
    parts = [
        f'<div class="head">{_text(data.name)}</div>',
        _counts(_facts_of_data(about)),
        '<div class="row">',
        _class_bars(data) if about["classes"] else "",
        _split_table(data) if about["splits"] else "",
        "</div>",
    ]
    notes = data.notes
    if notes:
        parts.append("<ul>" + "".join(f"<li>{_text(note)}</li>" for note in notes) + "</ul>")
    parts.append(f'<div style="margin-top:8px"><span class="soft">fingerprint</span> <code>{_text(data.fingerprint)}')
    parts.append("</code></div>")
    return _card(parts)


def model_card(model: Model) -> str:
    """What a model is and how its training went, as HTML."""
    about = model.info
    history = model.history
    curves = [panel for panel in _curves(history) if len(panel.lines[0].y) > 1]
    kernels = _kernel_lines(model)
    wide = 218 if len(curves) + (kernels is not None) > 2 else 330
    charts = [_chart(panel, "epoch", wide, chosen=float(about["epoch"])) for panel in curves]
    if kernels is not None:
        charts.append(_chart(kernels, "hop", wide))
    recipe = model.recipe.split(" sha256 ")[0]
    counts = [(name, f"{int(about[name]):,}") for name in ("parameters", "classes", "features")]
    parts = [
        f'<div class="head">{_verdict(model)}</div>',
        _counts([*counts, ("split", about["split"]), ("recipe", recipe or "none")]),
        '<div class="row">',
        *charts,
        "</div><details><summary>settings</summary>",
        '<div class="settings">',
        *(
            f'<div><span class="soft">{_text(key)}</span><span>{_text(_shown(value))}</span></div>'
            for key, value in model.settings.items()
        ),
        "</div></details>",
    ]
    return _card(parts)


def plot_model(model: Model) -> Any:
    """Learning curves and kernels as a matplotlib figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("a plot is a figure of matplotlib, which is not installed: pip install matplotlib") from None
    panels = _curves(model.history)
    kernels = _kernel_lines(model)
    if kernels is not None:
        panels.append(kernels)
    figure = Figure(figsize=(4 * max(len(panels), 1), 3), layout="constrained")
    axes = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
    for axis, panel in zip(axes, panels):
        for line in panel.lines:
            axis.plot(line.x, line.y, color=line.colour, alpha=line.strength, label=line.name)
        if panel is kernels:
            axis.axhline(0, color="gray", linewidth=0.5)
            axis.set_xticks(panel.lines[0].x)
            if len(panel.lines) <= len(_COLOURS):
                axis.legend(frameon=False, fontsize="small")
        else:
            axis.axvline(float(model.info["epoch"]), color="gray", linestyle="--", linewidth=1, label="chosen")
        axis.set_title(panel.title, fontsize="medium")
        axis.set_xlabel("hop" if panel is kernels else "epoch")
    return figure


# ---- what is shown --------------------------------------------------------------------------------------


class _Line(NamedTuple):
    name: str
    x: Floats
    y: Floats
    colour: str
    strength: float = 1.0


class _Panel(NamedTuple):
    title: str
    lines: list[_Line]
    from_zero: bool = False


def _curves(history: dict[str, npt.NDArray[Any]]) -> list[_Panel]:
    """A panel each of training loss and validation accuracy, where the history has them."""
    panels = []
    for i, (key, title) in enumerate((("train_loss", "training loss"), ("val_accuracy", "val accuracy, %"))):
        y = np.asarray(history.get(key, ()), dtype=np.float64)
        x = np.asarray(history.get("epoch", ()), dtype=np.float64)
        seen = np.isfinite(y)
        if len(y) == len(x) and seen.any():
            panels.append(_Panel(title, [_Line(title, x[seen], y[seen], _COLOURS[i])], key == "train_loss"))
    return panels


def _kernel_lines(model: Model) -> _Panel | None:
    """The kernel of every layer, its mean over the channels; None of a network that has no such kernels."""
    try:
        means = model.kernels.mean(axis=2, dtype=np.float64)
    except _core.Error:
        return None
    if means.shape[1] < 2:
        return None
    layers = len(means)
    hops = np.arange(means.shape[1], dtype=np.float64)
    few = layers <= len(_COLOURS)
    lines = [
        _Line(
            f"layer {layer + 1}",
            hops,
            mean,
            _COLOURS[layer] if few else _COLOURS[0],
            1.0 if few else 0.2 + 0.8 * layer / (layers - 1),
        )
        for layer, mean in enumerate(means)
        if np.isfinite(mean).all()
    ]
    shades = "" if few else f", layers 1 (pale) to {layers}"
    return _Panel(f"kernels{shades}", lines, True) if lines else None


def _verdict(model: Model) -> str:
    about = model.info
    said = [f"{_text(about['network'])} on {_text(about['dataset'])}", f"epoch {int(about['epoch'])}"]
    for part, name in (("val", "validation"), ("test", "test")):
        accuracy = (model.scores or {}).get(part, {}).get("accuracy", math.nan)
        if math.isfinite(accuracy):
            said.append(f"{name} {accuracy:.1f} %")
    return " · ".join(said)


def _facts_of_data(about: dict[str, Any]) -> list[tuple[str, str]]:
    facts = []
    if about["graphs"] > 1:
        facts.append(("graphs", f"{about['graphs']:,}"))
    facts += [(key, f"{about[key]:,}") for key in ("nodes", "edges", "features")]
    if about["classes"]:
        facts.append(("labels" if about["task"] == "multilabel" else "classes", f"{about['classes']:,}"))
    facts += [(key.replace("_", " "), f"{about[key]:,}") for key in ("unlabelled", "isolated", "self_loops") if about[key]]
    facts.append(("largest degree", f"{about['max_degree']:,}"))
    if math.isfinite(about["edge_homophily"]):
        facts.append(("homophily", f"{about['edge_homophily']:.2f}"))
    kind = [word for word in ("directed", "weighted") if about[word]]
    if kind:
        facts.append(("edges are", " and ".join(kind)))
    if about["steps"]:
        facts.append(("steps", str(about["steps"])))
    return facts


def _class_sizes(data: Dataset) -> list[tuple[str, int]]:
    labels = data.labels
    names = [str(name) for name in data.classes]
    if labels is None:
        return []
    if labels.ndim == 2:
        sizes = labels[data.labelled].sum(axis=0, dtype=np.int64)
    else:
        sizes = np.bincount(labels[labels >= 0], minlength=len(names))
    return [(name, int(size)) for name, size in zip(names, sizes)]


# ---- how it is shown ------------------------------------------------------------------------------------


def _text(value: object) -> str:
    """Text of users, safe inside HTML; what is no Unicode becomes question marks."""
    return html.escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def _shown(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _card(parts: Iterable[str]) -> str:
    return f'{_STYLE}<div class="pathgcn-card">{"".join(parts)}</div>'


def _counts(facts: Iterable[tuple[str, Any]]) -> str:
    return "<dl>" + "".join(f"<div><dt>{_text(k)}</dt><dd>{_text(v)}</dd></div>" for k, v in facts) + "</dl>"


def _class_bars(data: Dataset) -> str:
    sizes = _class_sizes(data)
    if not sizes:
        return ""
    shown, rest = sizes[:_MOST_CLASSES], sizes[_MOST_CLASSES:]
    most = max(max(size for _, size in shown), 1)
    lines = [
        f'<tr><td title="{_text(name)}">{_text(_short(name))}</td><td><svg width="140" height="10" viewBox="0 0 140 10" '
        f'aria-hidden="true"><rect width="{max(140 * size / most, 1 if size else 0):.1f}" height="10" '
        f'fill="{_COLOURS[0]}"/></svg></td><td class="n">{size:,}</td></tr>'
        for name, size in shown
    ]
    if rest:
        lines.append(f'<tr><td class="soft" colspan="2">{len(rest):,} more</td>')
        lines.append(f'<td class="n">{sum(size for _, size in rest):,}</td></tr>')
    return "<table>" + "".join(lines) + "</table>"


def _split_table(data: Dataset) -> str:
    splits = data.splits
    names = list(splits)
    lines = []
    for name in names[:_MOST_SPLITS]:
        sizes = "".join(f'<td class="n">{int(mask.sum()):,}</td>' for mask in splits[name])
        lines.append(f"<tr><td>{_text(name)}</td>{sizes}</tr>")
    if len(names) > _MOST_SPLITS:
        lines.append(f'<tr><td class="soft" colspan="4">{len(names) - _MOST_SPLITS:,} more</td></tr>')
    head = "".join(f'<th class="n">{part}</th>' for part in ("train", "val", "test"))
    return f"<div><table><tr><th>split</th>{head}</tr>{''.join(lines)}</table></div>"


def _short(name: str) -> str:
    return name if len(name) <= 28 else name[:27] + "…"


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers from low to high."""
    step = 10.0 ** math.floor(math.log10((high - low) / 3))
    step *= next(f for f in (5.0, 2.0, 1.0) if (high - low) / (f * step) >= 3)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """At most _MOST_POINTS points: of every stretch the lowest and the highest one, so that no peak is lost."""
    if len(x) <= _MOST_POINTS:
        return x, y
    kept = [0, len(x) - 1]
    edges = np.linspace(0, len(x), _MOST_POINTS // 2).astype(int)
    for begin, end in zip(edges[:-1], edges[1:]):
        kept += [int(begin + y[begin:end].argmin()), int(begin + y[begin:end].argmax())]
    at = np.unique(kept)
    return x[at], y[at]


def _chart(panel: _Panel, x_title: str, wide: int, chosen: float | None = None) -> str:
    """Lines with axes as SVG. `chosen` is marked by a dashed line, and a dot on the line."""
    high, left, right, top, bottom = 170, 36, 60 if _is_named(panel) else 10, 24, 32
    x_low, x_high = _range([line.x for line in panel.lines])
    y_low, y_high = _range([line.y for line in panel.lines], panel.from_zero)

    def at_x(value: float) -> float:
        return left + (value - x_low) / (x_high - x_low) * (wide - left - right)

    def at_y(value: float) -> float:
        return high - bottom - (value - y_low) / (y_high - y_low) * (high - bottom - top)

    out = [
        f'<svg width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img" aria-label="{_text(panel.title)}">',
        f'<text x="{left}" y="12">{_text(panel.title)}{_value_at(panel.lines[0], chosen)}</text>',
    ]
    for tick in _ticks(y_low, y_high):
        out.append(f'<path d="M{left} {at_y(tick):.1f}H{wide - right}" fill="none" stroke="currentColor" opacity="{_faint(tick)}"/>')
        out.append(f'<text x="{left - 6}" y="{at_y(tick) + 4:.1f}" text-anchor="end" opacity=".7">{tick:.5g}</text>')
    for tick in _ticks(x_low, x_high):
        if tick == round(tick):
            out.append(f'<text x="{at_x(tick):.1f}" y="{high - bottom + 14}" text-anchor="middle" opacity=".7">')
            out.append(f"{tick:.0f}</text>")
    middle = (left + wide - right) / 2
    out.append(f'<text x="{middle:.0f}" y="{high - 4}" text-anchor="middle" opacity=".7">{x_title}</text>')
    for line in panel.lines:
        points = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in zip(*_thinned(line.x, line.y)))
        out.append(f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="1.8" ')
        out.append(f'stroke-linejoin="round" opacity="{line.strength:.2f}"/>')
    if _is_named(panel):
        out += _end_names(panel, [at_y(float(line.y[-1])) for line in panel.lines], wide - right + 6, top, high - bottom)
    if chosen is not None:
        out += _chosen(panel.lines[0], chosen, at_x, at_y, top, high - bottom)
    return "".join(out) + "</svg>"


def _faint(tick: float) -> str:
    return ".35" if tick == 0 else ".12"


def _is_named(panel: _Panel) -> bool:
    return 1 < len(panel.lines) <= len(_COLOURS)


def _end_names(panel: _Panel, wanted: Sequence[float], x: float, top: float, bottom: float) -> list[str]:
    """The names of the lines at their ends, moved apart where they would cover each other."""
    apart = 13.0
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    place: dict[int, float] = {}
    above = top - apart
    for i in order:
        above = place[i] = max(wanted[i], above + apart)
    below = bottom + apart
    for i in reversed(order):
        below = place[i] = min(place[i], below - apart)
    return [
        f'<path d="M{x:.0f} {place[i]:.1f}h8" stroke="{line.colour}" stroke-width="3"/>'
        f'<text x="{x + 11:.0f}" y="{place[i] + 4:.1f}">{_text(line.name)}</text>'
        for i, line in enumerate(panel.lines)
    ]


def _value_at(line: _Line, epoch: float | None) -> str:
    found = np.flatnonzero(line.x == epoch)
    return f": {float(line.y[found[0]]):.3g} at epoch {epoch:.0f}" if len(found) else ""


def _chosen(line: _Line, epoch: float, at_x: Any, at_y: Any, top: float, bottom: float) -> list[str]:
    found = np.flatnonzero(line.x == epoch)
    if not len(found):
        return []
    x, y = at_x(epoch), at_y(float(line.y[found[0]]))
    return [
        f'<path d="M{x:.1f} {top}V{bottom}" stroke="currentColor" stroke-dasharray="3 3" opacity=".6"/>',
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{line.colour}" stroke="currentColor"/>',
    ]


def _range(values: Sequence[Floats], zero: bool = False) -> tuple[float, float]:
    """From the lowest to the highest value, with a little room, and never empty."""
    together = np.concatenate(values)
    low, high = float(together.min()), float(together.max())
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1.0):
        return low - 1, high + 1
    return low, high
