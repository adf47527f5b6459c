"""Path convolutions as a layer of PyTorch, on the CPU.

`PathConv` is the spatial operator of pathGCN (ICML 2022): a node becomes the weighted sum of what random walks from it
visit, hop by hop, with learnt weights. Values and gradients are computed by the kernels of the library, on the memory
of the tensors; nothing is compiled against PyTorch.

Examples
--------
>>> import torch
>>> from pathgcn.torch import PathConv, prepare
>>> edge_index = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
>>> graph = prepare(edge_index, num_nodes=4)
>>> conv = PathConv(channels=8, length=3, paths=4)
>>> conv(torch.randn(4, 8), graph).shape
torch.Size([4, 8])
"""

from __future__ import annotations

import weakref
from typing import Any, Union

try:
    import numpy  # noqa: F401  (tensors share their memory through it)
    import torch
    from torch.autograd.function import once_differentiable
except ImportError as error:
    raise ImportError("pathgcn.torch needs PyTorch and NumPy: pip install torch numpy") from error

from . import _core

__all__ = ["Graph", "PathConv", "prepare"]

_FIXED_DRAW = 2**32 - 1  # of evaluation without an exact form; training would get there after 4 billion steps


# ---- graphs ------------------------------------------------------------------------------------------------

# length, paths, walk, return_p, inout_q, may_stay, scaling, threads
_Settings = tuple[int, int, str, float, float, bool, str, int]


class _Slot:
    """Visit lists, and which draw they hold."""

    __slots__ = ("visits", "held")

    def __init__(self, visits: Any) -> None:
        self.visits = visits
        self.held: tuple[int, int] | None = None


class _Lease:
    """A slot in use. It goes back to the free ones of its graph when nobody needs it any more."""

    __slots__ = ("slot", "_free", "__weakref__")

    def __init__(self, slot: _Slot, free: list[_Slot]) -> None:
        self.slot = slot
        self._free = free

    def __del__(self) -> None:
        self._free.append(self.slot)


class Graph:
    """A graph in the form that walks need. Made by `prepare`; it cannot be changed.

    It keeps memory for the paths of as many forward passes as were waiting for their backward pass at once.

    Attributes
    ----------
    num_nodes : int
    num_entries : int
        Steps that walks can take: an undirected edge counts twice.

    Examples
    --------
    >>> import torch
    >>> from pathgcn.torch import prepare
    >>> prepare(torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    Graph(num_nodes=3, num_entries=4)
    """

    def __init__(self, capsule: Any, num_nodes: int, num_entries: int) -> None:
        self.num_nodes = num_nodes
        self.num_entries = num_entries
        self._capsule = capsule
        self._exact: dict[_Settings, _core.Visits] = {}
        self._first: dict[_Settings, _core.Visits] = {}
        self._free: dict[_Settings, list[_Slot]] = {}
        self._leases: weakref.WeakValueDictionary[tuple[_Settings, int, int], _Lease] = weakref.WeakValueDictionary()

    def __repr__(self) -> str:
        return f"Graph(num_nodes={self.num_nodes}, num_entries={self.num_entries})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def _exact_visits(self, settings: _Settings) -> _core.Visits:
        if settings not in self._exact:
            self._exact[settings] = _core.Visits(self._capsule, *settings, True)
        return self._exact[settings]

    def _lease(self, settings: _Settings, seed: int, draw: int) -> _Lease:
        """Visit lists that hold this draw, and keep it while the lease lives.

        Layers that are at the same draw of the same seed share one. Lists and dictionaries are changed by single
        operations only, because a lease may come back in any thread and at any time.
        """
        key = (settings, seed, draw)
        lease = self._leases.get(key)
        if lease is not None:
            return lease
        free = self._free.setdefault(settings, [])
        lease = _Lease(self._take(settings, free, (seed, draw)), free)
        if lease.slot.held != (seed, draw):
            lease.slot.held = None
            lease.slot.visits.sample(seed, draw)
            lease.slot.held = (seed, draw)
        self._leases[key] = lease
        return lease

    def _take(self, settings: _Settings, free: list[_Slot], wanted: tuple[int, int]) -> _Slot:
        for slot in tuple(free):
            if slot.held == wanted:
                try:
                    free.remove(slot)
                    return slot
                except ValueError:  # another thread was faster
                    break
        try:
            return free.pop()
        except IndexError:
            pass
        first = self._first.get(settings)
        if first is not None:  # shares its threads
            return _Slot(first.beside())
        self._first[settings] = first = _core.Visits(self._capsule, *settings)
        return _Slot(first)


def _check_edges(edge_index: torch.Tensor, num_nodes: int, edge_weight: torch.Tensor | None) -> None:
    if not isinstance(edge_index, torch.Tensor):
        raise TypeError(f"edge_index is a {type(edge_index).__name__}, expected a tensor [2, edges] or a Graph")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index has the shape {list(edge_index.shape)}, expected [2, edges]")
    if edge_index.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"edge_index has the type {edge_index.dtype}, expected torch.int64 or torch.int32")
    if edge_index.device.type != "cpu":
        raise ValueError(f"edge_index is on {edge_index.device}, expected the CPU; use edge_index.cpu()")
    if not 1 <= num_nodes < 2**31:
        raise ValueError(f"num_nodes is {num_nodes}, expected 1 to {2**31 - 1}")
    if edge_index.numel() > 0:
        low, high = (int(value) for value in torch.aminmax(edge_index))
        if low < 0 or high >= num_nodes:
            raise ValueError(
                f"edge_index has the node {low if low < 0 else high}, but nodes are 0 to {num_nodes - 1}; "
                "a graph has as many nodes as x has rows"
            )
    if edge_weight is None:
        return
    if edge_weight.shape != edge_index.shape[1:]:
        raise ValueError(
            f"edge_weight has the shape {list(edge_weight.shape)}, expected [{edge_index.shape[1]}], one per edge"
        )
    if edge_weight.device.type != "cpu" or not edge_weight.is_floating_point():
        raise TypeError(
            f"edge_weight is {edge_weight.dtype} on {edge_weight.device}, expected floating point on the CPU"
        )


def _merge(keys: torch.Tensor, weight: torch.Tensor | None, how: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Sorted keys, each once; weights of equal ones added up ("sum") or the largest ("amax")."""
    if weight is None:
        return torch.unique(keys), None
    merged, place = torch.unique(keys, return_inverse=True)
    return merged, torch.zeros(len(merged), dtype=weight.dtype).scatter_reduce(0, place, weight, how)


def prepare(
    edge_index: torch.Tensor,
    num_nodes: int,
    edge_weight: torch.Tensor | None = None,
    directed: bool = False,
    self_loops: bool = False,
) -> Graph:
    """Makes a graph that `PathConv` can walk on, once for any number of layers and steps.

    Edges are those of PyTorch Geometric: row 0 of `edge_index` has their sources, row 1 their targets, and messages
    flow from source to target. A node collects what its walks visit, so walks of a directed graph go against its edges:
    from a node to the sources of the edges that end in it.

    Parameters
    ----------
    edge_index : Tensor
        [2, edges], int64 or int32. Equal edges are merged, and their weights add up.
    num_nodes : int
    edge_weight : Tensor, optional
        [edges], positive. Walks look at it with ``walk="weighted"`` and ``walk="node2vec"``. It has no gradient.
    directed : bool
        False: every edge is walked both ways, however often it is listed; one that is listed in both directions has the
        larger one of their weights. True: edges are used as they are listed.
    self_loops : bool
        Whether edges from a node to itself are kept.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import torch
    >>> from pathgcn.torch import prepare
    >>> prepare(torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=4, directed=True)
    Graph(num_nodes=4, num_entries=3)
    """
    _check_edges(edge_index, num_nodes, edge_weight)
    source, target = edge_index.detach().long()
    weight = None if edge_weight is None else edge_weight.detach().double()
    if not self_loops:
        kept = source != target
        source, target = source[kept], target[kept]
        weight = weight if weight is None else weight[kept]
    keys, weight = _merge(target * num_nodes + source, weight, "sum")
    if not directed:
        back = keys % num_nodes * num_nodes + keys // num_nodes
        keys, weight = _merge(torch.cat([keys, back]), weight if weight is None else weight.repeat(2), "amax")
    offset = torch.zeros(num_nodes + 1, dtype=torch.int64)
    offset[1:] = torch.bincount(keys // num_nodes, minlength=num_nodes).cumsum(0)
    neighbour = (keys % num_nodes).int().numpy()
    weights = None if weight is None else weight.float().numpy()
    capsule = _core.graph(num_nodes, offset.numpy(), neighbour, weights, True, True)
    return Graph(capsule, num_nodes, len(keys))


class _Prepared:
    """Graphs of tensors that were given to a layer before, as long as these live and do not change."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[tuple[int, ...], list[weakref.ref[torch.Tensor]], Graph]] = {}

    def find(self, edge_index: torch.Tensor, num_nodes: int, edge_weight: torch.Tensor | None) -> Graph:
        tensors = [edge_index] if edge_weight is None else [edge_index, edge_weight]
        if not all(isinstance(tensor, torch.Tensor) and not tensor.is_inference() for tensor in tensors):
            return prepare(edge_index, num_nodes, edge_weight)  # no version: changes would not be seen
        key = (num_nodes, *map(id, tensors))
        versions = tuple(tensor._version for tensor in tensors)
        known = self._known.get(key)
        if known is not None and known[0] == versions and all(a() is b for a, b in zip(known[1], tensors)):
            return known[2]
        graph = prepare(edge_index, num_nodes, edge_weight)
        forget = lambda _, key=key, known=self._known: known.pop(key, None)  # noqa: E731
        self._known[key] = (versions, [weakref.ref(tensor, forget) for tensor in tensors], graph)
        return graph


_prepared = _Prepared()


# ---- the convolution -----------------------------------------------------------------------------------------


class _Convolution(torch.autograd.Function):
    """x [n, c] and weight [k, c] or [k] are contiguous. `holder` keeps the paths until the backward pass is over."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, visits: Any, holder: Any) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        ctx.visits, ctx.holder = visits, holder
        out = torch.empty_like(x)
        visits.forward(x.shape[1], x.detach().numpy(), weight.detach().numpy(), out.numpy())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad_x = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        grad_weight = torch.empty_like(weight) if ctx.needs_input_grad[1] else None
        ctx.visits.backward(
            x.shape[1],
            x.detach().numpy(),
            weight.detach().numpy(),
            grad_out.contiguous().numpy(),
            None if grad_x is None else grad_x.numpy(),
            None if grad_weight is None else grad_weight.numpy(),
        )
        return grad_x, grad_weight, None, None


def _smooth(hops: float, length: int) -> torch.Tensor:
    """s_i proportional to (1 - a)^i, sum 1, with the a for which sum_i i s_i is `hops`; a = 0 if that is too many."""

    def profile(a: float) -> torch.Tensor:
        s = (1 - a) ** torch.arange(length, dtype=torch.float64)
        return s / s.sum()

    def walked(a: float) -> float:
        return float((profile(a) * torch.arange(length)).sum())

    low, high = 0.0, 1.0
    if walked(0) <= hops:
        return profile(0)
    for _ in range(60):
        middle = (low + high) / 2
        if walked(middle) > hops:
            low = middle
        else:
            high = middle
    return profile(high)


def _check_word(what: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        raise ValueError(f"{what} is {word!r}, expected one of {', '.join(map(repr, words))}")


class PathConv(torch.nn.Module):
    r"""The path convolution: :math:`y = \sum_{i<k} s_i \odot S_i x`.

    Row j of :math:`S_i` says which nodes the p walks from node j visit at hop i, each with its share of the walks;
    :math:`S_0` is the identity. The kernel s is learnt. Channels do not mix: follow it with a linear layer.

    In training every forward pass draws new paths. Which ones is a function of `seed` and of a counter in the
    ``state_dict``, so that a training that is resumed goes on with the same paths. Results have the same bits for any
    number of threads. Layers with the same seed walk the same paths, as long as they have been called equally often;
    give them different seeds for paths of their own. In evaluation, :math:`S_i` is its mean over all draws, a power of
    the transition matrix, and nothing is random. Walks of node2vec have no such form: there evaluation uses one fixed
    draw.

    Parameters
    ----------
    channels : int
        Columns of x.
    length : int
        Nodes of a path, its start included: k.
    paths : int
        Paths from each node: p.
    kernel : {"depthwise", "layer"}
        Weights s per hop and channel, [length, channels], or per hop alone, [length].
    walk : {"uniform", "weighted", "node2vec"}
        The next node: any neighbour; in proportion to the edge weight; or as node2vec does.
    return_p, inout_q : float
        Of node2vec: how unlikely it is to go back, and to go away.
    may_stay : bool
        Staying is one more choice of every step. Not with node2vec.
    scaling : {"walk", "symmetric"}
        Rows of D^-1 A, or visits scaled to D^-1/2 A D^-1/2.
    start : {"smooth", "identity", "random"}
        s_i proportional to (1 - a)^i with sum 1; (1, 0, ..., 0); or normal with variance 1 / length.
    hops : float
        Of the smooth start: how far the layer walks on average, which says what a is.
    seed : int
        Of the paths, 0 to 2^63 - 1.
    threads : int
        0: one per core.

    Examples
    --------
    >>> import torch
    >>> from pathgcn.torch import PathConv, prepare
    >>> graph = prepare(torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=5)
    >>> model = torch.nn.ModuleList([torch.nn.Linear(3, 8), PathConv(8), torch.nn.Linear(8, 2)])
    >>> first, conv, last = model
    >>> last(torch.relu(conv(first(torch.randn(5, 3)), graph))).sum().backward()
    >>> conv.weight.grad.shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        channels: int,
        length: int = 5,
        paths: int = 5,
        kernel: str = "depthwise",
        walk: str = "uniform",
        return_p: float = 1.0,
        inout_q: float = 1.0,
        may_stay: bool = False,
        scaling: str = "walk",
        start: str = "smooth",
        hops: float = 2.0,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        super().__init__()
        _check_word("kernel", kernel, ("depthwise", "layer"))
        _check_word("walk", walk, ("uniform", "weighted", "node2vec"))
        _check_word("scaling", scaling, ("walk", "symmetric"))
        _check_word("start", start, ("smooth", "identity", "random"))
        for name, value, low, high in (
            ("channels", channels, 1, 2**26),
            ("length", length, 1, 4096),
            ("paths", paths, 1, 65536),
            ("seed", seed, 0, 2**63 - 1),
            ("threads", threads, 0, 1024),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name} is {value!r}, expected a whole number from {low} to {high}")
        if not (return_p > 0 and inout_q > 0 and hops >= 0):
            raise ValueError(
                f"return_p is {return_p}, inout_q is {inout_q} and hops is {hops}, expected positive numbers"
            )
        if walk != "node2vec" and (return_p != 1 or inout_q != 1):
            raise ValueError('return_p and inout_q do nothing unless walk is "node2vec"; leave them at 1')
        if walk == "node2vec" and may_stay:
            raise ValueError("may_stay does not go with node2vec walks; prepare the graph with self_loops=True")
        self.channels, self.length, self.paths, self.kernel = channels, length, paths, kernel
        self.walk, self.return_p, self.inout_q = walk, float(return_p), float(inout_q)
        self.may_stay, self.scaling = bool(may_stay), scaling
        self.start, self.hops, self.seed, self.threads = start, float(hops), seed, threads
        shape = (length, channels) if kernel == "depthwise" else (length,)
        self.weight = torch.nn.Parameter(torch.empty(shape))
        self.register_buffer("draws", torch.zeros((), dtype=torch.int64))
        self.draws: torch.Tensor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Puts the kernel back to its start, and the counter of draws to 0.

        Examples
        --------
        >>> from pathgcn.torch import PathConv
        >>> conv = PathConv(channels=2, length=3, kernel="layer", start="identity")
        >>> conv.reset_parameters()
        >>> conv.weight.tolist()
        [1.0, 0.0, 0.0]
        """
        with torch.no_grad():
            self.draws.zero_()
            if self.start == "random":
                self.weight.normal_(0, self.length**-0.5)
                return
            profile = _smooth(self.hops if self.start == "smooth" else 0, self.length)
            self.weight.copy_(profile.to(self.weight).view(-1, *[1] * (self.weight.dim() - 1)).expand_as(self.weight))

    def extra_repr(self) -> str:
        words = [f"{self.channels}, length={self.length}, paths={self.paths}"]
        words.append(f"kernel={self.kernel!r}, walk={self.walk!r}")
        if self.walk == "node2vec":
            words.append(f"return_p={self.return_p:g}, inout_q={self.inout_q:g}")
        if self.may_stay:
            words.append("may_stay=True")
        words.append(f"scaling={self.scaling!r}, seed={self.seed}")
        return ", ".join(words)

    def _check(self, x: torch.Tensor, graph: Graph) -> None:
        if x.device.type != "cpu" or self.weight.device.type != "cpu":
            raise ValueError(
                f"x is on {x.device} and the kernel on {self.weight.device}, but PathConv runs on the CPU only; "
                "use x.cpu() and keep the layer there"
            )
        if x.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"x has the type {x.dtype}, expected torch.float32 or torch.float64")
        if x.dtype != self.weight.dtype:
            raise TypeError(f"x has the type {x.dtype} and the kernel {self.weight.dtype}, expected the same")
        if graph.num_nodes != x.shape[0]:
            raise ValueError(f"x has {x.shape[0]} rows, but the graph has {graph.num_nodes} nodes")

    def forward(
        self,
        x: torch.Tensor,
        graph: Union[Graph, torch.Tensor],
        edge_weight: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Convolves the rows of x along paths of the graph.

        Parameters
        ----------
        x : Tensor
            [nodes, channels], float32 or float64, on the CPU.
        graph : Graph or Tensor
            What `prepare` made; or an ``edge_index`` [2, edges], which is prepared, undirected, when a tensor is seen
            for the first time, and again when it has changed. PyTorch does not see changes through ``.numpy()`` or
            ``.data``: prepare such graphs yourself.
        edge_weight : Tensor, optional
            [edges], together with an ``edge_index``.

        Returns
        -------
        Tensor
            [nodes, channels]

        Examples
        --------
        >>> import torch
        >>> from pathgcn.torch import PathConv
        >>> PathConv(channels=2).eval()(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]]))[0].tolist()
        [1.0, 1.0]
        """
        if not isinstance(x, torch.Tensor) or x.layout != torch.strided:
            raise TypeError("x is no dense tensor; expected one of the shape [nodes, channels]")
        if x.dim() != 2 or x.shape[1] != self.channels or x.shape[0] < 1:
            raise ValueError(f"x has the shape {list(x.shape)}, expected [nodes, {self.channels}]")
        if not isinstance(graph, Graph):
            graph = _prepared.find(graph, x.shape[0], edge_weight)
        elif edge_weight is not None:
            raise ValueError("edge_weight was given with a prepared graph; give it to prepare()")
        self._check(x, graph)
        settings = (self.length, self.paths, self.walk, self.return_p, self.inout_q, self.may_stay, self.scaling,
                    self.threads)  # fmt: skip
        holder = None
        if self.training or self.walk == "node2vec":
            holder = graph._lease(settings, self.seed, int(self.draws) if self.training else _FIXED_DRAW)
            visits = holder.slot.visits
            if self.training:
                self.draws += 1
        else:
            visits = graph._exact_visits(settings)
        out: torch.Tensor = _Convolution.apply(x.contiguous(), self.weight.contiguous(), visits, holder)  # type: ignore[no-untyped-call]
        return out
