//! Defines the options that commands share: the form of the answer (`--format` and its short forms),
//! and whether to wait.
//!
//! Four groups, because not every form makes sense for every command: [`AnswerOutput`] for
//! commands that do one thing, [`ListOutput`] for those that print records, [`FindingsOutput`]
//! for those that print what happened to which path, [`VerdictOutput`] for the one that judges it.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Names a form of the answer on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Lets a command answer for people or in JSON.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct AnswerOutput {
    /// Print the answer in this form [default: human]
    ///
    /// `human` is for people and may change between versions, `json` is a document with a
    /// versioned envelope.
    #[arg(long, value_name = "form", value_parser = parser(&[HUMAN, JSON]))]
    format: Option<Format>,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Lets a command print records for people, for scripts or in JSON.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct ListOutput {
    /// Print the answer in this form [default: human]
    ///
    /// `human` is for people and may change between versions, `json` is a document with a
    /// versioned envelope, `porcelain` is one record a line for scripts.
    #[arg(long, value_name = "form", value_parser = parser(&[HUMAN, JSON, PORCELAIN]))]
    format: Option<Format>,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Short for --format=porcelain
    #[arg(long, conflicts_with_all = ["format", "json"])]
    porcelain: bool,
    /// End records with NUL and escape nothing; implies --porcelain
    ///
    /// Names and paths are then printed byte for byte, whatever is in them. JSON is not changed
    /// by it.
    #[arg(short = 'z')]
    nul: bool,
}

/// Lets a command print changes or findings for people, for scripts, in JSON or as TSV.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct FindingsOutput {
    /// Print the answer in this form [default: human]
    ///
    /// `human` is for people and may change between versions, `json` is a document with a
    /// versioned envelope, `porcelain` is one record a line for scripts, `tsv` is one finding a
    /// line with its path, kind, reason and level.
    #[arg(long, value_name = "form", value_parser = parser(&[HUMAN, JSON, PORCELAIN, TSV]))]
    format: Option<Format>,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Short for --format=porcelain
    #[arg(long, conflicts_with_all = ["format", "json"])]
    porcelain: bool,
    /// End records with NUL and escape nothing; implies --porcelain
    ///
    /// Paths are then printed byte for byte, whatever is in them. With `--format=tsv` the
    /// records stay those of TSV; JSON is not changed by it.
    #[arg(short = 'z')]
    nul: bool,
}

/// Lets a command print its verdict in every form, those of code review among them.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct VerdictOutput {
    /// Print the answer in this form [default: human]
    ///
    /// `human` is for people and may change between versions, `json` is a document with a
    /// versioned envelope, `porcelain` is one record a line for scripts, `tsv` is one finding a
    /// line with its path, kind, reason and level. `sarif` is a SARIF 2.1.0 log for code scanning,
    /// `github` prints workflow commands that GitHub shows as annotations.
    #[arg(long, value_name = "form", value_parser = parser(&[HUMAN, JSON, PORCELAIN, TSV, SARIF, GITHUB]))]
    format: Option<Format>,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Short for --format=porcelain
    #[arg(long, conflicts_with_all = ["format", "json"])]
    porcelain: bool,
    /// End records with NUL and escape nothing; implies --porcelain
    ///
    /// Paths are then printed byte for byte, whatever is in them. With `--format=tsv` the
    /// records stay those of TSV; JSON is not changed by it.
    #[arg(short = 'z')]
    nul: bool,
}

/// Holds the option that says whether to wait.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitOption {
    /// Do not wait for another git agentwt that works on the same worktree
    ///
    /// One name, one operation at a time: a second command waits, and after a second says for
    /// which process. With this option it is refused at once (exit 4).
    #[arg(long)]
    pub no_wait: bool,
}

impl AnswerOutput {
    /// The form that was asked for.
    #[must_use]
    pub fn format(&self) -> Format {
        let short = self.json.then_some(Format::Json);
        self.format.or(short).unwrap_or_default()
    }
}

impl ListOutput {
    /// The form that was asked for; `-z` alone asks for [`Format::Porcelain`].
    #[must_use]
    pub fn format(&self) -> Format {
        choose(self.format, self.json, self.porcelain || self.nul)
    }

    /// Whether `-z` was given.
    #[must_use]
    pub fn nul(&self) -> bool {
        self.nul
    }
}

impl FindingsOutput {
    /// The form that was asked for; `-z` alone asks for [`Format::Porcelain`].
    #[must_use]
    pub fn format(&self) -> Format {
        choose(self.format, self.json, self.porcelain || self.nul)
    }

    /// Whether `-z` was given.
    #[must_use]
    pub fn nul(&self) -> bool {
        self.nul
    }
}

impl VerdictOutput {
    /// The form that was asked for; `-z` alone asks for [`Format::Porcelain`].
    #[must_use]
    pub fn format(&self) -> Format {
        choose(self.format, self.json, self.porcelain || self.nul)
    }

    /// Whether `-z` was given.
    #[must_use]
    pub fn nul(&self) -> bool {
        self.nul
    }
}

/// The long form wins, then JSON: clap has refused what contradicts itself.
fn choose(format: Option<Format>, json: bool, porcelain: bool) -> Format {
    let short = json
        .then_some(Format::Json)
        .or(porcelain.then_some(Format::Porcelain));
    format.or(short).unwrap_or_default()
}

type Form = (&'static str, Format);
const HUMAN: Form = ("human", Format::Human);
const JSON: Form = ("json", Format::Json);
const PORCELAIN: Form = ("porcelain", Format::Porcelain);
const TSV: Form = ("tsv", Format::Tsv);
const SARIF: Form = ("sarif", Format::Sarif);
const GITHUB: Form = ("github", Format::Github);

/// Accepts these forms and no others, so that the help of each command names what it can do.
fn parser(forms: &'static [Form]) -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(forms.iter().map(|(name, _)| PossibleValue::new(*name))).map(
        |given| {
            forms
                .iter()
                .find(|(name, _)| *name == given)
                .map_or(Format::Human, |(_, format)| *format)
        },
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Fixture {
        #[command(flatten)]
        output: FindingsOutput,
    }

    #[test]
    fn short_forms_and_the_long_one_say_the_same() {
        for (arguments, format) in [
            (&[][..], Format::Human),
            (&["--json"], Format::Json),
            (&["--format=json"], Format::Json),
            (&["--porcelain"], Format::Porcelain),
            (&["-z"], Format::Porcelain),
            (&["-z", "--json"], Format::Json),
            (&["-z", "--format", "tsv"], Format::Tsv),
        ] {
            let arguments = std::iter::once("x").chain(arguments.iter().copied());
            let fixture = Fixture::try_parse_from(arguments).expect("they do not contradict");
            assert_eq!(fixture.output.format(), format);
        }
        for arguments in [["--json", "--porcelain"], ["--json", "--format=tsv"]] {
            assert!(Fixture::try_parse_from(std::iter::once("x").chain(arguments)).is_err());
        }
    }
}
