//! Parses one file of git's settings through `gix` (git-config(1)), and spells values for one.

use bstr::{BString, ByteSlice, ByteVec};
use camino::{Utf8Path, Utf8PathBuf};
use gix::config::file::init::Options;
use gix::config::file::{Metadata, SectionRef};
use gix::config::path::interpolate;
use gix::config::{File, Source};

use crate::git::error::{GitError, reading, unreadable};
use crate::git::git_dir::read_file;

const NOT_UTF8: &str = "it is not UTF-8";

/// A key as git lists it (section and last part in lower case), and its value; none for a key
/// alone, which means true.
pub type Setting = (String, Option<BString>);

/// What a worktree's `config.worktree` says anyway where its sparse-checkout is as we set it:
/// git writes these in different orders and at different times.
const SPARSE_SETTINGS: &[(&str, &str)] = &[
    ("core.sparsecheckout", "true"),
    ("core.sparsecheckoutcone", "false"),
    ("index.sparse", "false"),
];

/// Returns what a `config.worktree` says beyond that its sparse-checkout is on: one `key=value`
/// a line, in the order in which git reads them. A file that does not parse is returned as it is.
pub fn meaning(bytes: &[u8]) -> Vec<u8> {
    match settings_that_count(bytes) {
        Some(settings) => lines_of(&settings),
        None => bytes.to_vec(),
    }
}

/// Lists what a `config.worktree` says beyond that its sparse-checkout is on, each with its value,
/// in the order in which git reads it; none if it does not parse.
pub fn settings_that_count(bytes: &[u8]) -> Option<Vec<(String, BString)>> {
    let file = parse(bytes, Source::Worktree).ok()?;
    let mut counting = Vec::new();
    for (key, value) in settings(&file) {
        let value = value.unwrap_or_else(|| "true".into());
        if !is_sparse_setting(&key, &value) {
            counting.push((key, value));
        }
    }
    Some(counting)
}

/// Writes settings as [`meaning`] does.
pub fn lines_of(settings: &[(String, BString)]) -> Vec<u8> {
    let mut lines: Vec<u8> = Vec::new();
    for (key, value) in settings {
        lines.extend_from_slice(key.as_bytes());
        lines.push(b'=');
        lines.extend_from_slice(value);
        lines.push(b'\n');
    }
    lines
}

fn is_sparse_setting(key: &str, value: &BString) -> bool {
    SPARSE_SETTINGS
        .iter()
        .any(|(sparse_key, sparse_value)| key == *sparse_key && value == sparse_value)
}

/// Writes a value as git reads it in its settings (git-config(1), "Syntax") and a path as the list
/// of alternates has it (gitrepository-layout(5)), whatever is in it.
pub fn in_quotes(text: &[u8]) -> BString {
    let mut quoted = BString::from("\"");
    for byte in text {
        match byte {
            b'\\' => quoted.push_str("\\\\"),
            b'"' => quoted.push_str("\\\""),
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            other => quoted.push_byte(*other),
        }
    }
    quoted.push_byte(b'"');
    quoted
}

/// As [`in_quotes`], of text.
pub fn quoted(text: &str) -> String {
    in_quotes(text.as_bytes()).to_string()
}

/// Writes a setting as a section of a file (git-config(1), "Syntax").
pub fn quoted_setting(key: &str, value: &BString) -> BString {
    let (place, name) = key.rsplit_once('.').unwrap_or((key, ""));
    let (section, subsection) = place.split_once('.').unwrap_or((place, ""));
    let mut text = BString::from("[");
    text.push_str(section);
    if !subsection.is_empty() {
        text.push_byte(b' ');
        text.push_str(in_quotes(subsection.as_bytes()));
    }
    text.push_str("]\n\t");
    text.push_str(name);
    text.push_str(" = ");
    text.push_str(in_quotes(value));
    text.push_byte(b'\n');
    text
}

/// Reads the settings of one file, whose includes do not count; nothing where there is no file.
/// What cannot be read, or is not a file of settings, is one setting `unreadable`.
pub fn read_settings(file: &Utf8Path) -> Vec<Setting> {
    let bytes = match read_file(file) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(error) => return vec![unreadable_setting(error.to_string().into())],
    };
    match parse(&bytes, Source::Local) {
        Ok(parsed) => settings(&parsed),
        Err(_) => vec![unreadable_setting(bytes.into())],
    }
}

fn unreadable_setting(detail: BString) -> Setting {
    ("unreadable".to_owned(), Some(detail))
}

/// Returns the file that a setting of a file includes, whatever its condition is (git-config(1),
/// "Includes").
pub fn included_by(file: &Utf8Path, key: &str, value: Option<&BString>) -> Option<Utf8PathBuf> {
    let section = key.split('.').next()?;
    let name = key.rsplit('.').next()?;
    if !matches!(section, "include" | "includeif") || name != "path" {
        return None;
    }
    let included = setting_path(key, value).ok()?;
    Some(file.parent().unwrap_or(file).join(included))
}

/// Reads one file of settings, whose includes do not count (`git config --file`).
pub(super) fn read_config(file: &Utf8Path) -> Result<File, GitError> {
    let bytes = read_file(file)?.unwrap_or_default();
    parse(&bytes, Source::Local).map_err(reading(file))
}

fn parse(bytes: &[u8], source: Source) -> Result<File, gix::Error> {
    let meta = Metadata::from(source);
    File::from_bytes_no_includes(bytes, meta, Options::default())
}

fn settings(file: &File) -> Vec<Setting> {
    let mut settings = Vec::new();
    for section in file.sections() {
        settings.extend(section_settings(&section));
    }
    settings
}

/// Lists the keys of a section as git does, each with its values in order.
pub(super) fn section_settings(section: &SectionRef<'_>) -> Vec<Setting> {
    let header = section.header();
    let mut prefix = BString::from(header.name().to_ascii_lowercase());
    if let Some(subsection) = header.subsection_name() {
        prefix.push_byte(b'.');
        prefix.push_str(subsection);
    }
    let body = section.body();
    let mut settings: Vec<Setting> = Vec::new();
    for name in body.value_names() {
        let key = format!("{prefix}.{}", name.to_ascii_lowercase());
        if settings.iter().any(|(listed, _)| *listed == key) {
            continue;
        }
        let mut values: Vec<Option<BString>> = body.values(&name).into_iter().map(Some).collect();
        // gix gives an empty value for a key without `=`, and tells only of the last value whether
        // it is one of these
        if body.value_implicit(&name) == Some(None) {
            values.pop();
            values.push(None);
        }
        for value in values {
            settings.push((key.clone(), value));
        }
    }
    settings
}

/// Returns the value of a setting as text.
pub(super) fn setting_text(key: &str, value: BString) -> Result<String, GitError> {
    match String::from_utf8(value.into()) {
        Ok(text) => Ok(text),
        Err(_) => Err(unreadable(&format_args!("the setting {key}"), NOT_UTF8)),
    }
}

/// Returns the value of a setting as a path: `~` is the home of the user. An empty path is none to
/// gix, and git takes it.
pub(super) fn setting_path(key: &str, value: Option<&BString>) -> Result<Utf8PathBuf, GitError> {
    let what = format!("the setting {key}");
    let Some(value) = value else {
        return Err(unreadable(&what, "it has no value"));
    };
    if value.is_empty() {
        return Ok(Utf8PathBuf::new());
    }
    let home = gix::path::env::home_dir();
    let context = interpolate::Context {
        home_dir: home.as_deref(),
        home_for_user: Some(interpolate::home_for_user),
        ..interpolate::Context::default()
    };
    let path = gix::config::Path::from(value.as_bstr())
        .interpolate(context)
        .map_err(|error| unreadable(&what, &error))?;
    Utf8PathBuf::from_path_buf(path).map_err(|_| unreadable(&what, NOT_UTF8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_checkout_that_is_on_says_nothing_however_git_wrote_it() {
        let one = "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n";
        let two = "[index]\n\tsparse = false\n[core]\n\tsparsecheckoutcone = false\n\
                   [CORE]\n\tsparseCheckout = true\n";
        assert_eq!(meaning(one.as_bytes()), b"");
        assert_eq!(meaning(two.as_bytes()), b"");
    }

    #[test]
    fn whatever_else_it_says_is_told() {
        let text = "[core]\n\tsparseCheckout = false\n\tfsmonitor = evil\n\
                    [filter \"X\"]\n\tclean = a\n\tclean = b\n[core]\n\tbare\n";
        let expected = "core.sparsecheckout=false\ncore.fsmonitor=evil\n\
                        filter.X.clean=a\nfilter.X.clean=b\ncore.bare=true\n";
        assert_eq!(String::from_utf8_lossy(&meaning(text.as_bytes())), expected);
        assert_eq!(meaning(b"[core\nbroken"), b"[core\nbroken");
    }
}
