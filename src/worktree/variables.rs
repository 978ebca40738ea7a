//! Computes what the programs of a worktree get to know of it by variables, and gives each worktree
//! a block of ports.

use std::collections::BTreeSet;

use crate::record::worktree::Intent;
use crate::system::ports::listens;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::gitdir::read_if_whole;
use crate::worktree::loaded::{Worktree, names};
use crate::worktree::repository::{Repository, intent_file};

/// The ports below those that Linux gives to outgoing connections (`ip_local_port_range`, ip(7)).
const FIRST: u16 = 20_000;
const BLOCKS: u16 = 1_270;
/// The number of ports of one worktree.
const BLOCK: u16 = 10;

/// The file with the patterns of a scope, beside the record.
pub const SCOPE_FILE: &str = "scope.toml";

/// The variables of the programs that work in a worktree.
pub fn variables(repository: &Repository, worktree: &Worktree) -> Vec<(&'static str, String)> {
    let record = &worktree.record;
    let scope_file = worktree.dir.join(SCOPE_FILE);
    let mut variables = vec![
        ("AGENTWT_NAME", record.name.to_string()),
        ("AGENTWT_ROOT", record.path.to_string()),
        ("AGENTWT_MAIN", repository.home().root.to_string()),
        ("AGENTWT_BASE", record.base.commit.to_string()),
        ("AGENTWT_SCOPE_FILE", scope_file.to_string()),
    ];
    if let Some(first) = record.ports {
        variables.push(("AGENTWT_PORT", first.to_string()));
    }
    // without its `.git`, git would take the main worktree for this one
    if let Some(above) = record.path.parent() {
        variables.push(("GIT_CEILING_DIRECTORIES", above.to_string()));
    }
    variables
}

/// Chooses the block of ports of a worktree, by its first port: always the same for a name, unless
/// another worktree has that block or a program listens there. Call it under the shared lock, and
/// write the choice down before the lock goes.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn choose_ports(repository: &Repository, name: &WorktreeName) -> Result<Option<u16>, Error> {
    let mut taken = BTreeSet::new();
    for other in names(repository)? {
        if other != *name {
            taken.extend(read_ports(repository, &other));
        }
    }
    let id = repository.format.blob_id(name.as_str().as_bytes());
    let start = u16::from_le_bytes([id.as_bytes()[0], id.as_bytes()[1]]) % BLOCKS;
    for number in 0..BLOCKS {
        let first = FIRST + (start + number) % BLOCKS * BLOCK;
        if !taken.contains(&first) && !(first..first + BLOCK).any(listens) {
            return Ok(Some(first));
        }
    }
    Ok(None)
}

/// The ports of a worktree that is there, or is being created.
fn read_ports(repository: &Repository, name: &WorktreeName) -> Option<u16> {
    #[derive(serde::Deserialize)]
    struct Ports {
        ports: Option<u16>,
    }
    let file = repository.record_dir(name).join("record.toml");
    match read_if_whole::<Ports>(&file) {
        Some(recorded) => recorded.ports,
        None => {
            let intent = read_if_whole::<Intent>(&intent_file(repository, name))?;
            intent.record.ports
        }
    }
}
