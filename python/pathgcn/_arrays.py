"""What users give becomes arrays of exactly the types that the library reads.

An array that has the right type already is not copied. Every conversion that could lose something is checked:
an id that does not fit into 32 bits is an error, never another id.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

INT32_MAX = int(np.iinfo(np.int32).max)

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float32 = npt.NDArray[np.float32]
Mask = npt.NDArray[np.uint8]


def is_sparse(value: Any) -> bool:
    """Whether this is a SciPy sparse matrix or array, without importing SciPy."""
    return hasattr(value, "tocsr") and hasattr(value, "nnz")


def as_floats(value: Any, what: str) -> Float32:
    """Real numbers of any type as float32, C-contiguous."""
    array = np.asarray(value)
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{what} hold values that are no numbers; encode them as numbers first") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} are of type {array.dtype}, expected real numbers")
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(array, dtype=np.float32)
    if array.dtype.itemsize > 4 and array.dtype.kind == "f" and result.size:
        lost = np.isinf(result) & np.isfinite(array)
        if lost.any():
            where = tuple(int(i) for i in np.argwhere(lost)[0])
            raise ValueError(f"{what} at {where} are {array[where]!r}, which float32 cannot hold; rescale them")
    return result


def as_ids(value: Any, what: str) -> Int32:
    """Whole numbers of any integer type as int32."""
    array = np.asarray(value)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int32)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        with np.errstate(invalid="ignore"):
            array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        hint = "; number them: np.unique(ids, return_inverse=True)[1]" if array.dtype.kind in "OUST" else ""
        raise TypeError(f"{what} are of type {array.dtype}, expected whole numbers{hint}")
    if array.dtype.itemsize >= 4 and array.dtype != np.int32:
        low, high = int(array.min()), int(array.max())
        if low < -INT32_MAX or high > INT32_MAX:
            raise ValueError(f"{what} go from {low} to {high}; at most {INT32_MAX} fits")
    return np.ascontiguousarray(array, dtype=np.int32)


def as_offsets(value: Any, what: str) -> Int64:
    """Offsets of any integer type as int64."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} is of type {array.dtype}, expected whole numbers")
    return np.ascontiguousarray(array, dtype=np.int64)


def as_masks(value: Any, items: int, what: str) -> Mask:
    """Masks of one or several splits, [splits, items]: bool (or 0/1 bytes) per item, or the numbers of the items.

    A list of lists of numbers, one for each split, is fine as well.
    """
    if isinstance(value, (list, tuple)) and value and not np.isscalar(value[0]):
        return np.concatenate([as_masks(part, items, what) for part in value])
    array = np.asarray(value)
    if array.dtype == bool or array.dtype == np.uint8:
        if array.shape[-1:] != (items,) or array.ndim > 2:
            raise ValueError(f"{what} is a mask of shape {array.shape}, expected [{items}] or [splits, {items}]")
        return np.ascontiguousarray(np.atleast_2d(array), dtype=np.uint8)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(
            f"{what} is an array of type {array.dtype} and shape {array.shape}, expected a mask of bool or the "
            "numbers of the items"
        )
    mask = np.zeros((1, items), dtype=np.uint8)
    numbers = array.astype(np.int64)
    wrong = (numbers < 0) | (numbers >= items)
    if wrong.any():
        raise ValueError(f"{what} holds item {int(numbers[wrong][0])}, expected 0 to {items - 1}")
    mask[0, numbers] = 1
    return mask


def names_of(values: Any, count: int, what: str) -> list[str] | None:
    """Names as a list of str."""
    if values is None:
        return None
    names = [str(name) for name in values]
    if len(names) != count:
        raise ValueError(f"there are {len(names)} {what}, expected {count}")
    return names


def _is_missing(value: Any) -> bool:
    pandas = sys.modules.get("pandas")  # its NA is neither None nor a number
    if value is None or (pandas is not None and value is pandas.NA):
        return True
    return bool(value != value)


def number_classes(labels: Any, unlabelled: bool = True) -> tuple[Int32, npt.NDArray[Any]]:
    """Classes of any kind as 0, 1, ...; -1, NaN and None are unlabelled.

    Returns the numbers and the sorted classes that they stand for. With ``unlabelled=False`` -1 is a class
    like any other.
    """
    array = np.asarray(labels)
    if array.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        array = np.asarray(labels, dtype=object)  # NaN among names would be the name "nan"
    if array.ndim != 1:
        raise ValueError(f"labels have shape {array.shape}, expected one per item")
    if array.dtype.kind == "f":
        known = ~np.isnan(array)
    elif array.dtype == object:
        known = np.array([not _is_missing(value) for value in array], dtype=bool)
        kinds = {str if isinstance(v, str) else int if isinstance(v, (int, np.integer)) else type(v) for v in array[known]}
        if len(kinds) > 1:
            array = np.array([str(value) for value in array], dtype=object)
    else:
        known = np.ones(len(array), dtype=bool)
    values = array[known]
    if values.dtype == object and len(values) and isinstance(values[0], (bool, np.bool_)):
        values = values.astype(bool)
    if values.dtype == object and len(values) and isinstance(values[0], (int, np.integer)):
        values = values.astype(np.int64)
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    if values.dtype.kind == "f":
        raise ValueError(
            f"a label is {float(values[values != np.floor(values)][0])}, a fraction; predicting numbers is regression, "
            "which is not supported: make a few classes of them first"
        )
    if unlabelled and values.dtype.kind == "i":
        below = values[values < -1]
        if below.size:
            raise ValueError(f"a label is {int(below[0])}; -1 is unlabelled, and no class is negative")
        labelled = values != -1
        known[known] = labelled
        values = values[labelled]
    classes, inverse = np.unique(values, return_inverse=True)
    numbers = np.full(len(array), -1, dtype=np.int32)
    numbers[known] = inverse.reshape(-1)
    return numbers, classes


def class_values(names: list[str] | None, count: int) -> npt.NDArray[Any]:
    """What predictions are made of: the names of the classes; whole numbers where all names are such."""
    if names is None:
        return np.arange(count)
    if all(name.lstrip("-").isdigit() and name == str(int(name)) for name in names):
        return np.array([int(name) for name in names])
    return np.array(names)
