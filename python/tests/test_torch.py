"""pathgcn.torch.PathConv: values and gradients against plain PyTorch, bits, states, and what it refuses."""

import copy
import doctest
import gc
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
numpy = pytest.importorskip("numpy", reason="NumPy is not installed: pip install numpy")

import pathgcn.torch  # noqa: E402
from pathgcn.torch import PathConv, prepare  # noqa: E402

CHANNELS = (1, 7, 8, 9, 33, 64, 65)
SETTINGS = [
    {},
    {"kernel": "layer", "length": 3, "may_stay": True, "scaling": "symmetric"},
    {"walk": "weighted", "length": 4, "paths": 3},
    {"walk": "node2vec", "return_p": 0.5, "inout_q": 2.0, "scaling": "symmetric"},
    {"length": 1, "paths": 1},
]


def random_edges(nodes=30, edges=50, seed=0):
    """Some nodes have no edge."""
    random = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(0, nodes, (2, edges), generator=random)
    return edge_index[:, edge_index[0] != edge_index[1]]


def random_graph(nodes=30, edges=50, weighted=True, directed=False):
    edge_index = random_edges(nodes, edges)
    weight = torch.rand(edge_index.shape[1], generator=torch.Generator().manual_seed(1)) + 0.1
    return prepare(edge_index, nodes, weight if weighted else None, directed)


def random_rows(nodes, channels, dtype=torch.float32, seed=3):
    return torch.randn(nodes, channels, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def settings_of(conv):
    return (conv.length, conv.paths, conv.walk, conv.return_p, conv.inout_q, conv.may_stay, conv.scaling, conv.threads)


def paths_of(conv, graph, draw):
    """[nodes, paths, length] of one draw."""
    out = numpy.empty((graph.num_nodes, conv.paths, conv.length), dtype=numpy.int32)
    pathgcn.torch._core.Visits(graph._capsule, *settings_of(conv)).paths(conv.seed, draw, out)
    return torch.from_numpy(out).long()


def gathered(conv, x, paths):
    """The paper's formula in plain PyTorch: the mean over the paths, hop by hop."""
    weight = conv.weight if conv.kernel == "depthwise" else conv.weight[:, None]
    return (x[paths] * weight).sum(2).mean(1)


def close(a, b, tolerance=1e-5):
    a, b = a.detach(), b.detach()
    return float((a - b).abs().max()) <= tolerance * max(float(b.abs().max()), 1e-30)


# ---- values and gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("settings", SETTINGS)
def test_gradcheck_passes_in_both_forms(settings, training):
    graph = random_graph(12, 20)
    conv = PathConv(3, start="random", **settings).double().train(training)
    x = random_rows(12, 3, torch.float64).requires_grad_()

    stateless = torch.func if hasattr(torch, "func") else torch.nn.utils.stateless  # before PyTorch 2.0

    def run(x, weight):
        conv.draws.zero_()  # the same paths in every call
        return stateless.functional_call(conv, {"weight": weight}, (x, graph))

    weight = conv.weight.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(run, (x, weight))


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("training", [True, False])
def test_float32_equals_float64(settings, channels, training):
    graph = random_graph(150, 300)
    results = []
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(5)
        conv = PathConv(channels, start="random", **settings).to(dtype).train(training)
        x = random_rows(150, channels).to(dtype).requires_grad_()
        out = conv(x, graph)
        out.backward(random_rows(150, channels, seed=4).to(dtype))
        results.append((out, x.grad, conv.weight.grad))
    for single, double in zip(*results):
        assert single.dtype == torch.float32
    (out, grad_x, grad_weight), want = results
    assert close(out.double(), want[0]) and close(grad_x.double(), want[1])
    # sums of many products whose signs differ may happen to be near 0
    usual = (out.numel() / grad_weight.numel()) ** 0.5
    assert float((grad_weight - want[2]).abs().max()) <= 1e-5 * max(usual, float(want[2].abs().max()))


@pytest.mark.parametrize("settings", [s for s in SETTINGS if s.get("scaling") != "symmetric"])
def test_training_equals_a_gather_of_the_sampled_paths(settings):
    graph = random_graph()
    conv = PathConv(6, start="random", seed=9, **settings).double()
    for draw in range(3):
        x, y = (random_rows(30, 6, torch.float64).requires_grad_() for _ in range(2))
        conv.zero_grad()
        out = conv(x, graph)
        out.pow(2).sum().backward()
        plain = copy.deepcopy(conv)
        plain.zero_grad()
        want = gathered(plain, y, paths_of(conv, graph, draw))
        want.pow(2).sum().backward()
        assert close(out, want, 1e-6) and close(x.grad, y.grad, 1e-6)
        assert close(conv.weight.grad, plain.weight.grad, 1e-6)


def transition(edge_index, nodes):
    """D^-1 A of messages from source to target; a node without an edge stays."""
    a = torch.zeros(nodes, nodes, dtype=torch.float64)
    a[edge_index[1], edge_index[0]] = 1
    alone = a.sum(1) == 0
    a[alone, alone] = 1
    return a / a.sum(1, keepdim=True)


@pytest.mark.parametrize("directed", [False, True])
def test_evaluation_is_a_polynomial_of_the_transition_matrix(directed):
    edge_index = random_edges()
    both = edge_index if directed else torch.cat([edge_index, edge_index.flip(0)], 1)
    t, x = transition(both, 30), random_rows(30, 4, torch.float64)
    conv = PathConv(4, start="random").double().eval()
    want, power = torch.zeros_like(x), x
    for i in range(conv.length):
        want = want + conv.weight[i] * power
        power = t @ power
    assert close(conv(x, prepare(edge_index, 30, directed=directed)), want, 1e-6)


def test_the_mean_of_many_draws_is_the_exact_form():
    graph, x = random_graph(weighted=False), random_rows(30, 2)
    conv = PathConv(2, paths=50)
    with torch.no_grad():
        mean = sum(conv(x, graph) for _ in range(400)) / 400
        assert close(mean, conv.eval()(x, graph), 0.02)


def test_directed_edges_carry_messages_from_source_to_target():
    graph = prepare(torch.tensor([[0], [1]]), 3, directed=True)
    conv = PathConv(1, length=2, start="random").eval()
    out = conv(torch.tensor([[1.0], [10.0], [100.0]]), graph).flatten()
    s = conv.weight.flatten()
    assert torch.allclose(out, torch.stack([s[0] + s[1], 10 * s[0] + s[1], 100 * s[0] + 100 * s[1]]))


def test_weights_of_edges_listed_both_ways_count_once():
    one_way = torch.tensor([[0, 0], [1, 2]])
    both = torch.cat([one_way, one_way.flip(0)], 1)
    weight = torch.tensor([1.0, 3.0])
    conv = PathConv(1, walk="weighted", may_stay=True, start="random").eval()
    x = random_rows(3, 1)
    first = conv(x, prepare(one_way, 3, weight))
    assert torch.equal(first, conv(x, prepare(both, 3, weight.repeat(2))))
    assert torch.equal(first, conv(x, prepare(both, 3, weight.repeat(2), directed=True)))


# ---- bits and states ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("training", [True, False])
def test_any_number_of_threads_gives_the_same_bits(dtype, training):
    graph, results = random_graph(700, 1500), []
    for threads in (1, 2, 5):
        conv = PathConv(70, seed=4, threads=threads).to(dtype).train(training)
        x = random_rows(700, 70, dtype).requires_grad_()
        out = conv(x, graph)
        out.pow(2).sum().backward()
        results.append((out, x.grad, conv.weight.grad))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other))


def test_draws_depend_on_seed_and_number_alone():
    graph, x = random_graph(), random_rows(30, 4)
    first, again, other = PathConv(4), PathConv(4), PathConv(4, seed=1)
    a, b = first(x, graph), first(x, graph)
    assert not torch.equal(a, b)
    assert torch.equal(a, again(x, graph)) and torch.equal(b, again(x, graph))
    assert not torch.equal(a, other(x, graph))
    assert torch.equal(first.eval()(x, graph), other.eval()(x, graph))


def test_node2vec_evaluates_on_one_fixed_draw():
    graph, x = random_graph(), random_rows(30, 4)
    conv = PathConv(4, walk="node2vec", inout_q=4.0).eval()
    a = conv(x, graph)
    conv.train()(x, graph)
    assert torch.equal(a, conv.eval()(x, graph)) and int(conv.draws) == 1


def test_a_state_dict_goes_on_with_the_same_paths():
    graph, x = random_graph(), random_rows(30, 4)
    conv = PathConv(4)
    for _ in range(3):
        conv(x, graph)
    resumed = PathConv(4)
    resumed.load_state_dict(copy.deepcopy(conv.state_dict()))
    assert int(resumed.draws) == 3
    assert torch.equal(conv(x, graph), resumed(x, graph))
    conv.reset_parameters()
    assert torch.equal(conv(x, graph), PathConv(4)(x, graph))


def test_backward_after_several_forwards_uses_their_own_paths():
    graph, expected = random_graph(), []
    for draw in range(4):
        conv = PathConv(5)
        conv.draws.fill_(draw)
        x = random_rows(30, 5, seed=draw).requires_grad_()
        conv(x, graph).pow(3).sum().backward()
        expected.append(x.grad)
    conv = PathConv(5)
    rows = [random_rows(30, 5, seed=draw).requires_grad_() for draw in range(4)]
    losses = [conv(x, graph).pow(3).sum() for x in rows]
    for draw in (2, 0, 3, 1):
        losses[draw].backward()
        assert torch.equal(rows[draw].grad, expected[draw])


def test_paths_go_back_to_the_graph_when_nobody_needs_them():
    graph, x = random_graph(), random_rows(30, 5)
    conv = PathConv(5)
    for _ in range(10):
        conv(x, graph).sum().backward()
    with torch.no_grad():
        conv(x, graph)
    gc.collect()
    assert [len(free) for free in graph._free.values()] == [1]
    held = [conv(x, graph) for _ in range(3)]
    assert [len(free) for free in graph._free.values()] == [0]
    del held
    gc.collect()
    assert [len(free) for free in graph._free.values()] == [3]


def test_layers_at_the_same_draw_share_their_paths():
    graph, x = random_graph(), random_rows(30, 5).requires_grad_()
    first, second, third = PathConv(5), PathConv(5), PathConv(5, seed=1)
    third(second(first(x, graph), graph), graph).sum().backward()
    gc.collect()
    assert [len(free) for free in graph._free.values()] == [2]


def test_a_second_backward_pass_gives_the_same():
    graph, x = random_graph(), random_rows(30, 5).requires_grad_()
    out = PathConv(5)(x, graph).sum()
    out.backward(retain_graph=True)
    once = x.grad.clone()
    out.backward()
    assert torch.equal(x.grad, 2 * once)


# ---- inputs -----------------------------------------------------------------------------------------------------


def test_rows_may_lie_in_any_order_of_memory():
    graph, conv = random_graph(), PathConv(6).eval()
    wide = random_rows(30, 12).requires_grad_()
    out = conv(wide[:, ::2], graph)
    assert torch.equal(out, conv(wide[:, ::2].detach().clone(), graph))
    out.sum().backward()
    assert float(wide.grad[:, 1::2].abs().max()) == 0 and float(wide.grad[:, ::2].abs().max()) > 0
    conv(wide.detach()[:, :6].t().contiguous().t(), graph).expand(2, 30, 6).sum().backward()


def test_only_gradients_that_are_needed_are_made():
    graph, x = random_graph(), random_rows(30, 4)
    conv = PathConv(4)
    conv(x, graph).sum().backward()
    assert x.grad is None and conv.weight.grad is not None
    conv.weight.requires_grad_(False)
    x.requires_grad_()
    conv(x, graph).sum().backward()
    assert x.grad is not None
    assert not conv(x.detach(), graph).requires_grad


def test_tensors_are_not_copied():
    seen = []

    class Spy:
        def forward(self, channels, x, weight, out):
            seen.extend([x.ctypes.data, weight.ctypes.data])

    x, conv = random_rows(30, 4), PathConv(4)
    pathgcn.torch._Convolution.apply(x, conv.weight, Spy(), None)
    assert seen == [x.data_ptr(), conv.weight.data_ptr()]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_an_edge_index_is_prepared_once_and_again_after_a_change(dtype):
    edge_index, x, conv = random_edges().to(dtype), random_rows(30, 4), PathConv(4).eval()
    known = len(pathgcn.torch._prepared._known)
    first = conv(x, edge_index)
    assert torch.equal(first, conv(x, prepare(edge_index, 30)))
    assert len(pathgcn.torch._prepared._known) == known + 1
    conv(x, edge_index)
    assert len(pathgcn.torch._prepared._known) == known + 1
    edge_index[:, 0] = torch.tensor([0, 29], dtype=dtype)
    edge_index[:, 1] = torch.tensor([0, 28], dtype=dtype)
    assert torch.equal(conv(x, edge_index), conv(x, prepare(edge_index, 30)))
    assert not torch.equal(first, conv(x, edge_index))
    del edge_index
    gc.collect()
    assert len(pathgcn.torch._prepared._known) == known


def test_edge_weights_count_with_weighted_walks():
    edge_index, x = random_edges(), random_rows(30, 4)
    weight = torch.arange(1.0, edge_index.shape[1] + 1)
    conv = PathConv(4, walk="weighted").eval()
    assert torch.equal(conv(x, edge_index, weight), conv(x, prepare(edge_index, 30, weight)))
    assert not torch.equal(conv(x, edge_index, weight), conv(x, edge_index))


def test_a_graph_without_edges_and_inference_tensors_work():
    conv = PathConv(2, start="identity")
    x = random_rows(3, 2)
    assert torch.equal(conv(x, torch.empty(2, 0, dtype=torch.int64)), x)
    with torch.inference_mode():
        assert torch.equal(conv.eval()(x.clone(), torch.tensor([[0], [1]])), x)


def test_start_of_the_kernel():
    assert torch.allclose(PathConv(3).weight, torch.full((5, 3), 0.2))
    assert PathConv(3, start="identity", kernel="layer").weight.tolist() == [1, 0, 0, 0, 0]
    s = PathConv(3, kernel="layer", hops=1.0).weight.detach().double()
    assert abs(float(s.sum()) - 1) < 1e-6 and abs(float((s * torch.arange(5)).sum()) - 1) < 1e-5
    assert close(s[1:] / s[:-1], (s[1] / s[0]).expand(4))
    torch.manual_seed(0)
    assert 0.5 < float(PathConv(1000, start="random").weight.detach().var() * 5) < 2


def test_repr_names_the_settings():
    text = repr(PathConv(8, walk="node2vec", return_p=2.0, seed=3))
    assert "8, length=5, paths=5" in text and "return_p=2" in text and "seed=3" in text


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: PathConv(0), ValueError, "channels is 0"),
        (lambda: PathConv(4, length=0), ValueError, "length is 0"),
        (lambda: PathConv(4, paths=1.5), ValueError, "paths is 1.5"),
        (lambda: PathConv(4, seed=-1), ValueError, "seed is -1"),
        (lambda: PathConv(4, kernel="full"), ValueError, "kernel is 'full'"),
        (lambda: PathConv(4, walk="levy"), ValueError, "walk is 'levy'"),
        (lambda: PathConv(4, scaling="sum"), ValueError, "scaling is 'sum'"),
        (lambda: PathConv(4, start="zero"), ValueError, "start is 'zero'"),
        (lambda: PathConv(4, return_p=2.0), ValueError, "do nothing"),
        (lambda: PathConv(4, walk="node2vec", inout_q=0.0), ValueError, "inout_q is 0"),
        (lambda: PathConv(4, walk="node2vec", may_stay=True), ValueError, "may_stay"),
        (lambda: PathConv(4)(random_rows(30, 5), random_graph()), ValueError, r"shape \[30, 5\]"),
        (lambda: PathConv(4)(torch.zeros(4), random_graph()), ValueError, r"shape \[4\]"),
        (lambda: PathConv(4)(random_rows(29, 4), random_graph()), ValueError, "29 rows"),
        (lambda: PathConv(4)(random_rows(30, 4).half(), random_graph()), TypeError, "torch.float16"),
        (lambda: PathConv(4)(random_rows(30, 4).double(), random_graph()), TypeError, "expected the same"),
        (lambda: PathConv(4)(torch.zeros(30, 4, device="meta"), random_graph()), ValueError, "on meta"),
        (lambda: PathConv(4)(random_rows(30, 4).to_sparse(), random_graph()), TypeError, "dense tensor"),
        (lambda: PathConv(4)([[0.0] * 4], random_graph()), TypeError, "dense tensor"),
        (lambda: PathConv(4)(random_rows(30, 4), "cora"), TypeError, "edge_index is a str"),
        (lambda: PathConv(4)(random_rows(30, 4), random_graph(), torch.ones(3)), ValueError, "prepare"),
        (lambda: prepare(torch.zeros(3, 4, dtype=torch.int64), 3), ValueError, r"shape \[3, 4\]"),
        (lambda: prepare(torch.zeros(2, 4), 3), TypeError, "torch.float32"),
        (lambda: prepare(torch.tensor([[0], [3]]), 3), ValueError, "node 3"),
        (lambda: prepare(torch.tensor([[0], [-1]]), 3), ValueError, "node -1"),
        (lambda: prepare(torch.tensor([[0], [1]]), 0), ValueError, "num_nodes is 0"),
        (lambda: prepare(torch.tensor([[0], [1]]), 3, torch.ones(2)), ValueError, r"expected \[1\]"),
        (lambda: prepare(torch.tensor([[0], [1]]), 3, torch.ones(1).long()), TypeError, "floating point"),
        (lambda: prepare(torch.zeros(2, 4, dtype=torch.int64, device="meta"), 3), ValueError, "on meta"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_bad_weights_are_refused_by_the_library():
    for value in (-1.0, 0.0, float("nan")):
        with pytest.raises(Exception, match="weight"):
            prepare(torch.tensor([[0], [1]]), 3, torch.tensor([value]))


# ---- whole networks ------------------------------------------------------------------------------------------------


def two_communities(nodes=34, seed=0):
    random = torch.Generator().manual_seed(seed)
    label = (torch.arange(nodes) >= nodes // 2).long()
    same = label[:, None] == label[None, :]
    linked = torch.rand(nodes, nodes, generator=random) < torch.where(same, 0.25, 0.03)
    return linked.triu(1).nonzero().t(), label


def test_a_network_learns_communities_from_two_labels():
    edge_index, label = two_communities()
    graph = prepare(edge_index, 34)
    torch.manual_seed(0)
    model = torch.nn.ModuleDict(
        {"first": torch.nn.Linear(34, 16), "conv": PathConv(16, length=4), "last": torch.nn.Linear(16, 2)}
    )

    def run():
        return model["last"](torch.relu(model["conv"](model["first"](torch.eye(34)), graph)))

    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    known = torch.tensor([0, 1, 32, 33])
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(run()[known], label[known]).backward()
        optimizer.step()
    model.eval()
    assert float((run().argmax(1) == label).float().mean()) > 0.85


def test_beside_a_layer_of_pytorch_geometric():
    geometric = pytest.importorskip("torch_geometric.nn", reason="PyTorch Geometric is not installed")
    edge_index, label = two_communities()
    edge_index = torch.cat([edge_index, edge_index.flip(0)], 1)

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = geometric.GCNConv(34, 16)
            self.conv = PathConv(16, kernel="layer")
            self.last = geometric.GCNConv(16, 2)

        def forward(self, x, edge_index):
            x = torch.relu(self.first(x, edge_index))
            return self.last(torch.relu(self.conv(x, edge_index)), edge_index)

    torch.manual_seed(0)
    model, known = Network(), torch.tensor([0, 1, 32, 33])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(50):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.eye(34), edge_index)[known], label[known]).backward()
        optimizer.step()
    accuracy = float((model.eval()(torch.eye(34), edge_index).argmax(1) == label).float().mean())
    assert accuracy > 0.85


def test_copies_of_a_model_with_its_graph_work():
    model = PathConv(4)
    model.graph = random_graph()
    other = copy.deepcopy(model)
    x = random_rows(30, 4)
    assert torch.equal(model(x, model.graph), other(x, other.graph))


def test_examples_of_the_documentation():
    assert doctest.testmod(pathgcn.torch).failed == 0


def test_without_torch_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import pathgcn\n"
        "try:\n    import pathgcn.torch\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install torch" in done.stdout
