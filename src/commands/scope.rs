//! `git agentwt scope`: what a scope says, and which rule decides about a path.

use std::ffi::OsString;
use std::io::Read;

use bstr::BString;
use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::cli::ScopeLists;
use crate::config::SettingFlags;
use crate::error::Error;
use crate::facts::scope::{Counted, Subject, counted, of_profile};
use crate::facts::{Repository, given, load_config};
use crate::scope::{Access, ScopeRule};

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
        None => Subject::of(given::take_name(&repository, &mut words)?),
    };
    words.extend(options.paths.iter().cloned());
    let mut paths: Vec<BString> = words.into_iter().map(given::bytes_of).collect();
    if options.stdin {
        paths.extend(from_stdin(options.output.nul())?);
    }
    if paths.is_empty() && !options.stdin {
        let counted = counted(&repository, subject)?;
        return Ok(Outcome::done(ScopeAnswer::Whole(Box::new(counted))));
    }
    let below = given::prefix(&repository, subject.path.as_ref());
    let mut roots: Vec<&Utf8PathBuf> = subject.path.iter().chain(&repository.toplevel).collect();
    roots.push(&repository.root);
    let mut decided = Vec::new();
    for given in paths {
        let (path, kind) = given::parse(&below, &roots, &given)?;
        let verdict = subject.verdict(&repository, &path, kind)?;
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
