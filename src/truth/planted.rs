//! Finds what was changed since `add` of that which git runs, or converts or hides files by, and
//! that nobody accepted: no command that changes a worktree may use it.

use camino::Utf8Path;

use crate::git::environment::GitMode;
use crate::git::git_dir::SHALLOW;
use crate::git::hooks::include::INCLUDED;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::git::process::Git;
use crate::git::settings_file::read_settings;
use crate::judge::change::{Cause, Change, Content, Kind, Place};
use crate::judge::finding::Reason;
use crate::record::accepted::Acceptances;
use crate::truth::checks::git_files::changed_git_files;
use crate::truth::checks::integrity::changed_files;
use crate::truth::checks::settings;
use crate::truth::keys::cause_of;
use crate::truth::seal;
use crate::words::error::Error;
use crate::words::path::shell_word;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// How many of them a message names.
const NAMED: usize = 3;

/// Holds one thing that was planted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    place: Place,
    /// The key of a setting; none for a file.
    key: Option<String>,
    /// True if it is a setting of the repository that had no value before.
    is_added: bool,
}

impl Planted {
    /// True if it is in the private git directory of the worktree.
    const fn is_own(&self) -> bool {
        matches!(self.place, Place::Admin(_))
    }
}

/// Refuses to do something to a worktree as long as git could run what was planted.
///
/// # Errors
/// Fails when something was planted, and when it cannot be looked for.
pub fn refuse(repository: &Repository, worktree: &Worktree, action: &str) -> Result<(), Error> {
    let planted = find(repository, worktree)?;
    if planted.is_empty() {
        return Ok(());
    }
    let name = worktree.record.name.to_string();
    let fault = WorktreeFault::Planted {
        action: action.to_owned(),
        what: names(&planted),
        help: help(worktree, &planted),
        name,
    };
    Err(fault.into())
}

/// Lists each setting, hook and file of git that is not as at `add`, that can run a program, hide
/// something or loosen a fence, and that nobody accepted; a setting that was removed as well. Of the
/// worktree's own settings, it lists those that run a program.
///
/// # Errors
/// Fails when the record is damaged, or git or the disk fails.
pub fn find(repository: &Repository, worktree: &Worktree) -> Result<Vec<Planted>, Error> {
    let before = worktree.shared()?;
    let now = seal::read(repository, Some(&worktree.record.admin_dir))?;
    let accepted = Acceptances::new(&worktree.record.decisions);
    let mut changes = changed_git_files(repository, &before, &now)?;
    changes.extend(settings::changed_settings(repository, &before, &now));
    let mut planted = Vec::new();
    for shared in changes {
        let is_ref = shared.change.kind == Kind::Ref;
        let is_end_of_history = shared.change.place == Place::Git(SHALLOW.into());
        let is_harmless = is_ref || is_end_of_history || shared.cause == Cause::Unknown;
        if is_harmless
            || is_removed_hook(&shared.change)
            || accepted.cover(&shared.change, Reason::Shared)
        {
            continue;
        }
        planted.push(Planted {
            is_added: shared.change.added_key().is_some(),
            key: key_of(&shared.change.now),
            place: shared.change.place,
        });
    }
    // the worktree's own settings are no part of the seal
    for change in changed_files(repository, &worktree.record)?.wrong {
        if !accepted.cover(&change, Reason::Integrity) {
            planted.extend(planted_in_own_settings(worktree, &change.place));
        }
    }
    Ok(planted)
}

/// True if a hook was removed: git runs nothing in its place.
fn is_removed_hook(change: &Change) -> bool {
    let is_gone = |content: &Content| matches!(content, Content::Value { value: None, .. });
    change.kind == Kind::Hook && change.now.iter().all(is_gone)
}

/// Git for a change of refs that is made whatever was planted: without hooks if they may be among
/// it.
pub fn git_without_hooks(repository: &Repository, worktree: &Worktree) -> Git {
    match find(repository, worktree) {
        Ok(planted) if planted.is_empty() => repository.git.clone(),
        Ok(_) | Err(_) => repository.git.with_mode(GitMode::Hardened),
    }
}

/// The settings by which git runs a program in a file of the worktree's own settings.
fn planted_in_own_settings(worktree: &Worktree, place: &Place) -> Vec<Planted> {
    let Place::Admin(name) = place else {
        return Vec::new();
    };
    let ours: &[&str] = match name.as_slice() {
        b"config.worktree" => &["include.path", "core.hookspath"],
        b"agentwt/hooks/config" => &["core.hookspath"],
        _other => return Vec::new(),
    };
    let file = worktree.record.admin_dir.join(name.to_string());
    let mut found = Vec::new();
    for (key, value) in read_settings(&file) {
        let text = value.map(|value| value.to_string());
        let is_ours = ours.contains(&key.as_str()) && is_our_hooks(worktree, &key, text.as_deref());
        if !is_ours && cause_of(&key, text.as_deref()) == Cause::RunsCode {
            found.push(Planted {
                place: place.clone(),
                key: Some(key),
                is_added: false,
            });
        }
    }
    found
}

/// True if a setting leads to our hooks.
fn is_our_hooks(worktree: &Worktree, key: &str, value: Option<&str>) -> bool {
    let directory = WorktreeHooks::directory_in(&worktree.record.admin_dir);
    let is_included = key == "include.path" && value == Some(INCLUDED);
    is_included || key == "core.hookspath" && value == Some(directory.as_str())
}

/// The key of a setting; none for a file.
fn key_of(contents: &[Content]) -> Option<String> {
    match contents {
        [Content::Value { key, .. }] if !key.is_empty() => Some(key.clone()),
        _other => None,
    }
}

/// What was planted, in a few words.
fn names(planted: &[Planted]) -> String {
    let mut named: Vec<String> = Vec::new();
    for item in planted.iter().take(NAMED) {
        named.push(match &item.key {
            Some(key) => format!("{key} in {}", item.place),
            None => item.place.to_string(),
        });
    }
    if let more @ 1.. = planted.len().saturating_sub(NAMED) {
        named.push(format!("{more} more"));
    }
    named.join(", ")
}

/// The command that removes a setting from the repository of a worktree: of a clone its own, and
/// not the one around it.
pub fn unset_command(worktree: &Utf8Path, key: &str) -> String {
    let directory = shell_word(worktree.as_str());
    format!("git -C {directory} config --unset-all {}", shell_word(key))
}

/// The commands that help: to see all of it, to remove the first few settings, to accept it.
fn help(worktree: &Worktree, planted: &[Planted]) -> String {
    let name = &worktree.record.name;
    let mut help = format!("to see what changed: git agentwt verify {name}");
    for command in removal_commands(worktree, planted) {
        help.push_str(&format!("; to remove it: {command}"));
    }
    if planted.iter().any(|item| !item.is_own()) {
        help.push_str(&format!(
            "; if you made these changes: git agentwt accept {name} --shared"
        ));
    }
    if planted.iter().any(Planted::is_own) {
        help.push_str(&format!(
            "; if the worktree may have its own: git agentwt accept {name} --all"
        ));
    }
    help
}

/// The commands that remove the first settings: those that had no value before, from the
/// repository, and then the worktree's own. A hook or an attribute is removed by hand.
fn removal_commands(worktree: &Worktree, planted: &[Planted]) -> Vec<String> {
    let mut commands = Vec::new();
    let added = planted.iter().filter(|item| item.is_added);
    let added_keys = added.filter_map(|item| item.key.as_deref());
    for key in added_keys.take(NAMED) {
        commands.push(unset_command(&worktree.record.path, key));
    }
    for item in planted.iter().take(NAMED) {
        if let Place::Admin(file) = &item.place
            && let Some(key) = &item.key
        {
            let path = worktree.record.admin_dir.join(file.to_string());
            let file_word = shell_word(path.as_str());
            let key_word = shell_word(key);
            commands.push(format!(
                "git config --file {file_word} --unset-all {key_word}"
            ));
        }
    }
    commands
}
