//! Lists refs, as git-for-each-ref(1) does.

use std::collections::BTreeMap;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::Own;
use super::answer::{Answer, AskGit};
use super::entries::{Entry, look, names};
use super::refs::{PRIVATE, Refs, Target, is_name, is_private, loose_target, object};
use crate::git::refs::Ref;

/// Represents one pattern: a name, what is below a directory, or names with a `*` for a directory.
struct Pattern<'a>(&'a BStr);

impl Own {
    /// The refs that match one of these patterns, or all without one, sorted by name. A symbolic
    /// ref that leads to none is none (git warns of it).
    pub(in crate::git) fn refs(&self, patterns: &[&str]) -> Answer<Vec<Ref>> {
        let all = ["refs/"];
        let patterns = if patterns.is_empty() { &all } else { patterns };
        let patterns: Answer<Vec<Pattern<'_>>> = patterns.iter().map(|p| Pattern::of(p)).collect();
        let patterns = patterns?;
        let refs = Refs::of(self)?;
        let mut found = BTreeMap::new();
        for pattern in &patterns {
            for start in pattern.starts() {
                loose(&refs, start.as_bstr(), &mut found)?;
            }
        }
        let is_wanted = |name: &BStr| patterns.iter().any(|pattern| pattern.matches(name));
        found.retain(|name, _| is_wanted(name.as_bstr()));
        for line in refs.packed()?.lines() {
            let Some((name, target)) = packed(line)? else {
                continue;
            };
            if is_wanted(name) {
                found.entry(name.to_owned()).or_insert(target);
            }
        }
        let resolved = found.into_iter().map(|(name, target)| match target {
            Target::Nothing => Ok(None),
            Target::Object(id) => Ok(Some(Ref { name, id })),
            Target::Ref(next) => {
                let id = refs.resolve_from(next)?.id;
                Ok(id.map(|id| Ref { name, id }))
            }
        });
        resolved.filter_map(Answer::transpose).collect()
    }
}

impl<'a> Pattern<'a> {
    /// Takes what the callers of this crate ask for; other globs are git's.
    fn of(text: &'a str) -> Answer<Self> {
        let odd = text.contains(['?', '[', '\\']) || text.contains("**");
        let parts = || text.split('/');
        let whole = parts().all(|part| part == "*" || !part.contains('*'));
        let known = text == "refs/" || text.starts_with("refs/") && !text.starts_with("refs/*");
        (known && whole && !odd)
            .then(|| Self(text.into()))
            .ok_or(AskGit)
    }

    /// Where the loose refs are that it can match: names of files or directories.
    fn starts(&self) -> Vec<BString> {
        let start = match self.0.find_byte(b'*') {
            Some(star) => &self.0[..star],
            None => self.0.as_bytes(),
        };
        let start = start.strip_suffix(b"/").unwrap_or(start).as_bstr();
        if start == "refs" || is_name(start) {
            vec![start.to_owned()]
        } else {
            // no ref has such a name
            Vec::new()
        }
    }

    /// Whether it matches a full name (`match_name_as_path`, ref-filter.c).
    fn matches(&self, name: &BStr) -> bool {
        let own = self.0.as_bytes();
        if own.contains(&b'*') {
            let (mut parts, mut names) = (own.split_str("/"), name.split_str("/"));
            let mut pairs = std::iter::from_fn(|| match (parts.next(), names.next()) {
                (None, None) => None,
                pair => Some(pair),
            });
            return pairs.all(|(part, name)| part == name || part == Some(b"*") && name.is_some());
        }
        let rest = name.strip_prefix(own);
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || own.ends_with(b"/"))
    }
}

/// Reads the loose refs of this name and below it. Those that each worktree has for itself are in
/// its own directory, also where those of all are listed.
fn loose(refs: &Refs<'_>, start: &BStr, found: &mut BTreeMap<BString, Target>) -> Answer<()> {
    let is_start = |private: &&str| private.trim_end_matches('/') == start;
    if PRIVATE.iter().any(is_start) {
        let path = refs.own.git_dir.join(start.to_str().map_err(|_| AskGit)?);
        return walk(path.as_std_path(), start, found);
    }
    if start != "refs" {
        return walk(&refs.file("", start)?, start, found);
    }
    let common = refs.own.common_dir.join("refs");
    for name in names(common.as_std_path())? {
        let full = below("refs".into(), name.as_bstr());
        if !PRIVATE
            .iter()
            .any(|start| start.trim_end_matches('/') == full)
        {
            let path = common
                .as_std_path()
                .join(name.to_path().map_err(|_| AskGit)?);
            walk(&path, full.as_bstr(), found)?;
        }
    }
    for start in PRIVATE {
        let start = start.trim_end_matches('/');
        let path = refs.own.git_dir.join(start);
        walk(path.as_std_path(), start.into(), found)?;
    }
    Ok(())
}

fn walk(path: &Path, name: &BStr, found: &mut BTreeMap<BString, Target>) -> Answer<()> {
    match look(path)? {
        Entry::Nothing => Ok(()),
        Entry::File(content) if is_name(name) => {
            found.insert(name.to_owned(), loose_target(&content)?);
            Ok(())
        }
        Entry::File(_) => Err(AskGit),
        Entry::Directory => {
            for entry in names(path)? {
                // what git passes over: hidden files, and refs that are being written
                if entry.starts_with(b".") || entry.ends_with(b".lock") {
                    continue;
                }
                let below_path = path.join(entry.to_path().map_err(|_| AskGit)?);
                walk(&below_path, below(name, entry.as_bstr()).as_bstr(), found)?;
            }
            Ok(())
        }
    }
}

fn below(name: &BStr, entry: &BStr) -> BString {
    [name.as_bytes(), b"/", entry.as_bytes()].concat().into()
}

/// Reads a line of `packed-refs`; none where it is a comment or what a tag leads to.
pub(super) fn packed(line: &[u8]) -> Answer<Option<(&BStr, Target)>> {
    if line.starts_with(b"#") || line.starts_with(b"^") {
        return Ok(None);
    }
    let (id, name) = line.split_once_str(" ").ok_or(AskGit)?;
    let name = name.as_bstr();
    if !is_name(name) || is_private(name) {
        return Err(AskGit);
    }
    Ok(Some((name, Target::Object(object(id)?))))
}
