//! Makes the repository of a removed clone again, and puts its own refs into it.

use bstr::ByteSlice;
use camino::Utf8Path;

use super::Reviving;
use crate::disk::files;
use crate::entry::{Entry, ObjectId};
use crate::error::Error;
use crate::facts::Repository;
use crate::git::clone::carried;
use crate::git::objects::Objects;
use crate::path::RepoPath;
use crate::worktree::Trash;
use crate::worktree::bring::KEPT;

/// Directories without which git takes a directory for no repository (gitrepository-layout(5)),
/// also where all refs are packed.
const ALWAYS: [&str; 2] = ["refs/heads", "refs/tags"];

/// Makes it at its place, sparse, on the commit that HEAD was on; no file is there yet.
pub(super) fn make(reviving: &Reviving<'_>, patterns: &[u8]) -> Result<Repository, Error> {
    let (home, plan) = (reviving.repository, reviving.plan);
    let own = again(home, &plan.path, &plan.trash, &plan.reference)?;
    // seen from there now that the directory is
    let own = home.clone_at(&plan.path, own.format);
    own.git.sparse_checkout_set(patterns)?;
    Ok(own)
}

/// Holds what of the refs is not put back as it was saved.
#[derive(Debug, Default)]
pub(super) struct Refs {
    is_clone: bool,
    /// The packed ones, without those that are gone.
    packed: Option<Vec<u8>>,
    /// Those that name what is nowhere any more.
    gone: Vec<(String, String)>,
}

/// Takes the refs out of what is to be put whose objects are nowhere any more: only a ref that
/// home had too when the clone was removed can be such a one.
pub(super) fn take_refs(
    objects: &Objects,
    own: &Repository,
    wanted: &mut Vec<(RepoPath, Entry)>,
) -> Result<Refs, Error> {
    let there = own.objects()?;
    let mut refs = Refs {
        is_clone: true,
        ..Refs::default()
    };
    let mut kept = Vec::new();
    for (path, entry) in wanted.drain(..) {
        if path.as_bstr() == "packed-refs" {
            refs.packed = Some(refs_there(
                &there,
                &objects.blob(&entry.id)?,
                &mut refs.gone,
            ));
            continue;
        }
        if path.as_bstr().starts_with(b"refs/") && entry.mode.is_regular() {
            let text = objects.blob(&entry.id)?;
            let id = text.trim_ascii();
            if ObjectId::from_hex(id).is_some_and(|id| !there.has(&id)) {
                refs.gone
                    .push((path.to_string(), id.to_str_lossy().into_owned()));
                continue;
            }
        }
        kept.push((path, entry));
    }
    *wanted = kept;
    Ok(refs)
}

/// The lines of a file `packed-refs` whose objects are there; a line `^<id>` belongs to the one
/// above it.
fn refs_there(there: &Objects, text: &[u8], gone: &mut Vec<(String, String)>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut is_kept = true;
    for line in text.lines_with_terminator() {
        if let Some((id, name)) = line.trim_ascii_end().split_once_str(" ")
            && let Some(object) = ObjectId::from_hex(id)
        {
            is_kept = there.has(&object);
            if !is_kept {
                let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
                gone.push((text(name), text(id)));
            }
        }
        if is_kept || line.starts_with(b"#") {
            kept.extend_from_slice(line);
        }
    }
    kept
}

impl Refs {
    /// Puts them; what could not be put, a sentence each.
    pub(super) fn put(self, admin: &Utf8Path) -> Result<Vec<String>, Error> {
        if !self.is_clone {
            return Ok(Vec::new());
        }
        if let Some(packed) = &self.packed {
            files::write(&admin.join("packed-refs"), packed)?;
        }
        for directory in ALWAYS {
            files::create_directories(&admin.join(directory))?;
        }
        let away = |(name, id): (String, String)| {
            format!(
                "{name} was at {id}, which the repository does not have any more: it stays away"
            )
        };
        Ok(self.gone.into_iter().map(away).collect())
    }
}

/// Makes the repository of a clone that was removed again, without any file.
fn again(
    home: &Repository,
    path: &camino::Utf8Path,
    trash: &Trash,
    reference: &str,
) -> Result<Repository, Error> {
    let from = &home.common_dir;
    let git = home.git.at(&home.root);
    if trash.whole {
        git.init_worktree(path, home.format)?;
    } else {
        git.clone_no_checkout(from.as_str(), path)?;
    }
    let own = home.clone_at(path, home.format);
    if trash.whole {
        let kept = format!("{KEPT}{}/", trash.name);
        let saved = format!("+{reference}:{reference}");
        own.git
            .fetch_shallow(from, &[&saved, &format!("+{kept}*:{kept}*")])?;
    } else {
        let config = own.common_dir.join("config");
        let mut text = crate::disk::files::read(&config)?.unwrap_or_default();
        text.extend(carried(&home.git.config_list()?, &home.root));
        crate::disk::files::write(&config, &text)?;
        for name in ["info/exclude", "info/attributes"] {
            if let Some(rules) = crate::disk::files::read(&home.common_dir.join(name))? {
                crate::disk::files::write(&own.common_dir.join(name), &rules)?;
            }
        }
    }
    own.git.begin_at(&trash.head)?;
    Ok(own)
}
