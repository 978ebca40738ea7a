//! Opens repositories through `gix`, by explicit directories: [`Repo`], once a run each.
//!
//! Settings, refs, reflogs and objects of a repository are read through one [`gix::Repository`].
//! Replace refs, grafts and the commit graph never count: each of them could lie about history.
//! A repository whose refs are reftables opens too; its refs are read by git (`reftable.rs`).

#![expect(clippy::disallowed_methods, reason = "looks at git's files before gix")]

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bstr::BString;
use camino::{Utf8Path, Utf8PathBuf};
use gix::ThreadSafeRepository;
use gix::config::Source;
use gix::odb::store::init::Slots;

use crate::git::discover::common_dir;
use crate::git::error::{GitError, reading, unreadable};
use crate::git::objects::ObjectFormat;
use crate::git::process::{Git, GitMode};
use crate::git::{config, environment};

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

impl Git {
    /// The repository, opened at the first question; opened again when its settings have changed.
    ///
    /// # Errors
    /// Fails when there is none, or it cannot be read.
    pub(super) fn repo(&self) -> Result<Arc<Repo>, GitError> {
        self.repo_of_either(self.mode)
    }

    /// The same for what no setting changes: a repository that is open in the other mode will do.
    ///
    /// # Errors
    /// As [`Git::repo`].
    pub(super) fn repo_of_either(&self, other: GitMode) -> Result<Arc<Repo>, GitError> {
        let git_dir = match &self.named {
            Some(git_dir) => git_dir.clone(),
            None => self.absolute_git_dir()?,
        };
        let open = self.repos.open.lock();
        let mut open = open.unwrap_or_else(PoisonError::into_inner);
        for mode in [self.mode, other] {
            // not where a file of settings is another one than when the repository was opened
            if let Some(repo) = open.get(&(git_dir.clone(), mode))
                && repo.stamps == read_stamps(&repo.common_dir, &repo.git_dir)
            {
                return Ok(Arc::clone(repo));
            }
        }
        let repo = Arc::new(Repo::open(&git_dir, self.mode)?);
        open.insert((git_dir, self.mode), Arc::clone(&repo));
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
        all.extend(config::pairs(&section).into_iter().map(setting));
    }
    all
}

/// Refuses a git directory in which something else stands for a file that git opens: to open a FIFO
/// waits for ever, and a device can be without end.
pub(super) fn require_files(git_dir: &Utf8Path) -> Result<(), GitError> {
    const FILES: &str = "HEAD commondir config config.worktree gitdir index logs/HEAD \
     objects/info/alternates \
     objects/pack/multi-pack-index packed-refs shallow";
    let mut files = FILES.split(' ');
    files.try_for_each(|file| require_file(git_dir.join(file)))
}

/// Reads a whole file of git's; none where there is no file.
pub(super) fn read_file(path: impl AsRef<Path>) -> Result<Option<Vec<u8>>, GitError> {
    let path = path.as_ref();
    require_file(path)?;
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => Ok(None),
            _ => Err(unreadable(&path.display(), &error)),
        },
    }
}

/// Refuses what is neither a file nor a directory nor missing; links are followed.
///
/// # Errors
/// Fails where a FIFO, a socket or a device stands.
pub fn require_file(path: impl AsRef<Path>) -> Result<(), GitError> {
    let path = path.as_ref();
    let odd = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    // an empty file of settings
    let is_null = || path.canonicalize().ok().as_deref() == Some(Path::new("/dev/null"));
    if odd && !is_null() {
        return Err(unreadable(&path.display(), "it is not a file"));
    }
    Ok(())
}
