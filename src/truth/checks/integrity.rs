//! Finds what is wrong with a worktree's links, and with the files of its private git directory.

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Strategy;
use crate::disk::files;
use crate::fence::shim::PRIVATE_GIT;
use crate::git::hooks::include::INCLUDED;
use crate::git::hooks::journal;
use crate::git::settings_file::{lines_of, meaning, settings_that_count};
use crate::judge::change::{Cause, Change, ChangeSet, INDEX_LOCK, Kind, Place, SPARSE_LOCK, Seen};
use crate::record::worktree::{Fingerprint, Record, WatchedFile};
use crate::system::environment;
use crate::truth::head::OPENED;
use crate::truth::hook_journal::{HookActivity, commits_without_hooks, has_hooks};
use crate::truth::inputs::SurveyInputs;
use crate::truth::keys::cause_of;
use crate::truth::layers::index::IndexState;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::{first_of, shell_word};
use crate::worktree::gitdir::names_git_dir;
use crate::worktree::lost::LostWorktree;
use crate::worktree::repository::Repository;

/// Takes the digests of all watched files as they are now.
///
/// # Errors
/// Fails when the disk does.
pub fn fingerprints(
    repository: &Repository,
    admin_dir: &Utf8Path,
) -> Result<Vec<Fingerprint>, Error> {
    WatchedFile::ALL
        .into_iter()
        .map(|file| fingerprint(file, repository, admin_dir))
        .collect()
}

/// Takes the digest of one watched file as it is now; none if there is none. A pipe or a device
/// counts as another content.
///
/// # Errors
/// Fails when the disk does.
pub fn fingerprint(
    file: WatchedFile,
    repository: &Repository,
    admin_dir: &Utf8Path,
) -> Result<Fingerprint, Error> {
    let path = admin_dir.join(name_of(file));
    let content = match file {
        _ if files::is_endless(&path) => Some(b"a pipe or a device".to_vec()),
        // git would write to where it leads
        _ if files::is_behind_link(&path) => Some(b"a link".to_vec()),
        // git itself writes it anew now and then: what it says counts
        WatchedFile::ConfigWorktree => files::read(&path)?.map(|bytes| meaning(&bytes)),
        WatchedFile::HooksScripts => scripts(&path)?,
        _ => files::read(&path)?,
    };
    let digest = content.map(|bytes| repository.format.blob_id(&bytes).to_string());
    Ok(Fingerprint { file, digest })
}

/// Finds what is wrong with the worktree's `.git` file and with its private git directory, with
/// commits that were made past the hooks; and settings of its own that do no harm.
///
/// # Errors
/// Fails when the disk does.
pub fn find_integrity(inputs: &SurveyInputs<'_>) -> Result<IntegrityChanges, Error> {
    let repository = inputs.repository;
    let worktree = inputs.worktree;
    let record = &worktree.record;
    let broken_link = find_broken_link(repository, record);
    if worktree.has_lost_repository(repository) {
        // there is no private git directory to compare with the record
        return Ok(IntegrityChanges {
            wrong: broken_link.into_iter().collect(),
            harmless: None,
        });
    }
    let compared = changed_files(repository, record);
    let read_policy = &inputs.options.read_policy;
    let mut changes = read_policy.or(compared, IntegrityChanges::default)?;
    changes.wrong.extend(broken_link);
    for name in &inputs.head.pipes {
        let detail = "a pipe or a device stands in its place: it has no end";
        changes
            .wrong
            .push(integrity(Place::Admin((*name).into()), detail));
    }
    changes.wrong.extend(links_in_place_of_files(record));
    changes.wrong.extend(past_the_hooks(inputs));
    Ok(changes)
}

/// What is not as it was recorded of a private git directory.
#[derive(Default)]
pub struct IntegrityChanges {
    /// What is wrong.
    pub wrong: Vec<Change>,
    /// The settings that the worktree has for itself since `add` (`git config --worktree`), where
    /// none of them runs a program, hides or loosens anything.
    pub harmless: Option<Change>,
}

/// Finds links in the place of files of the private git directory: git reads what they lead to, and
/// writes there.
fn links_in_place_of_files(record: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    for name in OPENED {
        if name != "config.worktree" && files::is_behind_link(&record.admin_dir.join(name)) {
            let detail = "a link stands in its place, or in that of its directory";
            changes.push(integrity(Place::Admin(name.into()), detail));
        }
    }
    changes
}

/// Returns the name, the kind and the text of every script of ours.
fn scripts(hooks: &Utf8Path) -> Result<Option<Vec<u8>>, Error> {
    let mut text = Vec::new();
    for directory in [hooks, &hooks.join("agentwt.d")] {
        for name in files::names(directory)? {
            // the configuration is watched by itself, and the scripts write the note
            if matches!(name.as_str(), "config" | "warned" | "agentwt.d") {
                continue;
            }
            let file = directory.join(&name);
            // a regular file that its owner may execute (inode(7))
            let is_script =
                files::stat(&file).is_some_and(|stat| stat.mode & 0o170_100 == 0o100_100);
            let kind = if is_script { "script" } else { "other" };
            text.extend_from_slice(format!("{kind} {name}\0").as_bytes());
            text.extend(files::read(&file).ok().flatten().unwrap_or_default());
            text.push(0);
        }
    }
    Ok((!text.is_empty()).then_some(text))
}

/// The path of a watched file in the private git directory.
const fn name_of(file: WatchedFile) -> &'static str {
    match file {
        WatchedFile::SparseCheckout => "info/sparse-checkout",
        WatchedFile::ConfigWorktree => "config.worktree",
        WatchedFile::HooksConfig => "agentwt/hooks/config",
        WatchedFile::HooksBinary => "agentwt/bin",
        WatchedFile::HooksScripts => "agentwt/hooks",
    }
}

/// Finds the watched files of the private git directory that are not as they were recorded: what is
/// wrong with them, and apart from that settings which were only added and do no harm.
///
/// # Errors
/// Fails when the disk does.
pub fn changed_files(repository: &Repository, record: &Record) -> Result<IntegrityChanges, Error> {
    let mut changes = IntegrityChanges::default();
    let has_lost_hooks =
        has_hooks(record) && !files::is_directory(&record.admin_dir.join("agentwt"));
    if has_lost_hooks {
        let detail = "the directory of our hooks was removed";
        let place = Place::Admin("agentwt".into());
        changes.wrong.push(integrity(place, detail));
    }
    for found in fingerprints(repository, &record.admin_dir)? {
        let is_unchanged = record.integrity.contains(&found);
        // an older version did not watch every file
        let is_recorded = record
            .integrity
            .iter()
            .any(|print| print.file == found.file);
        let went_with_hooks = has_lost_hooks && name_of(found.file).starts_with("agentwt/");
        if is_unchanged || !is_recorded || went_with_hooks {
            continue;
        }
        let own_settings = match found.file {
            WatchedFile::ConfigWorktree => OwnSettings::read(record)?,
            _other => None,
        };
        let added = own_settings
            .as_ref()
            .and_then(|settings| settings.harmless_since_add(repository, record));
        if let Some(added) = added {
            let place = Place::Admin(name_of(found.file).into());
            let detail = format!("added since `add`: {}", shown_settings(added));
            let change = Change::detailed(place, Kind::Config, detail);
            changes.harmless = Some(change.with(found.digest));
        } else {
            changes.wrong.push(changed_file(found, own_settings));
        }
    }
    Ok(changes)
}

/// The change of a watched file. Of the worktree's own settings, it names those of now.
fn changed_file(now: Fingerprint, own_settings: Option<OwnSettings>) -> Change {
    let kind = match now.file {
        WatchedFile::HooksScripts => Kind::Integrity,
        WatchedFile::SparseCheckout
        | WatchedFile::ConfigWorktree
        | WatchedFile::HooksConfig
        | WatchedFile::HooksBinary => Kind::Config,
    };
    let mut detail = "it was changed since `add`".to_owned();
    if let Some(settings) = own_settings {
        detail.push_str(&settings.says());
    }
    let place = Place::Admin(name_of(now.file).into());
    Change::detailed(place, kind, detail).with(now.digest)
}

/// No worktree has more harmless settings for itself at `add`, after the last other one. The bound
/// keeps a file of many thousands from being digested as often.
const MOST_TRIED: usize = 200;

/// The settings that a worktree has for itself, with their values, in the order of the file.
struct OwnSettings(Vec<(String, BString)>);

impl OwnSettings {
    /// Reads them; none if no file of settings is there.
    fn read(record: &Record) -> Result<Option<Self>, Error> {
        let path = record.admin_dir.join(name_of(WatchedFile::ConfigWorktree));
        if files::is_endless(&path) || files::is_behind_link(&path) {
            return Ok(None);
        }
        let bytes = files::read(&path)?.unwrap_or_default();
        Ok(settings_that_count(&bytes).map(Self))
    }

    /// The settings that were added at the end since `add`, if each of them is harmless and nothing
    /// else is changed.
    ///
    /// The record has only a digest of the settings of `add`, so their number is tried: from the
    /// fewest, since they nearly always end with one that is not harmless, the path of our hooks.
    fn harmless_since_add(
        &self,
        repository: &Repository,
        record: &Record,
    ) -> Option<&[(String, BString)]> {
        let settings = &self.0;
        let last_harmful = settings
            .iter()
            .rposition(|(key, value)| !is_harmless(key, value));
        let fewest = last_harmful.map_or(0, |position| position + 1);
        for number in (fewest..settings.len()).take(MOST_TRIED) {
            if is_as_recorded(&settings[..number], repository, record) {
                return Some(&settings[number..]);
            }
        }
        None
    }

    /// What it says, but for what leads to our hooks.
    fn says(&self) -> String {
        let mut settings = self.0.clone();
        settings.retain(|(key, value)| !(key == "include.path" && value == INCLUDED));
        if settings.is_empty() {
            return String::new();
        }
        format!(", and says: {}", shown_settings(&settings))
    }
}

/// True if a setting neither runs a program nor hides or loosens anything, and says nothing about
/// what a checkout of this worktree has.
fn is_harmless(key: &str, value: &BString) -> bool {
    const OF_THE_CHECKOUT: [&str; 4] = ["core", "extensions", "index", "sparse"];
    let section = key.split('.').next().unwrap_or(key);
    let text = value.to_str_lossy();
    !OF_THE_CHECKOUT.contains(&section) && cause_of(key, Some(&text)) == Cause::Unknown
}

/// True if a worktree had just these settings for itself at `add`, or no file where there are none.
fn is_as_recorded(
    settings: &[(String, BString)],
    repository: &Repository,
    record: &Record,
) -> bool {
    let of_settings = repository.format.blob_id(&lines_of(settings)).to_string();
    let mut digests = vec![Some(of_settings)];
    if settings.is_empty() {
        digests.push(None);
    }
    let file = WatchedFile::ConfigWorktree;
    digests
        .into_iter()
        .any(|digest| record.integrity.contains(&Fingerprint { file, digest }))
}

/// The first settings as text.
fn shown_settings(settings: &[(String, BString)]) -> String {
    const SHOWN: usize = 5;
    let texts = settings.iter().map(|(key, value)| format!("{key}={value}"));
    first_of(texts, SHOWN)
}

/// Says of a worktree that its record was removed: what it changed can no longer be determined.
pub fn without_record(lost: &LostWorktree) -> ChangeSet {
    let detail = "the record was removed: what was changed can no longer be determined";
    let place = Place::Git(format!("agentwt/worktrees/{}", lost.name).into());
    let head = lost.head.clone().unwrap_or_else(CommitId::unknown);
    ChangeSet {
        integrity: vec![integrity(place, detail)],
        ..ChangeSet::new(CommitId::unknown(), head, Vec::new())
    }
}

/// Finds commits that were made here and that the journal does not have: no hook ran for them.
fn past_the_hooks(inputs: &SurveyInputs<'_>) -> Option<Change> {
    let record = &inputs.worktree.record;
    if !has_hooks(record) {
        return None;
    }
    let Some(journal) = &inputs.journal.journal else {
        let is_gone = !files::is_directory(&record.admin_dir.join("agentwt"));
        let place = Place::Admin(journal::FILE.into());
        return (!is_gone).then(|| integrity(place, "the journal of refs was removed"));
    };
    let commits = commits_without_hooks(record, journal, &inputs.head);
    let newest = commits.first()?.short();
    let mut detail = match commits.len() - 1 {
        0 => format!("commit {newest} was made without our hooks"),
        more => format!("commit {newest} and {more} before it were made without our hooks"),
    };
    if inputs.journal.activity == HookActivity::AtWork {
        detail.push_str(STILL_AT_WORK);
    }
    let ids: Vec<&str> = commits.iter().map(CommitId::as_str).collect();
    Some(integrity(Place::Head, detail).with(Some(ids.join(" "))))
}

/// What is said where a git was waited for in vain.
const STILL_AT_WORK: &str =
    ", or a hook still runs: git is working here, verify again when it is done";

/// Finds the locks of the worktree's index and sparse patterns that are there. A git that runs now
/// may hold them.
pub fn locks(record: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    for (lock, guarded) in [(INDEX_LOCK, "index"), (SPARSE_LOCK, "sparse patterns")] {
        if files::exists(&record.admin_dir.join(lock)) {
            let detail = format!(
                "it keeps git from changing the {guarded}; if no git runs there, remove it"
            );
            changes.push(integrity(Place::Admin(lock.into()), detail));
        }
    }
    changes
}

/// Finds the marks with which an index hides paths from git.
pub fn index_marks(index: &IndexState) -> Option<Change> {
    let mut details: Vec<String> = Vec::new();
    for flag in [Seen::AssumeUnchanged, Seen::SkipWorktree] {
        let marked = index.hidden.iter().filter(|(_, seen)| **seen == flag);
        let paths = first_of(marked.map(|(path, _)| path), 1);
        if !paths.is_empty() {
            details.push(format!("{paths}: marked {}", flag.as_str()));
        }
    }
    let place = Place::Admin("index".into());
    (!details.is_empty()).then(|| integrity(place, details.join("; ")))
}

/// Finds what is wrong with the worktree's own `.git` file and its private git directory.
fn find_broken_link(repository: &Repository, record: &Record) -> Option<Change> {
    let is_whole = match record.strategy {
        Strategy::Clone => repository.is_clone(),
        Strategy::Worktree => has_whole_links(repository, record),
    };
    if is_whole {
        return None;
    }
    let detail = match record.strategy {
        Strategy::Clone => "its .git is not the repository any more that `add` made: \
             what was committed cannot be determined"
            .to_owned(),
        Strategy::Worktree => format!(
            "its .git file and its private git directory do not name each other; to link them \
             again: {}",
            way_to_link(repository, record)
        ),
    };
    Some(integrity(Place::Worktree, detail))
}

/// The command that links a worktree and its private git directory again (git-worktree(1), "repair").
fn way_to_link(repository: &Repository, record: &Record) -> String {
    // with a path, git says that it cannot locate the repository, and ends with 1
    let repair = format!(
        "git -C {} worktree repair",
        shell_word(repository.root.as_str())
    );
    let dot_git = record.path.join(".git");
    if !files::is_directory(&dot_git) {
        return repair;
    }
    // git replaces no directory: another repository is there, which may have commits
    format!(
        "mv {} <elsewhere> && {repair}",
        shell_word(dot_git.as_str())
    )
}

/// True if the `.git` file and the private git directory name each other, and the repository.
fn has_whole_links(repository: &Repository, record: &Record) -> bool {
    let dot_git = record.path.join(".git");
    let common_dir = files::canonical(&repository.common_dir).ok();
    common_dir.is_some()
        && has_own_dot_git(repository, record, &dot_git)
        && target_of(record, "gitdir") == Some(dot_git)
        && target_of(record, "commondir") == common_dir
}

/// True if the `.git` file names the private git directory by its own path: as git wrote it at
/// `add`, or a relative one, as `git worktree repair --relative-paths` writes (git 2.48). In the
/// fence `mount`, that of the run is there.
fn has_own_dot_git(repository: &Repository, record: &Record, dot_git: &Utf8Path) -> bool {
    let Some(text) = files::read(dot_git).unwrap_or_default() else {
        return false;
    };
    if text == record.dot_git.as_bytes() || names_git_dir(&text, &record.path, &record.admin_dir) {
        return true;
    }
    let private = repository.record_dir(&record.name).join("private/git");
    let is_fenced = environment::variable(PRIVATE_GIT).is_some_and(|path| *path == *private);
    is_fenced && text == format!("gitdir: {private}\n").as_bytes()
}

/// Returns the path that a file of the private git directory names: a relative one where
/// `worktree.useRelativePaths` is set.
fn target_of(record: &Record, file: &str) -> Option<Utf8PathBuf> {
    let bytes = files::read(&record.admin_dir.join(file)).ok()??;
    let text = String::from_utf8_lossy(bytes.trim_ascii_end());
    files::canonical(&record.admin_dir.join(&*text)).ok()
}

/// Says what is wrong with something beside the paths.
pub fn integrity(place: Place, detail: impl Into<String>) -> Change {
    Change::detailed(place, Kind::Integrity, detail)
}
