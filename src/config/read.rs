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

fn mistake(message: impl Into<String>, span: Range<usize>, help: impl Into<String>) -> Mistake {
    Mistake {
        message: message.into(),
        span: Some(span.into()),
        help: help.into(),
    }
}

fn read(text: &str, mistakes: &mut Vec<Mistake>) -> Config {
    let Some(mut table) = parse_toml(text, mistakes) else {
        return Config::default();
    };
    let names = profile_names(table.get_ref());
    let document = loop {
        match Document::deserialize(Deserializer::from(table.clone())) {
            Ok(document) => break document,
            Err(error) => {
                let at = error.span().unwrap_or_default();
                let removed = remove_entry(table.get_mut(), "", at.start);
                mistakes.push(serde_mistake(&error, at, removed.as_ref()));
                if removed.is_none() {
                    break Document::default();
                }
            }
        }
    };
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
    for (name, span) in names {
        check(value::profile_name(&name), "in [scope]", &span, mistakes);
        if let Some(profile) = config.scopes.get_mut(&name) {
            profile.line = line_of(text, span.start);
        }
    }
    check_values(&config, mistakes);
    count_lines(&mut config, text);
    config
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
        mistakes.push(mistake(format!("not TOML: {what}"), span, help));
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

/// Removes the innermost entry that holds this byte. Returns its table and its key.
fn remove_entry(table: &mut DeTable<'_>, name: &str, at: usize) -> Option<(String, String)> {
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let own = (key.span(), value.span());
        if let DeValue::Table(inner) = value.get_mut() {
            let dot = if name.is_empty() { "" } else { "." };
            let inner_name = format!("{name}{dot}{}", key.get_ref());
            if let Some(removed) = remove_entry(inner, &inner_name, at) {
                return Some(removed);
            }
        }
        if own.0.contains(&at) || own.1.contains(&at) {
            found = Some(key.get_ref().to_string());
        }
    }
    let key = found?;
    table.remove(key.as_str());
    Some((name.to_owned(), key))
}

/// What serde refused, in our words.
fn serde_mistake(error: &Error, span: Range<usize>, entry: Option<&(String, String)>) -> Mistake {
    let (table, key) = entry.map_or(("", ""), |(table, key)| (table, key));
    let place = place(table);
    let text = error.message();
    // unknown field `wirte`, expected one of `read`, `write`, `exclude`; a variant is a value
    if let Some((what, known)) = text.rsplit_once("expected")
        && let Some(written) = what.split('`').nth(1)
        && text.starts_with("unknown ")
    {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let is_key = text.starts_with("unknown field");
        let noun = if is_key { "key" } else { key };
        let near = value::nearest(written, known.iter().copied());
        let meant = near.map(|near| format!("did you mean `{near}`? "));
        let help = if is_key {
            format!("the keys {place} are {}", value::listed(&known, "and"))
        } else {
            format!("write {}", value::listed(&known, "or"))
        };
        let message = format!("unknown {noun} {} {place}", quoted(written));
        return mistake(message, span, meant.unwrap_or_default() + &help);
    }
    let message = format!(
        "{} {place}: {}",
        quoted(key),
        shown(&in_words_of_toml(text))
    );
    mistake(message, span, "see git-agentwt-config(5) for an example")
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

fn profile_names(table: &DeTable<'_>) -> Vec<(String, Range<usize>)> {
    let Some(DeValue::Table(scopes)) = table.get("scope").map(Spanned::get_ref) else {
        return Vec::new();
    };
    let names = scopes.keys();
    names
        .map(|key| (key.get_ref().to_string(), key.span()))
        .collect()
}

fn check_schema_version(version: Option<&Located<String>>, mistakes: &mut Vec<Mistake>) {
    let help = format!("write `schema_version = \"{SCHEMA_VERSION}\"`");
    match version {
        Some(version) if version.value == SCHEMA_VERSION => {}
        Some(version) => {
            let value = quoted(&version.value);
            let message = format!("`schema_version` is {value}, which is not supported");
            mistakes.push(mistake(message, version.span.clone(), help));
        }
        None => {
            let is_it = |mistake: &Mistake| {
                mistake.message.starts_with("`schema_version`")
                    || mistake.help.starts_with("did you mean `schema_version`")
            };
            if !mistakes.iter().any(is_it) {
                let message = "`schema_version` is missing";
                mistakes.push(mistake(message, 0..0, format!("{help} in the first line")));
            }
        }
    }
}

fn check_values(config: &Config, mistakes: &mut Vec<Mistake>) {
    if let Some(base) = &config.worktree.base {
        check(
            value::base(&base.value),
            "in [worktree]",
            &base.span,
            mistakes,
        );
    }
    if let Some(prefix) = &config.worktree.branch_prefix {
        let checked = value::branch_prefix(&prefix.value);
        check(checked, "in [worktree]", &prefix.span, mistakes);
    }
    if let Some(net) = &config.fence.net {
        check(value::net(&net.value), "in [fence]", &net.span, mistakes);
    }
    if let Some(user) = &config.fence.container.user {
        let place = "in [fence.container]";
        check(value::user(&user.value), place, &user.span, mistakes);
    }
    let sync = &config.file_sync;
    for pattern in sync.patterns.iter().chain(&sync.optional_patterns) {
        let checked = value::sync_pattern(&pattern.value);
        check(checked, "in [worktree.file_sync]", &pattern.span, mistakes);
    }
    let tables = [
        ("in [setup]", &config.setup.commands),
        ("in [teardown]", &config.teardown.commands),
    ];
    for (place, commands) in tables {
        for command in commands {
            check(
                value::command(&command.value),
                place,
                &command.span,
                mistakes,
            );
        }
    }
}

fn check<T>(
    checked: Result<T, ValueFault>,
    place: &str,
    span: &Range<usize>,
    mistakes: &mut Vec<Mistake>,
) {
    if let Err(fault) = checked {
        mistakes.push(mistake(fault.message(place), span.clone(), fault.help));
    }
}

fn count_lines(config: &mut Config, text: &str) {
    fn count<'l, T: 'l>(all: impl IntoIterator<Item = &'l mut Located<T>>, text: &str) {
        for value in all {
            value.line = line_of(text, value.span.start);
        }
    }
    count(&mut config.worktree.base, text);
    count(&mut config.worktree.branch_prefix, text);
    count(&mut config.worktree.strategy, text);
    count(&mut config.worktree.client, text);
    count(&mut config.worktree.on_violation, text);
    let sync = &mut config.file_sync;
    count(
        sync.patterns.iter_mut().chain(&mut sync.optional_patterns),
        text,
    );
    let fence = &mut config.fence;
    count(&mut fence.kind, text);
    count(fence.net.iter_mut().chain(&mut fence.rw), text);
    count(&mut fence.container.image, text);
    count(&mut config.setup.commands, text);
    count(&mut config.teardown.commands, text);
    for scope in config.scopes.values_mut() {
        let lists = [&mut scope.read, &mut scope.write, &mut scope.exclude];
        count(lists.into_iter().flatten().flatten(), text);
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().iter().take(at);
    let lines = before.filter(|byte| **byte == b'\n').count();
    u32::try_from(lines).map_or(u32::MAX, |lines| lines.saturating_add(1))
}
