//! Reads the document tree of a config file, and collects every mistake on the way.
//!
//! It walks toml's spanned tree by hand and not through `Deserialize`: serde stops at the first
//! mistake and cannot carry help. It knows which keys there are; what they mean is in `mod.rs`.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Located;
use super::error::{Mistake, MistakeKind, MistakePlace};
use super::nearest::nearest;
use super::section::{Section, example, profile_help};
use super::value::{Fault, listed, quoted, toml_string};

/// The largest limit in megabytes whose number of bytes can be counted.
const MAX_LIMIT_MB: u64 = u64::MAX / super::BYTES_PER_MB;

/// One table, and where it is.
#[derive(Clone, Copy)]
pub(super) struct Table<'d> {
    pub(super) section: Section<'d>,
    pub(super) entries: &'d DeTable<'d>,
}

impl<'d> Table<'d> {
    fn value(self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.entries.get(key)
    }

    /// Whether the key is there, or one that was surely meant to be it.
    pub(super) fn has_nearly(self, key: &str) -> bool {
        let mut keys = self.entries.keys();
        keys.any(|k| nearest(k.get_ref(), self.section.keys().iter().copied()) == Some(key))
    }
}

/// The text that is read, and what was found wrong with it.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) mistakes: Vec<Mistake>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mistakes = Vec::new();
        Self { text, mistakes }
    }

    pub(super) fn add(
        &mut self,
        kind: MistakeKind,
        message: String,
        span: Range<usize>,
        label: impl Into<String>,
        help: String,
    ) {
        let place = Some(MistakePlace {
            line: self.line(&span),
            label: label.into(),
            span: span.into(),
        });
        self.mistakes.push(Mistake {
            kind,
            message,
            place,
            help,
        });
    }

    fn line(&self, span: &Range<usize>) -> u32 {
        let before = self.text.as_bytes().iter().take(span.start);
        let lines = before.filter(|byte| **byte == b'\n').count();
        u32::try_from(lines).map_or(u32::MAX, |lines| lines.saturating_add(1))
    }

    pub(super) fn located<T>(&self, value: T, span: Range<usize>) -> Located<T> {
        let line = self.line(&span);
        Located { value, line, span }
    }

    /// Reports every key that the table may not have.
    pub(super) fn check_keys(&mut self, table: Table<'_>) {
        let known = table.section.keys();
        for key in table.entries.keys() {
            let word: &str = key.get_ref();
            if known.contains(&word) {
                continue;
            }
            let place = table.section.place();
            let home = Section::ALL.iter().find(|s| s.keys().contains(&word));
            let near = nearest(word, known.iter().copied());
            let allowed = format!("the keys {place} are {}", listed(known, "and"));
            let help = match (near, home) {
                (Some(near), _) => format!("did you mean `{near}`? {allowed}"),
                (None, Some(_)) if word == "file_sync" => {
                    format!("write `{}`; {allowed}", example(word))
                }
                (None, Some(home)) => {
                    format!("{} belongs {}; {allowed}", quoted(word), home.place())
                }
                (None, None) => allowed,
            };
            let message = format!("unknown key {} {place}", quoted(word));
            let kind = MistakeKind::UnknownKey;
            self.add(kind, message, key.span(), "no such key", help);
        }
    }

    /// Reports a value that is wrong.
    pub(super) fn fault(&mut self, fault: &Fault, section: Section<'_>, span: Range<usize>) {
        let message = fault.message(&section.place());
        self.add(fault.kind, message, span, fault.label, fault.help());
    }

    fn wrong_type(&mut self, table: Table<'_>, key: &str, got: &Spanned<DeValue<'_>>, want: &str) {
        let type_name = type_name(got.get_ref());
        let key_name = quoted(key);
        let message = format!(
            "{key_name} {} is {type_name}, not {want}",
            table.section.place()
        );
        let help = match got.get_ref() {
            _ if table.section == Section::Scope => profile_help(key),
            DeValue::String(text) if want == LIST => {
                format!("write `{key} = [{}]`", toml_string(text))
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => format!("write for example `{}`", example(key)),
        };
        self.add(MistakeKind::WrongType, message, got.span(), type_name, help);
    }

    /// A table below another one.
    pub(super) fn table<'d>(
        &mut self,
        parent: Table<'d>,
        key: &str,
        section: Section<'d>,
    ) -> Option<Table<'d>> {
        let value = parent.value(key)?;
        if let DeValue::Table(entries) = value.get_ref() {
            return Some(Table { section, entries });
        }
        self.wrong_type(parent, key, value, "a table");
        None
    }

    /// A string that passes the check.
    pub(super) fn string<T>(
        &mut self,
        table: Table<'_>,
        key: &str,
        check: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Located<T>> {
        let value = table.value(key)?;
        let DeValue::String(text) = value.get_ref() else {
            self.wrong_type(table, key, value, "a string");
            return None;
        };
        match check(text) {
            Ok(checked) => Some(self.located(checked, value.span())),
            Err(fault) => {
                self.fault(&fault, table.section, value.span());
                None
            }
        }
    }

    /// A list of strings, each with its own line.
    pub(super) fn strings(&mut self, table: Table<'_>, key: &str) -> Option<Vec<Located<String>>> {
        self.checked_strings(table, key, |text| Ok(text.to_owned()))
    }

    /// A list of strings that each pass the check.
    pub(super) fn checked_strings(
        &mut self,
        table: Table<'_>,
        key: &str,
        check: impl Fn(&str) -> Result<String, Fault>,
    ) -> Option<Vec<Located<String>>> {
        let value = table.value(key)?;
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(table, key, value, LIST);
            return None;
        };
        let mut strings = Vec::with_capacity(items.len());
        for item in items {
            if let DeValue::String(text) = item.get_ref() {
                match check(text) {
                    Ok(text) => strings.push(self.located(text, item.span())),
                    Err(fault) => self.fault(&fault, table.section, item.span()),
                }
            } else {
                let type_name = type_name(item.get_ref());
                let place = table.section.place();
                let message = format!("an entry of `{key}` {place} is {type_name}, not a string");
                let help = format!("write for example `{}`", example(key));
                let kind = MistakeKind::WrongType;
                self.add(kind, message, item.span(), type_name, help);
            }
        }
        Some(strings)
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, table: Table<'_>, key: &str) -> Option<bool> {
        let value = table.value(key)?;
        if let DeValue::Boolean(yes) = value.get_ref() {
            return Some(*yes);
        }
        self.wrong_type(table, key, value, "`true` or `false`");
        None
    }

    /// A positive number of megabytes.
    pub(super) fn limit(&mut self, table: Table<'_>, key: &str) -> Option<u64> {
        let value = table.value(key)?;
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(table, key, value, "a whole number");
            return None;
        };
        let limit = u64::from_str_radix(number.as_str(), number.radix());
        if let Some(limit) = limit.ok().filter(|mb| (1..=MAX_LIMIT_MB).contains(mb)) {
            return Some(limit);
        }
        let message = format!(
            "`{key}` {} is {number}, not a positive number of megabytes",
            table.section.place()
        );
        let help = format!("write 1 to {MAX_LIMIT_MB}, for example `{}`", example(key));
        let kind = MistakeKind::Limit;
        self.add(kind, message, value.span(), "not a limit", help);
        None
    }
}

const LIST: &str = "a list of strings";

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
