//! `leaseflake doctor`: looks at what a generator needs, and says what to do about what is wrong.

mod clock;
mod findings;
mod registry;

use clap::Args;
use serde_json::{Value, json};

use super::registry::Format;
use crate::args::RegistryArgs;
use crate::failure::Failure;
use crate::output;
use findings::{Finding, Verdict};

/// Check the clock and the registry, and say what to do about what is wrong.
///
/// Looks at the clock (is it synchronised, by the kernel's own word), at the registry (can it be
/// reached, how long does an answer take, does its time agree with ours), at the pinned layout, at
/// how long the timestamps of the layout last, and at how many worker IDs are free. Changes nothing
/// and takes no worker ID.
///
/// Each finding is `ok`, `warning` (works, but look at it) or `wrong` (processes fail, or soon will). Exits with
/// 1 if anything is wrong.
#[derive(Args)]
pub(crate) struct Doctor {
    /// How to show the findings.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    registry: RegistryArgs,
}

impl Doctor {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let options = self.registry.options()?;
        let layout = options.resolve_layout()?;
        let mut findings = vec![clock::synchronised(), clock::timestamps(&layout)];
        findings.extend(registry::check(&options)?);
        output::print(&match self.format {
            Format::Text => text(&findings, output::columns().unwrap_or(100)),
            Format::Json => format!("{:#}\n", json(&findings)),
        })?;
        let wrong = findings.iter().any(|finding| finding.verdict == Verdict::Wrong);
        if wrong { Err(Failure::Said) } else { Ok(()) }
    }
}

const INDENT: usize = 22;

fn text(findings: &[Finding], columns: usize) -> String {
    let mut text = String::new();
    for finding in findings {
        let mut first = format!("{:<8} {:<12} ", finding.verdict.name(), finding.what);
        let advice = finding.advice.as_ref().map(|advice| format!("-> {advice}"));
        for said in std::iter::once(&finding.found).chain(advice.as_ref()) {
            for line in wrapped(&output::one_line(said), columns.saturating_sub(INDENT).max(30)) {
                text.push_str(&first);
                text.push_str(&line);
                text.push('\n');
                first = " ".repeat(INDENT);
            }
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    text.push_str(&match (count(Verdict::Wrong), count(Verdict::Warning)) {
        (0, 0) => "\nall is well\n".to_owned(),
        (wrong, warnings) => format!("\n{wrong} wrong, {warnings} to look at\n"),
    });
    text
}

/// Lines of at most so many characters, broken between words.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("never empty");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= most {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn json(findings: &[Finding]) -> Value {
    let wrong = findings.iter().any(|finding| finding.verdict == Verdict::Wrong);
    let findings = findings.iter().map(|finding| {
        json!({
            "check": finding.what,
            "verdict": finding.verdict.name(),
            "found": finding.found,
            "advice": finding.advice,
            "figures": finding.figures,
        })
    });
    json!({ "wrong": wrong, "findings": findings.collect::<Vec<_>>() })
}
