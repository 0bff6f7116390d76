"""Holds what the C benchmark printed against the budgets of the design."""

import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from report import Report

BUDGETS = {
    "rate, 1 thread(s), of the layout's limit": {"at_least": 0.995},
    "rate, 8 thread(s), of the layout's limit": {"at_least": 0.99},
    "CPU at the limit, 1 thread(s)": {"at_most": 0.25},
    "CPU at the limit, 8 thread(s)": {"at_most": 0.50},
    "calls refused at the limit, 1 thread(s)": {"at_most": 0},
    "calls refused at the limit, 8 thread(s)": {"at_most": 0},
    "leaseflake_next_id() / (an empty call + reading the wall clock)": {"at_most": 1.5},
    "leaseflake_next_id() / next_id() in Rust": {"at_most": 1.15},
    "fill of 1,000,000 IDs, 20 sequence bits": {"at_least": 100},
}


def main():
    report = Report("c", machine=platform.machine())
    missing = set(BUDGETS)
    for line in sys.stdin:
        what, unit, rounds = line.rstrip("\n").split("\t")
        report.row(what, unit, [float(number) for number in rounds.split()], **BUDGETS.get(what, {}))
        missing.discard(what)
    if missing:
        sys.exit(f"the benchmark ended before it measured: {', '.join(sorted(missing))}")
    sys.exit(report.finish())


main()
