//! Tells who moved a ref: the worktree itself, by its journal and the log of its HEAD; or others, by
//! the log of the ref and the logs of the HEADs of other worktrees.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;

use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::hooks::journal;
use crate::git::hooks::journal::{Journal, RefMove, Target};
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::refs::{Ref, ReflogEntry};
use crate::scope::{Access, EntryKind};
use crate::truth::commits::touched;
use crate::truth::heads::{Heads, reflog_file};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::{incoming_ref, run_refs};
use crate::worktree::repository::{Main, Repository};

/// Holds the refs as they were at `add` and as they are, with what is known of their moves.
pub struct RefMoves<'a> {
    /// Git on the repository.
    pub git: Git,
    /// The worktree.
    pub known: &'a Worktree,
    /// What was done to refs from the worktree.
    pub journal: &'a Journal,
    /// Every ref at `add`, with what it named.
    pub before: BTreeMap<BString, CommitId>,
    /// The refs that named another ref at `add`, with that ref.
    pub symbolic_before: BTreeMap<BString, BString>,
    /// Every ref of now.
    pub now: BTreeMap<BString, Ref>,
    /// The worktrees that were made from this one: the directory in `worktrees`, and the path.
    pub made_worktrees: Vec<(String, String)>,
    /// The repository.
    pub repository: &'a Repository,
    /// The ref that HEAD names.
    on: Option<String>,
    made: BTreeSet<CommitId>,
    touched: BTreeSet<CommitId>,
    main: OnceCell<Option<OtherHead>>,
    linked: OnceCell<Vec<OtherHead>>,
}

/// Holds the HEAD of another worktree.
struct OtherHead {
    branch: Option<String>,
    /// Empty where it cannot be read: then it vouches for nothing.
    log: Vec<ReflogEntry>,
    /// The commits to which this worktree moved that HEAD.
    forged: Vec<CommitId>,
    /// Whether an agent works there.
    is_ours: bool,
}

/// Holds a branch, a tag or a stash that was made in the worktree.
#[derive(Clone, Debug)]
pub struct OwnRef {
    /// The full name.
    pub name: BString,
    /// The commit of now.
    pub tip: CommitId,
    /// The commit that it was made at; none where that is not known.
    pub start: Option<CommitId>,
}

impl<'a> RefMoves<'a> {
    /// Reads the refs, and what is known of their moves.
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn read(
        repository: &'a Repository,
        known: &'a Worktree,
        journal: &'a Journal,
        heads: &Heads,
    ) -> Result<Self, Error> {
        let git = repository.git.with_mode(GitMode::Hardened);
        let mut before = known.recorded_ref_names()?;
        // a command of an earlier worktree of this name left them, and the next one takes them over
        before.retain(|name, _| !is_ref_of_runs(known, name));
        let symbolic_before = known.recorded_symbolic_refs()?;
        let now = git.for_each_ref(&["refs/"])?.into_iter();
        let now: BTreeMap<_, _> = now.map(|one| (one.name.clone(), one)).collect();
        let made_worktrees = read_made_worktrees(repository, known, journal)?;
        let mut made: BTreeSet<CommitId> = heads.made_here().into_iter().collect();
        for (id, _) in &made_worktrees {
            let admin = repository.common_dir.join("worktrees").join(id);
            let log = reflog_file(&admin).unwrap_or_default().into_iter();
            made.extend(log.filter(ReflogEntry::made_a_commit).map(|entry| entry.id));
        }
        let mut touched = journal.touched();
        // a ref that was made here and deleted looks as if it had been packed, but is not there
        let packed = journal.packed.iter();
        let gone = packed.filter(|(name, _)| !now.contains_key(name));
        touched.extend(gone.map(|(_, id)| id.clone()));
        touched.retain(|id| !before.values().any(|there| there == id));
        Ok(Self {
            git,
            known,
            journal,
            before,
            symbolic_before,
            now,
            made_worktrees,
            repository,
            on: heads.symbolic.clone(),
            made,
            touched,
            main: OnceCell::new(),
            linked: OnceCell::new(),
        })
    }

    /// Whether a commit was made in the worktree, as the log of its HEAD tells.
    pub fn is_made_here(&self, id: &CommitId) -> bool {
        self.made.contains(id)
    }

    /// Whether a commit was made in the worktree, or a branch or a tag was moved onto it from there
    /// that was not on it at `add`.
    pub fn is_here(&self, id: &CommitId) -> bool {
        self.made.contains(id) || self.touched.contains(id)
    }

    /// Whether those of these commits that were made here touch nothing that the scope does not let
    /// the worktree write.
    pub fn hide_nothing(&self, objects: &Objects, new: &[CommitId]) -> Result<bool, Error> {
        let mut classifier = self.known.scope.classifier();
        for id in new.iter().filter(|id| self.is_made_here(id)) {
            for path in touched(objects, id)?.keys() {
                if classifier.verdict(path, EntryKind::File).access != Access::Write {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The log of a ref, the newest entry first; empty where it has none or cannot be read.
    pub fn log(&self, name: &BStr) -> Vec<ReflogEntry> {
        let file = |name: &str| self.repository.common_dir.join("logs").join(name);
        let name = name.to_str().ok();
        let name = name.filter(|name| !files::is_endless(&file(name)));
        let log = name.and_then(|name| self.git.log(name).ok().flatten());
        log.unwrap_or_default()
    }

    /// Whether git keeps reflogs here: the main worktree has one.
    pub fn has_logs(&self) -> bool {
        files::exists(&self.repository.common_dir.join("logs/HEAD"))
    }

    /// Whether an entry in the log of a ref shows that others moved the ref there.
    pub fn vouches(&self, name: &str, entry: &ReflogEntry) -> bool {
        if !name.starts_with("refs/heads/") {
            return entry.came_from_elsewhere(name);
        }
        // a commit, merge or pull in the worktree that has the branch checked out is in the HEAD
        // reflog of that worktree; an update-ref from elsewhere is not
        let is_free = || !self.others().any(|other| other.has(name));
        // git fetches into no branch that is checked out
        self.is_logged_elsewhere(&entry.id)
            || entry.came_from_elsewhere(name) && (entry.reason.starts_with("fetch") || is_free())
    }

    /// Whether the HEAD of another worktree went to a commit by a command that makes or fetches commits.
    pub fn is_logged_elsewhere(&self, id: &CommitId) -> bool {
        self.others().any(|other| {
            let mut all = other.log.iter().filter(|entry| !entry.is_bare_move());
            !other.forged.contains(id) && all.any(|entry| entry.id == *id)
        })
    }

    /// Lists what was made in the worktree and is there: branches, also on remotes, tags and stashes. A
    /// branch that was renamed or copied from one of these is one.
    pub fn own_refs(&self) -> Vec<OwnRef> {
        let is_kind =
            |name: &BString| name.starts_with(b"refs/heads/") || name.starts_with(b"refs/tags/");
        let new = self.now.values();
        let new = new.filter(|one| !self.before.contains_key(&one.name));
        let is_pushed = |name: &BString| {
            let is_remote = name.starts_with(b"refs/remotes/");
            let is_other = is_remote && !self.is_own_upstream(name.as_bstr());
            // a log is only read of what the worktree moved
            let is_moved = is_other && !self.journal.moves(name).is_empty();
            let oldest = is_moved.then(|| self.log(name.as_bstr()).pop()).flatten();
            oldest.is_some_and(|oldest| oldest.is_push_of(&oldest.id))
        };
        let new = new.filter(|one| is_kind(&one.name) || is_pushed(&one.name));
        let new = new.filter(|one| !one.is_symbolic());
        let own = new.filter(|one| self.is_own(one.name.as_bstr()));
        let mut all: Vec<OwnRef> = Vec::new();
        for one in own {
            let first = self.journal.places(&one.name).next().cloned();
            let tip = self.git.rev_parse_commit(one.id.as_str()).ok().flatten();
            all.extend(tip.map(|tip| OwnRef {
                name: one.name.clone(),
                tip,
                start: first,
            }));
        }
        all.extend(self.own_upstreams());
        let stashed: BTreeSet<&CommitId> = self.journal.places(b"refs/stash").collect();
        if !stashed.is_empty() {
            let log = self.log("refs/stash".into()).into_iter();
            all.extend(
                log.filter(|entry| stashed.contains(&entry.id))
                    .map(|entry| OwnRef {
                        name: "refs/stash".into(),
                        tip: entry.id,
                        start: None,
                    }),
            );
        }
        all
    }

    /// Lists where the worktree's own branch is on remotes, as far as it was pushed from here, also
    /// where others went on from there.
    fn own_upstreams(&self) -> Vec<OwnRef> {
        let mut all = Vec::new();
        for name in self.journal.shared() {
            let is_own = self.is_own_upstream(name.as_bstr());
            let Some(now) = self.now.get(name).filter(|_| is_own) else {
                continue;
            };
            let places: BTreeSet<&CommitId> = self.journal.places(name).collect();
            let log = self.log(name.as_bstr());
            let is_pushed =
                |entry: &&ReflogEntry| places.contains(&entry.id) && entry.is_push_of(&entry.id);
            let Some(pushed) = log.iter().find(is_pushed) else {
                continue;
            };
            if self.git.is_ancestor(&pushed.id, &now.id).unwrap_or(true) {
                all.push(OwnRef {
                    name: name.clone(),
                    tip: pushed.id.clone(),
                    start: None,
                });
            }
        }
        all
    }

    /// Whether a ref is the remote-tracking branch of the worktree's own branch: of the same name, on
    /// any remote. The name of a remote can have slashes.
    pub fn is_own_upstream(&self, name: &BStr) -> bool {
        let name = name.to_str_lossy();
        let own = format!("/{}", self.known.record.branch);
        let remote = name.strip_prefix("refs/remotes/");
        let Some(remote) = remote.and_then(|name| name.strip_suffix(&own)) else {
            return false;
        };
        let is_remote = || {
            let url = self.git.config_get(&format!("remote.{remote}.url"));
            url.ok().flatten().is_some()
        };
        !remote.contains('/') || is_remote()
    }

    /// Whether a ref was made in this worktree: it was not there at `add`, and its first place is the
    /// one that the journal has first. The branch of another agent is none.
    pub fn is_own(&self, name: &BStr) -> bool {
        if *name == self.known.record.branch.full_ref() {
            return true;
        }
        let first = self.journal.moves(name).first();
        let place = self.now.get(name).map(|now| &now.id);
        let is_candidate = first.is_some()
            || place.is_some_and(|id| self.is_here(id))
            || self.on.as_deref() == name.to_str().ok();
        if self.before.contains_key(name) || !is_candidate {
            return false;
        }
        let is_anothers = |other: &OtherHead| other.is_ours && other.has(&name.to_str_lossy());
        let log = self.log(name);
        let is_from_own = |entry: &ReflogEntry| {
            let from = entry.renamed_or_copied_from().map(BStr::new);
            from.is_some_and(|from| {
                *from == self.known.record.branch.full_ref()
                    || self.is_forgotten(from)
                    || self.is_created(from, &self.log(from))
            })
        };
        (self.is_created(name, &log) || log.iter().any(is_from_own))
            && !self.linked().iter().any(is_anothers)
    }

    /// Whether the first place that a ref's log has is the one at which the journal has it created.
    fn is_created(&self, name: &BStr, log: &[ReflogEntry]) -> bool {
        let first = self.journal.moves(name).first();
        let is_first = |id: &CommitId| log.last().is_none_or(|oldest| oldest.id == *id);
        first.is_some_and(|first| match &first.new {
            Target::Object(id) => first.old == Target::Nothing && is_first(id),
            Target::Nothing | Target::Ref => false,
        })
    }

    /// Whether a ref that is gone was made in the worktree, as far as the journal tells.
    fn is_forgotten(&self, name: &BStr) -> bool {
        let first = self.journal.moves(name).first();
        let is_created = first
            .is_some_and(|RefMove { old, new }| *old == Target::Nothing && *new != Target::Nothing);
        let is_packed = || self.journal.packed.iter().any(|(packed, _)| packed == name);
        !self.now.contains_key(name) && (is_created || is_packed())
    }

    /// Whether the worktree deleted a ref that it had not made, and that came after `add`.
    pub fn is_anothers(&self, name: &BStr) -> bool {
        let first = self.journal.moves(name).first();
        first.is_some_and(|first| match (&first.old, &first.new) {
            // a rename past the hooks left nothing but the base
            (Target::Object(old), Target::Nothing) => {
                !self.is_here(old) && *old != self.known.record.base.commit
            }
            (Target::Nothing, Target::Nothing) => true,
            _ => false,
        })
    }

    /// Lists the commits that others brought: what refs named at `add`, and the remote-tracking refs
    /// that a fetch moved since.
    pub fn foreign(&self) -> Vec<CommitId> {
        // what others put on top there brings back what was pushed from here
        let pushed = self.own_upstreams().into_iter().map(|one| one.name);
        let pushed: BTreeSet<BString> = pushed.collect();
        let new = self.now.iter().filter(|(name, one)| {
            // what a symbolic ref names is judged by itself
            name.starts_with(b"refs/remotes/")
                && !one.is_symbolic()
                && self.before.get(*name) != Some(&one.id)
                && !pushed.contains(*name)
        });
        let fetched = new.filter(|(name, one)| {
            let log = self.log(name.as_bstr());
            let newest = log.first().filter(|newest| newest.id == one.id);
            let text = name.to_str_lossy();
            let is_pushed = |newest: &ReflogEntry| {
                let mut places = self.journal.places(name);
                newest.is_push_of(&one.id) && places.any(|place| *place == one.id)
            };
            let is_fetched =
                |newest: &ReflogEntry| !is_pushed(newest) && newest.came_from_elsewhere(&text);
            newest.is_some_and(is_fetched) && !self.is_made_here(&one.id)
        });
        let all = self.before.values().chain(fetched.map(|(_, one)| &one.id));
        all.cloned().collect()
    }

    /// Whether all that the file `shallow` names is where a fetch lets history end: commits of others,
    /// whose parents are not here, or that upstream has, or that no ref leads to.
    ///
    /// # Errors
    /// Fails when a commit is damaged.
    pub fn ends_where_others_fetched(&self) -> Result<bool, Error> {
        let mut with_parents = Vec::new();
        for end in self.git.shallow_commits()? {
            if self.is_made_here(&end) {
                return Ok(false);
            }
            if !self.git.has_lost_parent(&end)? {
                with_parents.push(end);
            }
        }
        if with_parents.is_empty() {
            return Ok(true);
        }
        let foreign = self.foreign();
        let known: Vec<&CommitId> = foreign.iter().collect();
        let refs: Vec<&CommitId> = self.now.values().map(|one| &one.id).collect();
        let not_upstream = self.git.rev_list(&refs, &known)?;
        Ok(!with_parents.iter().any(|end| not_upstream.contains(end)))
    }

    /// Whether a push from this worktree moved a remote-tracking ref.
    pub fn was_pushed_to(&self, name: &BStr) -> bool {
        let log = self.log(name);
        let mut places = self.journal.places(name);
        places.any(|place| log.iter().any(|entry| entry.is_push_of(place)))
    }

    fn others(&self) -> impl Iterator<Item = &OtherHead> {
        // those beside the main worktree are only read where the main one does not decide
        let linked = std::iter::once_with(|| self.linked()).flatten();
        self.main().into_iter().chain(linked)
    }

    fn main(&self) -> Option<&OtherHead> {
        let has_head = self.repository.main == Main::Worktree && !self.repository.is_clone();
        let read = || {
            let dir = &self.repository.common_dir;
            has_head.then(|| self.read_head(&self.git, dir, "main-worktree"))
        };
        self.main.get_or_init(read).as_ref()
    }

    fn linked(&self) -> &[OtherHead] {
        let read = || {
            let linked = self.repository.common_dir.join("worktrees");
            let own = self.known.record.admin_dir.file_name();
            let made = |id: &String| self.made_worktrees.iter().any(|(made, _)| made == id);
            let ids = files::names(&linked).unwrap_or_default().into_iter();
            let ids = ids.filter(|id| own != Some(id) && !made(id));
            ids.map(|id| {
                let dir = linked.join(&id);
                self.read_head(&self.git.on(&dir, None), &dir, &format!("worktrees/{id}"))
            })
            .collect()
        };
        self.linked.get_or_init(read)
    }

    fn read_head(&self, git: &Git, dir: &Utf8Path, private: &str) -> OtherHead {
        let file = files::read(&dir.join("HEAD")).ok().flatten();
        let file = file.unwrap_or_default();
        // where refs are tables, the file of that name does not say
        let is_table = file.trim_ascii_end().ends_with(b"/.invalid");
        let (branch, log) = if is_table {
            let log = git.log("HEAD").ok().flatten();
            (
                git.symbolic_ref_head().ok().flatten(),
                log.unwrap_or_default(),
            )
        } else {
            let name = file.strip_prefix(b"ref:").map(<[u8]>::trim_ascii);
            let name = name.and_then(|name| Some(name.to_str().ok()?.to_owned()));
            (name, reflog_file(dir).unwrap_or_default())
        };
        let private = format!("{private}/HEAD");
        let forged = self.journal.places(private.as_bytes());
        OtherHead {
            branch,
            log,
            forged: forged.cloned().collect(),
            is_ours: files::exists(&dir.join(journal::FILE)),
        }
    }
}

impl OtherHead {
    fn has(&self, branch: &str) -> bool {
        self.branch.as_deref() == Some(branch)
    }
}

/// Whether a ref names what commands in a fence made in a worktree, until it is imported.
fn is_ref_of_runs(known: &Worktree, name: &BString) -> bool {
    *name == incoming_ref(known) || name.starts_with(run_refs(known).as_bytes())
}

/// Finds the worktrees that were created from this one (gitrepository-layout(5), `worktrees/<id>`).
fn read_made_worktrees(
    repository: &Repository,
    known: &Worktree,
    journal: &Journal,
) -> Result<Vec<(String, String)>, Error> {
    let directory = repository.common_dir.join("worktrees");
    let mut all = Vec::new();
    if journal.worktrees.is_empty() {
        return Ok(all);
    }
    let own = known.record.admin_dir.file_name();
    for id in files::names(&directory)? {
        let dot_git = files::read(&directory.join(&id).join("gitdir"))?.unwrap_or_default();
        let path = dot_git.trim().strip_suffix(b"/.git").unwrap_or_default();
        if own != Some(&id) && journal.worktrees.iter().any(|made| made == path) {
            all.push((id, path.to_str_lossy().into_owned()));
        }
    }
    Ok(all)
}
