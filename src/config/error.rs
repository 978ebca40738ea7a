//! Holds [`ConfigError`]: every [`Mistake`] of a config file or of the settings, at once.
//!
//! `Diagnostic` is written by hand, because miette 7.6's derive raises false `unused_assignments`
//! warnings (zkat/miette#458).

use std::fmt;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};

use crate::path::escape_for_terminal;

/// Holds all mistakes of one file, or of the settings around it, in the order of the file.
///
/// With one mistake it reads as that mistake; with more it counts them, and each follows with its
/// own lines, underline and help (miette's `related`).
#[derive(Clone, Debug)]
pub struct ConfigError {
    source: Option<NamedSource<String>>,
    mistakes: Vec<Mistake>,
}

/// Tells of one mistake: what it is, where it is, and what to write in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What sort of mistake it is.
    pub kind: MistakeKind,
    /// The fact: lower case, one line, escaped for a terminal.
    pub message: String,
    /// Where it is in the file; nothing for a variable or a flag.
    pub place: Option<MistakePlace>,
    /// What to write.
    pub help: String,
}

/// Points into the config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MistakePlace {
    /// The line, from 1.
    pub line: u32,
    /// The bytes to underline, in the text without its byte order mark.
    pub span: SourceSpan,
    /// What stands under the underline.
    pub label: String,
}

/// Names the sorts of mistakes; each has a code that stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MistakeKind {
    /// The file is not TOML.
    Syntax,
    /// A key or table is set twice.
    DuplicateKey,
    /// `schema_version` is missing.
    MissingSchemaVersion,
    /// `schema_version` is one that this program does not read.
    SchemaVersion,
    /// A key or table that does not exist.
    UnknownKey,
    /// A value of another type than the key takes.
    WrongType,
    /// A word that is none of the key's values.
    UnknownValue,
    /// A value that may not be empty is.
    EmptyValue,
    /// A limit that is not a positive number, or beyond what can be counted.
    Limit,
    /// A scope profile's name is empty or has control characters.
    ProfileName,
    /// There is no scope profile of the asked name.
    UnknownProfile,
    /// A branch prefix that git would refuse.
    BranchPrefix,
    /// A glob of files to sync that is none, or could leave the repository.
    SyncPattern,
}

impl MistakeKind {
    /// Every sort, for the documentation tests.
    pub const ALL: [Self; 13] = [
        Self::Syntax,
        Self::DuplicateKey,
        Self::MissingSchemaVersion,
        Self::SchemaVersion,
        Self::UnknownKey,
        Self::WrongType,
        Self::UnknownValue,
        Self::EmptyValue,
        Self::Limit,
        Self::ProfileName,
        Self::UnknownProfile,
        Self::BranchPrefix,
        Self::SyncPattern,
    ];

    /// The code that is shown and that programs may compare.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Syntax => "agentwt::config::syntax",
            Self::DuplicateKey => "agentwt::config::duplicate_key",
            Self::MissingSchemaVersion => "agentwt::config::missing_schema_version",
            Self::SchemaVersion => "agentwt::config::schema_version",
            Self::UnknownKey => "agentwt::config::unknown_key",
            Self::WrongType => "agentwt::config::wrong_type",
            Self::UnknownValue => "agentwt::config::unknown_value",
            Self::EmptyValue => "agentwt::config::empty_value",
            Self::Limit => "agentwt::config::limit",
            Self::ProfileName => "agentwt::config::profile_name",
            Self::UnknownProfile => "agentwt::config::unknown_profile",
            Self::BranchPrefix => "agentwt::config::branch_prefix",
            Self::SyncPattern => "agentwt::config::sync_pattern",
        }
    }
}

impl ConfigError {
    /// The code of an error that holds more than one mistake.
    pub const SEVERAL: &'static str = "agentwt::config::several";

    /// Collects the mistakes of a file, none of them lost; `text` is what the spans point into.
    pub(super) fn in_file(name: &str, text: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|m| m.place.as_ref().map(|place| place.span.offset()));
        let name = escape_for_terminal(name.as_bytes());
        let source = Some(NamedSource::new(name, printable(text)));
        Self { source, mistakes }
    }

    /// Collects the mistakes of variables and flags.
    pub(super) fn in_settings(mistakes: Vec<Mistake>) -> Self {
        let source = None;
        Self { source, mistakes }
    }

    /// Every mistake, in the order of the file.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    fn only(&self) -> Option<&Mistake> {
        match self.mistakes.as_slice() {
            [mistake] => Some(mistake),
            _ => None,
        }
    }
}

/// Replaces what could act on a terminal, byte for byte, so that the underlines stay right.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let line_end = c == '\n' || c == '\r' && chars.peek() == Some(&'\n');
        let mut bytes = [0; 4];
        let shown = c.encode_utf8(&mut bytes);
        if line_end || c == '\t' || c == '\\' || escape_for_terminal(shown.as_bytes()) == *shown {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n('?', c.len_utf8()));
        }
    }
    out
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "cannot read {}: ", source.name())?,
            None => f.write_str("cannot use the settings: ")?,
        }
        match self.only() {
            Some(mistake) => mistake.fmt(f),
            None => write!(f, "{} mistakes", self.mistakes.len()),
        }
    }
}

impl std::error::Error for ConfigError {}

impl Diagnostic for ConfigError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let code = self.only().map_or(Self::SEVERAL, |m| m.kind.code());
        Some(Box::new(code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.only()?.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.only()?.labels()
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        if self.only().is_some() {
            return None;
        }
        let mistakes = self.mistakes.iter();
        Some(Box::new(mistakes.map(|m| m as &dyn Diagnostic)))
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

impl Diagnostic for Mistake {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.kind.code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let label = LabeledSpan::new_with_span(Some(place.label.clone()), place.span);
        Some(Box::new(std::iter::once(label)))
    }
}
