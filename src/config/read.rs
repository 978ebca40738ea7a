//! Reads the text of a config file by serde, and collects its mistakes.
//!
//! serde stops at the first mistake. The entry that it stopped at is removed from the document,
//! which is read again, so that one run reports all of them.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

use crate::config::value::{ValueFault, quoted, shown, toml_string};
use crate::config::{
    Config, ConfigError, FenceConfig, Located, Mistake, SCHEMA_VERSION, ScopeProfile, SetupConfig,
    TeardownConfig, WorktreeConfig, value,
};

/// The file, as serde reads it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Document {
    schema_version: Option<Located<String>>,
    worktree: WorktreeConfig,
    setup: SetupConfig,
    teardown: TeardownConfig,
    fence: FenceConfig,
    scope: BTreeMap<String, ScopeProfile>,
}

impl Config {
    /// Parses the text of a config file; the name is only shown. CRLF line ends and a byte order
    /// mark are accepted.
    ///
    /// # Errors
    /// Returns every mistake of the file in one value. A syntax error alone hides the others.
    pub fn parse(source_name: &str, text: &str) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut mistakes = Vec::new();
        let config = read(text, &mut mistakes);
        if mistakes.is_empty() {
            return Ok(config);
        }
        Err(ConfigError::in_file(source_name, text, mistakes))
    }

    /// As [`Config::parse`], of a file's bytes.
    ///
    /// # Errors
    /// Returns every mistake, or the one that it is not UTF-8.
    pub fn parse_bytes(source_name: &str, bytes: &[u8]) -> Result<Self, ConfigError> {
        let at = match std::str::from_utf8(bytes) {
            Ok(text) => return Self::parse(source_name, text),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8_lossy(bytes);
        let span = at..at + '\u{fffd}'.len_utf8();
        let mistake = mistake("not TOML: it is not UTF-8", span, "save the file as UTF-8");
        Err(ConfigError::in_file(source_name, &text, vec![mistake]))
    }
}

/// A mistake at a place of the text.
fn mistake(message: impl Into<String>, span: Range<usize>, help: impl Into<String>) -> Mistake {
    Mistake {
        message: message.into(),
        span: Some(span.into()),
        help: help.into(),
    }
}

/// Reads a config, checks its values and sets the line of each. Adds what is wrong to `mistakes`:
/// if there is any, the config is not complete.
fn read(text: &str, mistakes: &mut Vec<Mistake>) -> Config {
    let Some(mut table) = parse_toml(text, mistakes) else {
        return Config::default();
    };
    // before `deserialize`, which takes a profile with a mistake out of the table
    let names = profile_names(table.get_ref());
    let document = deserialize(&mut table, mistakes);
    check_schema_version(document.schema_version.as_ref(), mistakes);
    let mut config = Config {
        worktree: document.worktree,
        setup: document.setup,
        teardown: document.teardown,
        fence: document.fence,
        scopes: document.scope,
        ..Config::default()
    };
    config.file_sync = std::mem::take(&mut config.worktree.file_sync);
    for name in names {
        check(value::profile_name, &name, "in [scope]", mistakes);
        if let Some(profile) = config.scopes.get_mut(&name.value) {
            profile.line = line_of(text, name.span.start);
        }
    }
    check_values(&config, mistakes);
    count_lines(&mut config, text);
    config
}

/// Reads what is right in a table, which keeps only that.
fn deserialize(table: &mut Spanned<DeTable<'_>>, mistakes: &mut Vec<Mistake>) -> Document {
    loop {
        let error = match Document::deserialize(Deserializer::from(table.clone())) {
            Ok(document) => return document,
            Err(error) => error,
        };
        let span = error.span().unwrap_or_default();
        let removed = remove_entry(table.get_mut(), "", span.start);
        mistakes.push(serde_mistake(&error, span, removed.as_ref()));
        if removed.is_none() {
            return Document::default();
        }
    }
}

/// Parses the text as TOML. A key that is set twice does not hide the other mistakes; any other
/// syntax error does, as the meaning of the rest is unknown, and only the first is reported.
fn parse_toml<'t>(text: &'t str, mistakes: &mut Vec<Mistake>) -> Option<Spanned<DeTable<'t>>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let (twice, mut broken): (Vec<_>, Vec<_>) = errors
        .into_iter()
        .partition(|error| error.message() == "duplicate key");
    broken.sort_by_key(|error| error.span().map(|span| span.start));
    if let Some(error) = broken.first() {
        mistakes.push(syntax_mistake(text, error));
        return None;
    }
    for error in twice {
        let span = error.span().unwrap_or_default();
        let key = quoted(text.get(span.clone()).unwrap_or_default());
        let message = format!("{key} is set twice");
        mistakes.push(mistake(message, span, "keep one of the two"));
    }
    Some(table)
}

/// Says what is no TOML, and how to write it.
fn syntax_mistake(text: &str, error: &Error) -> Mistake {
    let span = error.span().unwrap_or_default();
    let written = text.get(span.clone()).unwrap_or_default();
    let (what, expected) = match error.message().split_once(", expected ") {
        Some((what, expected)) => (what, expected),
        None => (error.message(), "nothing"),
    };
    let help = match expected {
        "literal string" if !written.is_empty() => {
            format!("write {} for a string", toml_string(written))
        }
        "nothing" => "see https://toml.io for the syntax".into(),
        expected => format!("TOML expects here: {expected}"),
    };
    mistake(format!("not TOML: {what}"), span, help)
}

/// Removes the innermost entry that holds this byte. Returns its table and its key.
fn remove_entry(table: &mut DeTable<'_>, name: &str, at: usize) -> Option<(String, String)> {
    let mut key_at = None;
    for (key, value) in table.iter_mut() {
        let is_here = key.span().contains(&at) || value.span().contains(&at);
        if let DeValue::Table(inner) = value.get_mut() {
            let dot = if name.is_empty() { "" } else { "." };
            let inner_name = format!("{name}{dot}{}", key.get_ref());
            if let Some(removed) = remove_entry(inner, &inner_name, at) {
                return Some(removed);
            }
        }
        if is_here {
            key_at = Some(key.get_ref().to_string());
        }
    }
    let key = key_at?;
    table.remove(key.as_str());
    Some((name.to_owned(), key))
}

/// What serde refused, in our words.
fn serde_mistake(error: &Error, span: Range<usize>, entry: Option<&(String, String)>) -> Mistake {
    let (table, key) = entry.map_or(("", ""), |(table, key)| (table, key));
    let place = place(table);
    let text = error.message();
    if let Some(unknown) = UnknownWord::parse(text) {
        let noun = match unknown.kind {
            WordKind::Key => "key",
            WordKind::Value => key,
        };
        let message = format!("unknown {noun} {} {place}", quoted(unknown.written));
        return mistake(message, span, unknown.help(&place));
    }
    let message = format!(
        "{} {place}: {}",
        quoted(key),
        shown(&in_words_of_toml(text))
    );
    mistake(message, span, "see git-agentwt-config(5) for an example")
}

/// A word that serde does not know: a key, or one of the values that a key may have.
struct UnknownWord<'t> {
    written: &'t str,
    kind: WordKind,
    known: Vec<&'t str>,
}

enum WordKind {
    Key,
    Value,
}

impl<'t> UnknownWord<'t> {
    /// Parses ``unknown field `wirte`, expected one of `read`, `write`, `exclude` ``, or the same
    /// of a variant.
    fn parse(text: &'t str) -> Option<Self> {
        let kind = if text.starts_with("unknown field") {
            WordKind::Key
        } else if text.starts_with("unknown ") {
            WordKind::Value
        } else {
            return None;
        };
        let (what, expected) = text.rsplit_once("expected")?;
        Some(Self {
            written: what.split('`').nth(1)?,
            kind,
            known: expected.split('`').skip(1).step_by(2).collect(),
        })
    }

    /// What to write instead.
    fn help(&self, place: &str) -> String {
        let all_words = match self.kind {
            WordKind::Key => format!("the keys {place} are {}", value::listed(&self.known, "and")),
            WordKind::Value => format!("write {}", value::listed(&self.known, "or")),
        };
        match value::nearest(self.written, self.known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? {all_words}"),
            None => all_words,
        }
    }
}

/// Says what serde expected in the words of TOML, not in those of Rust.
fn in_words_of_toml(text: &str) -> String {
    if let Some((before, _)) = text.split_once("expected struct ") {
        return format!("{before}expected a table");
    }
    text.replace("expected a sequence", "expected a list of strings")
        .replace("expected a map", "expected a table")
        .replace("expected i128", "expected a whole number")
}

/// Says where a table is: `in [worktree]`.
fn place(table: &str) -> String {
    match table.strip_prefix("scope.") {
        _ if table.is_empty() => "at the top level".into(),
        None => format!("in [{table}]"),
        Some(profile) => format!("in {}", value::profile_header(profile)),
    }
}

/// The names of the scope profiles, as they are written.
fn profile_names(table: &DeTable<'_>) -> Vec<Located<String>> {
    let Some(DeValue::Table(scopes)) = table.get("scope").map(Spanned::get_ref) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for name in scopes.keys() {
        names.push(Spanned::new(name.span(), name.get_ref().to_string()).into());
    }
    names
}

/// Notes a version that is missing or not ours.
fn check_schema_version(version: Option<&Located<String>>, mistakes: &mut Vec<Mistake>) {
    let help = format!("write `schema_version = \"{SCHEMA_VERSION}\"`");
    match version {
        Some(version) if version.value == SCHEMA_VERSION => {}
        Some(version) => {
            let value = quoted(&version.value);
            let message = format!("`schema_version` is {value}, which is not supported");
            mistakes.push(mistake(message, version.span.clone(), help));
        }
        None if mistakes.iter().any(is_about_schema_version) => {}
        None => {
            let message = "`schema_version` is missing";
            mistakes.push(mistake(message, 0..0, format!("{help} in the first line")));
        }
    }
}

fn is_about_schema_version(mistake: &Mistake) -> bool {
    mistake.message.starts_with("`schema_version`")
        || mistake.help.starts_with("did you mean `schema_version`")
}

/// Checks the values that serde takes as any text.
fn check_values(config: &Config, mistakes: &mut Vec<Mistake>) {
    if let Some(base) = &config.worktree.base {
        check(value::base, base, "in [worktree]", mistakes);
    }
    if let Some(prefix) = &config.worktree.branch_prefix {
        check(value::branch_prefix, prefix, "in [worktree]", mistakes);
    }
    if let Some(net) = &config.fence.net {
        check(value::net, net, "in [fence]", mistakes);
    }
    if let Some(user) = &config.fence.container.user {
        check(value::user, user, "in [fence.container]", mistakes);
    }
    let sync = &config.file_sync;
    for pattern in sync.patterns.iter().chain(&sync.optional_patterns) {
        check(
            value::sync_pattern,
            pattern,
            "in [worktree.file_sync]",
            mistakes,
        );
    }
    let tables = [
        ("in [setup]", &config.setup.commands),
        ("in [teardown]", &config.teardown.commands),
    ];
    for (place, commands) in tables {
        for command in commands {
            check(value::command, command, place, mistakes);
        }
    }
}

/// Notes what `parse` says against a value in a table.
fn check<T>(
    parse: fn(&str) -> Result<T, ValueFault>,
    written: &Located<String>,
    place: &str,
    mistakes: &mut Vec<Mistake>,
) {
    if let Err(fault) = parse(&written.value) {
        mistakes.push(mistake(
            fault.message(place),
            written.span.clone(),
            fault.help,
        ));
    }
}

/// Sets the line of every value.
fn count_lines(config: &mut Config, text: &str) {
    let worktree = &mut config.worktree;
    count(&mut worktree.base, text);
    count(&mut worktree.branch_prefix, text);
    count(&mut worktree.strategy, text);
    count(&mut worktree.client, text);
    count(&mut worktree.on_violation, text);
    count(&mut config.file_sync.patterns, text);
    count(&mut config.file_sync.optional_patterns, text);
    count(&mut config.fence.kind, text);
    count(&mut config.fence.net, text);
    count(&mut config.fence.rw, text);
    count(&mut config.fence.container.image, text);
    count(&mut config.setup.commands, text);
    count(&mut config.teardown.commands, text);
    for scope in config.scopes.values_mut() {
        for list in [&mut scope.read, &mut scope.write, &mut scope.exclude] {
            count(list.iter_mut().flatten(), text);
        }
    }
}

/// Sets the line of each value by its place in the text.
fn count<'l, T: 'l>(values: impl IntoIterator<Item = &'l mut Located<T>>, text: &str) {
    for value in values {
        value.line = line_of(text, value.span.start);
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().iter().take(at);
    let lines = before.filter(|byte| **byte == b'\n').count();
    u32::try_from(lines).map_or(u32::MAX, |lines| lines.saturating_add(1))
}
