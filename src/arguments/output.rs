//! Holds the options of the form of an answer, and of waiting.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};

/// Names a form of the answer on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned, coloured on a terminal; it may change between versions.
    #[default]
    Human,
    /// One JSON document in a versioned envelope.
    Json,
    /// One record a line in a fixed order of fields, which later versions only add to.
    Porcelain,
    /// Tab-separated findings, with other bytes than printable ASCII written as `\ooo`.
    Tsv,
    /// A log of static analysis results in the Static Analysis Results Interchange Format 2.1.0.
    Sarif,
    /// Workflow commands of GitHub Actions, which it shows as annotations.
    Github,
}

/// The requested form of an answer, and how its records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputForm {
    /// The form.
    pub format: Format,
    /// How records end.
    pub end: RecordEnd,
}

impl OutputForm {
    /// For people.
    pub const HUMAN: Self = Self {
        format: Format::Human,
        end: RecordEnd::Newline,
    };
}

/// Says how each record ends, and so whether paths are escaped in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordEnd {
    /// With a newline.
    Newline,
    /// With NUL (`-z`).
    Nul,
}

impl RecordEnd {
    /// Returns the byte that ends a record.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Newline => b'\n',
            Self::Nul => 0,
        }
    }
}

/// The form of the answer of a command: for people or in JSON.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct AnswerOutput {
    /// Print the answer in this form [default: human]
    ///
    /// `human` is for people and may change between versions; `json` is one document with a
    /// versioned schema.
    #[arg(long, value_name = "form", value_parser = forms(&["human", "json"]))]
    format: Option<Format>,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl AnswerOutput {
    /// The requested form.
    pub fn form(&self) -> OutputForm {
        let short = self.json.then_some(Format::Json);
        OutputForm {
            format: self.format.or(short).unwrap_or_default(),
            end: RecordEnd::Newline,
        }
    }
}

/// The form of the records of a command: for people, for scripts or in JSON.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct ListOutput {
    /// Print the answer in this form [default: human]
    ///
    /// `human` is for people and may change between versions; `json` is one document with a
    /// versioned schema; `porcelain` is one record a line for scripts.
    #[arg(long, value_name = "form", value_parser = forms(&["human", "json", "porcelain"]))]
    format: Option<Format>,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Short for --format=porcelain
    #[arg(long, conflicts_with_all = ["format", "json"])]
    porcelain: bool,
    /// End records with NUL and escape nothing; implies --porcelain
    ///
    /// Names and paths are then printed byte for byte. With `--format=tsv` the records stay those
    /// of TSV; JSON does not change.
    #[arg(short = 'z')]
    nul: bool,
}

impl ListOutput {
    /// The requested form; `-z` alone requests [`Format::Porcelain`].
    pub fn form(&self) -> OutputForm {
        let json = self.json.then_some(Format::Json);
        let porcelain = (self.porcelain || self.nul).then_some(Format::Porcelain);
        let format = self.format.or(json).or(porcelain);
        OutputForm {
            format: format.unwrap_or_default(),
            end: if self.nul {
                RecordEnd::Nul
            } else {
                RecordEnd::Newline
            },
        }
    }
}

/// Holds the option that says whether to wait.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitOption {
    /// Do not wait for another git-agentwt that works on the same worktree
    ///
    /// Only one command at a time works on a worktree: a second command waits, and after one second
    /// names the process that it waits for. With this option it is refused at once (exit 4).
    #[arg(long)]
    pub no_wait: bool,
}

/// Accepts these forms and no others, so that the help of each command lists its forms.
pub fn forms(names: &'static [&'static str]) -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(names).map(|name| Format::from_str(&name, false).unwrap_or_default())
}

/// Adds the form TSV to `--format` of [`ListOutput`].
pub fn with_tsv(format: Arg) -> Arg {
    format
        .long_help(FORMS_HELP)
        .value_parser(forms(&["human", "json", "porcelain", "tsv"]))
}

/// Adds the forms TSV and those for code review to `--format` of [`ListOutput`].
pub fn with_review_forms(format: Arg) -> Arg {
    let review = "`sarif` is a SARIF 2.1.0 log for code scanning; `github` prints workflow \
        commands that GitHub shows as annotations.";
    format
        .long_help(format!("{FORMS_HELP} {review}"))
        .value_parser(forms(&[
            "human",
            "json",
            "porcelain",
            "tsv",
            "sarif",
            "github",
        ]))
}

/// The help of `--format` with TSV.
const FORMS_HELP: &str = "Print the answer in this form [default: human]\n\n`human` is for people \
    and may change between versions; `json` is one document with a versioned schema; `porcelain` \
    is one record a line for scripts; `tsv` is one finding a line with its path, kind, reason and \
    level.";
