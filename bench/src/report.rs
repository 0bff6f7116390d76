//! Rows of the budget table, as text and as JSON.

use std::process::ExitCode;

use serde::Serialize;

/// Which way a budget goes.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Budget {
    /// The best round must reach this.
    AtLeast(f64),
    /// The best round must stay within this.
    AtMost(f64),
    /// Shown beside the others; nothing is asked of it.
    Shown,
}

/// One row: all rounds, and the best of them.
#[derive(Serialize)]
struct Row {
    what: String,
    unit: &'static str,
    budget: Budget,
    rounds: Vec<f64>,
    best: f64,
    median: f64,
    worst: f64,
    met: bool,
}

/// All rows of a run.
#[derive(Serialize)]
pub(crate) struct Report {
    name: &'static str,
    cores: usize,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(name: &'static str) -> Report {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        println!("{:<66} {:>10} {:>10} {:>10}  budget", name, "best", "median", "worst");
        Report { name, cores, rows: Vec::new() }
    }

    /// Adds a row and shows it.
    pub(crate) fn row(&mut self, what: impl Into<String>, unit: &'static str, budget: Budget, rounds: Vec<f64>) {
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        if matches!(budget, Budget::AtLeast(_)) {
            sorted.reverse();
        }
        let (best, median, worst) = (sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
        let met = match budget {
            Budget::AtLeast(least) => best >= least,
            Budget::AtMost(most) => best <= most,
            Budget::Shown => true,
        };
        let what = what.into();
        let wanted = match budget {
            Budget::AtLeast(least) => format!(">= {least} {}", if met { "met" } else { "MISSED" }),
            Budget::AtMost(most) => format!("<= {most} {}", if met { "met" } else { "MISSED" }),
            Budget::Shown => String::new(),
        };
        println!("{what:<66} {best:>10.3} {median:>10.3} {worst:>10.3}  {wanted} ({unit})");
        self.rows.push(Row { what, unit, budget, rounds, best, median, worst, met });
    }

    /// Writes the JSON; a missed budget is shown, and ends the run with 1.
    pub(crate) fn finish(self) -> ExitCode {
        let folder = std::path::Path::new(crate::RESULTS);
        let file = folder.join(format!("{}.json", self.name));
        let json = serde_json::to_string_pretty(&self).expect("rows are plain numbers");
        if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, json + "\n")) {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
        let missed = self.rows.iter().filter(|row| !row.met).count();
        println!("{} rows, {missed} budgets missed", self.rows.len());
        if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
