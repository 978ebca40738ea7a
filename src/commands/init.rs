//! `git agentwt init`: writes the config and makes git ignore the worktrees.

use bstr::ByteSlice;
use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Outcome, Session};
use crate::answer::{Answer, Text};
use crate::apply::ignore_rules;
use crate::disk::files;
use crate::entry::Entry;
use crate::error::Error;
use crate::facts::Repository;
use crate::path::RepoPath;
use crate::plan::init::{
    ConfigPlan, EXCLUDE_RULE, EntryKind, InitFacts, Presence, TopLevelEntry,
    WORKTREES_GITIGNORE_PATH, plan,
};
use crate::worktree::repository::CONFIG;

/// The answer of `init`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InitAnswer {
    /// The config file.
    #[schemars(with = "String")]
    pub config: Utf8PathBuf,
    /// Whether nothing was written (`-n`).
    pub dry_run: bool,
    /// Whether the config is written; false if there is one.
    pub wrote_config: bool,
    /// Whether the rule is written into `info/exclude`.
    pub wrote_exclude_rule: bool,
    /// Whether `.agentwt/worktrees/.gitignore` is written.
    pub wrote_gitignore: bool,
    /// The text of the config, if it is written.
    #[serde(skip)]
    pub text: Option<String>,
}

impl Answer for InitAnswer {
    const DOCUMENT: &'static str = "init";

    /// The text of the config on stdout with `-n`; what is written on stderr.
    fn print(&self, text: &mut Text) {
        let verb = if self.dry_run { "would write" } else { "wrote" };
        match &self.text {
            Some(config) => {
                if self.dry_run {
                    text.put(config);
                }
                let path = text.paint.name(self.config.as_str());
                text.tell(format!("{verb} {path}"));
            }
            None => text.tell(format!("{} exists and is not changed", self.config)),
        }
        if self.wrote_exclude_rule {
            text.tell(format!("{verb} `{EXCLUDE_RULE}` into info/exclude"));
        }
        if self.wrote_gitignore {
            text.tell(format!("{verb} {WORKTREES_GITIGNORE_PATH}"));
        }
        if self.wrote_config && !self.dry_run {
            text.tell("look at it, commit it, then: git agentwt add task-1");
        }
    }
}

/// Writes what is missing; `-n` only says what.
///
/// # Errors
/// Fails when git or the disk does.
pub fn run(session: &Session, options: &crate::cli::Init) -> Result<Outcome<InitAnswer>, Error> {
    let repository = session.repository_with_checkout()?;
    // nothing here starts git; who begins is told at once that it is missing or too old
    repository.git.version()?;
    let config = directory(&repository).join(CONFIG);
    let plan = plan(&facts(&repository, &config)?);
    if !options.dry_run {
        if let ConfigPlan::Write(text) = &plan.config {
            files::write(&config, text.as_bytes())?;
        }
        let _kept = ignore_rules::ensure(&repository)?;
    }
    let text = match plan.config {
        ConfigPlan::Write(text) => Some(text),
        ConfigPlan::Keep => None,
    };
    Ok(Outcome::done(InitAnswer {
        config,
        dry_run: options.dry_run,
        wrote_config: text.is_some(),
        wrote_exclude_rule: plan.exclude_rule.is_some(),
        wrote_gitignore: plan.worktrees_gitignore.is_some(),
        text,
    }))
}

/// The checkout that gets the config: the main worktree, or in a bare repository the worktree
/// that we are in.
fn directory(repository: &Repository) -> Utf8PathBuf {
    use crate::facts::Main;
    match (repository.main, &repository.inside, &repository.toplevel) {
        (Main::Bare, None, Some(here)) => here.clone(),
        (Main::Bare | Main::Worktree, _, _) => repository.root.clone(),
    }
}

fn facts(repository: &Repository, config: &camino::Utf8Path) -> Result<InitFacts, Error> {
    let present = |there: bool| {
        if there {
            Presence::Present
        } else {
            Presence::Absent
        }
    };
    let gitignore = repository.root.join(WORKTREES_GITIGNORE_PATH);
    let entries = match repository.git.rev_parse_commit("HEAD")? {
        Some(head) => {
            let objects = repository.objects()?;
            top_level(&objects.list(&objects.commit(&head)?.tree)?)
        }
        None => Vec::new(),
    };
    Ok(InitFacts {
        entries,
        repository_name: repository.root.file_name().map(ToOwned::to_owned),
        config: present(files::exists(config)),
        worktreeinclude: present(files::exists(&repository.root.join(".worktreeinclude"))),
        exclude_rule: present(ignore_rules::has_exclude_rule(repository)?),
        worktrees_gitignore: present(files::exists(&gitignore)),
    })
}

/// The entries of the root, from all paths of a tree, which come sorted.
fn top_level(paths: &[(RepoPath, Entry)]) -> Vec<TopLevelEntry> {
    let mut entries: Vec<TopLevelEntry> = Vec::new();
    for (path, _) in paths {
        let bytes = path.as_bstr().as_bytes();
        let (name, kind) = match bytes.split_once_str("/") {
            None => (bytes, EntryKind::File),
            Some((name, b"__init__.py")) => (name, EntryKind::PythonPackage),
            Some((name, _)) => (name, EntryKind::Directory),
        };
        // `a-b` sorts between `a` and `a/x`, so the entry may be some way back
        match entries.iter_mut().rev().find(|entry| entry.name == name) {
            Some(entry) if kind == EntryKind::PythonPackage => entry.kind = kind,
            Some(_) => {}
            None => entries.push(TopLevelEntry {
                name: name.into(),
                kind,
            }),
        }
    }
    entries
}
