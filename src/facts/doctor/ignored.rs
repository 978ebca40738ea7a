//! Asks git what it ignores and tracks below `.agentwt`.

use super::Here;
use crate::apply::ignore_rules::has_exclude_rule;
use crate::disk::files;
use crate::facts::WorktreeError;
use crate::path::RepoPath;
use crate::plan::doctor::ignored::{ConfigFile, Ignored};
use crate::plan::init::{Presence, WORKTREES_GITIGNORE_PATH};
use crate::worktree::repository::{CONFIG, WORKTREES};

/// Looks at it.
pub fn look(here: &Here<'_>) -> Result<Ignored, WorktreeError> {
    let repository = here.repository;
    let present = |there: bool| {
        if there {
            Presence::Present
        } else {
            Presence::Absent
        }
    };
    // any name will do: it need not be there
    let inside = RepoPath::parse(format!("{WORKTREES}/task/file").as_str()).ok();
    let config = RepoPath::parse(CONFIG).ok();
    let asked: Vec<&RepoPath> = inside.iter().chain(&config).collect();
    let git = repository.git.at(&repository.root);
    let ignored = git.check_ignore(&asked)?;
    let is_ignored = |path: &Option<RepoPath>| path.as_ref().is_some_and(|p| ignored.contains(p));
    let below = format!("{WORKTREES}/");
    let index = here.index.as_deref().unwrap_or_default();
    let is_below = |path: &RepoPath| {
        let bytes = path.as_bstr();
        bytes.starts_with(below.as_bytes())
    };
    let tracked = index.iter().filter(|(path, _)| is_below(path));
    let is_tracked = index.iter().any(|(path, _)| path.as_bstr() == CONFIG);
    let there = files::exists(&repository.root.join(CONFIG));
    Ok(Ignored {
        exclude_rule: present(has_exclude_rule(repository)?),
        gitignore: present(files::exists(
            &repository.root.join(WORKTREES_GITIGNORE_PATH),
        )),
        worktrees: present(files::exists(&repository.root.join(WORKTREES))),
        is_ignored: is_ignored(&inside),
        tracked: tracked.map(|(path, _)| path.to_string()).collect(),
        config: match (there, is_tracked) {
            (_, true) => ConfigFile::Tracked,
            (false, false) => ConfigFile::Missing,
            (true, false) if is_ignored(&config) => ConfigFile::Ignored,
            (true, false) => ConfigFile::Untracked,
        },
    })
}
