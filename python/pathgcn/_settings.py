"""Settings as keyword arguments: their values as text, and their documentation from the library's table."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])


def key_of(keyword: str) -> str:
    """``path_length`` is the setting ``path-length``."""
    return keyword.replace("_", "-")


def as_text(value: Any) -> str:
    """The text that the library reads as this value."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(as_text(part) for part in value)
    if isinstance(value, (int, np.integer, str)):
        return str(value)
    raise TypeError(f"a setting is {value!r}, expected a number, a word, True or False")


def as_value(text: str) -> Any:
    """A setting's text as bool, int, float or str."""
    if text in ("yes", "no"):
        return text == "yes"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def config_of(settings: Mapping[str, Any]) -> _core.Config:
    """The defaults with these settings, which are then known to be the user's own."""
    config = _core.Config()
    known = [field["key"].replace("-", "_") for field in _core.fields()]
    for keyword, value in settings.items():
        if key_of(keyword) not in map(key_of, known):
            near = difflib.get_close_matches(keyword, known, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ";"
            raise _core.ArgumentError(f"there is no setting {keyword!r}{meant} pathgcn.settings() has them all")
        if value is not None:
            config.set(key_of(keyword), as_text(value))
    return config


def config_to_dict(config: _core.Config) -> dict[str, Any]:
    """What the network uses, by keyword."""
    return {
        field["key"].replace("-", "_"): as_value(config.get(field["key"]))
        for field in _core.fields()
        if config.uses(field["key"])
    }


def settings(network: str | None = None) -> dict[str, dict[str, str]]:
    """The settings that `train` takes as keyword arguments.

    Parameters
    ----------
    network : str, optional
        Only what this network uses.

    Returns
    -------
    dict
        By keyword: what it ``accepts``, its ``default``, a ``help`` line and its ``group``.

    Examples
    --------
    >>> import pathgcn
    >>> pathgcn.settings()["path_length"]["accepts"]
    '1..4096'
    """
    config = _core.Config()
    if network is not None:
        config.set("model", network)
    return {
        field["key"].replace("-", "_"): {
            "accepts": "False or True" if field["accepts"] == "no | yes" else field["accepts"],
            "default": config.get(field["key"]),
            "help": field["help"].replace("'pathgcn train --model NAME --help'", "pathgcn.settings(NAME)"),
            "group": field["group"],
        }
        for field in _core.fields()
        if network is None or config.uses(field["key"])
    }


def _entry(keyword: str, about: dict[str, str]) -> str:
    wrapped = textwrap.fill(about["help"], 100, initial_indent="    ", subsequent_indent="    ")
    return f"{keyword} : {about['accepts']}\n{wrapped}"


def documents_settings(function: Function) -> Function:
    """Puts the table of settings into a docstring, in place of ``{settings}``."""
    if function.__doc__ and "{settings}" in function.__doc__:
        table = "\n".join(_entry(keyword, about) for keyword, about in settings().items())
        lines = function.__doc__.splitlines()
        at = next(i for i, line in enumerate(lines) if "{settings}" in line)
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at] = textwrap.indent(table, indent)
        function.__doc__ = "\n".join(lines)
    return function
