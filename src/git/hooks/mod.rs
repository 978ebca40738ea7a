//! Installs our hooks into one linked worktree or clone, removes them, and says how they are.
//!
//! Everything lives in the worktree's own git directory and dies with it:
//!
//! ```text
//! <admin>/config.worktree               one `include.path`, relative: the only line that we add
//! <admin>/agentwt/bin                   the binary's absolute path
//! <admin>/agentwt/users                 the directory of the user's hooks, newer than the settings
//! <admin>/agentwt/hooks/config          the included file: hook.agentwt-* or core.hooksPath
//! <admin>/agentwt/hooks/<hook>          core-hooksPath.sh, under each name (git before 2.54)
//! <admin>/agentwt/hooks/agentwt.d/<ev>  post-commit.sh, under the name of each of our events
//! ```
//!
//! `git worktree add` copies `config.worktree` into a worktree that is added from ours, and git
//! ignores an include that is not there: the copy finds no `agentwt/` below its own git directory,
//! so nothing of ours runs in it and no path of ours dangles when this worktree is gone. The
//! directory is replaced as a whole, by rename, so git sees all of one method or all of another.
//!
//! It never touches the main worktree's or the user's hooks, and does not know what a hook does:
//! that is `git-agentwt hook`.
//!
//! ```no_run
//! use camino::Utf8Path;
//! use git_agentwt::config::value::OnViolation;
//! use git_agentwt::git::hooks::worktree_hooks::WorktreeHooks;
//! use git_agentwt::git::process::Git;
//! use git_agentwt::git::runner::SharedRunner;
//! let tree = Utf8Path::new("/repo/.agentwt/worktrees/fix");
//! let git = Git::unchecked(tree, SharedRunner::default());
//! let hooks = WorktreeHooks::of(&git, Utf8Path::new("/repo/.git/worktrees/fix"), tree)?;
//! let method = hooks.install(Utf8Path::new("/usr/bin/git-agentwt"), OnViolation::Report)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod disk;
pub mod include;
pub mod journal;
pub mod scripts;
pub mod status;
pub mod worktree_hooks;
