//! Reads git's settings (git-config(1), "FILES" and "SYNTAX").

use camino::Utf8Path;
use gix::config::File;

use super::files;

/// Extensions that change nothing of what is read here (gitrepository-layout(5)).
const KNOWN_EXTENSIONS: &[&str] = &[
    "worktreeconfig",
    "objectformat",
    "noop",
    "preciousobjects",
    "partialclone",
    "relativeworktrees",
];

/// Whether a repository has the format that is read here: files for refs, and no extension that
/// nobody here knows.
pub(super) fn is_plain(common_dir: &Utf8Path) -> bool {
    let Some(settings) = file(&common_dir.join("config")) else {
        return false;
    };
    let version = settings.integer("core.repositoryFormatVersion");
    let known = |name: String| {
        let name = name.to_ascii_lowercase();
        KNOWN_EXTENSIONS.contains(&name.as_str())
    };
    let mut extensions = settings
        .sections_by_name("extensions")
        .into_iter()
        .flatten();
    let plain = extensions.all(|section| section.value_names().all(|name| known(name)));
    plain && matches!(version, Ok(None | Some(0 | 1)))
}

/// One file by itself; none when it is not there or does not read.
fn file(path: &Utf8Path) -> Option<File> {
    let bytes = files::read(path).ok()??;
    let meta = gix::config::file::Metadata::default();
    let options = gix::config::file::init::Options::default();
    File::from_bytes_owned(&mut bytes.clone(), meta, options).ok()
}
