//! Writes what is known of a worktree: manifest, refs, ignore rules, and at last the record.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::actions::scope_edit::Listing;
use crate::disk::drift::Proof;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::scan::scan;
use crate::disk::scan::walk::{FilesToRead, Walk};
use crate::git::conversions::read_conversions;
use crate::git::hooks::scripts::Method;
use crate::git::refs::Ref;
use crate::inventory::clean_directories::CleanDirectories;
use crate::inventory::manifest::{Item, Manifest, OnDisk};
use crate::inventory::placed::Placed;
use crate::judge::change::by_kind;
use crate::judge::finding::{Finding, Report};
use crate::record::worktree::{Fingerprint, KeptFinding, LastVerification, Record, WatchedFile};
use crate::truth::checks::integrity;
use crate::truth::seal;
use crate::words::error::Error;
use crate::words::toml_file::to_text;
use crate::worktree::ignore_rules::read_users_rules;
use crate::worktree::loaded::{VERIFICATION, WALKED, Worktree, hooks_of};
use crate::worktree::repository::{Repository, joined};
use crate::worktree::variables::SCOPE_FILE;

/// How many findings of a verification are kept.
const KEPT: usize = 100;

/// What is to be registered.
pub struct Registration<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The record; its digests and `conversions` are filled in here.
    pub record: Record,
    /// The commit that is checked out.
    pub head: &'a Listing,
    /// What was placed, which has a list of its own.
    pub placed: Placed,
    /// What is on disk for each entry of the commit, where nothing else is there; none where the
    /// disk has to be read.
    pub disk: Option<Vec<Option<OnDisk>>>,
}

impl Registration<'_> {
    /// Takes the manifest and writes everything; the record comes last, so that a worktree is known
    /// only when all else is there.
    ///
    /// # Errors
    /// Fails when git or the disk does; the caller removes the directory.
    pub fn write(mut self) -> Result<Record, Error> {
        let repository = self.repository;
        let dir = repository.record_dir(&self.record.name);
        let refs = repository.git.for_each_ref(&["refs/"])?;
        let conversions = self.may_convert(&refs)?;
        std::thread::scope(|threads| {
            // the disk takes the manifest together with the rest
            let writing = threads.spawn(|| {
                let manifest = self.manifest()?.to_bytes();
                Ok::<_, Error>(files::write(&dir.join("manifest"), &manifest)?)
            });
            let rest = self.write_rest(&dir, &refs);
            joined(writing)?;
            rest
        })?;
        let integrity = integrity::fingerprints(repository, &self.record.admin_dir)?;
        self.record.conversions = conversions;
        self.record.integrity = integrity;
        write_record(&dir, &self.record)?;
        files::remove_file(&dir.join("intent.toml"))?;
        Ok(self.record)
    }

    /// True if a file on disk may differ from what git stores, by an attribute, a setting or a
    /// replaced object (git-replace(1)). It is recorded: what comes into the shared configuration
    /// later must hide no edit.
    fn may_convert(&self, refs: &[Ref]) -> Result<bool, Error> {
        let is_replacement = |reference: &Ref| reference.name.starts_with(b"refs/replace/");
        if refs.iter().any(is_replacement) {
            return Ok(true);
        }
        let attributes = self.head.attributes(self.repository)?;
        let git = self.repository.git.on(&self.record.admin_dir, None);
        Ok(read_conversions(&git, attributes)?.possible)
    }

    /// Writes all refs, for telling later what was there; the ignore rules that are outside of the
    /// tree, as the worktree could change them; hooks and settings.
    fn write_rest(&self, dir: &Utf8Path, all_refs: &[Ref]) -> Result<(), Error> {
        let mut refs = Vec::new();
        for recorded in all_refs {
            refs.extend([recorded.id.as_str().as_bytes(), b" ", &recorded.name].concat());
            if let Some(target) = &recorded.target {
                refs.extend([b" ", target.as_slice()].concat());
            }
            refs.push(b'\n');
        }
        let stashes = self.repository.git.log("refs/stash")?.unwrap_or_default();
        for (number, entry) in stashes.iter().enumerate() {
            refs.extend(format!("{} refs/stash@{{{number}}}\n", entry.id).as_bytes());
        }
        files::write(&dir.join("refs"), &refs)?;
        let ignore = dir.join("ignore");
        if let Some(rules) = files::read(&self.repository.common_dir.join("info/exclude"))? {
            files::write(&ignore.join("info-exclude"), &rules)?;
        }
        if let Some(rules) = read_users_rules(&self.repository.home().git)? {
            files::write(&ignore.join("excludes-file"), &rules)?;
        }
        write_shared(self.repository, dir, &self.record)
    }

    /// Lists the paths of the commit, with what is on disk for each.
    fn manifest(&self) -> Result<Manifest, Error> {
        let mut items = Vec::with_capacity(self.head.entries.len());
        for (number, (path, entry)) in self.head.entries.iter().enumerate() {
            items.push(Item {
                path: path.clone(),
                base: Some(*entry),
                disk: self.disk.as_ref().and_then(|on_disk| *on_disk.get(number)?),
            });
        }
        if self.disk.is_none() {
            self.add_what_is_on_disk(&mut items)?;
        }
        let changed = items.iter().filter_map(|item| Some(item.disk?.stat.ctime));
        let newest = changed.max().unwrap_or(0);
        let settled = files::settled_time(&self.record.path, newest)?;
        Ok(Manifest::new(items, settled))
    }

    /// Reads the disk, and adds what is there to the items, which are the sorted entries of the
    /// commit. Called where a hook or an agent may have worked since the checkout. Placed files are
    /// left out: they have a list of their own.
    fn add_what_is_on_disk(&self, items: &mut Vec<Item>) -> Result<(), Error> {
        let checked_out = Manifest::new(items.clone(), 0);
        let (expected, placed) = self.placed.clone().laid_over(checked_out, &|_| false);
        let format = self.repository.format;
        let hash = |size, content: &mut dyn std::io::Read| format.hash_blob(size, content);
        let walked = scan(&Walk {
            root: &self.record.path,
            manifest: &expected,
            placed: Some(Proof {
                placed: &placed,
                source: Some(&self.repository.root),
            }),
            submodules: Some(&BTreeSet::new()),
            files_to_read: FilesToRead::AllButPlaced,
            known_directories: None,
            unread_above: None,
            hash: &hash,
        })?;
        // what is pushed below is not sorted
        let tracked = items.len();
        for file in walked.found {
            if placed.get(&file.path).is_some() {
                continue;
            }
            let disk = Some(OnDisk {
                entry: file.entry,
                stat: file.stat,
            });
            match items[..tracked].binary_search_by(|item| item.path.cmp(&file.path)) {
                Ok(at) => items[at].disk = disk,
                Err(_) => items.push(Item {
                    path: file.path,
                    base: None,
                    disk,
                }),
            }
        }
        Ok(())
    }
}

/// Reads the text of a worktree's `.git` file.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_dot_git(worktree: &Utf8Path) -> Result<String, DiskError> {
    let bytes = files::read(&worktree.join(".git"))?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Installs our hooks in the worktree of a record.
///
/// # Errors
/// Fails when git or the disk does; installing again goes on.
pub fn install_hooks(
    repository: &Repository,
    record: &Record,
    program: &Utf8Path,
) -> Result<Method, Error> {
    let _shared = Lock::wait(&repository.shared_lock())?;
    let hooks = hooks_of(&repository.git, record)?;
    Ok(hooks.install(program, record.on_violation)?)
}

/// Writes the record, and its scope for programs; the record last.
fn write_record(dir: &Utf8Path, record: &Record) -> Result<(), DiskError> {
    let scope = scope_text(record);
    let file = dir.join(SCOPE_FILE);
    if files::read(&file)?.as_deref() != Some(scope.as_bytes()) {
        files::write(&file, scope.as_bytes())?;
    }
    files::write(&dir.join("record.toml"), to_text(record).as_bytes())
}

/// The patterns of a scope, as the config has those of a profile.
fn scope_text(record: &Record) -> String {
    let mut lists = toml::Table::new();
    for rule in &record.scope {
        let list = lists
            .entry(rule.list.to_string())
            .or_insert_with(|| toml::Value::Array(Vec::new()));
        if let Some(patterns) = list.as_array_mut() {
            patterns.push(rule.pattern.clone().into());
        }
    }
    lists.to_string()
}

/// Writes down what the worktree shares with others: hooks, settings and seals.
fn write_shared(repository: &Repository, dir: &Utf8Path, record: &Record) -> Result<(), Error> {
    let text = to_text(&seal::read(repository, Some(&record.admin_dir))?);
    Ok(files::write(&dir.join("shared.toml"), text.as_bytes())?)
}

impl Worktree {
    /// Writes another record in place of this one.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn write_record(&self, record: &Record) -> Result<(), DiskError> {
        write_record(&self.dir, record)
    }

    /// Takes the digests of these watched files anew, after a change that we made ourselves.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn renew_digests(
        &self,
        repository: &Repository,
        which: impl Fn(WatchedFile) -> bool,
    ) -> Result<Self, Error> {
        self.remove_verification()?;
        let mut renewed = self.clone();
        let integrity = &mut renewed.record.integrity;
        for file in WatchedFile::ALL.into_iter().filter(|file| which(*file)) {
            let now = self.fingerprint(repository, file)?;
            integrity.retain(|recorded| recorded.file != now.file);
            integrity.push(now);
        }
        renewed.write_record(&renewed.record)?;
        Ok(renewed)
    }

    /// Installs or removes our hooks, and records them anew. What else came into `config.worktree`
    /// before is still found.
    ///
    /// # Errors
    /// Fails when the change does, or the disk refuses.
    pub fn change_hooks<T>(
        &self,
        repository: &Repository,
        change: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let own = self.repository(repository);
        let is_recorded = self.config_is_as_recorded(&own)?;
        let done = change()?;
        self.renew_digests(&own, |file| {
            file.is_of_our_hooks() && (is_recorded || file != WatchedFile::ConfigWorktree)
        })?;
        Ok(done)
    }

    /// True if `config.worktree` is as it was recorded: only then may its digest be taken anew.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn config_is_as_recorded(&self, repository: &Repository) -> Result<bool, Error> {
        let now = self.fingerprint(repository, WatchedFile::ConfigWorktree)?;
        Ok(self.record.integrity.contains(&now))
    }

    /// True if our hooks are as they were recorded.
    ///
    /// # Errors
    /// Fails when a file cannot be read.
    pub fn hooks_are_as_recorded(&self, repository: &Repository) -> Result<bool, Error> {
        for file in WatchedFile::ALL {
            if !file.is_of_our_hooks() || file == WatchedFile::ConfigWorktree {
                continue;
            }
            let now = self.fingerprint(repository, file)?;
            if !self.record.integrity.contains(&now) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fingerprint(
        &self,
        repository: &Repository,
        file: WatchedFile,
    ) -> Result<Fingerprint, Error> {
        integrity::fingerprint(file, repository, &self.record.admin_dir)
    }

    /// Writes the outcome of a verification, for `list --stored`.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn write_verification(&self, report: &Report, now: &str) -> Result<(), DiskError> {
        self.write_last(&LastVerification::new(report, now))
    }

    /// Writes the last verification.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn write_last(&self, last: &LastVerification) -> Result<(), DiskError> {
        let file = self.dir.join(VERIFICATION);
        files::write_beside(&file, to_text(last).as_bytes())
    }

    /// Removes the last verification, before a command of ours makes the verdict stale.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn remove_verification(&self) -> Result<(), DiskError> {
        files::remove_file(&self.dir.join(VERIFICATION))
    }

    /// Writes which directories need not be read again. A failure costs only time.
    pub fn write_walked(&self, walked: Option<&CleanDirectories>) {
        if let Some(walked) = walked {
            let file = self.dir.join(WALKED);
            let _ = files::write_beside(&file, &walked.to_bytes());
        }
    }
}

impl LastVerification {
    /// Keeps the outcome of a verification.
    pub fn new(report: &Report, now: &str) -> Self {
        let first = report.findings.iter().take(KEPT);
        Self {
            at: now.to_owned(),
            head: report.changes.head.clone(),
            looked: report.changes.looked,
            changed: report.changes.counted().count() as u64,
            kinds: by_kind(report.changes.counted()),
            violations: report.violations().count() as u64,
            notices: report.notices().count() as u64,
            findings: first.map(KeptFinding::from).collect(),
        }
    }

    /// True if a finding was among those that are kept.
    pub fn has(&self, finding: &Finding) -> bool {
        self.findings.contains(&KeptFinding::from(finding))
    }
}

impl From<&Finding> for KeptFinding {
    fn from(finding: &Finding) -> Self {
        Self {
            place: finding.change.place.to_tsv(),
            kind: finding.change.kind.as_str().to_owned(),
            reason: finding.reason.as_str().to_owned(),
            level: finding.level.as_str().to_owned(),
        }
    }
}
