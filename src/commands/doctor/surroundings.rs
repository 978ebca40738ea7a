//! Checks git, this program, its manual, the file system, and the tools that may walk into the
//! worktrees. Configurations of tools are not judged: a tool is a note until one of its files names
//! `.agentwt`.

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic as _;

use crate::actions::selection::{ConfigPatterns, patterns};
use crate::commands::Session;
use crate::commands::doctor::answer::DoctorCheck;
use crate::commands::doctor::context::DoctorContext;
use crate::config::installers::INSTALLERS;
use crate::config::value::{Choice as _, Fence};
use crate::config::{CONFIG_PATH, Config};
use crate::disk::error::DiskError;
use crate::disk::file_system::{FileSystemAbilities, kind, try_out};
use crate::disk::files;
use crate::fence::probe::probes;
use crate::git::process::Git;
use crate::record::worktree::SetupState;
use crate::sync::PatternOrigin;
use crate::system::{path, programs, users};
use crate::words::error::Error;
use crate::worktree::trust::{TrustStore, UserCommands};

/// File systems whose files are on another host, or served by a program.
const SERVED: [&str; 9] = [
    "nfs", "cifs", "smb2", "smb", "9p", "fuse", "ceph", "vboxsf", "afs",
];

/// Checks git, this program and its manual.
pub(super) fn versions(session: &Session) -> Vec<DoctorCheck> {
    let pages = "install man-db, and the pages with ./install.sh in the sources; or use `git \
        agentwt <command> -h`";
    vec![
        git(session),
        program(&session.binary, path::on_path("git-agentwt").first()),
        if programs::shows_page("git-agentwt") {
            DoctorCheck::ok("manual", "`git agentwt --help` opens the manual")
        } else {
            DoctorCheck::note("manual", "`git agentwt --help` finds no page", pages)
        },
    ]
}

fn git(session: &Session) -> DoctorCheck {
    let git = Git::unchecked(&session.start, session.runner.clone());
    match git.version() {
        Ok(version) => DoctorCheck::ok("git", format!("git {version}")),
        Err(error) => {
            let help = error.help().map(|help| help.to_string());
            DoctorCheck::problem("git", error.to_string(), help.unwrap_or_default())
        }
    }
}

fn program(binary: &Utf8Path, on_path: Option<&Utf8PathBuf>) -> DoctorCheck {
    let real = |path: &Utf8Path| files::canonical(path).unwrap_or_else(|_| path.to_owned());
    let binary = real(binary);
    let path = binary.parent().unwrap_or(&binary);
    match on_path {
        None => {
            let found = "git-agentwt is not on PATH, so git does not find `git agentwt`";
            DoctorCheck::warning("program", found, format!("PATH='{path}':$PATH"))
        }
        Some(first) if real(first) == binary => {
            let version = env!("CARGO_PKG_VERSION");
            DoctorCheck::ok("program", format!("git-agentwt {version} at {binary}"))
        }
        Some(first) => {
            let found = format!("PATH has {first}, and this is {binary}");
            let fix = format!("remove one of them, or PATH='{path}':$PATH");
            DoctorCheck::warning("program", found, fix)
        }
    }
}

/// Tries each fence of `exec`.
pub(super) fn fences(session: &Session) -> Vec<DoctorCheck> {
    const HERE: &[Fence] = if cfg!(target_os = "macos") {
        &[Fence::Seatbelt, Fence::Container]
    } else {
        &[Fence::Landlock, Fence::Mount, Fence::Container]
    };
    let mut checks = Vec::new();
    for probe in probes(HERE, &session.binary) {
        let name = probe.fence.as_str();
        checks.push(match probe.result {
            Ok(found) => DoctorCheck::ok(name, found),
            Err(failure) => DoctorCheck::note(name, failure.to_string(), failure.remedy),
        });
    }
    checks
}

/// Checks the file system, and the user on it.
pub(super) fn file_system(context: &DoctorContext<'_>) -> Vec<DoctorCheck> {
    let repository = context.repository;
    let mut checks = vec![served(kind(&repository.root))];
    checks.extend(kept(try_out(&repository.common_dir)));
    if users::is_root() {
        checks.push(DoctorCheck::note(
            "root",
            "you are root: read-only bits have no effect",
            "start agents as an ordinary user; verify finds every change all the same",
        ));
    }
    checks
}

const ELSEWHERE: &str = "clone the repository onto a disk of this host";

fn served(kind: Option<&str>) -> DoctorCheck {
    match kind {
        Some(name) if SERVED.contains(&name) => {
            let found = format!(
                "{name}: another host or a program serves it, which makes git slow, and locks and \
                    times less certain"
            );
            DoctorCheck::warning("file-system", found, ELSEWHERE)
        }
        _local => DoctorCheck::ok("file-system", kind.unwrap_or("unknown kind")),
    }
}

fn kept(abilities: Result<FileSystemAbilities, DiskError>) -> Option<DoctorCheck> {
    let abilities = match abilities {
        Ok(abilities) => abilities,
        Err(error) => {
            let found = format!("could not be tried: {error}");
            let fix = "let this user write there";
            return Some(DoctorCheck::warning("locks", found, fix));
        }
    };
    if !abilities.locks {
        let found = "file locks do not hold here: two `add` at once could break each other";
        return Some(DoctorCheck::problem("locks", found, ELSEWHERE));
    }
    if !abilities.write_bits {
        let found = "a file cannot be made read-only here: the read list is only verified";
        let fix = "clone the repository onto a file system with permissions";
        return Some(DoctorCheck::warning("write-bits", found, fix));
    }
    None
}

/// Checks the set-up of the config: whether it is trusted and was run, whether its programs are
/// there, and what `init` would propose beside it.
pub(super) fn setup(
    session: &Session,
    context: &DoctorContext<'_>,
) -> Result<Vec<DoctorCheck>, Error> {
    let repository = context.repository;
    // a fault of the config is a check of its own
    let Ok(config) = &context.config else {
        return Ok(Vec::new());
    };
    let commands = UserCommands::new(repository, config);
    let mut checks = Vec::new();
    if !commands.is_empty() && !TrustStore::read(session.state.as_deref())?.holds(&commands) {
        let found = "you have not trusted the commands of the config, so they are skipped";
        checks.push(DoctorCheck::warning("trust", found, "git agentwt trust"));
    }
    for command in commands.setup.iter().chain(&commands.teardown) {
        if let Some(program) = program_of(command)
            && !path::is_on_path(program)
        {
            let found = format!("`{command}` needs {program}, which is not on PATH");
            let fix = format!("install {program}, or change the command in {CONFIG_PATH}");
            checks.push(DoctorCheck::warning("program", found, fix));
        }
    }
    for worktree in &context.known {
        if worktree.record.setup == Some(SetupState::Pending) {
            let name = &worktree.record.name;
            let found = format!("the set-up of {name} was not run to its end");
            let fix = format!("git agentwt add {name}, with the options of its first `add`");
            checks.push(DoctorCheck::warning("setup", found, fix));
        }
    }
    if checks.is_empty() && !commands.is_empty() {
        checks.push(DoctorCheck::ok(
            "setup",
            "its commands are trusted, and were run",
        ));
    }
    if files::exists(&repository.root.join(CONFIG_PATH)) {
        checks.extend(unserved(context, config)?);
    }
    Ok(checks)
}

/// The program that a command of the config starts; `None` if that is the shell's affair.
fn program_of(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    let program = words.find(|word| !word.contains('='))?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    (program.bytes().all(is_plain) && !BUILTINS.contains(&program)).then_some(program)
}

/// What `init` would propose for the files of the project, and the config does not have.
fn unserved(context: &DoctorContext<'_>, config: &Config) -> Result<Vec<DoctorCheck>, Error> {
    let setup = &config.setup;
    let is_tracked = |name: &str| context.index.iter().any(|path| path.as_bstr() == name);
    let mut checks = Vec::new();
    for (file, command) in INSTALLERS {
        if is_tracked(file) && !runs_installer(config, command) {
            let found = format!("nothing installs what {file} names");
            let fix = format!("add \"{command}\" to the commands of [setup] in {CONFIG_PATH}");
            checks.push(DoctorCheck::note("setup", found, fix));
        }
    }
    if is_tracked(".gitmodules") && !setup.submodules {
        let fix = format!("add `submodules = true` to [setup] in {CONFIG_PATH}");
        let found = "new worktrees have no submodules";
        checks.push(DoctorCheck::note("setup", found, fix));
    }
    if !is_tracked(".env") && lacks_env(context, config)? {
        let fix = format!(
            "add \".env\" to the optional_patterns of [worktree.file_sync] in {CONFIG_PATH}"
        );
        let found = "new worktrees get no copy of .env";
        checks.push(DoctorCheck::note("setup", found, fix));
    }
    Ok(checks)
}

/// True if a command of the config starts the program of an installer's command.
fn runs_installer(config: &Config, installer: &str) -> bool {
    let program = installer.split(' ').find(|word| !word.contains('='));
    let mut commands = config.setup.commands.iter();
    commands.any(|command| {
        let mut words = command.value.split_whitespace();
        words.any(|word| Some(word) == program)
    })
}

/// True if the main worktree has a `.env` that is not copied into new worktrees.
fn lacks_env(context: &DoctorContext<'_>, config: &Config) -> Result<bool, Error> {
    let repository = context.repository;
    if !files::exists(&repository.root.join(".env")) {
        return Ok(false);
    }
    let limits = &config.file_sync;
    let origin = PatternOrigin::Flag("--sync");
    let patterns = patterns(limits, ConfigPatterns::Used, &[], &origin)?;
    let candidates = repository.candidates(&patterns, ConfigPatterns::Used.include_file(limits))?;
    let mut entries = candidates.entries.iter();
    Ok(!entries.any(|entry| entry.path.as_bstr() == ".env"))
}

/// Words of the shell that are not programs (sh(1)).
const BUILTINS: [&str; 12] = [
    "cd", "test", "set", "export", "exec", "eval", ".", "if", "for", "while", "umask", "command",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shortcoming_of_the_file_system_has_a_level() {
        let tried = |locks, write_bits| kept(Ok(FileSystemAbilities { locks, write_bits }));
        let level = |check: Option<DoctorCheck>| check.map_or("", |check| check.level.as_str());
        assert_eq!(level(tried(true, true)), "");
        assert_eq!(level(tried(false, true)), "problem");
        assert_eq!(level(tried(true, false)), "warning");
        assert_eq!(served(Some("nfs")).level.as_str(), "warning");
        assert_eq!(served(Some("ext4")).level.as_str(), "ok");
        assert_eq!(served(None).level.as_str(), "ok");
    }

    #[test]
    fn another_program_first_on_the_path_is_a_warning() {
        let first = |path: &str| {
            program("/opt/x/git-agentwt".into(), Some(&path.into()))
                .level
                .as_str()
        };
        assert_eq!(first("/opt/x/git-agentwt"), "ok");
        assert_eq!(first("/opt/y/git-agentwt"), "warning");
        assert_eq!(
            program("/x/git-agentwt".into(), None).level.as_str(),
            "warning"
        );
    }
}
