#!/usr/bin/env python3
"""Judges settings on validation nodes that did not choose the epoch, without any test node.

  bench/halves.py FROM TO     FROM: a folder of the data sets with splits/*_masks.npy, or an .npz of
                              heterophilous-graphs; TO: the folder or file to write

Every split becomes two. The validation nodes are cut into halves, at random within each class; one half validates and
the other is the test, then the other way round. The test nodes of the original are in no part. `pathgcn train TO
--seeds 20` then reports, as its test accuracy, what the chosen epoch is worth on validation nodes that had no say in
it.
"""
import os
import shutil
import sys

import numpy as np

SEED = 7  # of split s: SEED + s


def halves(train, val, label):
    """Masks of twice as many splits: train, validation, test."""
    out = [[], [], []]
    for number, (trains, validates) in enumerate(zip(train, val)):
        nodes = np.flatnonzero(validates)
        np.random.RandomState(SEED + number).shuffle(nodes)
        nodes = nodes[np.argsort(label[nodes], kind="stable")]
        for chosen, tested in ((nodes[0::2], nodes[1::2]), (nodes[1::2], nodes[0::2])):
            masks = np.zeros((2, len(validates)), validates.dtype)
            masks[0, chosen] = 1
            masks[1, tested] = 1
            for part, mask in zip(out, (trains, *masks)):
                part.append(mask)
    return [np.array(part) for part in out]


def halve_npz(source, to):
    arrays = dict(np.load(source))
    names = ["train_masks", "val_masks", "test_masks"]
    arrays.update(zip(names, halves(arrays["train_masks"], arrays["val_masks"], arrays["node_labels"])))
    np.savez(to, **arrays)


def halve_folder(source, to):
    shutil.copytree(source, to, copy_function=shutil.copyfile)
    for part in ("train", "val", "test"):  # a public split would go before the numbered ones
        if os.path.exists(f"{to}/{part}_mask.npy"):
            os.remove(f"{to}/{part}_mask.npy")
    masks = [np.load(f"{source}/splits/{part}_masks.npy") for part in ("train", "val")]
    for part, made in zip(("train", "val", "test"), halves(*masks, np.load(f"{source}/y.npy"))):
        np.save(f"{to}/splits/{part}_masks.npy", made)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    (halve_npz if sys.argv[1].endswith(".npz") else halve_folder)(sys.argv[1], sys.argv[2])
