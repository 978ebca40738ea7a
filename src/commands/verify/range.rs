//! `git agentwt verify --range`: holds a range of commits against a scope, without a worktree.

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::answer::verdict::VerdictReport;
use crate::commands::Session;
use crate::commands::verify::arguments::Verify;
use crate::config::CONFIG_PATH;
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::quarantine::Quarantine;
use crate::inventory::manifest::Manifest;
use crate::judge::change::{ChangeSet, Extent};
use crate::judge::compare::{Delta, State, entry_in};
use crate::judge::finding::verify;
use crate::refusal::RangeRefusal;
use crate::scope::compiled::Scope;
use crate::truth::history::History;
use crate::truth::layered::{Layers, WholeBase};
use crate::truth::options::SurveyOptions;
use crate::truth::references::Trees;
use crate::truth::run_passes;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, escape_for_terminal};
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, unknown};
use crate::worktree::repository::{CONFIG, Repository};
use crate::worktree::settings::{load_config_of, rules_of};

/// Verifies a range.
///
/// # Errors
/// Fails when the range, the scope or the commits cannot be read: there is then no verdict.
pub fn run(session: &Session, options: &Verify, range: &str) -> Result<VerdictReport, Error> {
    let range = Range::parse(range)?;
    let span = Span::find(session.repository()?, &range, session.quarantine.as_deref())?;
    let (scope, profile) = scope_of_base(session, options, &range, &span)?;
    let report = verify(&scope, span.changes(&scope)?, options.verify_options());
    drop(span);
    Ok(VerdictReport::range(
        range.text,
        profile.as_deref(),
        &report,
    ))
}

/// Compiles the scope to verify against: what the config of the base side says, with the lists of
/// the command line. Returns the name of its profile too.
fn scope_of_base(
    session: &Session,
    options: &Verify,
    range: &Range,
    span: &Span<'_>,
) -> Result<(Scope, Option<String>), Error> {
    let repository = &span.repository;
    let lists = &options.lists;
    let flags = [("--scope", lists.profile.as_deref())];
    let config = span.config()?;
    let file = format!("{}:{CONFIG_PATH}", range.shown_base());
    let environment = &session.environment;
    let loaded = load_config_of(repository, &flags, environment, &file, config.as_deref())?;
    if lists.profile.is_none() {
        for note in loaded.git_settings.notes(&["agentwt.scope"]) {
            session.log.tell(&note);
        }
    }
    // without a config, the command line has to say what may be edited
    if !loaded.found && lists.write.is_none() && lists.add_write.is_none() {
        return Err(range.without_scope("does not exist").into());
    }
    let profile = loaded.settings.profile(&loaded.config)?;
    // this fails only where neither the config nor the command line says what may be edited
    let Ok(rules) = rules_of(&range.text, profile, lists, loaded.found) else {
        return Err(range
            .without_scope("does not say what may be edited")
            .into());
    };
    let profile_name = profile.map(|_| loaded.settings.scope.value.clone());
    let scope = Scope::compile(rules, repository.case()?)?;
    Ok((scope, profile_name))
}

/// Holds the two ends of a range as they were typed (gitrevisions(7)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The whole text, fit for a terminal.
    pub text: String,
    /// The base side: what is compared with, and whose config counts.
    pub base: String,
    /// What is verified.
    pub head: String,
}

impl Range {
    /// Splits `A..B` or `A...B`, which means the same here; `A..` ends at HEAD. The base is never
    /// left out: `..B`, which a script makes of an unset variable, would compare HEAD with itself.
    ///
    /// # Errors
    /// Refuses what is no range.
    pub fn parse(text: &str) -> Result<Self, RangeRefusal> {
        let shown = escape_for_terminal(text.as_bytes());
        let ends = text.split_once("...").or_else(|| text.split_once(".."));
        let Some((base, head)) = ends else {
            return Err(RangeRefusal::Syntax { text: shown });
        };
        let has_more_dots = |end: &str| end.contains("..") || end.starts_with('.');
        if base.is_empty() || has_more_dots(base) || has_more_dots(head) {
            return Err(RangeRefusal::Syntax { text: shown });
        }
        let head = if head.is_empty() { "HEAD" } else { head };
        Ok(Self {
            text: shown,
            base: base.to_owned(),
            head: head.to_owned(),
        })
    }

    /// Resolves an end of the range.
    fn commit(&self, git: &Git, revision: &str) -> Result<CommitId, Error> {
        match git.rev_parse_commit(revision)? {
            Some(commit) => Ok(commit),
            None => Err(Error::from(RangeRefusal::Unknown {
                range: self.text.clone(),
                revision: escape_for_terminal(revision.as_bytes()),
            })),
        }
    }

    fn without_scope(&self, why: &'static str) -> RangeRefusal {
        let range = self.text.clone();
        let base = self.shown_base();
        RangeRefusal::NoScope { range, base, why }
    }

    /// The base side, fit for a terminal.
    pub fn shown_base(&self) -> String {
        escape_for_terminal(self.base.as_bytes())
    }
}

/// Represents a range, found in the repository.
pub struct Span<'a> {
    /// The repository, of which only what verification believes is read.
    pub repository: Repository,
    range: &'a Range,
    objects: Objects,
    base: CommitId,
    head: CommitId,
    /// Their best common ancestors, at least one.
    common: Vec<CommitId>,
    /// The tree of the first of them.
    tree: Manifest,
    /// The differences of all of them from that tree, and last that of the base side.
    references: Vec<Delta>,
}

impl<'a> Span<'a> {
    /// Finds the ends of the range and their merge bases. `quarantine` is the directory of the
    /// objects of a push that waits for this hook; one of another repository is ignored.
    ///
    /// # Errors
    /// Fails when an end names no commit, nothing is common, or history is missing here.
    pub fn find(
        mut repository: Repository,
        range: &'a Range,
        quarantine: Option<&Utf8Path>,
    ) -> Result<Self, Error> {
        let git_dir = git_dir_of_head(&repository)?;
        repository.git = repository.git.with_mode(GitMode::Hardened);
        let mut objects = repository.objects()?;
        if let Some(directory) = quarantine
            && let Some(waiting) = find_quarantine(&repository, directory)
        {
            repository.git = repository.git.with_quarantine(&waiting);
            objects = objects.with_quarantine(&waiting)?;
        }
        // here `HEAD` is that of the worktree we are in, not of the main worktree
        let git = repository.git.on(&git_dir, None);
        let base = range.commit(&git, &range.base)?;
        let head = range.commit(&git, &range.head)?;
        let common = common(&repository, range, &base, &head)?;
        let mut trees = Trees::new(&objects, &common[0])?;
        let mut references = trees.merged(&repository.git, &common)?;
        // what is as on the base side is not a change: a merge would change nothing; it comes last,
        // where `config` looks for it
        references.push(trees.delta(&base)?);
        let tree = Manifest::of_tree(objects.list(&objects.commit(&common[0])?.tree)?);
        Ok(Self {
            repository,
            range,
            objects,
            base,
            head,
            common,
            tree,
            references,
        })
    }

    /// The bytes of the config that the base side has; `None` if it has none.
    ///
    /// # Errors
    /// Fails when it is not a file, or cannot be read.
    pub fn config(&self) -> Result<Option<Vec<u8>>, Error> {
        let path = RepoPath::parse(CONFIG).expect("because it is relative and normal");
        let base = self.references.last();
        let Some(entry) = base.and_then(|base| entry_in(&self.tree, base, &path)) else {
            return Ok(None);
        };
        if !entry.mode.is_regular() {
            return Err(self.range.without_scope("is not a regular file").into());
        }
        Ok(Some(self.objects.blob(&entry.id)?))
    }

    /// Returns what the head changed, and what its commits touched and put back.
    ///
    /// # Errors
    /// Fails when a tree or a commit cannot be read.
    pub fn changes(&self, scope: &Scope) -> Result<ChangeSet, Error> {
        let commits = self.repository.git.rev_list(&[&self.head], &[&self.base])?;
        let history = History::read(&self.objects, &commits)?;
        let delta = Trees::new(&self.objects, &self.common[0])?.delta(&self.head)?;
        let seen = |path: &RepoPath| history.seen(path);
        let whole_base = WholeBase::Read(&self.tree);
        let layers = Layers {
            states: vec![State::new(&delta, &self.references, &seen)],
            deltas: vec![&delta],
            references: self.references.iter().collect(),
            upstream_trees: self.references.iter().collect(),
            ..Layers::new(scope, &self.tree, whole_base, &history)
        };
        let findings = run_passes(&layers, &SurveyOptions::default())?;
        Ok(ChangeSet {
            history: findings.history,
            leaks: findings.leaks,
            looked: Extent::Commits,
            ..ChangeSet::new(self.base.clone(), self.head.clone(), findings.net)
        })
    }
}

/// The objects of a push that wait for a hook, if they are to go into this repository.
fn find_quarantine(repository: &Repository, directory: &Utf8Path) -> Option<Quarantine> {
    let objects = files::canonical(&repository.common_dir.join("objects")).ok()?;
    let quarantine = files::canonical(&repository.start.join(directory)).ok()?;
    Quarantine::in_objects(&objects, &quarantine)
}

/// The git directory in which HEAD is that of the worktree we are in. In a worktree of ours it is
/// the recorded one: its own `.git` can be redirected or removed.
fn git_dir_of_head(repository: &Repository) -> Result<camino::Utf8PathBuf, Error> {
    if let Some(name) = &repository.inside
        && let RecordState::Complete(worktree) = RecordState::read(repository, name)?
    {
        let record = worktree.record;
        if files::is_directory(&record.admin_dir) {
            return Ok(record.admin_dir);
        }
        let detail = format!("{} is gone", record.admin_dir);
        return Err(WorktreeFault::damaged(&record.name, "the git directory", detail).into());
    }
    let git = repository.git.at(&repository.start);
    let git_dir = files::canonical(&git.absolute_git_dir()?)?;
    let linked = repository.common_dir.join("worktrees");
    match &repository.inside {
        // a worktree without a record: its `.git` may lead anywhere, also to the repository around
        Some(name) if git_dir.parent() != Some(&linked) => {
            Err(unknown(repository, name.to_string()))
        }
        Some(_) | None => Ok(git_dir),
    }
}

/// The best common ancestors. Where the clone is shallow and ends between them and an end of the
/// range, git would see others than there are.
fn common(
    repository: &Repository,
    range: &Range,
    base: &CommitId,
    head: &CommitId,
) -> Result<Vec<CommitId>, Error> {
    let git = &repository.git;
    let common = git.merge_base_all(head, std::slice::from_ref(base))?;
    let range = range.text.clone();
    let file = files::read(&repository.common_dir.join("shallow"))?.unwrap_or_default();
    let shallow: Vec<&[u8]> = file.lines().collect();
    let ancestors: Vec<&CommitId> = common.iter().collect();
    for commit in git.rev_list(&[base, head], &ancestors)? {
        if shallow.contains(&commit.as_str().as_bytes()) {
            return Err(RangeRefusal::Shallow { range }.into());
        }
    }
    if common.is_empty() {
        let ends = range.replacen("...", " ", 1).replacen("..", " ", 1);
        return Err(RangeRefusal::Unrelated { range, ends }.into());
    }
    Ok(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_its_base_and_ends_at_head_unless_it_says_so() {
        for (text, base, head) in [
            ("main..task", "main", "task"),
            ("main...task", "main", "task"),
            ("main..", "main", "HEAD"),
            ("origin/main...", "origin/main", "HEAD"),
            ("v1.2..HEAD~3", "v1.2", "HEAD~3"),
            ("main@{1.day.ago}..HEAD", "main@{1.day.ago}", "HEAD"),
        ] {
            let range = Range::parse(text).expect("it is a range");
            assert_eq!(
                (range.base.as_str(), range.head.as_str()),
                (base, head),
                "{text}"
            );
        }
    }

    #[test]
    fn what_leaves_its_base_out_is_no_range() {
        for text in [
            "", "main", "..", "...", "..HEAD", "...HEAD", "a..b..c", "a..b...c", "a....b",
        ] {
            assert!(Range::parse(text).is_err(), "{text}");
        }
    }
}
