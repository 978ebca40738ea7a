//! Parses one file of git's settings through `gix` (git-config(1)), and spells values for one.

use bstr::{BString, ByteSlice, ByteVec};
use camino::{Utf8Path, Utf8PathBuf};
use gix::config::file::init::Options;
use gix::config::file::{Metadata, SectionRef};
use gix::config::path::interpolate;
use gix::config::{File, Source};

use crate::git::error::{GitError, reading, unreadable};
use crate::git::git_dir::read_file;

/// What a worktree's `config.worktree` says anyway where its sparse-checkout is as we set it:
/// git writes these in different orders and at different times.
const AS_WE_SET_IT: &[(&[u8], &[u8])] = &[
    (b"core.sparsecheckout", b"true"),
    (b"core.sparsecheckoutcone", b"false"),
    (b"index.sparse", b"false"),
];

/// Returns what a `config.worktree` says beyond that its sparse-checkout is on: one `key=value`
/// a line, in the order in which git reads them. A file that does not parse is returned as it is.
pub fn meaning(bytes: &[u8]) -> Vec<u8> {
    let Ok(file) = parse(bytes, Source::Worktree) else {
        return bytes.to_vec();
    };
    let mut lines: Vec<u8> = Vec::new();
    for section in file.sections() {
        for (key, value) in pairs(&section) {
            // a key without a value means true
            let value = value.unwrap_or_else(|| "true".into());
            let is_ours = |(k, v): &(&[u8], &[u8])| *k == key.as_bytes() && *v == value.as_slice();
            if !AS_WE_SET_IT.iter().any(is_ours) {
                lines.extend_from_slice(key.as_bytes());
                lines.push(b'=');
                lines.extend_from_slice(&value);
                lines.push(b'\n');
            }
        }
    }
    lines
}

/// Writes a value as git reads it in its settings (git-config(1), "Syntax") and in `objects/info/alternates`.
pub fn in_quotes(text: &[u8]) -> BString {
    let escaped = text.replace("\\", "\\\\").replace("\"", "\\\"");
    let escaped = escaped.replace("\n", "\\n");
    [b"\"", &escaped[..], b"\""].concat().into()
}

/// A value as a configuration file spells it (git-config(1), "Syntax"), and a path as the list of
/// alternates does (gitrepository-layout(5)), whatever is in it.
pub fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n").replace('\t', "\\t"))
}

/// Writes a setting as a section of a file (git-config(1), "Syntax").
pub fn quoted_setting(key: &str, value: &BString) -> BString {
    let (rest, name) = key.rsplit_once('.').unwrap_or((key, ""));
    let (section, subsection) = rest.split_once('.').unwrap_or((rest, ""));
    let subsection = match subsection {
        "" => BString::default(),
        text => [b" ", &in_quotes(text.as_bytes())[..]].concat().into(),
    };
    let start = format!("[{section}{subsection}]\n\t{name} = ");
    [start.as_bytes(), &in_quotes(value), b"\n"].concat().into()
}

/// Reads the settings of one file, whose includes do not count; nothing where there is no file. What
/// cannot be read, or is not a file of settings, is one setting `unreadable`.
pub fn read_settings(file: &Utf8Path) -> Vec<(String, Option<BString>)> {
    let unreadable = |detail: BString| vec![("unreadable".to_owned(), Some(detail))];
    let bytes = match read_file(file) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(error) => return unreadable(error.to_string().into()),
    };
    match parse(&bytes, Source::Local) {
        Ok(parsed) => parsed.sections().flat_map(|one| pairs(&one)).collect(),
        Err(_) => unreadable(bytes.into()),
    }
}

/// The file that a setting of a file includes, whatever its condition is (git-config(1), "Includes").
pub fn included_by(file: &Utf8Path, key: &str, value: Option<&BString>) -> Option<Utf8PathBuf> {
    let (section, last) = (key.split('.').next(), key.rsplit('.').next());
    let is_include = matches!(section, Some("include" | "includeif")) && last == Some("path");
    let named = path(key, value.filter(|_| is_include)).ok()?;
    Some(file.parent().unwrap_or(file).join(named))
}

fn parse(bytes: &[u8], source: Source) -> Result<File, gix::Error> {
    let meta = Metadata::from(source);
    File::from_bytes_no_includes(bytes, meta, Options::default())
}

/// The keys of a section as git lists them, each with its values in order; a key alone has none.
pub(super) fn pairs(section: &SectionRef<'_>) -> Vec<(String, Option<BString>)> {
    let header = section.header();
    let mut prefix = BString::from(header.name().to_ascii_lowercase());
    if let Some(subsection) = header.subsection_name() {
        prefix.push_byte(b'.');
        prefix.push_str(subsection);
    }
    let body = section.body();
    let mut all: Vec<(String, Option<BString>)> = Vec::new();
    for name in body.value_names() {
        let key = format!("{prefix}.{}", name.to_ascii_lowercase());
        if all.iter().any(|(known, _)| *known == key) {
            continue;
        }
        let mut values: Vec<Option<BString>> = body.values(&name).into_iter().map(Some).collect();
        if body.value_implicit(&name) == Some(None) {
            values.pop();
            values.push(None);
        }
        all.extend(values.into_iter().map(|value| (key.clone(), value)));
    }
    all
}

pub(super) fn text(key: &str, value: BString) -> Result<String, GitError> {
    let text = String::from_utf8(value.into());
    text.map_err(|_| unreadable(&format_args!("the setting {key}"), NOT_UTF8))
}

/// A value as a path: `~` is the home of the user. An empty path is none to gix, and git takes it.
pub(super) fn path(key: &str, value: Option<&BString>) -> Result<Utf8PathBuf, GitError> {
    let failed =
        |detail: &dyn std::fmt::Display| unreadable(&format_args!("the setting {key}"), detail);
    let value = value.ok_or_else(|| failed(&"it has no value"))?;
    if value.is_empty() {
        return Ok(Utf8PathBuf::new());
    }
    let home = gix::path::env::home_dir();
    let context = interpolate::Context {
        home_dir: home.as_deref(),
        home_for_user: Some(interpolate::home_for_user),
        ..interpolate::Context::default()
    };
    let path = gix::config::Path::from(value.as_bstr()).interpolate(context);
    let path = path.map_err(|error| failed(&error))?;
    let path = Utf8PathBuf::from_path_buf(path);
    path.map_err(|_| failed(&NOT_UTF8))
}

const NOT_UTF8: &str = "it is not UTF-8";

/// One file, whose includes do not count (`git config --file`).
pub(super) fn read_config(file: &Utf8Path) -> Result<File, GitError> {
    let bytes = read_file(file)?.unwrap_or_default();
    parse(&bytes, Source::Local).map_err(reading(file))
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
