//! Prints: the only code that does. Turns an [`Answer`] into the text of a [`Format`].
//!
//! stdout carries the answer, stderr the conversation. JSON has a versioned envelope
//! (`"schema": "agentwt.<command>/1"`); absent means not applicable, null asked but unknown.

mod changed;
mod doctor;
mod errors;
mod github;
mod human;
mod json;
mod listed;
mod paint;
mod porcelain;
pub mod progress;
mod prune;
mod renewed;
mod sarif;
mod sync;
mod table;
mod trash;
mod watching;

use camino::Utf8PathBuf;

pub use errors::render as render_error;
pub use json::line as json_line;
pub use paint::Paint;
pub use watching::screen;

use crate::cli::Format;
use crate::client::About;
use crate::commands::add::Added;
use crate::commands::changed::ChangedAnswer;
use crate::commands::doctor::Doctored;
use crate::commands::hook::HookAnswer;
use crate::commands::hooks::HooksAnswer;
use crate::commands::init::Initialised;
use crate::commands::list::Listed;
use crate::commands::prune::Pruned;
use crate::commands::range::RangeVerdict;
use crate::commands::reapply::Reapplied;
use crate::commands::remove::Removed;
use crate::commands::renew::Renewed;
use crate::commands::restore::RestoreAnswer;
use crate::commands::revive::Revived;
use crate::commands::scope::ScopeAnswer;
use crate::commands::status::StatusAnswer;
use crate::commands::sync::Synced;
use crate::commands::verify::Verified;
use crate::verify::Report;

/// Holds the answer of a command.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the answer of the command of its name")]
#[expect(clippy::large_enum_variant, reason = "a run has one")]
pub enum Answer {
    Init(Initialised),
    Add(Added),
    List(Listed),
    Status(Vec<StatusAnswer>),
    Path(Utf8PathBuf),
    Clients(Vec<&'static About>),
    Scope(ScopeAnswer),
    Changed {
        answer: Box<ChangedAnswer>,
        shown: Shown,
    },
    Verify(Vec<Verified>),
    Range(RangeVerdict),
    Reapply(Reapplied),
    Restore(RestoreAnswer),
    Remove(Vec<Removed>),
    Prune(Pruned),
    Renew(Renewed),
    Revive(Vec<Revived>),
    Sync(Vec<Synced>),
    Hooks(HooksAnswer),
    Doctor(Doctored),
    Hook(HookAnswer),
    Text(String),
}

/// Says how the paths of changes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// From the root of the file system (`--absolute`).
    pub absolute: bool,
    /// Without what happened (`--name-only`).
    pub name_only: bool,
}

/// Says how records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a newline; other bytes are escaped.
    Newline,
    /// With NUL; bytes are printed as they are.
    Nul,
}

/// Holds what goes where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The answer.
    pub stdout: Vec<u8>,
    /// The conversation.
    pub stderr: String,
}

/// Holds one verdict: what was judged, by which scope profile, and the report.
struct Judged<'a> {
    name: &'a str,
    profile: Option<&'a str>,
    report: &'a Report,
}

impl Answer {
    /// The verdicts of verification, whatever it looked at; none for any other answer.
    fn verdicts(&self) -> Vec<Judged<'_>> {
        match self {
            Self::Verify(all) => {
                let verdicts = all.iter().map(|one| Judged {
                    name: &one.name,
                    profile: None,
                    report: &one.report,
                });
                verdicts.collect()
            }
            Self::Range(one) => vec![Judged {
                name: &one.range,
                profile: one.profile.as_deref(),
                report: &one.report,
            }],
            Self::Init(_)
            | Self::Add(_)
            | Self::List(_)
            | Self::Status(_)
            | Self::Path(_)
            | Self::Clients(_)
            | Self::Scope(_)
            | Self::Changed { .. }
            | Self::Reapply(_)
            | Self::Remove(_)
            | Self::Prune(_)
            | Self::Renew(_)
            | Self::Revive(_)
            | Self::Sync(_)
            | Self::Restore(_)
            | Self::Hooks(_)
            | Self::Doctor(_)
            | Self::Hook(_)
            | Self::Text(_) => Vec::new(),
        }
    }
}

/// Renders an answer.
#[must_use]
pub fn render(
    answer: &Answer,
    format: Format,
    end: End,
    paint: Paint,
    notes: &[String],
) -> Printed {
    match format {
        Format::Human => human::render(answer, end, paint),
        Format::Json => Printed {
            stdout: json::render(answer, notes),
            stderr: String::new(),
        },
        Format::Porcelain => Printed {
            stdout: porcelain::porcelain(answer, end),
            stderr: String::new(),
        },
        Format::Tsv => Printed {
            stdout: porcelain::tsv(answer, end),
            stderr: String::new(),
        },
        Format::Sarif => Printed {
            stdout: sarif::render(answer),
            stderr: String::new(),
        },
        Format::Github => github::render(answer),
    }
}
