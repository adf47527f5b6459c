#!/usr/bin/env python3
"""Writes the seeds of tests/fuzz/corpus: tiny valid files (good-*), attacks (bad-*) and
files that claim odd things and may be read or refused (claim-*).

    make_corpus.py [PATHGCN]

PATHGCN is the program, which makes the seeds of our own container; without it those stay as they
are. Seeds are committed; inputs that a fuzzer found (found-*) are kept beside them and are not
touched here. Standard library and numpy.
"""
import gzip
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "data"))
import make_formats as formats  # noqa: E402

CORPUS = os.path.join(HERE, "corpus")
written = set()


def seed(target, name, data):
    path = os.path.join(CORPUS, target, name)
    formats.write(path, data)
    written.add(path)


def bundle(files):
    """fuzz.h has the format."""
    return b"\n".join(b"=== " + name.encode() + b"\n" +
                      (data if isinstance(data, bytes) else data.encode())
                      for name, data in files.items())


def files_of(make, *arguments, **options):
    """What a function of make_formats writes, as a dictionary."""
    with tempfile.TemporaryDirectory() as directory:
        make(directory, *arguments, **options)
        found = {}
        for folder, _, names in os.walk(directory):
            for name in sorted(names):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, directory)] = file.read()
        return dict(sorted(found.items()))


def changed(files, name, before, after):
    before, after = (t if isinstance(t, bytes) else t.encode() for t in (before, after))
    assert before in files[name], (name, before)
    return bundle({**files, name: files[name].replace(before, after, 1)})


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npy_header(text, data=b"", version=1):
    """Shorter than numpy's: the padding to 64 bytes is not required."""
    length = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + b"\n" + data


def arrays(array):
    return npy_header("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" %
                      (array.dtype.str, array.shape), array.tobytes())


def short(files):
    """.npy members with short headers, so that bytes are spent on data."""
    return {name: arrays(np.load(io.BytesIO(data))) if name.endswith(".npy") else data
            for name, data in files.items()}


def zipped(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method)
    return out.getvalue()


g = formats.Graph(8, features=4, classes=2)
s = formats.Graphs(3)


# ---- src/io --------------------------------------------------------------------------------------

def make_npy():
    for name in ("i4", "i8", "f4", "f8", "u1"):
        seed("npy", f"good-{name}", arrays(np.arange(6).reshape(3, 2).astype("<" + name)))
    seed("npy", "good-bool", arrays(np.array([True, False])))
    seed("npy", "good-scalar", arrays(np.array(3.5)))
    seed("npy", "good-version-2", npy_header("{'descr': '<i4', 'fortran_order': False, 'shape': "
                                             "(2,)}", b"\1\0\0\0\2\0\0\0", 2))
    seed("npy", "bad-big-endian", arrays(np.arange(3).astype(">f4")))
    seed("npy", "bad-fortran", npy(np.asfortranarray(np.arange(6).reshape(2, 3))))
    seed("npy", "bad-object", npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
                                         b"\x80\x02cos\nsystem\nU\x04trueR."))
    seed("npy", "bad-huge", npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': "
                                       "(99999999999, 9), }"))
    seed("npy", "bad-overflow", npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': "
                                           "(4294967296, 4294967296), }"))
    seed("npy", "bad-negative", npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': "
                                           "(-1,), }"))
    seed("npy", "bad-code", npy_header("{'descr': '<i4', 'shape': __import__('os').system('x')}"))
    seed("npy", "bad-header-length", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}")


def make_npz():
    members = {"a.npy": arrays(np.arange(4, dtype="<i4")), "b.npy": arrays(np.zeros((2, 2), "<f4"))}
    seed("npz", "good-stored", zipped(members))
    seed("npz", "good-deflated", zipped(members, zipfile.ZIP_DEFLATED))
    broken = bytearray(zipped(members))
    broken[broken.index(b"shape") + 30] ^= 1
    seed("npz", "bad-crc", bytes(broken))
    big = npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (3000000000,), }")
    bomb = bytearray(zipped({"a.npy": big}, zipfile.ZIP_DEFLATED))
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        where = bomb.index(mark) + at
        bomb[where:where + 4] = struct.pack("<I", 3000000000)
    seed("npz", "bad-bomb", bytes(bomb))
    zeros = npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (900000,), }",
                       bytes(900000))
    seed("npz", "good-dense", zipped({"a.npy": zeros}, zipfile.ZIP_DEFLATED))
    seed("npz", "bad-object", zipped({"a.npy": npy_header(
        "{'descr': '|O', 'fortran_order': False, 'shape': (), }", b"\x80\x02cos\nsystem\n.")}))
    seed("npz", "bad-no-zip", b"PK\x05\x06 no archive at all")


def make_unzip():
    seed("unzip", "good-folder", zipped({"MUTAG/A.txt": "1, 2\n", "MUTAG/b/c.txt": "x"}))
    seed("unzip", "good-deflated", zipped({"a.txt": "a" * 5000}, zipfile.ZIP_DEFLATED))
    for number, name in enumerate(("../evil", "/evil", "a/../../evil", "a\\..\\evil", "a\x1bb")):
        seed("unzip", f"bad-name-{number}", zipped({name: "x"}))
    link = io.BytesIO()
    with zipfile.ZipFile(link, "w") as archive:
        info = zipfile.ZipInfo("link", (1980, 1, 1, 0, 0, 0))
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    seed("unzip", "bad-link", link.getvalue())


def make_safetensors():
    def file(header, data=b""):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data
    one = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    seed("safetensors", "good-one", file({"__metadata__": {"a": "b"}, "w": one}, bytes(16)))
    seed("safetensors", "good-two", file(
        {"w": one, "v": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]}}, bytes(24)))
    seed("safetensors", "bad-length", struct.pack("<Q", 1 << 60) + b"{}")
    seed("safetensors", "bad-offsets", file({"w": {**one, "data_offsets": [0, 1 << 62]}}))
    seed("safetensors", "bad-overlap", file({"w": one, "v": one}, bytes(16)))
    seed("safetensors", "bad-shape", file({"w": {**one, "shape": [1 << 62, 4]}}, bytes(16)))
    seed("safetensors", "bad-deep", file(b'{"w":' + b"[" * 3000))
    seed("safetensors", "bad-type", file({"w": {**one, "dtype": "F8"}}, bytes(16)))


def make_json():
    seed("json", "good-values", '{"a": [1, -2.5e-3, true, null, "\\u00e9\\ud83d\\ude00\\n"], '
                                '"b": {"c": []}}')
    seed("json", "bad-deep", "[" * 4000)
    seed("json", "bad-nan", "[NaN]")
    seed("json", "bad-long-number", "[" + "1" * 4000 + "]")
    seed("json", "bad-surrogate", '["\\ud800"]')
    seed("json", "bad-nul", b'["a\0b"]')


def make_text():
    table = "1,2.5\n-3e-5,4\n\n7,8\n"
    seed("text", "good-table", table)
    seed("text", "good-crlf", table.replace("\n", "\r\n"))
    seed("text", "good-gzip", gzip.compress(table.encode(), mtime=0))
    seed("text", "good-two-members", gzip.compress(b"1,2\n", mtime=0) +
         gzip.compress(b"3,4\n", mtime=0))
    seed("text", "claim-quotes", '"1", "2"\n"a, ""b","c"\n')
    seed("text", "good-hard", "3.4028235677973366e38,1.17549421069e-38\n0.1,16777217\n")
    seed("text", "bad-nan", "1,nan\n")
    seed("text", "bad-infinite", "1,1e99\n")
    seed("text", "bad-nul", b"1,2\n3\0,4\n")
    seed("text", "bad-quote", '"1,2\n')
    seed("text", "bad-crc", gzip.compress(table.encode(), mtime=0)[:-8] + bytes(8))
    seed("text", "bad-cut", gzip.compress(table.encode(), mtime=0)[:-9])
    seed("text", "bad-trailing", gzip.compress(table.encode(), mtime=0) + b"rubbish")
    seed("text", "good-dense", gzip.compress(b"0,0\n" * 25000, mtime=0))


def make_steps():
    for number, text in enumerate((
            "directed", "self-loops,largest-component", "features=own+labels+degrees+identity",
            "stratified=60/20/20,splits=5,split-seed=9223372036854775807", "random=48/32/20",
            "per-class=20/500/1000", "kfold=10,split-seed=3")):
        seed("steps", f"good-{number}", text)
    seed("steps", "bad-fractions", "stratified=60/50/20")
    seed("steps", "bad-nan", "random=nan/1/1")
    seed("steps", "bad-count", "kfold=99999999999999999999")


# ---- src/train -----------------------------------------------------------------------------------

def make_recipe():
    head = "recipe = mine\nversion = 2\ntask = node\ndataset = any\nabout = a \u00b1 b\n"
    deep = "[layers = 4]\nhops = 2\n[layers = 8..64]  # deep\nlr-mix = 1e-4\n"
    seed("recipe", "good-short", head)
    seed("recipe", "good-sections", head + "searched = 3 = 4\nlayers = 3\n\n" + deep)
    seed("recipe", "good-windows", "\ufeff" + head.replace("\n", "\r\n") + "\tseed\t=\t7\r\n")
    every = "kernel = full\nsplit = 12\nbatch-norm = true\nseed = 9223372036854775807\nthreads = 2\n"
    seed("recipe", "good-kinds", head + every + "hops = 0.125\n")
    seed("recipe", "bad-key", head + "lr_mix = 1\n")
    seed("recipe", "bad-value", head + "dropout = nan\n")
    seed("recipe", "bad-overlap", head + deep + "[layers = 64..65]\n")
    seed("recipe", "bad-section", head + "[layers = 4..]\n")
    seed("recipe", "bad-head", "dropout = 0.1\n")
    seed("recipe", "bad-escape", head + "about = \x1b[31m\n")
    seed("recipe", "bad-bytes", head.encode() + b"dropout = \xff\n")
    seed("recipe", "bad-long", head + "#" * 1024)


# ---- src/data ------------------------------------------------------------------------------------

def make_wikics():
    good = files_of(formats.wikics, g, splits=2)
    data = good["data.json"]
    seed("wikics", "good-toy", data)
    for name, before, after in (
            ("nan", b"1.0", b"NaN"), ("infinite", b"1.0", b"1e99"), ("type", b"[0, 1", b'["0", 1'),
            ("link", b'"links": [[', b'"links": [[-1, '), ("row", b"[[", b"[[7.0, "),
            ("far", b'"links": [[', b'"links": [[99, '), ("twice", b'"test_mask"', b'"labels"'),
            ("deep", b"[[", b"[" * 500), ("mask", b"true", b"2")):
        assert before in data, before
        seed("wikics", f"bad-{name}", data.replace(before, after, 1))


def make_graphsage():
    good = short(files_of(formats.graphsage, g))
    seed("graphsage", "good-toy", bundle(good))
    seed("graphsage", "good-names", bundle(short(files_of(
        formats.graphsage, g, several=True, names=lambda i: f"t3_{i:x}"))))
    graph = json.loads(good["toy-G.json"])
    late = {"links": graph["links"], "directed": True, "nodes": graph["nodes"]}
    seed("graphsage", "good-links-first", bundle({**good, "toy-G.json": json.dumps(late)}))
    seed("graphsage", "bad-position", changed(good, "toy-G.json", '"source": ', '"source": 99999'))
    seed("graphsage", "bad-id", changed(good, "toy-G.json", '"id": 0', '"id": 1'))
    seed("graphsage", "bad-row", changed(good, "toy-id_map.json", ": 0", ": 2147483648"))
    seed("graphsage", "bad-class", changed(good, "toy-class_map.json", ": 0", ": [0]"))
    seed("graphsage", "bad-control", changed(good, "toy-id_map.json", '"0": 0',
                                             '"\\u001b[31m\\n": 0, "\\u001b[31m\\n": 8'))
    seed("graphsage", "bad-fortran", bundle({**good, "toy-feats.npy": npy(np.asfortranarray(
        np.ones((8, 4))))}))


def make_dgl_ppi():
    good = short(files_of(formats.dgl_ppi, g))
    seed("dgl_ppi", "good-toy", bundle(good))
    seed("dgl_ppi", "bad-id", changed(good, "train_graph.json", '"id": 0', '"id": 4294967296'))
    seed("dgl_ppi", "bad-label", bundle({**good, "train_labels.npy": arrays(
        np.full((2, 2), 2, "<i8"))}))
    empty = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 0), }"
    seed("dgl_ppi", "bad-empty-rows", bundle({
        **good, "train_feats.npy": npy_header(empty), "train_labels.npy": npy_header(empty)}))
    seed("dgl_ppi", "bad-graphs", bundle({**good, "test_graph_id.npy": arrays(np.ones(4, "<i8"))}))


def make_planetoid():
    good = files_of(formats.planetoid, g)
    seed("planetoid", "good-toy", bundle(good))
    for name, attack in (
            ("system", b"cos\nsystem\nU\x07echo hi\x85R."),
            ("eval", b"c__builtin__\neval\nU\x011\x85R."),
            ("laughs", b"]" + b"q\x00h\x00h\x00\x86" * 60 + b"."), ("deep", b"(" * 900 + b"."),
            ("memo", b"K\x01r\xff\xff\xff\x7f."), ("string", b"T\xff\xff\xff\x7fab."),
            ("long", b"\x8b\xff\xff\xff\x7f\x01."), ("end", b"K\x01")):
        seed("planetoid", f"bad-{name}", bundle({**good, "ind.toy.graph": b"\x80\x02" + attack}))
    swapped = good["ind.toy.allx"].replace(b"U\x01<", b"U\x01>", 1)
    seed("planetoid", "bad-big-endian", bundle({**good, "ind.toy.allx": swapped}))
    seed("planetoid", "bad-fortran", changed(good, "ind.toy.ally", b"tb\x89", b"tb\x88"))
    seed("planetoid", "bad-index", bundle({**good, "ind.toy.test.index": "5\n6\n7\n2000000000\n"}))


def make_geom():
    good = {k: v for k, v in files_of(formats.geom, g).items() if not k.startswith("splits")}
    seed("geom", "good-toy", bundle(good))
    with_splits = {**good, "splits/toy_split_0.6_0.2_0.npz": zipped({
        f"{name}_mask.npy": arrays(np.array(g.mask(part), np.uint8))
        for part, name in enumerate(("train", "val", "test"))})}
    seed("geom", "good-splits", bundle(with_splits))
    lists = "node_id\tfeature(feature_amount:9)\tlabel\n0\t1,2\t0\n1\t8\t1\n"
    seed("geom", "good-lists", bundle({"out1_node_feature_label.txt": lists,
                                       "out1_graph_edges.txt": "node_id\tnode_id\n0\t1\n"}))
    seed("geom", "bad-node", changed(good, "out1_node_feature_label.txt", "\n0\t",
                                     "\n2000000000\t"))
    seed("geom", "claim-amount", bundle({
        "out1_node_feature_label.txt": lists.replace("amount:9", "amount:2000000000"),
        "out1_graph_edges.txt": "node_id\tnode_id\n0\t1\n"}))
    seed("geom", "bad-edge", changed(good, "out1_graph_edges.txt", "node_id\n", "node_id\n0\t-1\n"))
    seed("geom", "bad-feature", changed(good, "out1_node_feature_label.txt", "\t0,", "\tnan,"))


def make_tu():
    good = files_of(formats.tu, s)
    seed("tu", "good-toy", bundle(good))
    seed("tu", "good-attributes", bundle({
        **good, "TOY_node_attributes.txt": "1.5, 2\n" * len(s.tag)}))
    seed("tu", "bad-graph", changed(good, "TOY_graph_indicator.txt", "1\n", "2000000000\n"))
    seed("tu", "bad-node", changed(good, "TOY_A.txt", "1, ", "2000000000, "))
    seed("tu", "bad-zero", changed(good, "TOY_A.txt", "1, ", "0, "))
    seed("tu", "bad-label", changed(good, "TOY_graph_labels.txt", "-1", "-x"))
    seed("tu", "bad-descending", changed(good, "TOY_graph_indicator.txt", "1\n", "2\n"))


def make_gin():
    good = files_of(formats.gin, s)
    seed("gin", "good-toy", bundle(good))
    seed("gin", "good-folds", bundle({**good, "10fold_idx/test_idx-1.txt": "0\n2\n",
                                      "10fold_idx/test_idx-2.txt": "1\n"}))
    seed("gin", "bad-graphs", changed(good, "TOY.txt", "3\n", "2000000000\n"))
    seed("gin", "bad-nodes", bundle({"TOY.txt": b"1\n2000000000 0\n0 0\n"}))
    seed("gin", "bad-degree", bundle({"TOY.txt": b"1\n2 0\n0 2000000000 1\n0 1 0\n"}))
    seed("gin", "bad-neighbour", bundle({"TOY.txt": b"1\n2 0\n0 1 7\n0 1 0\n"}))


def make_ogb():
    good = files_of(formats.ogb, g, pack=False)
    seed("ogb", "good-toy", bundle(good))
    seed("ogb", "good-packed", bundle(files_of(formats.ogb, g)))
    seed("ogb", "good-several", bundle(files_of(formats.ogb, g, several=True, pack=False)))
    seed("ogb", "bad-node", changed(good, "raw/edge.csv", "\n", "\n2000000000,1\n"))
    seed("ogb", "bad-count", bundle({**good, "raw/num-node-list.csv": "2000000000\n"}))
    seed("ogb", "bad-nan", changed(good, "raw/node-feat.csv", "1.000000", "nan"))
    seed("ogb", "bad-split", bundle({**good, "split/time/train.csv": "-5\n"}))


def make_folder():
    good = short(files_of(formats.folder, g))
    seed("folder", "good-toy", bundle(good))
    seed("folder", "good-parts", bundle(short(files_of(formats.folder_of_parts, g))))
    seed("folder", "good-graphs", bundle(short(files_of(formats.folder_of_graphs, s))))
    for number, steps in enumerate((
            "self-loops", "largest-component,features=own+degrees,stratified=60/20/20",
            "per-class=1/2/3,splits=3", "random=50/25/25,split-seed=7",
            "features=identity,kfold=3")):
        seed("folder", f"good-steps-{number}", bundle({**good, "steps.txt": steps}))
    graphs = short(files_of(formats.folder_of_graphs, s))
    seed("folder", "good-graph-steps", bundle({
        **graphs, "steps.txt": "features=labels+degrees,random=40/30/30"}))
    seed("folder", "bad-edge", bundle({**good, "edges.npy": arrays(np.array([[0, -1]], "<i4"))}))
    seed("folder", "bad-pointer", bundle({
        **good, "x_indptr.npy": arrays(np.full(9, 1 << 60, "<i8"))}))
    seed("folder", "bad-nan", bundle({**good, "x_data.npy": arrays(np.full(
        int(g.x.sum()), np.nan, "<f4"))}))
    seed("folder", "bad-features", bundle({**good, "info.txt": "features 99999999999999\n"}))
    seed("folder", "bad-graph-ptr", bundle({**graphs, "graph_ptr.npy": arrays(
        np.array([0, 1 << 50, 3, 9], "<i8"))}))


def make_npz_graph():
    for name, make in (("benchmark", formats.npz_benchmark),
                       ("heterophilous", formats.npz_heterophilous)):
        with zipfile.ZipFile(io.BytesIO(files_of(make, g)["toy.npz"])) as archive:
            members = short({i.filename: archive.read(i) for i in archive.infolist()})
        seed("npz_graph", f"good-{name}", bundle(members))
        if name == "benchmark":
            seed("npz_graph", "bad-shape", bundle({**members, "adj_shape.npy": arrays(
                np.array([2000000000, 2000000000], "<i8"))}))
            seed("npz_graph", "bad-columns", bundle({**members, "attr_shape.npy": arrays(
                np.array([8, 1 << 60], "<i8"))}))
            seed("npz_graph", "bad-pointer", bundle({**members, "adj_indptr.npy": arrays(
                np.full(9, -1, "<i4"))}))
        else:
            seed("npz_graph", "bad-edges", bundle({**members, "edges.npy": arrays(
                np.array([[0, 1 << 40]], "<i8"))}))
            seed("npz_graph", "bad-nan", bundle({**members, "node_features.npy": arrays(
                np.full((8, 4), np.nan, "<f4"))}))


def make_matrix_market():
    with tempfile.TemporaryDirectory() as directory:
        for name, symmetric in (("general", False), ("symmetric", True)):
            formats.matrix_market(f"{directory}/a.mtx", g, symmetric)
            with open(f"{directory}/a.mtx", "rb") as file:
                seed("matrix_market", f"good-{name}", file.read())
    head = "%%MatrixMarket matrix coordinate real general\n"
    seed("matrix_market", "good-weights", head + "% c\n3 3 2\n1 2 0.5\n3 1 2\n")
    seed("matrix_market", "good-gzip", gzip.compress((head + "2 2 1\n1 2 1\n").encode(), mtime=0))
    seed("matrix_market", "bad-rows", head + "2000000000 2000000000 1\n1 2 1\n")
    seed("matrix_market", "bad-entries", head + "3 3 9000000000000000000\n1 2 1\n")
    seed("matrix_market", "bad-negative", head + "3 3 1\n1 2 -1\n")
    seed("matrix_market", "bad-zero", head + "3 3 1\n0 2 1\n")
    seed("matrix_market", "bad-array", head.replace("coordinate", "array") + "2 2\n1\n2\n3\n4\n")
    seed("matrix_market", "bad-nan", head + "3 3 1\n1 2 nan\n")


def make_edge_list():
    seed("edge_list", "good-plain", "".join(f"{a} {b}\n" for a, b in g.arcs))
    seed("edge_list", "good-weights", "from,to,weight\na,b,0.5\nb,c,2\n")
    seed("edge_list", "good-gaps", "# far apart\n1000000000000 -5\n-5 7\n")
    seed("edge_list", "good-gzip", gzip.compress(b"0\t1\n1\t2\n", mtime=0))
    seed("edge_list", "bad-cells", "0 1\n1 2 3 4\n")
    seed("edge_list", "bad-weight", "a,b,1\nb,c,-1\n")
    seed("edge_list", "bad-nan", "a,b,1\nb,c,nan\n")
    seed("edge_list", "bad-empty", "")


def make_own_files():
    good = files_of(formats.own_files, g)
    seed("own_files", "good-toy", bundle(good))
    seed("own_files", "good-edges", bundle({"edges.csv": "a;b\nb;c\n"}))
    names = {"edges.csv": "ann\tbob\nbob\tcy\n", "features.csv": '"ann"\t1\t2\nbob\t3\t4\n',
             "labels.csv": "id\tcolour\nann\tred\nbob\t?\ncy\tblue\n"}
    seed("own_files", "good-names", bundle(names))
    seed("own_files", "good-several", bundle({
        **names, "labels.csv": "id\tx\ty\nann\t1\t0\nbob\t1\t1\n"}))
    mixed = {"edges.csv": "a,b\nb,c\nc,d\nd,a\n", "features.csv":
             "id,city,age,since,paid,fax\na,Rome,10,1970-01-02,yes,\nb,Oslo,,4.1.1970 10:00,no,\n"
             "c,Rome,40,NA,no,-\nd,Graz,10,03.01.1970,yes,\n"}
    rules = ('{"columns":[{"gaps":true,"kind":"category","missing":0,"name":"city","other":true,"place":2,'
             '"rare":1,"values":["Rome"]},{"decimal":"comma","gaps":false,"kind":"number","mean":2.5,'
             '"missing":1,"name":"age","place":3},{"form":"day.month.year","gaps":true,"kind":"date",'
             '"mean":2,"missing":1,"name":"since","place":4},{"gaps":false,"kind":"yes/no","mean":0.5,'
             '"missing":0,"name":"paid","no":"no","place":5,"yes":"yes"},{"kind":"left out","missing":4,'
             '"name":"fax","place":6}],"header":true,"id":"id","version":1}')
    mixed["features.csv"] = mixed["features.csv"].replace("1970-01-02", "2.1.1970")
    seed("own_files", "good-mixed", bundle(mixed))
    seed("own_files", "good-rules", bundle({**mixed, "encoder.json": rules}))
    seed("own_files", "good-columns", bundle({**mixed, "columns.txt": "id\ncity,3\nage"}))
    seed("own_files", "good-picked", bundle({
        "edges.csv": "day,x,y\n1,a,b\n2,b,c\n3,c,d\n", "features.csv": mixed["features.csv"],
        "labels.csv": "kind,key\nu,a\nv,b\nu,c\n", "columns.txt": "key\n\nfax\nkind\nx\n3"}))
    seed("own_files", "bad-rules", bundle({**mixed, "encoder.json": rules.replace('"Rome"', "7")}))
    seed("own_files", "bad-many", bundle({**mixed, "features.csv": "id,t,u\na,x,1\nb,y,2\nc,z,?\n"}))
    seed("own_files", "bad-twice", bundle({**names, "features.csv": "ann\t1\nann\t2\n"}))
    seed("own_files", "bad-text", bundle({**names, "features.csv": "ann\t1\nbob\tx\n"}))
    seed("own_files", "bad-part", bundle({**good, "splits.csv": "id,part\n0,trial\n"}))
    seed("own_files", "bad-control", bundle({"edges.csv": "a,b,1\n\x1b[31m,c,\x07\n"}))


def make_container(program):
    """Every kind of content: small sets in other formats, converted."""
    kinds = {"toy": (formats.folder, g), "parts": (formats.folder_of_parts, g),
             "graphs": (formats.folder_of_graphs, s)}
    with tempfile.TemporaryDirectory() as directory:
        for name, (make, what) in kinds.items():
            make(f"{directory}/{name}", what)
        formats.graphsage(f"{directory}/names", g, names=lambda i: f"t3_{i:x}")
        formats.write(f"{directory}/weights.edges", "a,b,0.5\nb,c,2\n")
        for name in [*kinds, "names", "weights.edges"]:
            out = f"{directory}/out.pgcn"
            subprocess.run([program, "data", "convert", f"{directory}/{name}", "--out", out],
                           check=True, stdout=subprocess.DEVNULL)
            with open(out, "rb") as file:
                seed("container", "good-" + name.split(".")[0], file.read())
    seed("container", "bad-empty", b"PGCNDATA")


def main():
    for name, make in list(globals().items()):
        if name.startswith("make_") and name != "make_container":
            make()
    if len(sys.argv) == 2:
        make_container(sys.argv[1])
    else:
        print("make_corpus.py: no program given, the seeds of the container stay as they are")
    large = [path for path in written if os.path.getsize(path) > 8192]
    print(f"{len(written)} seeds, {sum(map(os.path.getsize, written))} bytes; larger than 8 KB:",
          [os.path.relpath(path, CORPUS) for path in large] or "none")


if __name__ == "__main__":
    main()
