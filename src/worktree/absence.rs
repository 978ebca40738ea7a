//! Says what became of a worktree whose directory is not in its place: [`Absence`].

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::record::worktree::Record;
use crate::words::path::shell_word;
use crate::worktree::admin_dir::worktree_of;
use crate::worktree::error::WorktreeFault;

/// What became of a worktree whose directory is not in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// What became of it.
    pub what: String,
    /// What a command is for, and the command.
    pub remedy: String,
}

impl Absence {
    /// Looks for the directory.
    pub fn of(record: &Record) -> Self {
        match moved_to(record) {
            Some(to) => Self {
                what: format!("it was moved to {to}"),
                remedy: format!("to move it back: {}", move_back(record, &to)),
            },
            None => Self {
                what: "its directory is gone".to_owned(),
                remedy: "to remove its record: git agentwt prune".to_owned(),
            },
        }
    }
}

/// Makes the error that the directory of a worktree is not in its place.
pub fn no_directory(record: &Record) -> WorktreeFault {
    let name = record.name.to_string();
    let help = match moved_to(record) {
        Some(to) => format!(
            "it was moved to {to}; to move it back: {}",
            move_back(record, &to)
        ),
        None => format!(
            "if a removal was interrupted: git agentwt remove --undo {name}; if the directory was \
             deleted: git agentwt remove {name}"
        ),
    };
    let path = record.path.clone();
    WorktreeFault::NoDirectory { name, path, help }
}

/// Where a worktree is, if that is another place than its own (git-worktree(1), `move`; a link).
pub fn moved_to(record: &Record) -> Option<Utf8PathBuf> {
    let path = &record.path;
    let mut places = vec![path.clone()];
    if let Some(named) = worktree_of(&record.admin_dir)
        && files::exists(&named.join(".git"))
    {
        places.push(named);
    }
    for place in places {
        if let Ok(real) = files::canonical(&place)
            && real != *path
            && files::is_directory(&real)
        {
            return Some(real);
        }
    }
    None
}

/// The command that moves a worktree back to its place.
pub fn move_back(record: &Record, from: &Utf8Path) -> String {
    format!(
        "git worktree move {} {}",
        shell_word(from.as_str()),
        shell_word(record.path.as_str())
    )
}
