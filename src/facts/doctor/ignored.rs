//! Asks git what it ignores and tracks below `.agentwt`.

use super::Here;
use crate::disk::files;
use crate::path::RepoPath;
use crate::plan::doctor::ignored::{ConfigFile, Ignored};
use crate::worktree::WorktreeError;
use crate::worktree::ignore_rules;
use crate::worktree::repository::{CONFIG, WORKTREES};

/// Looks at it.
pub fn look(here: &Here<'_>) -> Result<Ignored, WorktreeError> {
    let repository = here.repository;
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
        rules: ignore_rules::read(repository)?,
        worktrees: files::exists(&repository.root.join(WORKTREES)),
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
