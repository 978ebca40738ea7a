//! Says which placed files git shows all the same, as nothing can hide them.

use camino::Utf8Path;

use crate::error::Error;
use crate::facts::Repository;
use crate::path::RepoPath;

/// As many are asked of git: one `!` rule rarely shows a single file.
const ASKED: usize = 1_000;

/// Asks git which of these untracked files it does not ignore, although the worktree's own exclude
/// file has them: a `!` rule of a `.gitignore` in the branch counts more (gitignore(5)). The note
/// for the user, if there is one.
///
/// # Errors
/// Fails when git does.
pub fn note(
    repository: &Repository,
    worktree: &Utf8Path,
    admin_dir: &Utf8Path,
    placed: &[&RepoPath],
) -> Result<Option<String>, Error> {
    let asked = &placed[..placed.len().min(ASKED)];
    let git = repository.git.on(admin_dir, Some(worktree));
    let ignored = git.check_ignore(asked)?;
    let mut shown = asked.iter().filter(|path| !ignored.contains(**path));
    let Some(first) = shown.next() else {
        return Ok(None);
    };
    let others = match shown.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Ok(Some(format!(
        "git shows {first}{others} in {worktree} all the same: a `!` rule of a .gitignore counts more than any exclude file, so `git add -A` would take it"
    )))
}
