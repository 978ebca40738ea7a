//! Opens repositories through `gix`, by explicit directories: [`Repo`], once a run each.
//!
//! Settings, refs, reflogs and objects of a repository are read through one [`gix::Repository`].
//! Replace refs, grafts and the commit graph never count: each of them could lie about history.
//! A repository whose refs are reftables opens too; its refs are read by git (`reftable.rs`).
#![expect(clippy::disallowed_methods, reason = "looks at git's files before gix")]

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use bstr::BString;
use camino::{Utf8Path, Utf8PathBuf};
use gix::ThreadSafeRepository;
use gix::config::Source;
use gix::config::file::Metadata;
use gix::odb::store::init::Slots;

use crate::git::commit_memory::CommitMemory;
use crate::git::environment;
use crate::git::environment::GitMode;
use crate::git::error::{GitError, reading, unreadable};
use crate::git::git_dir::{common_dir, refuse_special_file, refuse_special_files};
use crate::git::object_format::ObjectFormat;
use crate::git::settings_file::section_settings;

/// Extensions of the repository format that do not change how anything here reads a repository
/// (git-config(1), `extensions`).
const KNOWN_EXTENSIONS: [&str; 9] = [
    "compatobjectformat",
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// An open repository.
pub struct Repo {
    /// The private git directory: that of a linked worktree, or the common one.
    pub git_dir: Utf8PathBuf,
    /// The common git directory.
    pub common_dir: Utf8PathBuf,
    /// The hash function.
    pub format: ObjectFormat,
    /// True if refs are no files, so that git has to read them.
    pub is_reftable: bool,
    /// The commits that were read.
    pub(super) commits: CommitMemory,
    shared: ThreadSafeRepository,
    settings: Vec<GitSetting>,
    stamps: SettingsStamps,
}

/// One setting as `git config --list --show-scope` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSetting {
    /// The kind of its file, in git's words: `system`, `global`, `local`, `worktree`, `command`.
    pub scope: &'static str,
    /// Its key as git lists it: section and last part in lower case.
    pub key: String,
    /// Its value, none for a key alone.
    pub value: Option<BString>,
}

/// Tells whether the two files of settings are those that were read.
#[derive(PartialEq, Eq)]
struct SettingsStamps {
    common: Option<FileStamp>,
    worktree: Option<FileStamp>,
}

#[derive(PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl SettingsStamps {
    fn read(common_dir: &Utf8Path, git_dir: &Utf8Path) -> Self {
        Self {
            common: FileStamp::read(&common_dir.join("config")),
            worktree: FileStamp::read(&git_dir.join("config.worktree")),
        }
    }
}

impl FileStamp {
    fn read(file: &Utf8Path) -> Option<Self> {
        let metadata = std::fs::metadata(file).ok()?;
        Some(Self {
            inode: metadata.ino(),
            size: metadata.size(),
            seconds: metadata.ctime(),
            nanoseconds: metadata.ctime_nsec(),
        })
    }
}

/// Keeps the repositories that a run has open, by git directory and mode.
#[derive(Default)]
pub(super) struct OpenRepos {
    open: Mutex<HashMap<(Utf8PathBuf, GitMode), Arc<Repo>>>,
}

impl std::fmt::Debug for OpenRepos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OpenRepos")
    }
}

impl OpenRepos {
    /// Returns the repository of this git directory: one that is open in either mode, or else one
    /// that is opened in `mode`. One whose settings have changed since is opened again.
    pub(super) fn get_or_open(
        &self,
        git_dir: &Utf8Path,
        mode: GitMode,
        other: GitMode,
    ) -> Result<Arc<Repo>, GitError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for accepted in [mode, other] {
            if let Some(repo) = open.get(&(git_dir.to_owned(), accepted))
                && repo.has_read_these_settings()
            {
                return Ok(Arc::clone(repo));
            }
        }
        let repo = Arc::new(Repo::open(git_dir, mode)?);
        open.insert((git_dir.to_owned(), mode), Arc::clone(&repo));
        Ok(repo)
    }
}

impl Repo {
    /// Opens the repository of exactly this git directory.
    ///
    /// # Errors
    /// Fails when that is none, is damaged, or has an extension that is not known here, and when a
    /// pipe or a device stands where git has a file.
    pub fn open(git_dir: &Utf8Path, mode: GitMode) -> Result<Self, GitError> {
        refuse_special_files(git_dir)?;
        let common = common_dir(git_dir).unwrap_or_else(|| git_dir.to_owned());
        if common != git_dir {
            refuse_special_files(&common)?;
        }
        require_users_files()?;
        // before the settings: what is written in between must not count as read
        let stamps = SettingsStamps::read(&common, git_dir);
        let what = format!("the repository {git_dir}");
        let mut shared = open_options(mode)
            .map_err(|detail| unreadable(&what, detail))?
            .open(git_dir.as_std_path())
            .map_err(reading(&what))?;
        shared.refs.namespace = None;
        let local = shared.to_thread_local();
        let settings = settings_of(&local);
        if let Some(key) = unknown_extension(&settings) {
            let detail = format!("unknown repository extension {key}");
            return Err(unreadable(&what, &detail));
        }
        let common_dir =
            common_dir_of(&local).ok_or_else(|| unreadable(&what, "its path is not UTF-8"))?;
        Ok(Self {
            stamps,
            git_dir: git_dir.to_owned(),
            common_dir,
            format: ObjectFormat(local.object_hash()),
            is_reftable: has_reftable(&settings),
            commits: CommitMemory::default(),
            shared,
            settings,
        })
    }

    /// Returns the repository for one thread.
    pub(super) fn local(&self) -> gix::Repository {
        self.shared.to_thread_local()
    }

    /// Returns the objects, as many threads can read them.
    pub(super) fn objects(&self) -> gix::odb::Handle {
        self.shared.objects.to_cache_arc()
    }

    /// Returns every setting, in git's order.
    pub(super) fn settings(&self) -> &[GitSetting] {
        &self.settings
    }

    /// True if it has no main worktree (`core.bare`); a linked worktree is never bare.
    pub fn is_bare(&self) -> bool {
        self.git_dir == self.common_dir && self.says_bare()
    }

    /// True if its work tree is where its `.git` is: it sets no `core.worktree`, and no linked
    /// worktree takes `core.bare` from the common file (git-worktree(1), "CONFIGURATION FILE").
    pub(super) fn has_usual_work_tree(&self) -> bool {
        if self.sets("core.worktree") {
            return false;
        }
        let is_linked = self.git_dir != self.common_dir;
        let takes_common_bare =
            is_linked && self.sets("extensions.worktreeconfig") && self.says_bare();
        !takes_common_bare
    }

    fn sets(&self, key: &str) -> bool {
        self.settings.iter().any(|setting| setting.key == key)
    }

    fn says_bare(&self) -> bool {
        let local = self.local();
        let config = local.config_snapshot();
        let bare = config
            .plumbing()
            .boolean_filter("core.bare", is_no_setting_of_user);
        matches!(bare, Ok(Some(true)))
    }

    fn has_read_these_settings(&self) -> bool {
        self.stamps == SettingsStamps::read(&self.common_dir, &self.git_dir)
    }
}

fn is_no_setting_of_user(meta: &Metadata) -> bool {
    !matches!(meta.source, Source::Git | Source::User)
}

/// Returns how a repository is opened in a mode.
fn open_options(mode: GitMode) -> Result<gix::open::Options, &'static str> {
    let mut overrides = environment::parameters(mode)?;
    for setting in mode.settings().split_ascii_whitespace() {
        overrides.push(setting.to_owned());
    }
    Ok(gix::open::Options::default()
        .permissions(permissions(mode))
        .with(gix::sec::Trust::Full)
        .strict_config(true)
        .open_path_as_is(true)
        // packs that others add while we run have to fit in (100 imports at once)
        .object_store_slots(Slots::AsNeededByDiskState {
            multiplier: 2.0,
            minimum: 256,
        })
        .cli_overrides(overrides)
        .config_overrides(["core.useReplaceRefs=false", "core.commitGraph=false"]))
}

/// Returns what gix may read beside the repository: the files that git reads for the user, and of
/// the environment what says where those are.
fn permissions(mode: GitMode) -> gix::open::Permissions {
    let mut permissions = environment::permissions();
    permissions.config.env = mode == GitMode::User;
    permissions.env.objects = gix::sec::Permission::Deny;
    permissions.env.http_transport = gix::sec::Permission::Deny;
    permissions
}

/// Refuses what stands in the place of the user's or the system's settings and is no file: reading
/// it may never end.
fn require_users_files() -> Result<(), GitError> {
    for source in [Source::System, Source::Git, Source::User] {
        let file = source.storage_location(&mut |name| std::env::var_os(name));
        if let Some(file) = file {
            refuse_special_file(file)?;
        }
    }
    Ok(())
}

fn common_dir_of(repository: &gix::Repository) -> Option<Utf8PathBuf> {
    let path = Utf8PathBuf::from_path_buf(repository.common_dir().to_path_buf()).ok()?;
    match path.canonicalize_utf8() {
        Ok(canonical) => Some(canonical),
        Err(_) => Some(path),
    }
}

fn settings_of(repository: &gix::Repository) -> Vec<GitSetting> {
    let snapshot = repository.config_snapshot();
    let mut settings = Vec::new();
    for section in snapshot.plumbing().sections() {
        let scope = match section.meta().source {
            Source::GitInstallation | Source::System => "system",
            Source::Git | Source::User => "global",
            Source::Local => "local",
            Source::Worktree => "worktree",
            Source::Env | Source::Cli => "command",
            // ours, and what gix makes of variables that we never hand to git
            Source::Api | Source::EnvOverride => continue,
        };
        for (key, value) in section_settings(&section) {
            settings.push(GitSetting { scope, key, value });
        }
    }
    settings
}

/// Returns the first extension of the repository's own settings that nobody here knows.
fn unknown_extension(settings: &[GitSetting]) -> Option<&str> {
    for setting in settings {
        if setting.scope == "local"
            && let Some(extension) = setting.key.strip_prefix("extensions.")
            && !KNOWN_EXTENSIONS.contains(&extension)
        {
            return Some(&setting.key);
        }
    }
    None
}

/// True if the repository's own settings say that refs are no files.
fn has_reftable(settings: &[GitSetting]) -> bool {
    let storage = settings
        .iter()
        .rfind(|setting| setting.scope == "local" && setting.key == "extensions.refstorage");
    match storage.and_then(|setting| setting.value.as_ref()) {
        Some(storage) => storage != "files",
        None => false,
    }
}
