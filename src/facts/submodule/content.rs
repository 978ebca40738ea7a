//! Takes away what is no edit of a submodule: what a checkout writes, and build output.

use std::collections::BTreeSet;

use super::Look;
use crate::compare::{Delta, entry_in};
use crate::disk::files;
use crate::entry::Entry;
use crate::facts::ignored::is_ignored;
use crate::git::config::meaning;
use crate::git::ignore::{IgnoreRules, NameCase};
use crate::manifest::Manifest;
use crate::path::RepoPath;
use crate::worktree::WorktreeError;

impl Look<'_> {
    /// A file that is what a checkout would write is what the commit has, if nothing in the
    /// submodule's own git directory says how checkouts write.
    pub(super) fn undo_filters(
        &self,
        manifest: &Manifest,
        references: &[&Delta],
        delta: &mut Delta,
    ) -> Result<(), WorktreeError> {
        if self.layout.toplevel.as_ref() != Some(&self.directory) || self.sets_conversions()? {
            return Ok(());
        }
        let mut asked = Vec::new();
        let regular = |entry: &Option<Entry>| entry.filter(|entry| entry.mode.is_regular());
        for (path, now) in delta.iter().filter_map(|(p, e)| Some((p, regular(e)?))) {
            for reference in references {
                let then = regular(&entry_in(manifest, reference, path));
                if let Some(then) = then.filter(|then| then.id != now.id) {
                    asked.push((path.clone(), then.id, now));
                }
            }
        }
        asked.dedup();
        if asked.is_empty() {
            return Ok(());
        }
        let blobs: Vec<(String, Vec<u8>)> = asked
            .iter()
            .map(|(path, id, _)| (id.to_string(), path.as_bstr().to_vec()))
            .collect();
        let answers = self.git.cat_file_filters(&blobs)?;
        for ((path, id, now), content) in asked.into_iter().zip(answers) {
            let hash = |content: Vec<u8>| {
                let size = content.len() as u64;
                self.layout
                    .format
                    .hash_blob(size, &mut content.as_slice())
                    .ok()
            };
            if content.and_then(hash) == Some(now.id) {
                delta.insert(path, Some(Entry { id, ..now }));
            }
        }
        delta.retain(|path, entry| manifest.base(path) != *entry);
        Ok(())
    }

    fn sets_conversions(&self) -> Result<bool, WorktreeError> {
        let at = |name: &str| self.layout.common_dir.join(name);
        if files::exists(&at("info/attributes")) || files::exists(&at("config.worktree")) {
            return Ok(true);
        }
        let says = meaning(&files::read(&at("config"))?.unwrap_or_default());
        let keys = [
            "filter.",
            "include",
            "core.autocrlf=",
            "core.eol=",
            "core.attributesfile=",
        ];
        let mut lines = says.split(|byte| *byte == b'\n');
        Ok(lines.any(|line| keys.iter().any(|key| line.starts_with(key.as_bytes()))))
    }

    /// What its own commits ignore, and the user everywhere, is build output.
    pub(super) fn leave_out_ignored(
        &self,
        manifest: &Manifest,
        references: &[&Delta],
        delta: &mut Delta,
    ) -> Result<(), WorktreeError> {
        let Some(reference) = references.first() else {
            return Ok(());
        };
        let mut texts = Vec::new();
        let base = manifest.items().iter().map(|item| &item.path);
        let paths: BTreeSet<&RepoPath> = base.chain(reference.keys()).collect();
        for path in paths
            .into_iter()
            .filter(|path| path.file_name() == ".gitignore")
        {
            let entry = entry_in(manifest, reference, path).filter(|e| e.mode.is_regular());
            if let Some(entry) = entry {
                texts.push((path.parent(), self.objects.blob(&entry.id)?));
            }
        }
        let shared = files::read(&self.known.dir.join("ignore/excludes-file"))?;
        let case = if self.known.record.ignore_case {
            NameCase::Insensitive
        } else {
            NameCase::Sensitive
        };
        let mut rules = IgnoreRules::new(&Vec::from_iter(shared), &texts, case)?;
        delta.retain(|path, entry| {
            let tracked = |reference: &&Delta| entry_in(manifest, reference, path).is_some();
            let unknown = !references.iter().any(tracked);
            !entry.is_some_and(|entry| unknown && is_ignored(&mut rules, path, entry.mode))
        });
        Ok(())
    }
}
