//! `git agentwt scope`: what a scope says, and which rule decides about a path.

mod edit;

use std::ffi::OsString;

use bstr::BString;
use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::edit::ScopeChange;
use super::{Outcome, Session};
use crate::answer::shapes::{AccessCounts, PathField, RuleField};
use crate::answer::{Answer, Cell, Form, Paint, Row, Text, count};
use crate::cli::{ScopeArguments, ScopeLists};
use crate::disk::files;
use crate::error::Error;
use crate::git::objects::Objects;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::scope::{Access, Coverage, EntryKind, Scope, Verdict, escape_for_rule};
use crate::worktree::scope_edit::Listing;
use crate::worktree::{Repository, arguments, load_config, rules_of};

/// The answer of `scope`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopeAnswer {
    /// The whole scope; absent if paths were given.
    #[serde(flatten)]
    pub whole: Option<WholeScope>,
    /// What decides about each path that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<PathDecision>>,
    /// How the scope was changed; absent if it was only shown.
    #[serde(flatten)]
    pub change: Option<ScopeChange>,
}

/// A whole scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WholeScope {
    /// The name of the worktree, or of the profile.
    pub name: String,
    /// The rules.
    pub rules: Vec<CountedRule>,
    /// The number of tracked files by access.
    pub files: AccessCounts,
}

/// A rule, with the files that it matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CountedRule {
    /// The rule.
    #[serde(flatten)]
    pub rule: RuleField,
    /// The number of tracked files that the pattern matches.
    pub matches: usize,
}

/// What decides about a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathDecision {
    /// The path as it was given.
    #[serde(flatten)]
    pub path: PathField,
    /// `write`, `read` or `excluded`.
    #[schemars(with = "String")]
    pub access: Access,
    /// The rule that decided; null if no rule matches.
    pub rule: Option<RuleField>,
}

impl PathDecision {
    fn row(&self) -> Row {
        let shown = |rule: &RuleField| {
            let pattern = escape_for_rule(&rule.pattern);
            format!("{}: {} {pattern}", rule.origin, rule.list)
        };
        let rule = self.rule.as_ref();
        let (list, origin, pattern) = rule.map_or(("", "", ""), |rule| {
            (&rule.list, &rule.origin, &rule.pattern)
        });
        Row::new(vec![
            Cell::both(self.access.to_string()).paint(match self.access {
                Access::Write => Paint::good,
                Access::Read => Paint::warning,
                Access::Excluded => Paint::bad,
            }),
            Cell::porcelain(list),
            Cell::porcelain(origin),
            Cell::porcelain(pattern),
            Cell::people(rule.map_or("no rule".to_owned(), shown)).paint(Paint::faint),
            Cell::new(self.path.bytes(), &[Form::Table, Form::Porcelain]),
        ])
    }
}

impl CountedRule {
    fn row(&self) -> Row {
        let rule = &self.rule;
        Row::new(vec![
            Cell::both(&rule.list).paint(Paint::heading),
            Cell::people(escape_for_rule(&rule.pattern)),
            Cell::people(count(self.matches, "file", "files")),
            Cell::both(&rule.origin).paint(Paint::faint),
            Cell::porcelain(self.matches.to_string()),
            Cell::porcelain(&rule.pattern),
        ])
    }
}

impl Answer for ScopeAnswer {
    const DOCUMENT: &'static str = "scope";

    fn print(&self, text: &mut Text) {
        if let Some(change) = &self.change {
            return change.print(text);
        }
        let Some(whole) = &self.whole else {
            return text.table(&self.rows(), "");
        };
        text.line(text.paint.name(&whole.name));
        text.table(&self.rows(), "  ");
        text.line(format!("  {}", whole.files.text()));
    }

    fn rows(&self) -> Vec<Row> {
        let rules = self.whole.iter().flat_map(|whole| &whole.rules);
        let paths = self.paths.iter().flatten();
        let changed = self.change.iter().flat_map(|change| &change.changed_rules);
        let changed =
            changed.map(|rule| Row::record(&[rule.list.as_bytes(), rule.pattern.as_bytes()]));
        let rules = rules.map(CountedRule::row);
        let shown = rules.chain(paths.map(PathDecision::row));
        shown.chain(changed).collect()
    }
}

/// Holds the scope that is shown.
struct Shown {
    /// The name of the worktree, or of the profile.
    name: String,
    /// The directory of the worktree; none for a profile.
    path: Option<Utf8PathBuf>,
    scope: Scope,
    /// The commit whose files are counted; none when there is no commit yet.
    commit: Option<CommitId>,
    objects: Objects,
}

/// Shows a scope, or decides about paths.
///
/// # Errors
/// Fails when the scope cannot be loaded, or a path is not in the repository.
pub fn run(session: &Session, options: &ScopeArguments) -> Result<Outcome<ScopeAnswer>, Error> {
    if options.is_change() {
        return edit::run(session, options);
    }
    let repository = session.repository()?;
    let mut words: Vec<OsString> = options.args.clone();
    let shown = match &options.profile {
        Some(profile) => load_profile(session, &repository, profile)?,
        None => {
            let known = arguments::load_named(&repository, &mut words)?;
            Shown {
                name: known.record.name.to_string(),
                path: Some(known.record.path),
                scope: known.scope,
                commit: Some(known.record.base.commit),
                objects: repository.objects()?,
            }
        }
    };
    words.extend(options.paths.iter().cloned());
    let mut paths: Vec<BString> = words.into_iter().map(arguments::bytes_of).collect();
    if options.stdin {
        let end = if options.output.form().1 { 0 } else { b'\n' };
        let words = session.input.split(|byte| *byte == end);
        paths.extend(words.filter(|word| !word.is_empty()).map(BString::from));
    }
    if paths.is_empty() && !options.stdin {
        return count_matches(&repository, &shown);
    }
    let below = arguments::prefix(&repository, shown.path.as_ref());
    let mut roots: Vec<&Utf8PathBuf> = shown.path.iter().chain(&repository.toplevel).collect();
    roots.push(&repository.root);
    let decide = |given: &BString| -> Result<PathDecision, Error> {
        let (path, kind) = arguments::parse(&below, &roots, given)?;
        let verdict = shown.verdict(&repository, &path, kind)?;
        Ok(PathDecision {
            path: PathField::from(given),
            access: verdict.access,
            rule: verdict.rule.map(RuleField::from),
        })
    };
    Ok(Outcome::done(ScopeAnswer {
        paths: Some(paths.iter().map(decide).collect::<Result<_, _>>()?),
        ..ScopeAnswer::default()
    }))
}

/// Counts what each rule matches, with advice for the author of the scope.
fn count_matches(repository: &Repository, shown: &Shown) -> Result<Outcome<ScopeAnswer>, Error> {
    let rules = shown.scope.rules();
    let (mut matches, mut advice) = (vec![0; rules.len()], Vec::new());
    let mut files = AccessCounts::default();
    if let Some(commit) = &shown.commit {
        let listing = Listing::read(repository, commit)?;
        Coverage { matches, advice } = listing.coverage(&shown.scope);
        files = listing.classify(&shown.scope).counts();
    }
    let rule = |(rule, matches)| CountedRule {
        rule: RuleField::from(rule),
        matches,
    };
    let whole = WholeScope {
        name: shown.name.clone(),
        rules: rules.iter().zip(matches).map(rule).collect(),
        files,
    };
    let mut outcome = Outcome::done(ScopeAnswer {
        whole: Some(whole),
        ..ScopeAnswer::default()
    });
    outcome.notes = advice;
    Ok(outcome)
}

fn load_profile(session: &Session, repository: &Repository, profile: &str) -> Result<Shown, Error> {
    let flags = [("--scope", Some(profile))];
    let loaded = load_config(repository, &flags, &session.environment)?;
    let found = loaded.settings.profile(&loaded.config)?;
    let rules = rules_of(profile, found, &ScopeLists::default(), true)?;
    Ok(Shown {
        name: profile.to_owned(),
        path: None,
        scope: Scope::compile(rules, repository.case()?)?,
        commit: repository.git.rev_parse_commit("HEAD")?,
        objects: repository.objects()?,
    })
}

impl Shown {
    /// The access of a path, and the rule that decides. A path that was given like that of a file is
    /// that of a directory where a directory or submodule is (`git check-ignore` asks the index and
    /// the disk); only where that makes a difference is it looked at.
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

    /// Whether the commit has a directory at a path, else the disk.
    fn is_directory(&self, repository: &Repository, path: &RepoPath) -> Result<bool, Error> {
        if let Some(commit) = &self.commit {
            let tree = self.objects.commit(commit)?.tree;
            if let Some((mode, _)) = self.objects.held_at(&tree, path.as_bstr())? {
                return Ok(mode.is_none_or(|mode| EntryKind::of(mode) == EntryKind::Directory));
            }
        }
        let root = self.path.as_ref().unwrap_or(&repository.root);
        let path = path.to_os_path().map(|path| root.as_std_path().join(path));
        Ok(path.is_ok_and(|path| files::stat(&path).is_some_and(|stat| stat.is_directory())))
    }
}
