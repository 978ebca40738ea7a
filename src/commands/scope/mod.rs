//! `git agentwt scope`: what a scope says, and which rule decides about a path.

mod answer;

use std::ffi::OsString;
use std::io::Read;

use bstr::BString;
use camino::Utf8PathBuf;

pub use self::answer::ScopeAnswer;
use self::answer::{CountedRule, PathDecision, WholeScope};
use super::{Outcome, Session};
use crate::answer::shapes::{AccessCounts, RuleField};
use crate::cli::ScopeLists;
use crate::config::SettingFlags;
use crate::error::Error;
use crate::facts::scope::{Subject, counted, of_profile};
use crate::facts::{Repository, given, load_config};

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
        paths.extend(from_stdin(options.output.form().1)?);
    }
    if paths.is_empty() && !options.stdin {
        let counted = counted(&repository, subject)?;
        let rules = counted.rules.iter().map(|(rule, matches)| CountedRule {
            rule: RuleField::from(rule),
            matches: *matches,
        });
        return Ok(Outcome::done(ScopeAnswer {
            whole: Some(WholeScope {
                name: counted.name,
                rules: rules.collect(),
                files: AccessCounts {
                    write: counted.files.write,
                    read: counted.files.read,
                    excluded: counted.files.excluded,
                },
                advice: counted.advice,
            }),
            paths: None,
        }));
    }
    let below = given::prefix(&repository, subject.path.as_ref());
    let mut roots: Vec<&Utf8PathBuf> = subject.path.iter().chain(&repository.toplevel).collect();
    roots.push(&repository.root);
    let mut decided = Vec::new();
    for given in paths {
        let (path, kind) = given::parse(&below, &roots, &given)?;
        let verdict = subject.verdict(&repository, &path, kind)?;
        decided.push(PathDecision::new(&given, verdict.access, verdict.rule));
    }
    Ok(Outcome::done(ScopeAnswer {
        whole: None,
        paths: Some(decided),
    }))
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
