"""Every network a second time: from the layers of PyTorch Geometric, with the weights of a file of peers_dump.

A network is made by a function of Peer, whose name is that of the network. Weights are leaves of autograd under the
names that our files have; they are put into layers as what they are there (transposed, side by side, scaled), so that
the gradient of a leaf is that of our tensor.
"""
import math

import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from torch_geometric.utils import add_self_loops


def put(module, **tensors):
    """Replaces parameters by tensors that autograd follows to the leaves."""
    for name, tensor in tensors.items():
        delattr(module, name)
        setattr(module, name, tensor)
    return module


class Peer:
    def __init__(self, config, arrays):
        self.config = config
        self.x = torch.from_numpy(arrays["x"]).double()
        offset = torch.from_numpy(arrays["graph/offset"])
        row = torch.arange(len(offset) - 1).repeat_interleave(offset.diff())
        # A node reads the nodes that its edges lead to; in PyTorch Geometric, those from which edges lead to it.
        self.edges = torch.stack([torch.from_numpy(arrays["graph/neighbour"]).long(), row])
        self.edge_weight = torch.from_numpy(arrays["graph/weight"]).double() if config["walk"] == "weighted" else None
        self.layers, self.channels = int(config["layers"]), int(config["channels"])
        self.alpha = float(config["alpha"])
        self.weight = {name[len("weight/"):]: torch.from_numpy(array).double()
                       for name, array in arrays.items() if name.startswith("weight/")}
        for name in arrays:
            if name.startswith("gradient/"):
                self.weight[name[len("gradient/"):]].requires_grad_()

    def logits(self, training):
        self.training = training
        return getattr(self, self.config["model"].replace("-", "_"))()

    def term(self):
        """What the network adds to the cross-entropy in the loss of the training."""
        if self.config["model"] != "egnn":
            return 0
        first = [math.sqrt(float(self.config["c-max"]))] + [1] * (self.layers - 1)
        return float(self.config["orthogonal"]) * sum(
            torch.linalg.matrix_norm(self.weight[f"layers.{l}.weight"] - s * torch.eye(self.channels))
            for l, s in enumerate(first))

    # ---- parts ----------------------------------------------------------------------------------------------------

    def yes(self, key):
        return self.config.get(key) == "yes"

    def norm(self, of, h):
        """nn.BatchNorm1d, nn.LayerNorm or nothing, whatever there are tensors of."""
        if of + "norm.gain" not in self.weight:
            return h
        tensors = {"weight": self.weight[of + "norm.gain"], "bias": self.weight[of + "norm.shift"]}
        if of + "norm.mean" not in self.weight:
            return put(torch.nn.LayerNorm(h.shape[1]), **tensors)(h)
        norm = put(torch.nn.BatchNorm1d(h.shape[1]), **tensors)
        norm.running_mean.copy_(self.weight[of + "norm.mean"])
        norm.running_var.copy_(self.weight[of + "norm.variance"])
        return norm.train(self.training)(h)

    def linear(self, of, h):
        return F.linear(h, self.weight[of + "weight"].t(), self.weight.get(of + "bias"))

    def propagation(self, w, bias):
        """P h W + b: GCNConv; with means over a node and its neighbours, SAGEConv on edges with self-loops."""
        if self.config["scaling"] == "walk":
            conv = pyg.SAGEConv(*w.shape, root_weight=False, bias=bias is not None)
            put(conv.lin_l, weight=w.t(), bias=bias)
            edges, _ = add_self_loops(self.edges, num_nodes=len(self.x))
            return lambda h: conv(h, edges)
        conv = put(pyg.GCNConv(*w.shape, bias=bias is not None), bias=bias)
        put(conv.lin, weight=w.t())
        return lambda h: conv(h, self.edges, self.edge_weight)

    def conv(self, of, h, residual=None, relu=True):
        bias = self.weight.get(of + "bias")
        own = self.weight.get(of + "self.weight")
        plain = residual is None and own is None
        y = self.propagation(self.weight[of + "weight"], bias if plain else None)(h)
        if residual is not None:
            y = (1 - self.alpha) * y + self.alpha * residual
        if own is not None:
            y = y + h @ own
        if not plain and bias is not None:
            y = y + bias
        y = self.norm(of, y)
        return F.relu(y) if relu else y

    # ---- networks ---------------------------------------------------------------------------------------------------

    def mlp(self):
        sizes = [self.x.shape[1]] + [self.weight[f"layers.{l}.weight"].shape[1] for l in range(self.layers)]
        kind = "batch_norm" if self.yes("batch-norm") else None
        mlp = pyg.MLP(sizes, norm=kind, bias=self.yes("bias"), plain_last=True)
        for l, linear in enumerate(mlp.lins):
            put(linear, weight=self.weight[f"layers.{l}.weight"].t(), bias=self.weight.get(f"layers.{l}.bias"))
        if not self.yes("layer-norm"):
            for l, norm in enumerate(mlp.norms if kind else []):
                of = f"layers.{l}.norm."
                put(norm.module, weight=self.weight[of + "gain"], bias=self.weight[of + "shift"])
                norm.module.running_mean.copy_(self.weight[of + "mean"])
                norm.module.running_var.copy_(self.weight[of + "variance"])
            return mlp.train(self.training)(self.x)
        h = self.x  # MLP's own layer norm is one over all nodes
        for l, linear in enumerate(mlp.lins):
            h = linear(h)
            h = F.relu(self.norm(f"layers.{l}.", h)) if l < self.layers - 1 else h
        return h

    def gcn(self):
        h, first = self.x, None
        for l in range(self.layers):
            last = l == self.layers - 1
            residual = {"none": None, "initial": first, "previous": h if l > 0 else None}[self.config["residual"]]
            h = self.conv(f"layers.{l}.", h, None if last else residual, relu=not last)
            first = h if l == 0 else first
        return h

    def sgc(self):
        w, bias = self.weight["classifier.weight"], self.weight.get("classifier.bias")
        conv = pyg.SGConv(*w.shape, K=int(self.config["powers"]), bias=bias is not None)
        put(conv.lin, weight=w.t(), bias=bias)
        return conv(self.x, self.edges, self.edge_weight)

    def cheb(self):
        # ChebConv scales by the degrees of sources, GCNConv by those of targets; ours are those of the nodes that read.
        edges = self.edges.flip(0)
        terms, h = int(self.config["order"]) + 1, self.x
        for l in range(self.layers):
            of = f"layers.{l}."
            w, bias = self.weight[of + "weight"], self.weight.get(of + "bias")
            out = w.shape[1] // terms
            conv = put(pyg.ChebConv(w.shape[0], out, terms, bias=bias is not None, flow="target_to_source"), bias=bias)
            for linear, part in zip(conv.lins, w.split(out, dim=1)):
                put(linear, weight=part.t())
            h = conv(h, edges, self.edge_weight, lambda_max=self.weight["laplacian.largest"])
            h = F.relu(self.norm(of, h)) if l < self.layers - 1 else h
        return h

    def appnp(self):
        return pyg.APPNP(int(self.config["powers"]), self.alpha)(self.mlp(), self.edges, self.edge_weight)

    def gcnii(self):
        star = self.config["model"] == "gcnii-star"
        h = h0 = F.relu(self.linear("embed.", self.x))
        for l in range(self.layers):
            of = f"layers.{l}."
            conv = pyg.GCN2Conv(self.channels, self.alpha, float(self.config["lambda"]), l + 1, shared_weights=not star)
            if star:  # GCN2Conv multiplies what these weights are applied to by 1 - alpha and alpha
                put(conv, weight1=self.weight[of + "weight"] / (1 - self.alpha),
                    weight2=self.weight[of + "initial"] / self.alpha)
            else:
                put(conv, weight1=self.weight[of + "weight"])
            y = conv(h, h0, self.edges, self.edge_weight)
            h = F.relu(self.norm(of, y + h if self.yes("skip") else y))
        return self.linear("classifier.", h)

    def gcnii_star(self):
        """GCN2Conv with scaled weights, and the equation itself."""
        t = self.dense_operator()
        h = h0 = F.relu(self.linear("embed.", self.x))
        for l in range(self.layers):
            of, theta = f"layers.{l}.", math.log(float(self.config["lambda"]) / (l + 1) + 1)
            mapped = t @ h @ self.weight[of + "weight"] + h0 @ self.weight[of + "initial"]
            y = theta * mapped + (1 - theta) * ((1 - self.alpha) * t @ h + self.alpha * h0)
            h = F.relu(self.norm(of, y + h if self.yes("skip") else y))
        logits, layers = self.linear("classifier.", h), self.gcnii()
        if (logits - layers).abs().max() > 1e-9 * logits.abs().max():
            raise ValueError("GCN2Conv with scaled weights is not the equation of gcnii-star")
        return logits

    def egnn(self):
        """From its equation: PyTorch Geometric has none."""
        t, least, beta = self.dense_operator(), float(self.config["c-min"]), float(self.config["beta"])
        h = h0 = F.relu(self.linear("embed.", self.x))
        for l in range(self.layers):
            of = f"layers.{l}."
            y = ((1 - least) * t @ h + (least - beta) * h + beta * h0) @ self.weight[of + "weight"]
            shift = self.weight[of + "threshold"]
            h = F.relu(self.norm(of, y) - shift) + shift
        return self.linear("classifier.", h)

    def pde_gcn(self):
        """From its equation, with the gradients along all links as an array, K applied to each of them and the steps
        as the authors write them: PyTorch Geometric has none."""
        t, h = self.dense_operator(), float(self.config["step"])
        i, j = t.nonzero(as_tuple=True)
        w = t[i, j][:, None]
        act = {"tanh": torch.tanh, "relu": F.relu}[self.config["activation"]]
        x = before = F.relu(self.linear("embed.", self.x))
        for l in range(self.layers):
            k = self.weight[f"layers.{l}.weight"]
            flow = w * (act(w * (x[i] - x[j]) @ k) @ k.t())
            d = torch.zeros_like(x).index_add(0, i, flow).index_add(0, j, -flow)
            if self.config["model"] == "pde-gcn-d":
                after = x - h * d
            elif self.config["model"] == "pde-gcn-h":
                after = 2 * x - before - h * h * d
            else:
                wave = torch.sigmoid(self.weight["mixture"])
                heat, wave = (1 - wave) / h, wave / (h * h)
                after = (2 * wave * x - wave * before + heat * x - d) / (wave + heat)
            x, before = after, x
        return self.linear("classifier.", x)

    pde_gcn_d = pde_gcn_h = pde_gcn_m = pde_gcn

    def sage(self):
        h = self.x
        for l in range(self.layers):
            of = f"layers.{l}."
            w, bias = self.weight[of + "weight"], self.weight.get(of + "bias")
            conv = pyg.SAGEConv(*w.shape, bias=bias is not None)
            put(conv.lin_l, weight=w.t(), bias=bias)
            put(conv.lin_r, weight=self.weight[of + "self.weight"].t())
            h = F.relu(self.norm(of, conv(h, self.edges)))
        return self.linear("classifier.", h)

    def jknet(self):
        h, all_layers = self.x, []
        for l in range(self.layers - 1):
            h = self.conv(f"layers.{l}.", h)
            all_layers.append(h)
        if self.config["jump"] == "max":
            joined, w = pyg.JumpingKnowledge("max")(all_layers), self.weight["classifier.weight"]
        else:
            joined = pyg.JumpingKnowledge("cat")(all_layers)
            w = torch.cat([self.weight[f"classifier.{l}.weight"] for l in range(self.layers - 1)])
        return self.propagation(w, self.weight.get("classifier.bias"))(joined)

    def gat(self):
        def conv(w, target, source, last):
            conv = put(pyg.GATConv(w.shape[0], target.shape[1], target.shape[0], concat=not last, bias=False),
                       att_dst=target[None], att_src=source[None])
            put(conv.lin, weight=w.t())
            return conv
        return self.attention(conv)

    def supergat(self):
        def conv(w, target, source, last):
            conv = put(pyg.SuperGATConv(w.shape[0], target.shape[1], target.shape[0], concat=not last, bias=False,
                                        attention_type="MX"), att_r=target[None], att_l=source[None])
            put(conv.lin, weight=w.t())
            return conv
        return self.attention(conv)

    def attention(self, conv):
        h = self.x
        for l in range(self.layers):
            of, last = f"layers.{l}.", l == self.layers - 1
            w, target, source = (self.weight[of + name] for name in ("weight", "target", "source"))
            own, bias = self.weight.get(of + "self.weight"), self.weight.get(of + "bias")
            y = conv(w, target, source, last)(h, self.edges)
            y = y if own is None else y + h @ own
            y = self.norm(of, y if bias is None else y + bias)
            h = y if last else F.elu(y)
        return h

    def grand(self):
        """There is no layer: the authors' equation with dense attention, masked where there is no link."""
        heads, h = int(self.config["heads"]), float(self.config["step"])
        edges, _ = add_self_loops(self.edges, num_nodes=len(self.x))
        absent = torch.ones(len(self.x), len(self.x), dtype=torch.bool)
        absent[edges[1], edges[0]] = False

        def attention(x):
            q, k = (part.unflatten(1, (heads, -1)).transpose(0, 1) for part in self.linear("attention.", x).chunk(2, 1))
            scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
            return scores.masked_fill(absent, -math.inf).softmax(2).mean(0)

        def slope(x):
            a = fixed if self.config["attention"] == "fixed" else attention(x)
            return torch.sigmoid(self.weight["rate"]) * (a @ x - x) + self.weight["source"] * x0

        x = x0 = self.linear("embed.", self.x)
        fixed = attention(x0)
        for _ in range(self.layers):
            k1 = slope(x)
            if self.config["integrator"] == "euler":
                x = x + h * k1
                continue
            k2 = slope(x + h / 2 * k1)
            k3 = slope(x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + h * k3))
        return self.linear("classifier.", F.relu(x))

    def incep(self):
        first = self.conv("input.", self.x)
        ends = [first]
        for b in range(1, self.layers - 1):
            h = first
            for l in range(b):
                h = self.conv(f"branches.{b}.{l}.", h)
            ends.append(h)
        w = torch.cat([self.weight[f"classifier.{b}.weight"] for b in range(self.layers - 1)])
        return self.propagation(w, self.weight.get("classifier.bias"))(torch.cat(ends, dim=1))

    def gin(self):
        h = self.x
        for l in range(self.layers):
            own, others = self.weight[f"layers.{l}.kernel"]

            def network(x, of=f"layers.{l}.", scale=others):  # GINConv's neighbours have the weight 1
                inner = F.relu(self.norm(of + "inner.", self.linear(of + "inner.", scale * x)))
                return F.relu(self.norm(of, self.linear(of, inner)))

            conv = put(pyg.GINConv(torch.nn.Identity()), nn=network, eps=own / others - 1)
            h = conv(h, self.edges)
        return self.linear("classifier.", h)

    def dense_operator(self):
        """P as a dense matrix, from its definition."""
        n = len(self.x)
        a = torch.zeros(n, n)
        a[self.edges[1], self.edges[0]] = 1 if self.edge_weight is None else self.edge_weight
        if self.config["self-loops"] == "yes":
            a += torch.eye(n)
        a += torch.diag((a.sum(1) == 0).double())  # the walk of a node without neighbours stays
        d = a.sum(1)
        return a / d[:, None] if self.config["scaling"] == "walk" else a / (d[:, None] * d).sqrt()

    def pathgcn(self):
        """In exact form: H' = ReLU(norm(((1 - alpha) sum_i s_i (.) T^i H + alpha R) W)). PyTorch Geometric has none."""
        t = self.dense_operator()
        h = h0 = F.relu(self.linear("embed.", self.x))
        for l in range(self.layers):
            power, y = h, 0
            for s in self.weight[f"layers.{l}.kernel"]:
                y, power = y + s * power, t @ power
            residual = {"none": None, "initial": h0, "previous": h}[self.config["residual"]]
            if residual is not None:
                y = (1 - self.alpha) * y + self.alpha * residual
            y = y @ self.weight[f"layers.{l}.weight"]
            if self.yes("batch-norm"):
                y = F.batch_norm(y, self.weight[f"layers.{l}.norm.mean"].clone(),
                                 self.weight[f"layers.{l}.norm.variance"].clone(),
                                 self.weight.get(f"layers.{l}.norm.gain"), self.weight.get(f"layers.{l}.norm.shift"),
                                 training=self.training)
            h = F.relu(y)
        return self.linear("classifier.", h)
