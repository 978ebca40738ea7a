//! Finds out what a checkout in a repository converts: by settings, attributes and filters.
#![expect(clippy::disallowed_methods, reason = "says where attribute files are")]

use bstr::ByteSlice;
use gix::attrs::{Source as AttributeFile, StateRef};
use gix::index::State;
use gix::index::entry::{Flags, Mode as IndexMode};
use gix::worktree::stack::state::attributes::Source;

use crate::git::environment;
use crate::git::error::{GitError, reading};
use crate::git::git_dir::read_file;
use crate::git::process::Git;

/// Attributes that let a checkout write other bytes than git stores (gitattributes(5)).
const CONVERTING: [&str; 4] = ["crlf", "ident", "filter=", "working-tree-encoding="];

/// Attributes that gix 0.90 applies otherwise than git: it writes `$Id: <id>$` without git's last
/// space, and UTF-8 where UTF-16 is wanted.
const ONLY_GIT: [&str; 2] = ["ident", "working-tree-encoding"];

/// What messages call what a checkout reads first.
pub(super) const SETTINGS: &str = "what decides how files are checked out";

/// What a checkout in a repository may convert, now or after a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversions {
    /// True if it may write other bytes than git stores.
    pub possible: bool,
    /// Why gix would write other bytes than git, if it would.
    pub only_git: Option<String>,
}

/// Reads what a checkout may convert: by settings, by attributes beside the tree, or by those of
/// the tree (`tracked`).
///
/// # Errors
/// Fails when the repository cannot be opened.
pub fn read_conversions(git: &Git, tracked: Vec<Vec<u8>>) -> Result<Conversions, GitError> {
    let repo = git.repo()?.local();
    if std::env::var_os("GIT_ATTR_SOURCE").is_some() {
        return Ok(Conversions {
            possible: true,
            only_git: Some("attributes come from another tree".to_owned()),
        });
    }
    let mut files = tracked;
    files.extend(shared_attributes(&repo)?);
    let has_converting = CONVERTING.iter().any(|word| any_contains(&files, word));
    let only_git = ONLY_GIT.iter().find(|word| any_contains(&files, word));
    Ok(Conversions {
        possible: settings_convert(&repo) || has_converting,
        only_git: only_git.map(|attribute| format!("an attribute file names `{attribute}`")),
    })
}

/// True if a setting, or an attribute beside the tree, lets git store other bytes than a file has.
///
/// # Errors
/// Fails when the repository cannot be opened.
pub fn settings_convert_what_is_added(git: &Git) -> Result<bool, GitError> {
    let repo = git.repo()?.local();
    let config = repo.config_snapshot();
    // beside a boolean it can be `input`
    if config.string("core.autocrlf").is_some() || settings_convert(&repo) {
        return Ok(true);
    }
    Ok(shared_attributes(&repo)?
        .iter()
        .any(|file| !file.is_empty()))
}

fn any_contains(files: &[Vec<u8>], word: &str) -> bool {
    files.iter().any(|text| text.contains_str(word))
}

/// Reads the attribute files of the system, the user and the repository, as far as they are there.
fn shared_attributes(repo: &gix::Repository) -> Result<Vec<Vec<u8>>, GitError> {
    let allowed = environment::permissions().attributes;
    let sources = [
        (allowed.git_binary, AttributeFile::GitInstallation),
        (allowed.system, AttributeFile::System),
        (true, AttributeFile::Git),
    ];
    let mut files = vec![repo.common_dir().join("info/attributes")];
    for (is_read, source) in sources {
        if is_read {
            files.extend(source.storage_location(&mut |name| std::env::var_os(name)));
        }
    }
    let named_by_user = repo.config_snapshot().trusted_path("core.attributesFile");
    files.extend(named_by_user.map_err(reading(SETTINGS))?);
    let mut contents = Vec::new();
    for file in files {
        contents.extend(read_file(file)?);
    }
    Ok(contents)
}

/// True if a setting lets a checkout write other bytes than git stores.
fn settings_convert(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let line_end = config.string("core.eol");
    line_end.is_some_and(|line_end| line_end.eq_ignore_ascii_case(b"crlf"))
        || config.boolean("core.autocrlf") == Some(true)
        || config.string("attr.tree").is_some()
}

/// Says of each entry of the index whether a filter converts it; empty where no filter is
/// configured.
pub(super) fn filtered(repo: &gix::Repository, index: &State) -> Result<Vec<bool>, gix::Error> {
    if !has_filter(repo) {
        return Ok(Vec::new());
    }
    let mut attributes = repo.attributes_only(index, Source::IdMapping)?;
    let mut matches = attributes.selected_attribute_matches(["filter"]);
    let mut filtered = Vec::with_capacity(index.entries().len());
    for entry in index.entries() {
        let is_file = matches!(entry.mode, IndexMode::FILE | IndexMode::FILE_EXECUTABLE);
        if !is_file || entry.flags.contains(Flags::SKIP_WORKTREE) {
            filtered.push(false);
            continue;
        }
        attributes
            .at_entry(entry.path(index), Some(entry.mode))?
            .matching_attributes(&mut matches);
        let names_filter = matches
            .iter_selected()
            .any(|attribute| matches!(attribute.assignment.state, StateRef::Value(_)));
        filtered.push(names_filter);
    }
    Ok(filtered)
}

/// True if a filter is configured that a checkout runs.
fn has_filter(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let filters = config.plumbing().sections_by_name("filter");
    filters
        .into_iter()
        .flatten()
        .any(|filter| filter.value("smudge").is_some() || filter.value("process").is_some())
}
