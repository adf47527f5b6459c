"""The progress of a training: tqdm's bar where it is installed, else a line of our own."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

from . import _core


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Progress:
    """Where a training stands, on standard error. Off, it does nothing."""

    PIPE_SECONDS = 10  # between two lines where nobody looks at a terminal
    TERMINAL_SECONDS = 0.1

    def __init__(self, on: bool) -> None:
        self._on = on and sys.stderr is not None
        self._terminal = self._on and sys.stderr.isatty()
        self._notebook = self._on and _is_notebook()
        self._bar: Any = None
        self._shown = self._begin = time.monotonic()
        self._line = False
        self._best = float("nan")

    def note(self, text: str) -> None:
        """A sentence that the user should read."""
        if self._on:
            self._clear()
            print(f"note: {text}", file=sys.stderr)

    def race(self, race: _core.Race) -> None:
        """Where a race for the settings stands."""
        if not self._is_due():
            return
        done = race.done()
        left = (time.monotonic() - self._begin) * (1 - done) / done if done > 0 else 0.0
        leads = [entry for entry in race.entries() if entry["leads"]]
        who = f"; {leads[0]['recipe']} leads with val {leads[0]['score']:.1f} %" if leads else ""
        # The first epochs warm up: what they say of the time left is far too much.
        time_left = f"at most {_duration(left)} left" if done > 0.02 else "just begun"
        self._write(f"race for the settings: {time_left}{who}")

    def epoch(self, epoch: dict[str, Any], epochs: int) -> None:
        """Where a training stands."""
        if not self._on:
            return
        if epoch["best"]:
            self._best = epoch["val_accuracy"]
        if epoch["epoch"] == 1:
            self._clear()
            self._begin = time.monotonic()
        if self._tqdm(epoch, epochs) or not self._is_due():
            return
        spent = time.monotonic() - self._begin
        left = spent / max(epoch["epoch"] - 1, 1) * (epochs - epoch["epoch"])
        self._write(
            f"at most {_duration(left)} left  epoch {epoch['epoch']}/{epochs}  loss {epoch['train_loss']:.4f}  "
            f"val {epoch['val_accuracy']:.1f} % (best {self._best:.1f} %)"
        )

    def close(self) -> None:
        """The line is removed, the bar closed."""
        self._clear()
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _tqdm(self, epoch: dict[str, Any], epochs: int) -> bool:
        if not (self._terminal or self._notebook):
            return False
        if self._bar is None:
            try:
                tqdm = importlib.import_module("tqdm.auto").tqdm
            except ImportError:
                self._bar = False
            else:
                self._bar = tqdm(total=epochs, unit="epoch", leave=False)
        if self._bar is False:
            self._bar = None
            return False
        self._bar.update(epoch["epoch"] - self._bar.n)
        self._bar.set_postfix(loss=f"{epoch['train_loss']:.4f}", val=f"{epoch['val_accuracy']:.1f}%", refresh=False)
        return True

    def _is_due(self) -> bool:
        if not self._on:
            return False
        now = time.monotonic()
        if now - self._shown < (self.TERMINAL_SECONDS if self._terminal else self.PIPE_SECONDS):
            return False
        self._shown = now
        return True

    def _write(self, text: str) -> None:
        if self._terminal:
            self._line = True
            sys.stderr.write(f"\r{text[:200]}\033[K")
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._line:
            self._line = False
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
