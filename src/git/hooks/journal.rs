//! Reads the journal of a worktree: what was done to refs from there, as the reference-transaction
//! hook was told (githooks(5)), a line each: `<old> <new> <ref>`.
//!
//! A line `worktree <directory>` says that a worktree was made from there.
//!
//! An old id of zeros means "whatever it was", a new one "deleted", and `ref:<name>` another ref.
//! What `git pack-refs` (and so `git gc`) does looks like moves, and is none.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};

use crate::git::refs::{is_own_ref, is_stash};
use crate::words::name::CommitId;

/// The file, in our directory of the worktree's private git directory.
pub const FILE: &str = "agentwt/journal";

/// What was done to refs from one worktree, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// All moves, in order, with those of packing.
    pub lines: Vec<JournalLine>,
    /// Where each ref was and went, without the moves of packing.
    moves: BTreeMap<BString, Vec<RefMove>>,
    /// The refs that were packed, or made and deleted again, and what they named.
    pub packed: Vec<(BString, CommitId)>,
    /// The directories of worktrees that were created from this one (post-checkout, githooks(5)).
    pub worktrees: Vec<BString>,
}

/// A line of the journal that tells of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalLine {
    /// The ref.
    pub name: BString,
    /// How it moved.
    pub ref_move: RefMove,
}

/// One move of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// Where the ref was, as far as the command that moved it said.
    pub old: Target,
    /// Where the ref went.
    pub new: Target,
}

/// Where a ref was or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nowhere: it was deleted; as the place where it was, it is not said.
    Nothing,
    /// To an object.
    Object(CommitId),
    /// To another ref, by its name.
    Ref(BString),
}

impl Journal {
    /// Reads the lines of a journal, and takes out the moves of packing. A damaged line (cut off by
    /// a full disk) is passed over.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut journal = Self::default();
        for line in bytes.lines() {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                journal.worktrees.push(path.into());
                continue;
            }
            let words: Vec<&[u8]> = line.splitn_str(3, " ").collect();
            if let [old, new, name] = words[..]
                && let Some(old) = target(old)
                && let Some(new) = target(new)
            {
                journal.lines.push(JournalLine {
                    name: name.into(),
                    ref_move: RefMove { old, new },
                });
            }
        }
        for line in &journal.lines {
            let moves = journal.moves.entry(line.name.clone()).or_default();
            moves.push(line.ref_move.clone());
        }
        for (name, moves) in &mut journal.moves {
            // HEAD is never packed; renaming its branch deletes it for a moment
            if name.starts_with(b"refs/") {
                for id in forget_packing(moves) {
                    journal.packed.push((name.clone(), id));
                }
            }
        }
        journal.moves.retain(|_, moves| !moves.is_empty());
        journal
    }

    /// The refs that were moved from this worktree, without those that each worktree has for itself
    /// (HEAD and others, gitrepository-layout(5), "refs"). Those of another worktree
    /// (`main-worktree/HEAD`, git-worktree(1)) are listed: they are not this one's to move.
    pub fn shared(&self) -> impl Iterator<Item = &BString> {
        let names = self.moves.keys();
        names.filter(|name| is_shared(name.as_bstr()))
    }

    /// The refs that this worktree has for itself, and moved; without HEAD and the like.
    pub fn private(&self) -> impl Iterator<Item = &BString> {
        let names = self.moves.keys();
        names.filter(|name| is_own_ref(name))
    }

    /// The moves of a ref, in order.
    pub fn moves(&self, name: &[u8]) -> &[RefMove] {
        self.moves.get(name.as_bstr()).map_or(&[], Vec::as_slice)
    }

    /// Every object to which a branch, a tag or another ref of the repository was moved from this
    /// worktree; remote-tracking refs and the stash apart.
    pub fn touched(&self) -> BTreeSet<CommitId> {
        let mut touched = BTreeSet::new();
        for name in self.shared() {
            if !name.starts_with(b"refs/remotes/") && !is_stash(name) {
                touched.extend(self.places(name).cloned());
            }
        }
        touched
    }

    /// Every place to which a ref was moved from this worktree.
    pub fn places(&self, name: &[u8]) -> impl Iterator<Item = &CommitId> {
        let moves = self.moves(name).iter();
        moves.filter_map(|ref_move| match &ref_move.new {
            Target::Object(id) => Some(id),
            Target::Nothing | Target::Ref(_) => None,
        })
    }
}

fn is_shared(name: &BStr) -> bool {
    name.starts_with(b"refs/") && !is_own_ref(name)
        || name.starts_with(b"main-worktree/")
        || name.starts_with(b"worktrees/")
}

/// Parses an id, or `ref:<name>`; none for any other word.
fn target(word: &[u8]) -> Option<Target> {
    if let Some(name) = word.strip_prefix(b"ref:") {
        return Some(Target::Ref(name.into()));
    }
    if !word.is_empty() && word.iter().all(|byte| *byte == b'0') {
        return Some(Target::Nothing);
    }
    let id = CommitId::parse(word.to_str().ok()?).ok()?;
    Some(Target::Object(id))
}

/// Packing writes a ref into `packed-refs` ("anywhere to X") and then deletes its loose file ("X
/// to nowhere"), each told to the hook (measured with git 2.39 to 2.55); the ref stays at X.
fn forget_packing(moves: &mut Vec<RefMove>) -> Vec<CommitId> {
    let mut kept: Vec<RefMove> = Vec::with_capacity(moves.len());
    let mut packed = Vec::new();
    for next in moves.drain(..) {
        match kept.last() {
            Some(RefMove {
                old: Target::Nothing,
                new: Target::Object(id),
            }) if next.old == Target::Object(id.clone()) && next.new == Target::Nothing => {
                packed.push(id.clone());
                kept.pop();
            }
            _ => kept.push(next),
        }
    }
    *moves = kept;
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    fn journal(lines: &[(char, char, &str)]) -> Journal {
        let line =
            |(old, new, name): &(char, char, &str)| format!("{} {} {name}\n", id(*old), id(*new));
        Journal::parse(lines.iter().map(line).collect::<String>().as_bytes())
    }

    fn shared(journal: &Journal) -> Vec<(String, Option<char>)> {
        let letter = |target: &Target| match target {
            Target::Object(id) => id.as_str().chars().next(),
            Target::Nothing | Target::Ref(_) => None,
        };
        let all = journal.shared();
        let left = |name: &BString| journal.moves(name).last().map(|last| &last.new);
        all.map(|name| (name.to_string(), left(name).and_then(letter)))
            .collect()
    }

    #[test]
    fn the_last_move_of_a_shared_ref_counts() {
        let journal = journal(&[
            ('a', 'b', "refs/heads/x"),
            ('0', 'b', "HEAD"),
            ('0', 'c', "refs/bisect/bad"),
            ('b', 'c', "refs/heads/x"),
            ('d', '0', "refs/tags/v1"),
        ]);
        let expected = [
            ("refs/heads/x".to_owned(), Some('c')),
            ("refs/tags/v1".to_owned(), None),
        ];
        assert_eq!(shared(&journal), expected);
    }

    #[test]
    fn packing_is_no_move_and_does_not_hide_one() {
        let packed = [('0', 'b', "refs/heads/x"), ('b', '0', "refs/heads/x")];
        assert_eq!(shared(&journal(&packed)), []);
        let mut moved = vec![('a', 'b', "refs/heads/x")];
        moved.extend(packed);
        assert_eq!(
            shared(&journal(&moved)),
            [("refs/heads/x".to_owned(), Some('b'))]
        );
        let forced = [packed[0], packed[0], packed[1]];
        assert_eq!(
            shared(&journal(&forced)),
            [("refs/heads/x".to_owned(), Some('b'))]
        );
    }

    #[test]
    fn head_is_never_packed() {
        let deleted = [('0', 'b', "HEAD"), ('b', '0', "HEAD")];
        assert_eq!(journal(&deleted).moves(b"HEAD").len(), 2);
    }

    #[test]
    fn what_was_touched_is_of_refs_that_may_be_work() {
        let journal = journal(&[
            ('0', 'a', "refs/heads/x"),
            ('0', 'b', "refs/remotes/origin/x"),
            ('0', 'c', "refs/stash"),
            ('0', 'd', "refs/worktree/x"),
            ('0', 'e', "refs/bisect/bad"),
            ('0', 'f', "refs/rewritten/x"),
            ('0', '1', "refs/stash-x"),
        ]);
        let touched: Vec<String> = journal.touched().iter().map(ToString::to_string).collect();
        assert_eq!(touched, [id('1'), id('a')]);
        let private: Vec<&BString> = journal.private().collect();
        assert_eq!(
            private,
            ["refs/bisect/bad", "refs/rewritten/x", "refs/worktree/x"]
        );
    }

    #[test]
    fn an_id_with_zeros_in_it_is_an_id() {
        let id = "a0".repeat(20);
        let journal = Journal::parse(format!("{id} {id} refs/heads/x\n").as_bytes());
        let places: Vec<String> = journal
            .places(b"refs/heads/x")
            .map(ToString::to_string)
            .collect();
        assert_eq!(places, [id]);
    }

    #[test]
    fn what_is_no_line_says_nothing() {
        let odd = b"\n0000\nzz yy refs/heads/x\nref:refs/heads/a ref:refs/heads/b HEAD\n";
        assert_eq!(shared(&Journal::parse(odd)), []);
        let without_old = format!(" {} refs/heads/x\n", id('a'));
        assert_eq!(shared(&Journal::parse(without_old.as_bytes())), []);
    }
}
