//! Watches the hooks that git runs for everybody: programs that a worktree could plant.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use crate::change::{Cause, Kind, Place, SharedChange};
use crate::disk::{DiskError, files};
use crate::truth::integrity::plain;
use crate::truth::shared::shared;
use crate::worktree::repository::{Main, Repository};
use crate::worktree::{HookFile, WorktreeError};

/// Lists every hook of the common git directory, and of the directory that `core.hooksPath`
/// names in the main worktree, sorted. Samples and what cannot be started are none.
pub fn all(repository: &Repository) -> Result<Vec<HookFile>, WorktreeError> {
    let common = repository.common_dir.join("hooks");
    let mut found = of_directory(repository, &common, "@git/hooks/")?;
    if let Some(directory) = users_directory(repository)?
        && directory != common
    {
        let place = place(repository, &directory);
        found.extend(of_directory(repository, &directory, &place)?);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The directory that `core.hooksPath` names. In a clone the last one that counts is ours, which
/// the record has a digest of.
fn users_directory(repository: &Repository) -> Result<Option<Utf8PathBuf>, WorktreeError> {
    if !repository.is_clone() {
        let path = repository.git.config_get_path("core.hooksPath")?;
        return Ok(path.map(|path| repository.root.join(path)));
    }
    let ours = repository.common_dir.join("agentwt/hooks");
    let all = repository.git.config_get_all_paths("core.hooksPath")?;
    let mut all = all.into_iter().map(|(_, path)| path);
    let path = all.rfind(|path| *path != ours);
    Ok(path.map(|path| repository.git.dir().join(path)))
}

/// How a directory of hooks is shown.
fn place(repository: &Repository, directory: &Utf8Path) -> String {
    let below = |root: &Utf8Path| directory.strip_prefix(root).ok().map(Utf8PathBuf::from);
    match (below(&repository.common_dir), below(&repository.root)) {
        (Some(inside), _) => format!("@git/{inside}/"),
        (None, Some(inside)) if repository.main == Main::Worktree => format!("@main/{inside}/"),
        (None, _) => format!("{directory}/"),
    }
}

fn of_directory(
    repository: &Repository,
    directory: &Utf8Path,
    place: &str,
) -> Result<Vec<HookFile>, WorktreeError> {
    let mut found = Vec::new();
    for name in files::names(directory)? {
        let file = directory.join(&name);
        if name.ends_with(".sample") {
            continue;
        }
        let failed = |error| DiskError::new(format!("read {file}"), error);
        let digest = |bytes: &[u8]| {
            let hash = repository
                .format
                .hash_blob(bytes.len() as u64, &mut &*bytes);
            hash.map_err(failed)
        };
        let digest = match files::open_entry(file.as_std_path()).map_err(failed)? {
            files::Opened::File {
                executable: true, ..
            } => digest(&files::read(&file)?.unwrap_or_default())?,
            // what it leads to can change as well
            files::Opened::Link(text) => {
                let target = files::read(&file).ok().flatten().unwrap_or_default();
                digest(&[text.as_slice(), b"\0", &target].concat())?
            }
            files::Opened::File { .. } | files::Opened::Other => continue,
        };
        found.push(HookFile {
            place: format!("{place}{name}"),
            digest: digest.to_string(),
        });
    }
    Ok(found)
}

/// Finds which hooks are not as they were.
pub fn changes(
    repository: &Repository,
    recorded: &[HookFile],
) -> Result<Vec<SharedChange>, WorktreeError> {
    let map = |hooks: &[HookFile]| -> BTreeMap<String, String> {
        let pairs = hooks.iter();
        pairs
            .map(|hook| (hook.place.clone(), hook.digest.clone()))
            .collect()
    };
    let (before, now) = (map(recorded), map(&all(repository)?));
    let mut changes = Vec::new();
    for (name, digest) in &now {
        let said = match before.get(name) {
            Some(same) if same == digest => continue,
            Some(_) => "this hook was changed since `add`",
            None => "this hook was added since `add`",
        };
        changes.push(shared(change(name, said), Cause::RunsCode));
    }
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        let said = "this hook was removed since `add`";
        changes.push(shared(change(name, said), Cause::RunsCode));
    }
    Ok(changes)
}

fn change(name: &str, said: &str) -> crate::change::Change {
    let place = match (name.strip_prefix("@git/"), name.strip_prefix("@main/")) {
        (Some(inside), _) => Place::Git(inside.into()),
        (None, Some(inside)) => Place::Main(inside.into()),
        (None, None) => Place::Outside(name.into()),
    };
    plain(place, Kind::Hook, Some(said.to_owned()))
}
