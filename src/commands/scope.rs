//! `git agentwt scope`: what a scope says, and which rule decides about a path.

use std::ffi::{OsStr, OsString};
use std::io::Read;

use bstr::{BString, ByteSlice, ByteVec};
use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::cli::ScopeLists;
use crate::config::SettingFlags;
use crate::error::Error;
use crate::facts::scope::{Counted, Subject, counted, of_profile};
use crate::facts::worktree::Known;
use crate::facts::{Repository, load_config};
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::plan::refusal::Refusal;
use crate::scope::{Access, EntryKind, ScopeRule};

/// Holds the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeAnswer {
    /// The whole scope, with what each rule matches.
    Whole(Box<Counted>),
    /// What decides about each path.
    Paths(Vec<Decided>),
}

/// Holds what decides about one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The path as it was given.
    pub given: BString,
    /// Its access.
    pub access: Access,
    /// The rule that decided; none when no rule matches.
    pub rule: Option<ScopeRule>,
}

/// Shows a scope, or decides about paths.
///
/// # Errors
/// Fails when the scope cannot be had, or a path is none of the repository.
pub fn run(session: &Session, options: &crate::cli::Scope) -> Result<Outcome<ScopeAnswer>, Error> {
    let repository = session.repository()?;
    let mut words: Vec<OsString> = options.args.clone();
    let subject = match &options.profile {
        Some(profile) => profile_subject(session, &repository, profile)?,
        None => {
            let name = words.first().and_then(|word| known_name(&repository, word));
            if name.is_some() {
                words.remove(0);
            }
            let unknown = words
                .first()
                .map(|word| word.to_string_lossy().into_owned());
            let inside = Known::of(&repository, name.as_deref());
            let known = match (inside, unknown) {
                // outside of any worktree the first word can only have been meant as a name
                (Err(_), Some(text)) if name.is_none() => Known::of(&repository, Some(&text))?,
                (known, _) => known?,
            };
            Subject::of(known)
        }
    };
    words.extend(options.paths.iter().cloned());
    let mut given: Vec<BString> = words.into_iter().map(bytes_of).collect();
    if options.stdin {
        given.extend(from_stdin(options.output.nul())?);
    }
    if given.is_empty() && !options.stdin {
        let counted = counted(&repository, subject)?;
        return Ok(Outcome::done(ScopeAnswer::Whole(Box::new(counted))));
    }
    let below = prefix(&repository, subject.path.as_ref());
    let mut roots: Vec<&Utf8PathBuf> = subject.path.iter().chain(&repository.toplevel).collect();
    roots.push(&repository.root);
    let mut decided = Vec::new();
    for given in given {
        let (path, kind) = parse(&below, &roots, &given)?;
        let verdict = subject.scope.verdict(&path, kind);
        let rule = verdict.rule.cloned();
        decided.push(Decided {
            given,
            access: verdict.access,
            rule,
        });
    }
    Ok(Outcome::done(ScopeAnswer::Paths(decided)))
}

fn profile_subject(
    session: &Session,
    repository: &Repository,
    profile: &str,
) -> Result<Subject, Error> {
    let flags = SettingFlags {
        scope: Some(profile.to_owned()),
        ..SettingFlags::default()
    };
    let loaded = load_config(repository, &flags, &session.environment)?;
    let found = loaded
        .settings
        .profile(&loaded.config)?
        .cloned()
        .unwrap_or_default();
    let rules = crate::plan::rules::rules_of(profile, Some(&found), &ScopeLists::default(), true)?;
    of_profile(repository, profile, rules).map_err(Error::from)
}

fn known_name(repository: &Repository, word: &OsStr) -> Option<String> {
    let name = WorktreeName::parse(word.to_str()?).ok()?;
    Known::load(repository, &name)
        .ok()
        .map(|_| name.to_string())
}

fn bytes_of(word: OsString) -> BString {
    Vec::from_os_string(word)
        .unwrap_or_else(|word| word.to_string_lossy().into_owned().into())
        .into()
}

/// Where relative paths begin: the directory that we are in, below the worktree's root.
fn prefix(repository: &Repository, worktree: Option<&Utf8PathBuf>) -> Vec<u8> {
    let root = worktree.filter(|path| repository.start.starts_with(path));
    let root = root.or(repository.toplevel.as_ref());
    let below = root.and_then(|root| repository.start.strip_prefix(root).ok());
    below
        .map(|below| below.as_str().as_bytes().to_vec())
        .unwrap_or_default()
}

/// A trailing slash means a directory, as for `git check-ignore`; an absolute path is one of the
/// first root that it is in.
fn parse(
    below: &[u8],
    roots: &[&Utf8PathBuf],
    given: &BString,
) -> Result<(RepoPath, EntryKind), Error> {
    let (text, kind) = match given.strip_suffix(b"/") {
        Some(text) => (text, EntryKind::Directory),
        None => (given.as_slice(), EntryKind::File),
    };
    let in_root = |root: &&Utf8PathBuf| text.strip_prefix(format!("{root}/").as_bytes());
    let (below, text) = match roots.iter().find_map(in_root) {
        Some(inside) => (&b""[..], inside),
        None => (below, text),
    };
    let mut parts: Vec<&[u8]> = below
        .split_str("/")
        .filter(|part| !part.is_empty())
        .collect();
    let mut outside = text.starts_with(b"/");
    for part in text.split_str("/") {
        match part {
            b"" | b"." => {}
            b".." => outside |= parts.pop().is_none(),
            part => parts.push(part),
        }
    }
    let bad = |why: &str| Refusal::BadPath {
        text: crate::path::escape_for_terminal(given),
        why: why.to_owned(),
    };
    if outside {
        return Err(bad("it is outside the repository").into());
    }
    let path = RepoPath::parse(parts.join(&b'/')).map_err(|error| bad(&error.to_string()))?;
    Ok((path, kind))
}

fn from_stdin(nul: bool) -> Result<Vec<BString>, Error> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| crate::disk::DiskError::new("read standard input", error))?;
    let end = if nul { 0 } else { b'\n' };
    let words = bytes
        .split(|byte| *byte == end)
        .filter(|word| !word.is_empty());
    Ok(words.map(BString::from).collect())
}
