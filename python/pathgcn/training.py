"""Training: settings are found, then the epochs run with progress and callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._progress import Progress
from ._settings import config_of, documents_settings
from .data import Dataset
from .model import Model

Callback = Callable[[dict[str, Any]], object]


class Interrupted(KeyboardInterrupt):
    """A training was interrupted by Ctrl-C. `model` has the best weights so far; None if there are none yet."""

    def __init__(self, model: Model | None, where: str) -> None:
        saved = "its best weights are in .model and pathgcn.interrupted_model()" if model else "there is no model yet"
        super().__init__(f"training interrupted {where}; {saved}")
        self.model = model


_interrupted: Model | None = None


def interrupted_model() -> Model | None:
    """The model of the last training that was interrupted by Ctrl-C, for notebooks; or None."""
    return _interrupted


@documents_settings
def train(
    data: Dataset,
    *,
    recipe: str | None = None,
    seed: int = 0,
    progress: bool = True,
    callback: Callback | None = None,
    **settings: Any,
) -> Model:
    """Trains a network and returns the model with the best weights on validation items.

    The same data, settings and seed give the same bits, on any number of threads, here and in the program.
    Several trainings may run in threads of one process.

    Parameters
    ----------
    data : Dataset
    recipe : str, optional
        Where settings start from: a name that `recipes` lists, a kind (``"paper"``, ``"full"``; of other networks
        ``"authors"``, ``"default"``), a file, ``"none"`` for the defaults, or ``"auto"`` for a race of recipes on
        validation items. Default: the recipe of the data set, or a race where there is none.
    seed : int
        Of weights, paths and dropout; it also chooses among numbered splits.
    progress : bool
        Shows a line with the time left, by tqdm if that is installed, and notes about what was chosen.
    callback : function of a dictionary, optional
        Called after every epoch with its figures (``epoch``, ``train_loss``, ``val_accuracy``, ...). Returning
        False ends the training, with the best weights so far. An exception ends it, too, and is passed on.
    **settings
        Any setting of the table below, over those of the recipe; `model` may be ``"auto"``, too.

        {settings}

    Returns
    -------
    Model

    Raises
    ------
    Interrupted
        After Ctrl-C, which ends a training within a step: it has the model so far.

    Examples
    --------
    >>> import pathgcn
    >>> data = pathgcn.load("karate")
    >>> model = pathgcn.train(data, recipe="none", layers=2, epochs=50, seed=1, progress=False)
    >>> model.evaluate(data)["test"]["accuracy"] > 70
    True
    """
    if not isinstance(data, Dataset):
        raise TypeError(f"expected a pathgcn.Dataset, not {type(data).__name__}")
    show = Progress(progress)
    all_networks = settings.get("model") == "auto"
    if all_networks:
        settings = {key: value for key, value in settings.items() if key != "model"}
    given = config_of({**settings, "seed": seed})
    for note in data.notes:
        show.note(note)
    try:
        config, data = _choose(data, recipe, given, set(settings), all_networks, show)
        config.overlay(given)
        _settle_memory(data, config, set(settings), show)
        config.check(None)
        return _run(_core.Trainer(data._core, config), config, callback, show)
    finally:
        show.close()


def _settle_memory(data: Dataset, config: _core.Config, keys: set[str], show: Progress) -> None:
    """Of features that stay on disk: evaluations that need no whole graph, where steps have batches of nodes."""
    evaluated = 10000
    by_nodes = "batch" in keys or config.get("batch-by") == "nodes"
    if data.row_reads is None or not by_nodes or "eval_nodes" in keys or config.get("eval-nodes") != "0":
        return
    config.set("eval-nodes", str(evaluated))
    show.note(
        f"features stay on disk, so that evaluations look at {evaluated} validation and {evaluated} test nodes, by drawn "
        "paths; eval_nodes decides otherwise"
    )


def _is_general(info: dict[str, Any]) -> bool:
    return int(info["version"]) == 0 or info["dataset"] == "any"


def _find(recipe: str | None, data: Dataset, given: _core.Config, keys: set[str]) -> tuple[_core.Config, dict[str, Any]]:
    return _core.find_recipe(
        recipe,
        given.get("model") if "model" in keys else None,
        data._core,
        given.get("split") if "split" in keys else None,
        int(given.get("layers")) if "layers" in keys else 0,
    )


def _choose(
    data: Dataset, recipe: str | None, given: _core.Config, keys: set[str], all_networks: bool, show: Progress
) -> tuple[_core.Config, Dataset]:
    """The settings to train with, before those of the user, and the data as their recipe prepares it."""
    if all_networks and recipe not in (None, "auto"):
        raise ValueError(f"model='auto' races the recipes of all networks and recipe is {recipe!r}; leave out one of the two")
    other_network = "model" in keys and given.get("model") != "pathgcn"
    if recipe == "auto" and other_network:
        raise ValueError(
            f"recipe='auto' is the race of pathgcn's families and model is {given.get('model')!r}; leave out recipe, "
            "or give model='auto' to race all networks"
        )
    races = recipe == "auto" or all_networks
    if data.row_reads is not None and races:
        raise ValueError(
            "a race prepares the data in several ways, and with memory=... it stays on disk as it is; give recipe='usual', "
            "or the name of one"
        )
    if data.row_reads is not None and recipe is None and not other_network:
        recipe = "usual"
    if not races:
        config, info = _find(None if recipe == "usual" else recipe, data, given, keys)
        races = recipe is None and not other_network and _is_general(info)
    if races and recipe is None and not all_networks and not _validates(data):
        config, info = _find("any-alike" if data.task == "node" else None, data, given, keys - {"split"})
        show.note(f"nothing validates, so that no recipes can race: the settings are those of {info['name']}")
    elif races:
        name = _race(data, given, all_networks, show)
        config, info = _find(name, data, given, keys - {"model", "split"})
        known = "" if recipe or all_networks else "no recipe is known for this data set; "
        show.note(f"{known}recipe {name} won the race on validation")
    elif recipe is None and _is_general(info) and info["version"]:
        show.note(f"{given.get('model')} has no recipe for this data set; its recipe for any is {info['name']}")
    if info["other_dataset"]:
        show.note(f"recipe {info['name']} was written for data set {info['dataset']}, not for {data.name}")
    return config, _prepare(data, info, show)


def _validates(data: Dataset) -> bool:
    return any(split.val.any() for split in data.splits.values())


def _prepare(data: Dataset, info: dict[str, Any], show: Progress) -> Dataset:
    """Steps of the user's replace those of a recipe, unless the recipe is for any data."""
    steps = info["prepare"]
    if not steps or (data.info["steps"] and not _is_general(info)):
        return data
    show.note(f"recipe {info['name']} prepares the data set: {steps}")
    return data.prepare(steps)


def _race(data: Dataset, given: _core.Config, all_networks: bool, show: Progress) -> str:
    race = _core.Race(data._core, given, all_networks)
    try:
        while not race.finished():
            race.epoch()
            show.race(race)
    except KeyboardInterrupt:
        raise _interrupt(None, 0, "in the race for the settings (recipe=NAME trains without one)") from None
    return str(race.winner()["name"])


def _interrupt(model: Model | None, epochs: int, where: str | None = None) -> Interrupted:
    global _interrupted
    _interrupted = model
    return Interrupted(model, where or f"after {epochs} epochs")


def _model_so_far(trainer: _core.Trainer) -> Model | None:
    if not any(epoch["best"] for epoch in trainer.history()):
        return None
    return Model(trainer.model())


def _run(trainer: _core.Trainer, config: _core.Config, callback: Callback | None, show: Progress) -> Model:
    epochs = int(config.get("epochs"))
    try:
        while not trainer.finished():
            epoch = trainer.epoch()
            show.epoch(epoch, epochs)
            if callback is not None and callback(epoch) is False:
                break
    except KeyboardInterrupt:
        raise _interrupt(_model_so_far(trainer), len(trainer.history())) from None
    val, test = trainer.scores()
    return Model(trainer.model(), {"val": val, "test": test})


def recipes(dataset: str | None = None) -> list[dict[str, Any]]:
    """The recipes that there are: name, data sets, task, and a sentence about each.

    Parameters
    ----------
    dataset : str, optional
        Only those for this data set.

    Examples
    --------
    >>> import pathgcn
    >>> pathgcn.recipes("cora")[0]["dataset"]
    'cora'
    """
    found = _core.recipes()
    if dataset is None:
        return found
    return [recipe for recipe in found if dataset in recipe["dataset"].split()]


def networks() -> dict[str, str]:
    """The networks that the setting `model` names, with a line about each.

    Examples
    --------
    >>> import pathgcn
    >>> "gcn" in pathgcn.networks()
    True
    """
    return dict(_core.networks())
