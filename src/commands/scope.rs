//! `git agentwt scope`: what a scope says, and which rule decides about a path.

pub mod answer;
pub mod arguments;
pub mod edit;

use std::ffi::OsString;

use bstr::BString;
use camino::Utf8PathBuf;

use crate::actions::scope_edit::Listing;
use crate::answer::shapes::AccessCounts;
use crate::arguments::scope::ScopeLists;
use crate::commands::scope::answer::{CountedRule, PathDecision, ScopeAnswer, WholeScope};
use crate::commands::scope::arguments::ScopeArguments;
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::git::objects::Objects;
use crate::scope::classifier::Verdict;
use crate::scope::compiled::Scope;
use crate::scope::coverage::Coverage;
use crate::scope::rule::{EntryKind, RuleText};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::path_text::PathText;
use crate::worktree::operands;
use crate::worktree::repository::Repository;
use crate::worktree::settings::{load_config, rules_of};

/// The scope that is shown.
struct ShownScope {
    /// The name of the worktree, or of the profile.
    name: String,
    /// The directory of the worktree; `None` for a profile.
    path: Option<Utf8PathBuf>,
    scope: Scope,
    /// The commit whose files are counted; `None` if there is no commit yet.
    commit: Option<CommitId>,
    objects: Objects,
}

/// Shows a scope, decides about paths, or changes the scope of a worktree.
///
/// # Errors
/// Fails when the scope cannot be loaded, or a path is not in the repository.
pub fn run(session: &Session, options: &ScopeArguments) -> Result<Outcome<ScopeAnswer>, Error> {
    if options.is_change() {
        return edit::run(session, options);
    }
    let repository = session.repository()?;
    let mut operands: Vec<OsString> = options.args.clone();
    let shown = match &options.profile {
        Some(profile) => load_profile(session, &repository, profile)?,
        None => {
            // takes the name of the worktree out of the operands
            let worktree = operands::load_named(&repository, &mut operands)?;
            ShownScope {
                name: worktree.record.name.to_string(),
                path: Some(worktree.record.path),
                scope: worktree.scope,
                commit: Some(worktree.record.base.commit),
                objects: repository.objects()?,
            }
        }
    };
    operands.extend(options.paths.iter().cloned());
    let mut paths: Vec<BString> = operands.into_iter().map(operands::bytes_of).collect();
    if options.stdin {
        let end = options.output.form().end.byte();
        for path in session.input.split(|byte| *byte == end) {
            if !path.is_empty() {
                paths.push(BString::from(path));
            }
        }
    }
    if paths.is_empty() && !options.stdin {
        return count_matches(&repository, &shown);
    }
    decide(&repository, &shown, &paths)
}

/// Decides about paths, as they were given.
fn decide(
    repository: &Repository,
    shown: &ShownScope,
    paths: &[BString],
) -> Result<Outcome<ScopeAnswer>, Error> {
    let below = operands::prefix(repository, shown.path.as_ref());
    let mut roots: Vec<&Utf8PathBuf> = shown.path.iter().chain(&repository.toplevel).collect();
    roots.push(&repository.root);
    let mut decisions = Vec::new();
    for given in paths {
        let (path, kind) = operands::parse(&below, &roots, given)?;
        let verdict = shown.verdict(repository, &path, kind)?;
        decisions.push(PathDecision {
            path: PathText::from(given),
            access: verdict.access,
            rule: verdict.rule.map(RuleText::from),
        });
    }
    Ok(Outcome::done(ScopeAnswer {
        paths: Some(decisions),
        ..ScopeAnswer::default()
    }))
}

/// Counts what each rule matches, with advice for the author of the scope. Without a commit, all
/// counts are 0.
fn count_matches(
    repository: &Repository,
    shown: &ShownScope,
) -> Result<Outcome<ScopeAnswer>, Error> {
    let rules = shown.scope.rules();
    let mut matches = vec![0; rules.len()];
    let mut advice = Vec::new();
    let mut files = AccessCounts::default();
    if let Some(commit) = &shown.commit {
        let listing = Listing::read(repository, commit)?;
        Coverage { matches, advice } = listing.coverage(&shown.scope);
        files = listing.classify(&shown.scope).counts();
    }
    let mut counted = Vec::new();
    for (rule, number) in rules.iter().zip(matches) {
        counted.push(CountedRule {
            rule: RuleText::from(rule),
            matches: number,
        });
    }
    let whole = WholeScope {
        name: shown.name.clone(),
        rules: counted,
        files,
    };
    let mut outcome = Outcome::done(ScopeAnswer {
        whole: Some(whole),
        ..ScopeAnswer::default()
    });
    outcome.notes = advice;
    Ok(outcome)
}

fn load_profile(
    session: &Session,
    repository: &Repository,
    profile: &str,
) -> Result<ShownScope, Error> {
    let flags = [("--scope", Some(profile))];
    let loaded = load_config(repository, &flags, &session.environment)?;
    let lists = loaded.settings.profile(&loaded.config)?;
    let rules = rules_of(profile, lists, &ScopeLists::default(), true)?;
    Ok(ShownScope {
        name: profile.to_owned(),
        path: None,
        scope: Scope::compile(rules, repository.case()?)?,
        commit: repository.git.rev_parse_commit("HEAD")?,
        objects: repository.objects()?,
    })
}

impl ShownScope {
    /// The access of a path, and the rule that decides. A path without a slash at its end is that
    /// of a directory if there is a directory or submodule (as for `git check-ignore`); that is
    /// only looked up if it makes a difference.
    fn verdict(
        &self,
        repository: &Repository,
        path: &RepoPath,
        given: EntryKind,
    ) -> Result<Verdict<'_>, Error> {
        let verdict = self.scope.verdict(path, given);
        let as_directory = self.scope.verdict(path, EntryKind::Directory);
        if verdict == as_directory || !self.is_directory(repository, path)? {
            return Ok(verdict);
        }
        Ok(as_directory)
    }

    /// True if a path is a directory: in the commit, or if that does not have the path, on disk.
    fn is_directory(&self, repository: &Repository, path: &RepoPath) -> Result<bool, Error> {
        if let Some(commit) = &self.commit {
            let tree = self.objects.commit(commit)?.tree;
            if let Some(object) = self.objects.object_at(&tree, path.as_bstr())? {
                return Ok(object
                    .leaf()
                    .is_none_or(|entry| EntryKind::of(entry.mode) == EntryKind::Directory));
            }
        }
        let root = self.path.as_ref().unwrap_or(&repository.root);
        let path = path.to_os_path().map(|path| root.as_std_path().join(path));
        Ok(path.is_ok_and(|path| files::stat(&path).is_some_and(|stat| stat.is_directory())))
    }
}
