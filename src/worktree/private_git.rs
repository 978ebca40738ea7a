//! Gives a command in a fence a git directory of its own: [`PrivateGit`].
//!
//! The git directory of a worktree has files beside its index that run code at the next `git status` of
//! the user (`config.worktree`, `commondir`), so a fenced command must not write there. It works on a
//! *private git directory* in the record: a whole repository with its own HEAD, index, refs and
//! settings, whose objects are those of the common repository, read only, and its own. After the
//! command, its commits are fetched from there; no git is ever run on its settings
//! (`docs/decisions/0039-private-git-directory.md`).
//!
//! ```text
//! <record>/private/git       the git directory; removed after a run that left nothing in it
//! <record>/private/dotgit    the `.git` file of the worktree inside of the fence
//! <record>/private/snapshot  the refs that the run began with, as packed-refs
//! <record>/private/kept      the objects of earlier runs that left something
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Repository, Worktree};
use crate::disk::files;
use crate::error::Error;
use crate::git::GitMode;
use crate::git::config::quoted_setting;
use crate::git::objects::ObjectFormat;
use crate::git::refs::{Ref, parse_reflog_file};
use crate::name::CommitId;

/// The directory in the record.
const PRIVATE: &str = "private";
/// How long git may take to list the refs of a run.
const PATIENCE: Duration = Duration::from_secs(20);
/// The file with the commit of the branch at the beginning of the run.
const BEGAN: &str = "began";
/// What each run is given anew; all else of a git directory that a run left is gone on with.
const ANEW: &str = "config info objects hooks packed-refs shallow";
/// The sections of settings that git needs for work in a worktree, without those that name files of
/// another git directory or start a program in the background.
const SECTIONS: &str = "core remote branch user author committer filter diff merge pull push rebase \
     lfs i18n";
const NOT_TAKEN: &str = "core.bare core.worktree core.repositoryformatversion core.hookspath \
     core.fsmonitor core.splitindex core.untrackedcache core.attributesfile";
/// The remote of a repository without the objects of excluded files: git takes what is missing for what this
/// remote has (partial clones, git-rev-list(1) `--missing`), and finds no repository there.
const WITHHELD_REMOTE: &str = "withheld";
const WITHHELD: &str = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = withheld\n\
    [remote \"withheld\"]\n\turl = /nonexistent\n\tpromisor = true\n";
/// The files of an operation of several steps, and the command (as `wt_status_get_state` looks for them).
const OPERATIONS: [(&str, &str); 6] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick"),
];

/// Represents the private git directory of the runs of one worktree.
#[derive(Clone, Debug)]
pub struct PrivateGit {
    /// Its directory in the record, which also has what else a run needs.
    pub dir: Utf8PathBuf,
}

/// Holds what a run left.
#[derive(Clone, Debug, Default)]
pub struct RunResult {
    /// The commit of HEAD; none where HEAD cannot be read.
    pub head: Option<CommitId>,
    /// The commit of the worktree's branch.
    pub branch: Option<CommitId>,
    /// Whether HEAD names the worktree's branch.
    pub is_on_branch: bool,
    /// The branches and tags that the run made or moved.
    pub others: Vec<(BString, CommitId)>,
    /// What it stashed.
    pub stashes: Vec<CommitId>,
    /// The command of git that is in progress.
    pub operation: Option<&'static str>,
}

impl PrivateGit {
    /// The one of a worktree, whether there or not.
    pub fn new(known: &Worktree) -> Self {
        let dir = known.dir.join(PRIVATE);
        Self { dir }
    }

    /// The git directory.
    pub fn git_dir(&self) -> Utf8PathBuf {
        self.dir.join("git")
    }

    /// The index.
    pub fn index(&self) -> Utf8PathBuf {
        self.git_dir().join("index")
    }

    /// Whether a run left something: it was killed, or git is in the middle of something.
    pub fn is_there(&self) -> bool {
        files::exists(&self.git_dir())
    }

    /// Writes it for a new run. What an earlier run left in it is gone on with: HEAD, the index, its own
    /// refs, and an operation in progress. With `withholds`, the objects of excluded files are not in it, and
    /// no history.
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn write(
        &self,
        repository: &Repository,
        known: &Worktree,
        binary: &Utf8Path,
        withholds: bool,
    ) -> Result<(), Error> {
        let (git, record) = (self.git_dir(), &known.record);
        let admin = &record.admin_dir;
        let before = self.dir.join("git.before");
        // a run was killed while this was written
        if files::exists(&before) && !files::exists(&git) {
            files::rename(&before, &git)?;
        }
        files::remove_directory(&before)?;
        let goes_on = self.is_there();
        if goes_on {
            files::rename(&git, &before)?;
        }
        for directory in ["objects/info", "refs/heads", "info", "logs"] {
            files::create_directories(&git.join(directory))?;
        }
        for directory in ["tmp", "home", "bin", "rootfs"] {
            files::create_directories(&self.dir.join(directory))?;
        }
        // first in PATH where nothing can be mounted over `.git`
        files::write_link(&self.dir.join("bin/git"), binary)?;
        let mut alternates = String::new();
        if !withholds {
            alternates = format!("{}\n", repository.common_dir.join("objects"));
        }
        let own = if goes_on {
            self.keep_objects(&before)?;
            read_own_refs(&before, &self.dir)?
        } else {
            Vec::new()
        };
        for kept in files::names(&self.dir)?
            .iter()
            .filter(|name| name.starts_with("kept"))
        {
            alternates.push_str(&format!("{}\n", self.dir.join(kept)));
        }
        let put = |name: &str, bytes: &[u8]| files::write_beside(&git.join(name), bytes);
        put("objects/info/alternates", alternates.as_bytes())?;
        let mut settings = settings_of_run(repository, known)?;
        if withholds {
            settings.extend_from_slice(WITHHELD.as_bytes());
        }
        put("config", &settings)?;
        for (from, to) in [
            (admin.join("info/sparse-checkout"), "info/sparse-checkout"),
            (repository.common_dir.join("info/exclude"), "info/exclude"),
            (
                repository.common_dir.join("info/attributes"),
                "info/attributes",
            ),
            (repository.common_dir.join("shallow"), "shallow"),
        ] {
            if let Some(bytes) = files::read(&from)? {
                put(to, &bytes)?;
            }
        }
        let branch = record.branch.full_ref();
        put("HEAD", format!("ref: {branch}\n").as_bytes())?;
        let refs = if withholds { &*branch } else { "refs/" };
        let refs = repository.git.for_each_ref(&[refs])?;
        if withholds {
            let patterns = files::read(&admin.join("info/sparse-checkout"))?.unwrap_or_default();
            let size = u64::try_from(patterns.len()).unwrap_or(u64::MAX);
            let filter = repository.objects()?.write_blob(size, &mut &patterns[..])?;
            for tip in &refs {
                let private = repository.git.on(&git, None);
                private.fetch_filtered(
                    &repository.common_dir,
                    WITHHELD_REMOTE,
                    &filter,
                    &tip.id,
                )?;
            }
        }
        let snapshot = packed(refs);
        files::write_beside(&self.dir.join("snapshot"), &snapshot)?;
        put("packed-refs", &[&snapshot[..], &packed(own)].concat())?;
        let began = repository.git.rev_parse_commit(&record.branch.full_ref())?;
        let began = began.map(|id| id.to_string()).unwrap_or_default();
        files::write_beside(&self.dir.join(BEGAN), began.as_bytes())?;
        let dot_git = format!("gitdir: {git}\n");
        files::write_beside(&self.dir.join("dotgit"), dot_git.as_bytes())?;
        if goes_on {
            return self.take_over(&before);
        }
        put(
            "HEAD",
            format!("ref: {}\n", record.branch.full_ref()).as_bytes(),
        )?;
        if let Some(bytes) = files::read(&admin.join("index"))? {
            put("index", &bytes)?;
        }
        Ok(())
    }

    /// Takes the rest of an earlier git directory over. Each entry is renamed: whatever the run made of
    /// it, nothing is written through a link.
    fn take_over(&self, before: &Utf8PathBuf) -> Result<(), Error> {
        let git = self.git_dir();
        let new: BTreeSet<&str> = ANEW.split(' ').collect();
        for name in files::names(before)? {
            if !new.contains(name.as_str()) {
                let to = git.join(&name);
                if files::is_directory(&to) {
                    files::remove_directory(&to)?;
                }
                files::rename(&before.join(&name), &to)?;
            }
        }
        Ok(files::remove_directory(before)?)
    }

    /// Keeps the objects of an earlier run: what it staged is nowhere else.
    fn keep_objects(&self, before: &Utf8PathBuf) -> Result<(), Error> {
        let objects = before.join("objects");
        if files::is_link(&objects) || !files::is_directory(&objects) {
            return Ok(());
        }
        let number = files::names(&self.dir)?;
        let number = number
            .iter()
            .filter(|name| name.starts_with("kept"))
            .count();
        Ok(files::rename(
            &objects,
            &self.dir.join(format!("kept{number}")),
        )?)
    }

    /// The commit of the branch at the beginning of the run.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn began(&self) -> Result<Option<CommitId>, Error> {
        let bytes = files::read(&self.dir.join(BEGAN))?.unwrap_or_default();
        Ok(CommitId::parse(&bytes.to_str_lossy()).ok())
    }

    /// Reads what a run left, through the server side of a fetch: that is what git documents as safe on a
    /// repository that is not trusted (git-upload-pack(1), "SECURITY").
    ///
    /// # Errors
    /// Fails when git cannot read it.
    pub fn read_result(
        &self,
        repository: &Repository,
        known: &Worktree,
    ) -> Result<RunResult, Error> {
        let git = self.git_dir();
        // a pipe in the place of a file would be waited for
        let limited = repository.git.with_limit(PATIENCE);
        let listed = limited.list_refs_of(git.as_str())?;
        let began = read_packed(&self.dir.join("snapshot"))?;
        let began = began.iter().map(|one| (&one.name, &one.id));
        let began: BTreeSet<(&BString, &CommitId)> = began.collect();
        let own = known.record.branch.full_ref();
        let mut result = RunResult {
            is_on_branch: listed.head.as_deref() == Some(own.as_str()),
            operation: self.read_operation(),
            ..RunResult::default()
        };
        for (name, id) in &listed.refs {
            match name.as_slice() {
                b"HEAD" => result.head = Some(id.clone()),
                own_name if own_name == own.as_bytes() => result.branch = Some(id.clone()),
                other if other.starts_with(b"refs/remotes/") => {}
                _ if began.contains(&(name, id)) => {}
                b"refs/stash" => result.stashes.push(id.clone()),
                _ => result.others.push((name.clone(), id.clone())),
            }
        }
        // of the stash, refs/stash is the newest entry only
        let log = git.join("logs/refs/stash");
        if !result.stashes.is_empty() && !files::is_behind_link(&log) && !files::is_endless(&log) {
            let log = files::read(&log)?.unwrap_or_default();
            let entries = parse_reflog_file(&log).into_iter().skip(1);
            result.stashes.extend(entries.map(|entry| entry.id));
        }
        Ok(result)
    }

    /// The command of git that a run left in the middle.
    fn read_operation(&self) -> Option<&'static str> {
        let git = self.git_dir();
        let stands = |(file, _): &(&str, &str)| files::exists(&git.join(file));
        OPERATIONS
            .into_iter()
            .find(stands)
            .map(|(_, command)| command)
    }

    /// Moves a git directory that cannot be read out of the way, and returns where it is now.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn set_apart(&self, known: &Worktree) -> Result<Utf8PathBuf, Error> {
        let names = files::names(&known.dir)?;
        let number = names
            .iter()
            .filter(|name| name.starts_with("damaged"))
            .count();
        let kept = known.dir.join(format!("damaged{number}"));
        files::rename(&self.git_dir(), &kept)?;
        Ok(kept)
    }

    /// Removes it, after a run that left nothing in it.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn remove(&self) -> Result<(), Error> {
        Ok(files::remove_directory(&self.dir)?)
    }
}

/// The ref of the commits of a run, until the branch is there.
pub fn incoming_ref(known: &Worktree) -> String {
    format!("refs/agentwt/incoming/{}", known.record.name)
}

/// The refs of what else runs made or left, below which each names its object.
pub fn run_refs(known: &Worktree) -> String {
    format!("refs/agentwt/run/{}/", known.record.name)
}

/// Reads the refs of what the runs of a worktree made and its branch does not have.
///
/// # Errors
/// Fails when git does.
pub fn read_run_refs(repository: &Repository, known: &Worktree) -> Result<Vec<Ref>, Error> {
    let (incoming, below) = (incoming_ref(known), run_refs(known));
    let git = repository.git.with_mode(GitMode::Hardened);
    Ok(git.for_each_ref(&[&incoming, &below])?)
}

/// The refs that a run made itself and packed: those of which its beginning knew nothing. (Others than
/// packed ones are taken over as files.)
fn read_own_refs(before: &Utf8PathBuf, dir: &Utf8PathBuf) -> Result<Vec<Ref>, Error> {
    let began = read_packed(&dir.join("snapshot"))?;
    let began: BTreeSet<&BString> = began.iter().map(|one| &one.name).collect();
    let packed = before.join("packed-refs");
    if files::is_link(&packed) || files::is_endless(&packed) {
        return Ok(Vec::new());
    }
    let mut own = read_packed(&packed)?;
    own.retain(|one| !began.contains(&one.name));
    Ok(own)
}

/// The lines of a packed-refs file (gitrepository-layout(5)) that name a ref.
fn read_packed(file: &Utf8PathBuf) -> Result<Vec<Ref>, Error> {
    let bytes = files::read(file)?.unwrap_or_default();
    let parse = |line: &[u8]| {
        let (id, name) = line.split_once_str(" ")?;
        let id = CommitId::parse(id.to_str().ok()?).ok()?;
        let name = name.into();
        Some(Ref {
            name,
            id,
            is_symbolic: false,
        })
    };
    Ok(bytes.lines().filter_map(parse).collect())
}

fn packed(refs: Vec<Ref>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for one in refs {
        bytes.extend_from_slice(one.id.as_str().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(&one.name);
        bytes.push(b'\n');
    }
    bytes
}

/// The settings: those of the repository that work in a worktree needs, and those of the worktree.
fn settings_of_run(repository: &Repository, known: &Worktree) -> Result<Vec<u8>, Error> {
    let record = &known.record;
    let is_sha256 = ObjectFormat::of(&record.base.commit) != ObjectFormat::default();
    let mut extensions = Vec::new();
    extensions.extend(is_sha256.then(|| ("extensions.objectFormat".to_owned(), "sha256".into())));
    let mut all: Vec<(String, BString)> = Vec::new();
    for (scope, key, value) in known.git(repository).config_list()? {
        if !matches!(scope.as_str(), "local" | "worktree") {
            continue;
        }
        let lower = key.to_ascii_lowercase();
        let section = lower.split('.').next().unwrap_or_default();
        if lower == "extensions.partialclone" {
            extensions.push((key, value));
        } else if SECTIONS.split_whitespace().any(|one| one == section)
            && !NOT_TAKEN.split_whitespace().any(|one| one == lower)
        {
            all.push((key, value));
        }
    }
    let version = i32::from(!extensions.is_empty());
    let hooks = files::read(&record.admin_dir.join("agentwt/users"))?;
    let hooks = hooks.filter(|path| !path.trim_ascii().is_empty());
    let hooks = hooks.map(|path| path.trim_ascii_end().into());
    let hooks = hooks.unwrap_or_else(|| repository.common_dir.join("hooks").as_str().into());
    let fixed = [
        ("core.repositoryFormatVersion", version.to_string().into()),
        ("core.bare", "false".into()),
        ("core.worktree", record.path.as_str().into()),
        ("core.hooksPath", hooks),
        ("gc.auto", "0".into()),
        ("commit.gpgSign", "false".into()),
        ("tag.gpgSign", "false".into()),
    ];
    let fixed = fixed.map(|(key, value): (&str, BString)| (key.to_owned(), value));
    let lines = all.into_iter().chain(extensions).chain(fixed);
    Ok(lines
        .flat_map(|(key, value)| quoted_setting(&key, &value).to_vec())
        .collect())
}
