"""Rows of the budget table, as text and as JSON: what `bench/src/report.rs` is to the core, for other languages."""

import json
import os
import pathlib
import statistics

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


class Report:
    """All rows of a run. Each is measured in rounds: the best one is held against the budget, for noise only ever
    makes a round worse."""

    def __init__(self, name, **about):
        self.name = name
        self.about = about
        self.rows = []
        print(f"{name:<66} {'best':>10} {'median':>10} {'worst':>10}  budget")

    def row(self, what, unit, rounds, at_least=None, at_most=None):
        """Adds a row and shows it."""
        ordered = sorted(rounds, reverse=at_least is not None or unit.endswith("/s"))
        best, worst = ordered[0], ordered[-1]
        if at_least is not None:
            budget, wanted, met = {"at_least": at_least}, f">= {at_least}", best >= at_least
        elif at_most is not None:
            budget, wanted, met = {"at_most": at_most}, f"<= {at_most}", best <= at_most
        else:
            budget, wanted, met = "shown", "", True
        verdict = f"{wanted} {'met' if met else 'MISSED'} " if wanted else ""
        median = statistics.median(ordered)
        print(f"{what:<66} {best:>10.3f} {median:>10.3f} {worst:>10.3f}  {verdict}({unit})", flush=True)
        self.rows.append(
            {
                "what": what,
                "unit": unit,
                "budget": budget,
                "rounds": list(rounds),
                "best": best,
                "median": median,
                "worst": worst,
                "met": met,
            }
        )

    def finish(self):
        """Writes the JSON; gives how the run is to end: with 1 where a budget is missed."""
        whole = {"name": self.name, "cores": os.cpu_count(), **self.about, "rows": self.rows}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.name}.json").write_text(json.dumps(whole, indent=2) + "\n")
        missed = sum(not row["met"] for row in self.rows)
        print(f"{len(self.rows)} rows, {missed} budgets missed")
        return 1 if missed else 0
