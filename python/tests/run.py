#!/usr/bin/env python3
"""Runs one test file by pytest, for ctest: exit code 77 and the reason if all of it was skipped.

run.py FILE [ARGUMENT...]: arguments for pytest.
"""

import sys

try:
    import pytest
except ImportError:
    print("SKIPPED: pytest is not installed (Debian: apt-get install python3-pytest)")
    sys.exit(77)

SKIPPED = 77


class Count:
    """How many tests ran, and why others did not."""

    def __init__(self):
        self.ran = 0
        self.reasons = []

    def pytest_runtest_logreport(self, report):
        if report.skipped:
            self._note(report)
        elif report.when == "call":
            self.ran += 1

    def pytest_collectreport(self, report):
        if report.skipped:
            self._note(report)

    def _note(self, report):
        # (file, line, "Skipped: reason"); an expected failure has its traceback instead.
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if reason not in self.reasons:
            self.reasons.append(reason)


def main():
    count = Count()
    code = pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[count])
    nothing_ran = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and count.ran == 0
    if not nothing_ran:
        return int(code)
    print("SKIPPED:", "; ".join(count.reasons) or "the file holds no test")
    return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
