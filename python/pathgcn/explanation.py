"""What makes a prediction: nodes, hops, features, constants, and predictions without links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_Names = list[str] | None


@dataclass(frozen=True)
class Removal:
    """The prediction without the links of some nodes."""

    nodes: npt.NDArray[np.int32]
    links: int
    logit: float
    predicted: Any
    probability: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Explanation:
    """A logit as a sum over features of nodes and over constants: `Model.explain` makes them.

    Lists are ordered by the size of their sums, the largest first. All sums add up to `logit`, up to rounding.

    Attributes
    ----------
    item : int
        The node, or graph.
    predicted, target, against
        The predicted class; the one that is explained; the one whose logit is subtracted, or None.
    logit, sum : float
        What is explained, by the network; and the sum of all contributions.
    logits, probability : array [classes]
    features_sum, residual_sum, biases_sum, norms_sum : float
        The sum by what contributes: features along the layers, features by paths through a residual connection,
        biases, and shifts of norms.
    by_hop : array [hops + 1]
        What nodes contribute by the number of hops; the last one has those from further, too.
    nodes : array [reached]
        The nodes that contribute.
    node_sums, node_residuals : array [reached]
        What each contributes; and what of it goes through a residual connection.
    node_links : array [reached]
        How many links away they are; -1 where a graph is explained.
    node_by_hop : array [reached, hops + 1]
    features : dict
        What every feature contributes, of all nodes together: by its name, or its number.
    pairs : list of (node, feature, value, sum)
        The strongest features of single nodes; `value` is that which the network reads.
    constants : dict
        Biases and norms by their names.
    removals : list of Removal
        Predictions without the links of the strongest nodes: of each, of all together, and of the explained node.
    sampled : bool
        One draw of paths was explained, not the exact form.
    """

    item: int
    predicted: Any
    target: Any
    against: Any
    logit: float
    sum: float
    logits: npt.NDArray[np.float32]
    probability: npt.NDArray[np.float32]
    features_sum: float
    residual_sum: float
    biases_sum: float
    norms_sum: float
    by_hop: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.int64]
    node_sums: npt.NDArray[np.float64]
    node_residuals: npt.NDArray[np.float64]
    node_links: npt.NDArray[np.int64]
    node_by_hop: npt.NDArray[np.float64]
    features: dict[str | int, float]
    pairs: list[tuple[int, str | int, float, float]]
    constants: dict[str, float]
    removals: list[Removal]
    sampled: bool

    def __repr__(self) -> str:
        strongest = ", ".join(
            f"{node}: {value:.3g}" for node, value in zip(self.nodes[:3], self.node_sums[:3], strict=True)
        )
        over = "" if self.against is None else f" over {self.against!r}"
        return (
            f"Explanation({self.item}: logit {self.logit:.4g} of {self.target!r}{over}, "
            f"{len(self.nodes)} nodes, strongest {strongest})"
        )


def explanation_of(core: dict[str, Any], classes: npt.NDArray[Any], names: _Names) -> Explanation:
    """From what the extension module returns."""

    def column(number: int) -> str | int:
        return number if names is None else names[number]

    def of_class(number: int) -> Any:
        return None if number < 0 else classes[number]

    nodes, hops = core["nodes"], core["hops"] + 1
    return Explanation(
        item=core["item"],
        predicted=of_class(core["predicted"]),
        target=of_class(core["target"]),
        against=of_class(core["against"]),
        **{key: core[key] for key in ("logit", "sum", "features_sum", "residual_sum", "biases_sum", "norms_sum")},
        logits=np.frombuffer(core["logits"], np.float32),
        probability=np.frombuffer(core["probability"], np.float32),
        by_hop=np.frombuffer(core["by_hop"], np.float64),
        nodes=np.array([entry[0] for entry in nodes], np.int64),
        node_sums=np.array([entry[2] for entry in nodes], np.float64),
        node_residuals=np.array([entry[3] for entry in nodes], np.float64),
        node_links=np.array([entry[1] for entry in nodes], np.int64),
        node_by_hop=np.frombuffer(b"".join(entry[4] for entry in nodes), np.float64).reshape(-1, hops),
        features={column(entry[1]): entry[3] for entry in core["features"]},
        pairs=[(entry[0], column(entry[1]), entry[2], entry[3]) for entry in core["pairs"]],
        constants=core["constants"],
        removals=[
            Removal(
                np.frombuffer(entry[0], np.int32),
                entry[1],
                entry[2],
                of_class(entry[3]),
                np.frombuffer(entry[4], np.float32),
            )
            for entry in core["removals"]
        ],
        sampled=bool(core["sampled"]),
    )
