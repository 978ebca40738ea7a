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

use crate::git::environment::{self, GitMode};
use crate::git::error::{GitError, reading, unreadable};
use crate::git::git_dir::{common_dir, require_files};
use crate::git::object_format::ObjectFormat;
use crate::git::settings_file::pairs;

/// Extensions of the repository format that do not change how anything here reads a repository
/// (git-config(1), `extensions`).
const KNOWN_EXTENSIONS: &str = "compatobjectformat noop noop-v1 objectformat partialclone \
     preciousobjects refstorage \
     relativeworktrees worktreeconfig";

/// Represents an open repository.
pub struct Repo {
    /// The private git directory: that of a linked worktree, or the common one.
    pub git_dir: Utf8PathBuf,
    /// The common git directory.
    pub common_dir: Utf8PathBuf,
    /// The hash function.
    pub format: ObjectFormat,
    /// Whether refs are no files, so that git has to read them.
    pub is_reftable: bool,
    shared: ThreadSafeRepository,
    settings: Vec<GitSetting>,
    stamps: Stamps,
}

/// Holds one setting as `git config --list --show-scope` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSetting {
    /// The kind of its file, in git's words: `system`, `global`, `local`, `worktree`, `command`.
    pub scope: &'static str,
    /// Its key as git lists it: section and last part in lower case.
    pub key: String,
    /// Its value, none for a key alone.
    pub value: Option<BString>,
}

/// Says which content the two files of settings have.
type Stamps = [Option<(u64, u64, i64, i64)>; 2];

fn read_stamps(common_dir: &Utf8Path, git_dir: &Utf8Path) -> Stamps {
    [common_dir.join("config"), git_dir.join("config.worktree")].map(|file| {
        let meta = std::fs::metadata(file).ok()?;
        Some((meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()))
    })
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
                && repo.stamps == read_stamps(&repo.common_dir, &repo.git_dir)
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
    /// Fails when that is none, is damaged, or has an extension that changes its format.
    pub fn open(git_dir: &Utf8Path, mode: GitMode) -> Result<Self, GitError> {
        require_files(git_dir)?;
        if let Some(common_dir) = common_dir(git_dir).filter(|common_dir| common_dir != git_dir) {
            require_files(&common_dir)?;
        }
        let failed = |error: &dyn std::fmt::Display| {
            unreadable(&format_args!("the repository {git_dir}"), error)
        };
        let parameters = environment::parameters(mode).map_err(|detail| failed(&detail))?;
        let overrides = mode.settings().split_ascii_whitespace();
        let overrides = overrides.map(ToOwned::to_owned);
        let options = gix::open::Options::default()
            .permissions(permissions(mode))
            .with(gix::sec::Trust::Full)
            .strict_config(true)
            .open_path_as_is(true)
            // packs that others add while we run have to fit in (100 imports at once)
            .object_store_slots(Slots::AsNeededByDiskState {
                multiplier: 2.0,
                minimum: 256,
            })
            .cli_overrides(parameters.into_iter().chain(overrides))
            .config_overrides(["core.useReplaceRefs=false", "core.commitGraph=false"]);
        let shared = options.open(git_dir.as_std_path());
        let mut shared = shared.map_err(reading(format_args!("the repository {git_dir}")))?;
        shared.refs.namespace = None;
        let local = shared.to_thread_local();
        let common_dir = Utf8PathBuf::from_path_buf(local.common_dir().to_path_buf());
        let common_dir = common_dir.map_err(|_| failed(&"its path is not UTF-8"))?;
        let common_dir = common_dir.canonicalize_utf8().unwrap_or(common_dir);
        let format = ObjectFormat(local.object_hash());
        let settings = settings_of(&local);
        let of_repository = || settings.iter().filter(|one| one.scope == "local");
        let is_unknown = |one: &&GitSetting| {
            let name = one.key.strip_prefix("extensions.");
            name.is_some_and(|name| !KNOWN_EXTENSIONS.split(' ').any(|known| known == name))
        };
        if let Some(GitSetting { key, .. }) = of_repository().find(is_unknown) {
            return Err(failed(&format_args!("unknown repository extension {key}")));
        }
        let storage = of_repository().rfind(|one| one.key == "extensions.refstorage");
        let storage = storage.and_then(|one| one.value.as_ref());
        let is_reftable = storage.is_some_and(|storage| *storage != "files");
        Ok(Self {
            stamps: read_stamps(&common_dir, git_dir),
            git_dir: git_dir.to_owned(),
            common_dir,
            format,
            is_reftable,
            shared,
            settings,
        })
    }

    /// The repository for one thread.
    pub(super) fn local(&self) -> gix::Repository {
        self.shared.to_thread_local()
    }

    /// The objects, as many threads can read them.
    pub(super) fn objects(&self) -> gix::odb::Handle {
        self.shared.objects.to_cache_arc()
    }

    /// Every setting, in git's order.
    pub(super) fn settings(&self) -> &[GitSetting] {
        &self.settings
    }
}

/// What gix may read beside the repository: the files that git reads for the user, and of the
/// environment what says where those are.
fn permissions(mode: GitMode) -> gix::open::Permissions {
    let mut permissions = environment::permissions();
    permissions.config.env = mode == GitMode::User;
    permissions.env.objects = gix::sec::Permission::Deny;
    permissions.env.http_transport = gix::sec::Permission::Deny;
    permissions
}

fn settings_of(repository: &gix::Repository) -> Vec<GitSetting> {
    let snapshot = repository.config_snapshot();
    let mut all = Vec::new();
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
        let setting = |(key, value)| GitSetting { scope, key, value };
        all.extend(pairs(&section).into_iter().map(setting));
    }
    all
}

impl Repo {
    /// Whether it has no main worktree (`core.bare`); a linked worktree is never bare.
    pub fn is_bare(&self) -> bool {
        self.git_dir == self.common_dir && self.says_bare()
    }

    fn says_bare(&self) -> bool {
        let local = self.local();
        let config = local.config_snapshot();
        let is_own = |meta: &Metadata| !matches!(meta.source, Source::Git | Source::User);
        let bare = config.plumbing().boolean_filter("core.bare", is_own);
        matches!(bare, Ok(Some(true)))
    }

    /// Whether its work tree is where its `.git` is: it sets no `core.worktree`, and no linked
    /// worktree takes `core.bare` from the common file (git-worktree(1), "CONFIGURATION FILE").
    pub(super) fn has_usual_work_tree(&self) -> bool {
        let sets = |key: &str| self.settings().iter().any(|one| one.key == key);
        let is_linked = self.git_dir != self.common_dir;
        let odd_bare = is_linked && sets("extensions.worktreeconfig") && self.says_bare();
        !sets("core.worktree") && !odd_bare
    }
}
