//! Computes what the programs of a worktree get to know of it by variables, and gives each worktree a
//! block of ports.

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
pub fn variables(repository: &Repository, known: &Worktree) -> Vec<(&'static str, String)> {
    let record = &known.record;
    let home = repository.home();
    let mut all = vec![
        ("AGENTWT_NAME", record.name.to_string()),
        ("AGENTWT_ROOT", record.path.to_string()),
        ("AGENTWT_MAIN", home.root.to_string()),
        ("AGENTWT_BASE", record.base.commit.to_string()),
        ("AGENTWT_SCOPE_FILE", known.dir.join(SCOPE_FILE).to_string()),
    ];
    all.extend(
        record
            .ports
            .map(|first| ("AGENTWT_PORT", first.to_string())),
    );
    // without its `.git`, git would take the main worktree for this one
    let above = record.path.parent().map(ToString::to_string);
    all.extend(above.map(|above| ("GIT_CEILING_DIRECTORIES", above)));
    all
}

/// Chooses the block of ports of a worktree, by its first port: always the same for a name, unless
/// another worktree has that block or a program listens there. Call it under the shared lock, and
/// write the choice down before the lock goes.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn choose_ports(repository: &Repository, name: &WorktreeName) -> Result<Option<u16>, Error> {
    let others = names(repository)?.into_iter().filter(|other| other != name);
    let taken: BTreeSet<u16> = others
        .filter_map(|other| read_ports(repository, &other))
        .collect();
    let id = repository.format.blob_id(name.as_str().as_bytes());
    let start = u16::from_le_bytes([id.as_bytes()[0], id.as_bytes()[1]]) % BLOCKS;
    let blocks = (0..BLOCKS).map(|at| FIRST + (start + at) % BLOCKS * BLOCK);
    let is_free = |first: &u16| !taken.contains(first) && !(*first..first + BLOCK).any(listens);
    Ok(blocks.into_iter().find(is_free))
}

/// The ports of a worktree that is there, or is being created.
fn read_ports(repository: &Repository, name: &WorktreeName) -> Option<u16> {
    #[derive(serde::Deserialize)]
    struct Ports {
        ports: Option<u16>,
    }
    let recorded = read_if_whole::<Ports>(&repository.record_dir(name).join("record.toml"));
    let intended = || read_if_whole::<Intent>(&intent_file(repository, name));
    match recorded {
        Some(recorded) => recorded.ports,
        None => intended()?.record.ports,
    }
}
