//! Runs the user's own commands in a worktree: its set-up after `add`, and the teardown before a
//! removal. What they leave there counts as placed: unchanged it is no finding, and it stays out of
//! commits.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::placing::BEFORE;
use crate::disk::digest::digest_below;
use crate::disk::drift::{drift, drift_of};
use crate::disk::entries::stat_entries;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::mode::{BitsChange, WriteBits, set_write_bits};
use crate::git::environment::LOCAL_VARIABLES;
use crate::git::process::Git;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{CopyState, Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::judge::change::{ChangeSet, Seen};
use crate::judge::finding::{Finding, VerifyOptions};
use crate::record::accepted::{AcceptedFinding, Decision};
use crate::record::worktree::WatchedFile;
use crate::scope::rule::{Access, EntryKind};
use crate::system::shell::{ShellEnd, ShellLine};
use crate::truth::collect;
use crate::truth::survey::Survey;
use crate::words::error::Error;
use crate::words::log::Log;
use crate::words::name::WorktreeName;
use crate::words::path::{RepoPath, escape_for_terminal, shell_path};
use crate::worktree::decisions::new_decision;
use crate::worktree::error::SetupFault;
use crate::worktree::ignore_rules::write_exclude;
use crate::worktree::loaded::{PLACED, Worktree};
use crate::worktree::repository::{Repository, joined};
use crate::worktree::settings::{Environment, load_config};
use crate::worktree::trust::{TrustStore, UserCommands};
use crate::worktree::variables::variables;

/// What the user's commands are run with.
#[derive(Clone, Copy, Debug)]
pub struct UserSteps<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Our own variables.
    pub environment: &'a Environment,
    /// The signal that asks to stop; 0 for none.
    pub signal: &'a Arc<AtomicUsize>,
    /// Who is told of each command.
    pub log: &'a Log,
}

/// Says which commands of the config are run.
#[derive(Clone, Copy, Debug)]
pub enum UserTable {
    /// Those after `add`.
    Setup,
    /// Those before a removal.
    Teardown,
}

impl UserTable {
    /// Its name in the config.
    const fn key(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Teardown => "teardown",
        }
    }

    /// What a sentence calls it.
    const fn word(self) -> &'static str {
        match self {
            Self::Setup => "set-up",
            Self::Teardown => "teardown",
        }
    }
}

/// What became of a teardown.
#[derive(Default)]
pub struct TornDown {
    /// Whether a command was started.
    pub has_run: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl TornDown {
    fn skipped(name: &WorktreeName, why: &str) -> Self {
        Self {
            has_run: false,
            notes: vec![format!("{name}: the teardown is skipped: {why}")],
        }
    }
}

/// What was in a worktree before the commands ran.
#[derive(Debug, Default)]
pub struct UntrackedBefore {
    untracked: BTreeSet<RepoPath>,
    /// What an earlier run of the set-up left, and no one has edited since.
    ours: BTreeSet<RepoPath>,
    /// The copies of the user's files that no one has edited.
    copies: BTreeSet<RepoPath>,
    /// The directories that ignore themselves.
    self_ignored: BTreeSet<RepoPath>,
    /// What is found of settings and hooks that worktrees share.
    shared: Vec<AcceptedFinding>,
}

impl UntrackedBefore {
    /// Reads it before a set-up, and marks in the record directory that one runs. What a set-up
    /// that was killed has created counts as anybody's: an agent may have worked there since.
    /// Copies of the user's files are writable until [`UserSteps::note`]: an installer may write
    /// the same files.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when the disk refuses.
    pub fn begin(repository: &Repository, worktree: &Worktree) -> Result<Self, Error> {
        files::write(&worktree.dir.join(BEFORE), b"")?;
        let before = Self::read(repository, worktree)?;
        let mut writable = Vec::new();
        for path in &before.copies {
            writable.push((path.clone(), WriteBits::Owner));
        }
        set_write_bits(&worktree.record.path, &writable, BitsChange::Apply)?;
        Ok(before)
    }

    /// Removes the mark, once what the set-up created is noted.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn end(worktree: &Worktree) -> Result<(), DiskError> {
        files::remove_file(&worktree.dir.join(BEFORE))
    }

    /// True if a set-up of the worktree began and was killed.
    pub fn is_left(worktree: &Worktree) -> bool {
        files::exists(&worktree.dir.join(BEFORE))
    }

    /// Reads what is in a worktree now.
    ///
    /// # Errors
    /// Fails when the worktree cannot be read.
    pub fn read(repository: &Repository, worktree: &Worktree) -> Result<Self, Error> {
        let survey = collect(repository, worktree)?;
        let placed = worktree.placed()?;
        let drifts = drift(&worktree.record.path, None, &placed)?;
        let mut before = Self::default();
        for (file, drift) in placed.files().iter().zip(drifts) {
            let path = &file.path;
            let is_output = file.origin == PlacedOrigin::Setup;
            if is_output && drift.copy != CopyState::Edited {
                before.ours.insert(path.clone());
            }
            let is_copy = file.origin == PlacedOrigin::Synced
                && file.kind == PlacedKind::File
                && file.digest.is_some();
            if is_copy && drift.copy == CopyState::Same {
                before.copies.insert(path.clone());
            }
        }
        before.self_ignored = self_ignored(&survey).cloned().collect();
        before.untracked = survey.states.untracked.into_keys().collect();
        before.shared = shared_findings(worktree, survey.changes);
        Ok(before)
    }
}

/// The directories of a survey that ignore themselves.
fn self_ignored(survey: &Survey) -> impl Iterator<Item = &RepoPath> {
    let noticed = survey.changes.apart.iter();
    noticed
        .filter(|change| change.is_directory)
        .filter_map(|change| change.place.path())
}

/// What is found of settings and hooks that worktrees share, as an acceptance records that.
fn shared_findings(worktree: &Worktree, changes: ChangeSet) -> Vec<AcceptedFinding> {
    let report = worktree.judge(changes, VerifyOptions::default());
    let shared = report.findings.iter().filter(|finding| finding.is_shared());
    shared.filter_map(Finding::accepted).flatten().collect()
}

/// The copies of the user's files after commands ran.
#[derive(Default)]
struct Copies {
    /// Those that are as they were, with their own write bits again.
    unchanged: Vec<PlacedFile>,
    /// Those that the commands wrote.
    written: Vec<RepoPath>,
    /// Those that the commands deleted.
    deleted: BTreeSet<RepoPath>,
}

impl Copies {
    /// Reads what became of the copies, and gives those that are as they were their write bits.
    fn read(worktree: &Worktree, placed: &Placed, before: &UntrackedBefore) -> Result<Self, Error> {
        let root = &worktree.record.path;
        let paths = before.copies.iter();
        let files: Vec<&PlacedFile> = paths.filter_map(|path| placed.get(path)).collect();
        let stats = stat_entries(root, before.copies.iter())?.entries;
        let mut copies = Self::default();
        let mut bits = Vec::new();
        for (file, drift) in files.iter().zip(drift_of(root, None, placed, &files)?) {
            match drift.copy {
                CopyState::Edited => copies.written.push(file.path.clone()),
                CopyState::Missing => {
                    copies.deleted.insert(file.path.clone());
                }
                // with the same content, by a command that will write the file again
                CopyState::Same if is_newer(stats.get(&file.path), file) => {
                    copies.written.push(file.path.clone());
                }
                CopyState::Same => {
                    if worktree.scope.verdict(&file.path, EntryKind::File).access != Access::Write {
                        bits.push((file.path.clone(), WriteBits::Cleared));
                    }
                    copies.unchanged.push((*file).clone());
                }
            }
        }
        // one that has another name by now stays writable
        set_write_bits(root, &bits, BitsChange::Apply)?;
        let unchanged_paths = copies.unchanged.iter().map(|file| &file.path);
        let stats_now = stat_entries(root, unchanged_paths)?.entries;
        for file in &mut copies.unchanged {
            if let Some(stat) = stats_now.get(&file.path) {
                file.stat = *stat;
            }
        }
        Ok(copies)
    }

    fn is_empty(&self) -> bool {
        self.unchanged.is_empty() && self.written.is_empty() && self.deleted.is_empty()
    }
}

/// True if a placed file was written since, whatever its content.
fn is_newer(now: Option<&Stat>, file: &PlacedFile) -> bool {
    now.is_some_and(|now| now.mtime != file.stat.mtime || now.inode != file.stat.inode)
}

/// Lists the untracked paths that are new since, and what an earlier run of the set-up left; not
/// what the scope excludes.
fn new_untracked<'s>(
    worktree: &Worktree,
    survey: &'s Survey,
    before: &UntrackedBefore,
) -> Vec<&'s RepoPath> {
    let mut new = Vec::new();
    for (path, seen) in &survey.states.untracked {
        let is_untracked_since = *seen == Seen::Untracked && !before.untracked.contains(path);
        let is_excluded = worktree.scope.excludes_file(path);
        if (before.ours.contains(path) || is_untracked_since) && !is_excluded {
            new.push(path);
        }
    }
    new
}

/// Returns the entries of files of the set-up's output. What cannot be read is left to the
/// verification.
fn output_files(root: &Utf8Path, paths: &[&RepoPath]) -> Result<Vec<PlacedFile>, DiskError> {
    let mut files = Vec::new();
    for (path, stat) in stat_entries(root, paths.iter().copied())?.entries {
        if let Ok(Some((kind, digest))) = digest_below(root, &path) {
            files.push(PlacedFile {
                path,
                origin: PlacedOrigin::Setup,
                kind,
                digest: Some(digest),
                stat,
                source: None,
            });
        }
    }
    Ok(files)
}

/// The entry of a directory of the set-up's output: whatever is in it is no finding.
fn output_directory(path: &RepoPath) -> PlacedFile {
    PlacedFile {
        path: path.clone(),
        origin: PlacedOrigin::Setup,
        kind: PlacedKind::Directory,
        digest: None,
        stat: Stat::default(),
        source: None,
    }
}

/// A submodule that is checked out.
struct Submodule {
    name: String,
    path: String,
    url: String,
    /// Its repository in the main worktree, whose objects are used.
    reference: Utf8PathBuf,
}

/// True if a submodule is checked out in the worktree: its git directory there has an index.
fn is_checked_out(worktree: &Worktree, name: &str) -> bool {
    let git_dir = worktree.record.admin_dir.join("modules").join(name);
    files::exists(&git_dir.join("index"))
}

impl UserSteps<'_> {
    /// Runs commands in order, until one fails. `help` says how the user goes on then.
    ///
    /// # Errors
    /// Fails when a command does, or a signal ended it.
    pub fn run(
        &self,
        worktree: &Worktree,
        table: UserTable,
        commands: &[String],
        help: &str,
    ) -> Result<(), Error> {
        let name = worktree.record.name.to_string();
        let variables = variables(self.repository, worktree);
        let key = table.key();
        let total = commands.len();
        for (index, command) in commands.iter().enumerate() {
            let shown = escape_for_terminal(command.as_bytes());
            let number = index + 1;
            let progress = format!("{name}: {key} {number} of {total}: {shown}");
            self.log.tell(&progress);
            let line = ShellLine {
                line: command,
                directory: &worktree.record.path,
                variables: &variables,
                without: LOCAL_VARIABLES,
                timeout: None,
                signal: self.signal,
            };
            let why = match line.run() {
                Ok(ShellEnd::Ended(Some(0))) => continue,
                Ok(ShellEnd::Ended(Some(status))) => {
                    format!("`{shown}` ended with status {status}")
                }
                Ok(ShellEnd::Ended(None)) => format!("`{shown}` was ended by a signal"),
                // stopped by a signal, which `fault` names instead of a reason; without a timeout
                // no command is late
                Ok(ShellEnd::Late | ShellEnd::Stopped) => String::new(),
                Err(error) => format!("`{shown}` cannot be run: {error}"),
            };
            return Err(self.fault(worktree, table, why, help));
        }
        Ok(())
    }

    /// Why the commands did not end well: the signal that came, or else what failed.
    pub fn fault(&self, worktree: &Worktree, table: UserTable, why: String, help: &str) -> Error {
        let name = worktree.record.name.to_string();
        let help = help.to_owned();
        let table = table.word();
        let fault = match u8::try_from(self.signal.load(Ordering::SeqCst)) {
            Ok(0) | Err(_) => SetupFault::Failed {
                name,
                table,
                why,
                help,
            },
            Ok(signal) => SetupFault::Interrupted {
                name,
                table,
                signal,
                help,
            },
        };
        fault.into()
    }

    /// Checks out the submodules that the main worktree has and the scope does not exclude, several
    /// at a time, with the objects of the main worktree's. What the main worktree does not have
    /// stays empty; one that is checked out already stays as it is, as it can have commits of its
    /// own.
    ///
    /// # Errors
    /// Fails when git does: the others are there.
    pub fn fill_submodules(&self, worktree: &Worktree) -> Result<(), Error> {
        let home = self.repository.home();
        let record = &worktree.record;
        let git = worktree.repository(home).git.at(&record.path);
        let wanted = self.submodules_to_fill(worktree, &git)?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = wanted.len().div_ceil(processors).max(1);
        std::thread::scope(|threads| {
            let mut started = Vec::new();
            for submodules in wanted.chunks(share) {
                let git = &git;
                started.push(threads.spawn(move || self.fill(&record.name, git, submodules)));
            }
            // all are awaited, also where one has failed
            let ended: Vec<_> = started.into_iter().map(joined).collect();
            ended.into_iter().collect()
        })
    }

    /// Checks these submodules out, one after the other, until one fails.
    fn fill(&self, name: &WorktreeName, git: &Git, submodules: &[Submodule]) -> Result<(), Error> {
        for submodule in submodules {
            let path = &submodule.path;
            let reference = submodule.reference.as_str();
            self.log.tell(&format!("{name}: submodule {path}"));
            git.submodule_update(&submodule.name, path, &submodule.url, reference)?;
        }
        Ok(())
    }

    /// Lists the submodules that the main worktree has, the scope does not exclude, and the worktree
    /// does not have. Tells the user of those that the main worktree does not have, which stay empty.
    fn submodules_to_fill(&self, worktree: &Worktree, git: &Git) -> Result<Vec<Submodule>, Error> {
        let home = self.repository.home();
        let record = &worktree.record;
        let mut submodules = Vec::new();
        for (name, path) in git.submodules(&record.checked_out)? {
            let Ok(repo_path) = RepoPath::parse(path.as_str()) else {
                continue;
            };
            let verdict = worktree.scope.verdict(&repo_path, EntryKind::Directory);
            if verdict.access == Access::Excluded || is_checked_out(worktree, &name) {
                continue;
            }
            let reference = home.common_dir.join("modules").join(&name);
            match home.git.config_get(&format!("submodule.{name}.url"))? {
                Some(url) if files::is_directory(&reference) => {
                    submodules.push(Submodule {
                        name,
                        path,
                        url,
                        reference,
                    });
                }
                Some(_) | None => self.log.tell(&format!(
                    "{}: the submodule {path} stays empty, as in the main worktree; to have it \
                        there: git submodule update --init {}",
                    record.name,
                    shell_path(&repo_path)
                )),
            }
        }
        Ok(submodules)
    }

    /// Notes what came into the worktree since, but not what the scope excludes. A copy of the
    /// user's that the commands wrote is theirs from now on. The lock of the name is held. Returns
    /// the worktree as it is recorded now.
    ///
    /// # Errors
    /// Fails when the worktree cannot be read, or the list not be written.
    pub fn note(&self, worktree: Worktree, before: &UntrackedBefore) -> Result<Worktree, Error> {
        let survey = collect(self.repository, &worktree)?;
        let listed = worktree.placed()?;
        let copies = Copies::read(&worktree, &listed, before)?;
        let mut new = new_untracked(&worktree, &survey, before);
        new.extend(&copies.written);
        new.sort_unstable();
        new.dedup();
        let directories: Vec<PlacedFile> = self_ignored(&survey)
            .filter(|path| !before.self_ignored.contains(*path))
            .map(output_directory)
            .collect();
        if new.is_empty() && directories.is_empty() && copies.is_empty() {
            return Ok(worktree);
        }
        let path = &worktree.record.path;
        let mut files = output_files(path, &new)?;
        files.extend(copies.unchanged);
        files.extend(directories);
        let newest = files.iter().map(|file| file.stat.ctime).max().unwrap_or(0);
        let time = files::settled_time(path, newest)?;
        let kept = listed.without(&copies.deleted);
        self.write_placed(worktree, &kept.replaced_by(files, time))
    }

    /// Writes what is placed in a worktree by now; returns the worktree as it is recorded then.
    fn write_placed(&self, worktree: Worktree, placed: &Placed) -> Result<Worktree, Error> {
        let own = worktree.repository(self.repository);
        let renew = worktree.config_is_as_recorded(&own)?;
        let git = &self.repository.home().git;
        let excluded = write_exclude(git, &worktree.record.admin_dir, placed)?;
        files::write(&worktree.dir.join(PLACED), &placed.to_bytes())?;
        if excluded.changed_config() && renew {
            return worktree.renew_digests(&own, |file| file == WatchedFile::ConfigWorktree);
        }
        Ok(worktree)
    }

    /// Accepts what the commands changed of the settings and hooks that worktrees share, where no
    /// other worktree shares them: then no agent can have changed them meanwhile. The lock of the
    /// name is held.
    ///
    /// # Errors
    /// Fails when the worktree cannot be read, or the record not be written.
    pub fn accept_shared(
        &self,
        worktree: &mut Worktree,
        before: &UntrackedBefore,
    ) -> Result<(), Error> {
        if !worktree.sharing(self.repository)?.is_empty() {
            return Ok(());
        }
        let survey = collect(self.repository, worktree)?;
        let mut accepted = shared_findings(worktree, survey.changes);
        accepted.retain(|finding| !before.shared.contains(finding));
        if accepted.is_empty() {
            return Ok(());
        }
        let decision = Decision {
            accepted,
            ..new_decision(&worktree.record.name)
        };
        worktree.record.decisions.push(decision);
        Ok(worktree.write_record(&worktree.record)?)
    }

    /// Runs the teardown of the config before a removal, if the user trusts it, and notes what it
    /// left in the worktree. A command that fails does not stop the removal. The lock of the name
    /// is held; `state` is the user's state directory.
    ///
    /// # Errors
    /// Fails when the worktree cannot be read, or a signal came.
    pub fn tear_down(
        &self,
        worktree: &Worktree,
        state: Option<&Utf8Path>,
    ) -> Result<TornDown, Error> {
        if !files::is_directory(&worktree.record.path) {
            return Ok(TornDown::default());
        }
        let name = &worktree.record.name;
        let commands = match self.read_teardown(state) {
            Ok(TeardownCommands::Trusted(commands)) => commands,
            Ok(TeardownCommands::None) => return Ok(TornDown::default()),
            Ok(TeardownCommands::NotTrusted) => {
                let why = "you have not trusted it: git agentwt trust";
                return Ok(TornDown::skipped(name, why));
            }
            // a config that cannot be read is no reason to keep a worktree
            Err(error) => return Ok(TornDown::skipped(name, &error.to_string())),
        };
        let before = UntrackedBefore::read(self.repository, worktree)?;
        let help = format!("the worktree stays; to remove it: git agentwt remove {name}");
        let result = self.run(worktree, UserTable::Teardown, &commands, &help);
        // also after a failure: a new file would else be untracked work that stops the removal
        self.note(worktree.clone(), &before)?;
        let mut torn_down = TornDown {
            has_run: true,
            notes: Vec::new(),
        };
        let Err(error) = result else {
            return Ok(torn_down);
        };
        if !error.find().is_some_and(SetupFault::is_failure) {
            return Err(error);
        }
        torn_down
            .notes
            .push(format!("{error}; the removal goes on"));
        Ok(torn_down)
    }

    /// Reads the teardown of the config, and whether the user trusts it.
    fn read_teardown(&self, state: Option<&Utf8Path>) -> Result<TeardownCommands, Error> {
        let loaded = load_config(self.repository, &[], self.environment)?;
        let commands = UserCommands::new(self.repository, &loaded.config);
        if commands.teardown.is_empty() {
            return Ok(TeardownCommands::None);
        }
        if TrustStore::read(state)?.holds(&commands) {
            Ok(TeardownCommands::Trusted(commands.teardown))
        } else {
            Ok(TeardownCommands::NotTrusted)
        }
    }
}

/// The teardown of the config.
enum TeardownCommands {
    None,
    NotTrusted,
    Trusted(Vec<String>),
}

impl SetupFault {
    /// True if a command failed, and no signal came.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}
