//! Creates a worktree as it was planned, or removes everything that was created.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::placing::{Destination, Placing};
use crate::actions::register::{Registration, install_hooks, read_dot_git};
use crate::actions::scope_edit::{Classified, Listing, set_bits};
use crate::actions::selection::read_worktree_files;
use crate::actions::sync_plan::{
    Selection, SyncFacts, SyncPlan, SyncRefusal, WorktreeFiles, plan as plan_copies,
};
use crate::actions::unfinished;
use crate::client::layout::ContextFile;
use crate::commands::Session;
use crate::commands::add::arguments::Add;
use crate::commands::add::checkout::Checkout;
use crate::commands::add::clone;
use crate::commands::add::clone::FetchedClone;
use crate::config::value::Strategy;
use crate::disk::copy::staging::CopyError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::mode::BitsChange;
use crate::git::error::GitError;
use crate::git::index::read_index;
use crate::git::worktree::SPARSE_CONFIG;
use crate::inventory::placed::{Placed, PlacedKind};
use crate::record::worktree::{Intent, Record};
use crate::scope::compiled::Scope;
use crate::scope::rule::Case;
use crate::truth::upstream::followed_by;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::words::toml_file::to_text;
use crate::worktree::ignore_rules;
use crate::worktree::ignore_rules::{SharedFile, read_shown_note};
use crate::worktree::repository::{Repository, intent_file};
use crate::worktree::variables::choose_ports;

/// Holds what a worktree is created from.
pub(super) struct Creation<'a> {
    pub session: &'a Session,
    pub options: &'a Add,
    /// The repository that keeps the record.
    pub home: &'a Repository,
    /// The clone of a URL, if one is to become the worktree.
    pub fetched: Option<&'a FetchedClone>,
    pub record: &'a Record,
    pub context: &'a [ContextFile],
    pub scope: &'a Scope,
    pub selection: &'a Selection,
}

impl Creation<'_> {
    /// Creates what the plan says; undoes all of it when a step fails. Returns the record, and what
    /// was copied.
    pub fn apply(
        &self,
        classified: &Classified<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Record, SyncPlan), Error> {
        let mut created = CreatedWorktree::new(self.home, self.record);
        self.steps(classified, &mut created, notes)
            .map_err(|error| {
                let left = created.undo(&error);
                // a signal that reached git first looks like git's own failure
                let error = self.session.check().err().unwrap_or(error);
                error.leaving(left)
            })
    }

    fn steps(
        &self,
        classified: &Classified<'_>,
        created: &mut CreatedWorktree<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Record, SyncPlan), Error> {
        let session = self.session;
        let home = self.home;
        let wanted = &self.record;
        let listing = classified.listing;
        created.write_intent()?;
        created.rules = ignore_rules::ensure(home)?;
        session.check()?;
        let is_gitlink = |entry: &&(RepoPath, Entry)| entry.1.mode == Mode::Gitlink;
        let gitlinks = listing.entries.iter().filter(is_gitlink);
        let patterns = &self.scope.sparse_patterns(gitlinks.map(|(path, _)| path));
        let (own, admin_dir) = match wanted.strategy {
            Strategy::Worktree => (home.clone(), created.register(patterns)?),
            Strategy::Clone => {
                created.in_git = true;
                let own = match self.fetched {
                    Some(fetched) => fetched.move_in(home, wanted)?,
                    None => clone::create(home, wanted)?,
                };
                if let Some(upstream) = &wanted.upstream {
                    own.git.branch_set_upstream(&wanted.branch, upstream)?;
                }
                own.git.sparse_checkout_set(patterns)?;
                let admin_dir = own.common_dir.clone();
                (own, admin_dir)
            }
        };
        session.check()?;
        let git = own.git.on(&admin_dir, Some(&wanted.path));
        let checkout = Checkout {
            session,
            own: &own,
            git: &git,
            admin_dir: &admin_dir,
            path: &wanted.path,
            classified,
        };
        let (disk, has_hook) = checkout.apply(notes)?;
        session.check()?;
        if has_hook {
            // by the directory alone, as git starts it after `worktree add`
            let in_worktree = home.git.at(&wanted.path);
            in_worktree.hook_run_post_checkout(&listing.commit)?;
            session.check()?;
        }
        let (synced, placed) = self.place(&own, &admin_dir, listing, notes)?;
        if has_hook {
            let index = read_index(&admin_dir.join("index"), own.format)?;
            set_bits(&wanted.path, self.scope, &index, [], BitsChange::Apply)?;
            git.update_index_refresh()?;
        }
        let mut record = self.record(&own, admin_dir)?;
        record.ports = created.intent.record.ports;
        if !self.options.no_hooks {
            install_hooks(self.home, &record, &self.session.binary)?;
        }
        session.check()?;
        let registration = Registration {
            repository: &own,
            record,
            head: listing,
            placed,
            disk: (!has_hook).then_some(disk),
        };
        let record = registration.write()?;
        session.check()?;
        Ok((record, synced))
    }

    /// The record with what is known of the worktree by now.
    fn record(&self, own: &Repository, admin_dir: Utf8PathBuf) -> Result<Record, Error> {
        let mut record = self.record.clone();
        record.path = files::canonical(&record.path)?;
        if record.strategy == Strategy::Worktree {
            record.dot_git = read_dot_git(&record.path)?;
        }
        let base = &record.base;
        record.base.tips = followed_by(&own.git, &base.revision, &base.commit)?;
        record.ignore_case = self.scope.case() == Case::Insensitive;
        record.file_mode = own.git.config_get_bool("core.fileMode")? != Some(false);
        record.admin_dir = admin_dir;
        Ok(record)
    }

    /// Copies files and writes the context. What a hook of the user's has put there meanwhile is
    /// looked at first: nothing else can have edited a worktree that is being created.
    fn place(
        &self,
        own: &Repository,
        admin_dir: &Utf8Path,
        listing: &Listing,
        notes: &mut Vec<String>,
    ) -> Result<(SyncPlan, Placed), Error> {
        let home = self.home;
        let record = &self.record;
        let root = &home.root;
        let path = &record.path;
        let sync = &self.options.sync;
        let without_config = sync.no_sync || self.options.repo.is_some();
        let mut before = Placed::none(sync.globs.clone());
        before.without_config = without_config;
        let made_by_hook = |paths: &[RepoPath]| {
            Error::from(SyncRefusal::made_by_hook(record.name.as_str(), paths))
        };
        let tracked = || {
            let paths = listing.entries.iter().map(|(path, _)| path);
            Ok(WorktreeFiles::tracking(paths).tracked)
        };
        let candidates = &self.selection.candidates;
        let there = read_worktree_files(path, root, tracked, before.clone(), candidates)?;
        let synced = plan_sync(home, record, self.scope, self.selection, &there);
        let synced = synced.map_err(|refusal| match refusal {
            SyncRefusal::Edited { paths, .. } => made_by_hook(&paths),
            other => other.into(),
        })?;
        let mut placing = Placing::new(&synced, before);
        placing.add_context(self.context, self.scope);
        if placing.is_empty() {
            return Ok((synced, Placed::default()));
        }
        let copied = synced.files().map(|copy| &copy.path);
        self.session.tell_each("copy", copied);
        let to = Destination {
            main: root,
            git: &home.home().git,
            path,
            admin_dir,
            record_dir: &home.record_dir(&record.name),
            progress: &self.session.progress,
            stop: &|| self.session.check(),
        };
        let done = to.place(&placing).map_err(|error| match error.find() {
            Some(CopyError::InTheWay {
                path,
                found: PlacedKind::File,
            }) => made_by_hook(std::slice::from_ref(path)),
            _ => error,
        })?;
        let placed = done.placed.clone();
        notes.extend(done.keep());
        let mut paths: Vec<&RepoPath> = synced.files().map(|copy| &copy.path).collect();
        paths.extend(self.context.iter().map(|file| &file.path));
        let git = own.git.on(admin_dir, Some(path));
        notes.extend(read_shown_note(&git, path, &paths)?);
        Ok((synced, placed))
    }
}

/// Holds what was created so far, so that all of it can be removed.
struct CreatedWorktree<'a> {
    home: &'a Repository,
    intent: Intent,
    rules: Vec<SharedFile>,
    in_git: bool,
    config: Vec<SharedFile>,
}

impl<'a> CreatedWorktree<'a> {
    fn new(home: &'a Repository, record: &Record) -> Self {
        let makes_branch = record.strategy == Strategy::Worktree && record.branch_made;
        let intent = Intent {
            process: std::process::id(),
            branch_at: makes_branch.then(|| record.checked_out.clone()),
            record: record.clone(),
        };
        Self {
            home,
            intent,
            rules: Vec::new(),
            in_git: false,
            config: Vec::new(),
        }
    }

    /// Writes down what is about to be created.
    fn write_intent(&mut self) -> Result<(), Error> {
        let _shared = Lock::wait(&self.home.shared_lock())?;
        let name = self.intent.record.name.clone();
        let name = &name;
        // without an intent in it, it is what a call left that was killed before the first step, or
        // after the last one that it undid
        files::remove_directory(&self.home.record_dir(name))?;
        self.intent.record.ports = choose_ports(self.home, name)?;
        let file = intent_file(self.home, name);
        Ok(files::write(&file, to_text(&self.intent).as_bytes())?)
    }

    /// The steps in which git writes shared files, under the shared lock: the worktree and its
    /// branch, and the sparse patterns, which may switch `extensions.worktreeConfig` on.
    fn register(&mut self, patterns: &[u8]) -> Result<Utf8PathBuf, Error> {
        let _shared = Lock::wait(&self.home.shared_lock())?;
        for name in ["config", "config.worktree"] {
            self.config
                .push(SharedFile::read(self.home.common_dir.join(name))?);
        }
        self.in_git = true;
        let registered = register(self.home, &self.intent.record, patterns);
        // also when it failed: git may have switched the extension on by then
        for shared in &mut self.config {
            shared.read_again()?;
        }
        registered
    }

    /// Removes everything, in reverse order; returns what could not be. The intent stays with that,
    /// so that the name is known to be incomplete.
    fn undo(mut self, why: &Error) -> Vec<String> {
        // where not even a lock can be written, there is all the more to remove
        let _shared = Lock::wait_to_undo(&self.home.shared_lock()).ok();
        let mut left = Vec::new();
        let mut shared = Vec::new();
        if self.in_git {
            // another process has created the branch since the plan, perhaps at the same commit
            let git = why.find::<GitError>();
            if matches!(git, Some(GitError::Failed { words, .. })
                if words.contains("a branch named") && words.contains("already exists"))
            {
                self.intent.branch_at = None;
            }
            let was_killed = git.is_some_and(GitError::was_killed);
            left = unfinished::remove(self.home, &self.intent, was_killed);
            shared.extend(self.config.into_iter().filter_map(SharedFile::undo));
        }
        shared.extend(ignore_rules::undo(self.home, self.rules));
        if left.is_empty() {
            let record_dir = self.home.record_dir(&self.intent.record.name);
            let removed = files::remove_directory(&record_dir);
            left.extend(removed.err().map(|error| error.to_string()));
        }
        files::remove_if_empty(&self.home.records_dir());
        // what is left of these is not part of a worktree, and harms none: it is only reported
        left.extend(shared);
        left
    }
}

fn register(home: &Repository, record: &Record, patterns: &[u8]) -> Result<Utf8PathBuf, Error> {
    let path = &record.path;
    let branch = &record.branch;
    let at = record.branch_made.then_some(&record.checked_out);
    home.git.worktree_add_no_checkout(path, branch, at)?;
    let git = home.git.at(path);
    if let Some(upstream) = &record.upstream {
        git.branch_set_upstream(branch, upstream)?;
    }
    let admin_dir = git.absolute_git_dir()?;
    // without git, where git would write nothing else
    let new = [
        ("config.worktree", SPARSE_CONFIG),
        ("info/sparse-checkout", patterns),
    ];
    let is_there = |(name, _): &(&str, &[u8])| files::exists(&admin_dir.join(name));
    if git.is_sparse_by_two_files(&home.common_dir, patterns)? && !new.iter().any(is_there) {
        files::create_directories(&admin_dir.join("info"))?;
        for (name, bytes) in new {
            files::append(&admin_dir.join(name), bytes)?;
        }
    } else {
        // git copies the caller's own patterns into a new worktree: ours replace them
        git.sparse_checkout_set(patterns)?;
    }
    Ok(admin_dir)
}

pub fn plan_sync(
    home: &Repository,
    record: &Record,
    scope: &Scope,
    selection: &Selection,
    there: &WorktreeFiles,
) -> Result<SyncPlan, SyncRefusal> {
    plan_copies(&SyncFacts {
        name: record.name.as_str(),
        path: &record.path,
        scope,
        there,
        root: &home.root,
        selection,
        force: false,
    })
}
