//! Checks the worktrees: our hooks and the user's in each, what is left over, as `prune -n` lists it,
//! and what is kept on purpose.

use camino::Utf8PathBuf;

use crate::actions::leftover::{Leftover, LeftoverKind, find};
use crate::actions::trash;
use crate::answer::worktree::hooks_silent;
use crate::commands::doctor::answer::{DoctorCheck, Repair};
use crate::commands::doctor::context::{DoctorContext, some};
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::record::worktree::WatchedFile;
use crate::words::error::Error;
use crate::worktree::loaded::{Worktree, hooks_of};
use crate::worktree::repository::Main;

/// The refs of files that were saved before they were replaced.
const RESCUE: &str = "refs/agentwt/rescue/";

/// Checks the hooks of every worktree that is there.
pub(super) fn hooks(context: &DoctorContext<'_>) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let mut installed = Vec::new();
    let mut unwanted = Vec::new();
    let mut silent = Vec::new();
    let mut lacking = Vec::new();
    let there = context.known.iter();
    for known in there.filter(|known| files::is_directory(&known.record.path)) {
        let name = &known.record.name;
        let install = format!("git agentwt hooks install {name}");
        let problem = |found: String, fix: String| DoctorCheck::problem("hooks", found, fix);
        let reinstalled = |check: DoctorCheck| check.fixed_by(Repair::Hooks(name.clone()));
        let hooks = hooks_of(&context.repository.git, &known.record);
        let status = match hooks.and_then(|hooks| hooks.status()) {
            Ok(status) => status,
            Err(error) => {
                let found = format!("the hooks of {name} cannot be read: {error}");
                checks.push(problem(found, install));
                continue;
            }
        };
        if lacks_users_hooks(context, known, &status.user_directory) {
            lacking.push(name.to_string());
        }
        match (&status.method, &status.overridden, &status.binary) {
            (None, ..) if were_installed(known) => {
                let found = format!("the hooks of {name} are gone");
                checks.push(reinstalled(problem(found, install)));
            }
            (None, ..) => unwanted.push(name.to_string()),
            (_, Some((scope, path)), _) => {
                let found = format!(
                    "a core.hooksPath ({scope}) comes before the hooks of {name}: git runs those \
                        in {path}"
                );
                let fix = format!("git config --{scope} --unset core.hooksPath, then {install}");
                checks.push(problem(found, fix));
            }
            _ if !status.faults.is_empty() => {
                let faults = status.faults.join("; ");
                let found = format!("the hooks of {name} are not as installed: {faults}");
                let fix = format!("git agentwt verify {name}, and if that was you: {install}");
                checks.push(problem(found, fix));
            }
            (_, _, Some((program, false))) => {
                let found = format!("the hooks of {name} start {program}, which is not there");
                let check = DoctorCheck::problem("hooks-program", found, install);
                checks.push(reinstalled(check));
            }
            _ => {
                installed.push(name.to_string());
                let own = known.readable_repository(context.repository);
                let git = own.git.with_mode(GitMode::Hardened);
                let head = git.rev_parse_commit(&known.record.branch.full_ref());
                let head = head.ok().flatten();
                let last = known.last_verification();
                let last = last.as_ref().map(|last| &last.head);
                let is_silent = hooks_silent(known, head.as_ref(), last);
                silent.extend(is_silent.then(|| name.to_string()));
            }
        }
    }
    if !silent.is_empty() {
        let found = format!("no hook ran at the last commits of {}", some(&silent));
        let fix = format!("git agentwt verify {}", silent.join(" "));
        checks.push(DoctorCheck::warning("hooks-silent", found, fix));
    }
    if let Some(first) = unwanted.first() {
        let found = format!("without hooks, as asked for: {}", some(&unwanted));
        let fix = format!("to have them: git agentwt hooks install {first}");
        checks.push(DoctorCheck::note("hooks", found, fix));
    }
    if !installed.is_empty() {
        let found = format!("installed, and git runs them: {}", some(&installed));
        checks.push(DoctorCheck::ok("hooks", found));
    }
    checks.splice(0..0, users_hooks(context, &lacking));
    checks
}

/// Whether the record has digests of hooks of ours.
fn were_installed(known: &Worktree) -> bool {
    let mut files = known.record.integrity.iter();
    files.any(|file| file.file == WatchedFile::HooksBinary && file.digest.is_some())
}

/// Whether the directory of the user's hooks is one of the worktree's own and is not there, although
/// the main worktree has it: git then skips the hooks, without a word.
fn lacks_users_hooks(
    context: &DoctorContext<'_>,
    known: &Worktree,
    directory: &Utf8PathBuf,
) -> bool {
    let repository = context.repository;
    let relative = directory.strip_prefix(&known.record.path);
    relative.is_ok_and(|relative| {
        repository.main == Main::Worktree
            && files::is_directory(&repository.root.join(relative))
            && !files::is_directory(directory)
    })
}

/// A relative path is one of each worktree (git-config(1), `core.hooksPath`).
fn users_hooks(context: &DoctorContext<'_>, lacking: &[String]) -> Option<DoctorCheck> {
    let (scope, path) = context.setting("core.hookspath")?;
    if WorktreeHooks::is_ours(path.as_str().into()) {
        return None;
    }
    if lacking.is_empty() {
        let found = format!("core.hooksPath is {path} ({scope}): our hooks run beside those there");
        return Some(DoctorCheck::ok("hooks-path", found));
    }
    let found = format!(
        "core.hooksPath is {path} ({scope}), which is not in {}: git skips your hooks there, and \
            says nothing",
        some(lacking)
    );
    let fix = format!(
        "run your hooks' installer there, and add its command to the commands of [setup] (`npm \
            ci` for husky, which creates {path})"
    );
    Some(DoctorCheck::warning("hooks-path", found, fix))
}

/// Lists everything; nothing is removed.
pub(super) fn leftovers(context: &DoctorContext<'_>) -> Result<Vec<DoctorCheck>, Error> {
    let repository = context.repository;
    let now = jiff::Timestamp::now().as_second();
    let mut checks = Vec::new();
    for name in find::all_names(repository)? {
        let found = find::of_name(repository, &name, now)?.all;
        if !found.is_empty() && repository.name_lock(&name).is_held() {
            let found = format!("a command works on {name}");
            checks.push(DoctorCheck::note("in-use", found, ""));
        } else {
            checks.extend(found.into_iter().map(judge));
        }
    }
    let in_trash = trash::list(repository)?;
    let shared = find::shared(repository, &context.known, &in_trash, now)?;
    checks.extend(shared.into_iter().map(judge));
    if checks.is_empty() {
        checks.push(DoctorCheck::ok("leftovers", "nothing is left over"));
    }
    checks.extend(saved(context)?);
    Ok(checks)
}

fn judge(leftover: Leftover) -> DoctorCheck {
    use LeftoverKind::{Claim, Entry, Record, Temporary, Trash};
    let check = leftover.kind.as_str();
    let found = format!("{}: {}", leftover.what, leftover.why);
    let stays = !leftover.goes;
    let has_help = leftover.help.is_some();
    let fix = match leftover.help {
        _ if !stays => "git agentwt prune".to_owned(),
        help => help.unwrap_or_default(),
    };
    match leftover.kind {
        _ if stays && !has_help => DoctorCheck::note(check, found, fix),
        Claim | Temporary | Trash => DoctorCheck::note(check, found, fix),
        Record if stays => DoctorCheck::problem(check, found, fix),
        // another worktree of plain git
        Entry if stays && !files::is_directory(&leftover.path.join("agentwt")) => {
            DoctorCheck::note(check, found, fix)
        }
        _ => DoctorCheck::warning(check, found, fix),
    }
}

/// What `restore` saved.
fn saved(context: &DoctorContext<'_>) -> Result<Option<DoctorCheck>, Error> {
    let number = context.repository.git.for_each_ref(&[RESCUE])?.len();
    Ok((number > 0).then(|| {
        let found = format!("saved files under {RESCUE}: {number}");
        let fix = format!(
            "to see them: git for-each-ref {RESCUE}; one that is not needed: git update-ref -d \
                <ref>"
        );
        DoctorCheck::note("saved", found, fix)
    }))
}
