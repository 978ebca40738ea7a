//! Finds settings under which a checkout or its index is not the plain one (git-config(1)).

use std::collections::BTreeMap;

use bstr::BString;

/// What these settings may say; for most of them what git does without.
const PLAIN: &[(&str, &[&str])] = &[
    ("core.autocrlf", &["false"]),
    ("core.checkstat", &["default"]),
    ("core.eol", &["lf", "native"]),
    ("core.filemode", &["true"]),
    ("core.fsmonitor", &["false"]),
    ("core.fsync", &[]),
    ("core.fsyncmethod", &[]),
    ("core.ignorecase", &["false"]),
    ("core.ignorestat", &["false"]),
    ("core.precomposeunicode", &["false"]),
    ("core.protecthfs", &["false"]),
    ("core.protectntfs", &["true"]),
    ("core.repositoryformatversion", &["0", "1"]),
    ("core.safecrlf", &["false", "warn"]),
    ("core.sharedrepository", &["umask", "false", "0"]),
    ("core.splitindex", &["false"]),
    ("core.symlinks", &["true"]),
    ("core.trustctime", &["true"]),
    ("core.untrackedcache", &["false", "keep"]),
    ("attr.tree", &[]),
    ("index.sparse", &["false"]),
    ("sparse.expectfilesoutsideofpatterns", &["false"]),
];

/// Extensions that change neither objects nor the index (gitrepository-layout(5)).
const EXTENSIONS: &[&str] = &[
    "worktreeconfig",
    "objectformat",
    "noop",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
];

/// Returns the first setting, by its name, that is not plain. The last value of each counts.
pub(super) fn unusual(settings: &[(String, BString)]) -> Option<String> {
    let mut all = last(settings).into_iter();
    let found = all.find(|(key, value)| !is_plain(key, value));
    found.map(|(key, _)| key.to_owned())
}

/// Whether one of them may change what is written of a file: line ends, or attributes that come
/// from a tree.
pub(super) fn converting(settings: &[(String, BString)]) -> bool {
    let converts = |(key, value): (&str, &BString)| match key {
        // with it line ends change only on their way in
        "core.autocrlf" if value.eq_ignore_ascii_case(b"input") => false,
        "core.autocrlf" | "core.eol" | "attr.tree" => !is_plain(key, value),
        _ => false,
    };
    last(settings).into_iter().any(converts)
}

/// The value of each that counts.
fn last(settings: &[(String, BString)]) -> BTreeMap<&str, &BString> {
    settings.iter().map(|(k, v)| (k.as_str(), v)).collect()
}

fn is_plain(key: &str, value: &BString) -> bool {
    if let Some((_, plain)) = PLAIN.iter().find(|(name, _)| *name == key) {
        return spellings(value).iter().any(|value| plain.contains(value));
    }
    let last = key.rsplit('.').next().unwrap_or(key);
    match key.split('.').next().unwrap_or(key) {
        "extensions" => EXTENSIONS.contains(&last),
        "index" | "feature" => false,
        "remote" => !matches!(last, "promisor" | "partialclonefilter"),
        _ => true,
    }
}

/// What a value may mean; a key without one and an empty one look the same, and mean neither.
fn spellings(value: &BString) -> &'static [&'static str] {
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"on" => &["true"],
        b"1" => &["true", "1"],
        b"false" | b"no" | b"off" => &["false"],
        b"0" => &["false", "0"],
        b"lf" => &["lf"],
        b"native" => &["native"],
        b"default" => &["default"],
        b"umask" => &["umask"],
        b"warn" => &["warn"],
        b"keep" => &["keep"],
        _ => &[],
    }
}
