//! Computes the files of our directory of hooks, and edits git's configuration files for them: the
//! include in a worktree's `config.worktree`, and `extensions.worktreeConfig`.

use std::fs::{self, File};
use std::io::ErrorKind;

use bstr::ByteSlice as _;
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::OnViolation;
use crate::git::contention;
use crate::git::error::GitError;
use crate::git::hooks::{Method, remove, written};
use crate::git::process::Git;
use crate::git::repo::read_file;

/// The directory of our own events, inside our directory of hooks: also the mark by which the
/// stubs recognize such a directory.
pub(super) const OURS: &str = "agentwt.d";

/// The events of githooks(5) that we listen to.
const EVENTS: &str = "post-commit post-merge post-applypatch post-rewrite post-checkout \
     post-index-change reference-transaction";

/// The hooks through which a commit asks us first; `ref-update` is not an event, but what
/// reference-transaction starts.
const ASKING: &str = "pre-commit prepare-commit-msg ref-update";

/// Every other hook of githooks(5) as of git 2.53, the last before configured hooks came:
/// `core.hooksPath` hides all of them.
const OTHERS: &str = "applypatch-msg pre-applypatch pre-commit pre-merge-commit prepare-commit-msg \
     commit-msg pre-rebase pre-push pre-receive update post-receive post-update pre-auto-gc \
     sendemail-validate p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit";

/// Hooks that are chained only where the user has them: the first runs several times a command, the
/// other two replace what git does without them.
pub(super) const ON_DEMAND: [&str; 3] =
    ["reference-transaction", "push-to-checkout", "proc-receive"];

const CHAIN: &str = include_str!("../../../hooks/core-hooksPath.sh");
const OURS_SCRIPT: &str = include_str!("../../../hooks/post-commit.sh");
const JOURNAL: &str = include_str!("../../../hooks/reference-transaction.sh");
const COMMITTING: &str = include_str!("../../../hooks/prepare-commit-msg.sh");

/// Whether a text is one of our scripts.
pub(super) fn is_script(text: &[u8]) -> bool {
    [CHAIN, OURS_SCRIPT, JOURNAL, COMMITTING]
        .iter()
        .any(|script| script.as_bytes() == text)
}

/// Computes every file: its path in our directory of hooks and its text. All but `config` are executable.
pub(super) fn files(
    method: Method,
    on_violation: OnViolation,
    directory: &Utf8Path,
    user: &Utf8Path,
) -> Vec<(String, String)> {
    let ours = scripts(on_violation).map(|name| {
        let text = match name {
            "reference-transaction" => JOURNAL,
            "prepare-commit-msg" => COMMITTING,
            _ => OURS_SCRIPT,
        };
        (format!("{OURS}/{name}"), text.to_owned())
    });
    let config = config(method, on_violation, directory);
    let mut files = vec![("config".to_owned(), config)];
    files.extend(ours);
    if method == Method::HooksPath {
        let late = ON_DEMAND[1..].iter().copied();
        let late = late.filter(|name| user.join(name).exists());
        let stub = |name: &str| match name {
            // as cheap as possible where no hook of the user's is chained
            "reference-transaction" if !user.join(name).exists() => JOURNAL,
            _ => CHAIN,
        };
        let names = EVENTS.split(' ').chain(OTHERS.split(' ')).chain(late);
        files.extend(names.map(|name| (name.to_owned(), stub(name).to_owned())));
    }
    files
}

/// The names of our scripts.
pub(super) fn scripts(on_violation: OnViolation) -> impl Iterator<Item = &'static str> {
    let asks = on_violation == OnViolation::Block;
    let asking = ASKING.split(' ').filter(move |_| asks);
    EVENTS.split(' ').chain(asking)
}

/// The included configuration. An event without a command is fatal to `git commit`; no reader sees
/// that here, as the directory is replaced as a whole.
fn config(method: Method, on_violation: OnViolation, directory: &Utf8Path) -> String {
    let configured = |event: &'static str| {
        let command = quoted(&command(event, directory));
        format!("[hook \"agentwt-{event}\"]\n\tcommand = {command}\n\tevent = {event}\n")
    };
    match method {
        Method::Configured => {
            let events = scripts(on_violation).filter(|name| *name != "ref-update");
            events.map(configured).collect()
        }
        Method::HooksPath => format!("[core]\n\thooksPath = {}\n", quoted(directory.as_str())),
    }
}

/// The shell command of a configured hook, to which git appends `"$@"`; quiet where the worktree
/// has no hooks of ours, and where `git worktree add` sets no `GIT_DIR`.
fn command(event: &str, directory: &Utf8Path) -> String {
    let journal = directory.with_file_name("journal");
    let journal = journal.as_str().replace('\'', r"'\''");
    let made = format!(r#"[ -n "$GIT_DIR" ] || echo "worktree $PWD" >>'{journal}'; "#);
    let skip = match event {
        // `git worktree add` starts it in the new worktree, by the settings of the worktree it stood in
        "post-checkout" => made.as_str(),
        "post-index-change" => r#"[ "$1" = 1 ] || exit 0; "#,
        // as the script does, without starting it: this runs a hundred times in a rebase
        "reference-transaction" => {
            r#"case $1 in committed) [ -d "$GIT_DIR/agentwt" ] && exec cat >>"$GIT_DIR/agentwt/journal"; exit 0 ;; prepared) [ -e "$GIT_DIR/agentwt/committing" ] || exit 0 ;; *) exit 0 ;; esac; "#
        }
        _ => "",
    };
    format!(
        "[ -n \"$GIT_DIR\" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git; \
         {skip}h=$GIT_DIR/agentwt/hooks/{OURS}/{event}; \
         [ -n \"$GIT_DIR\" ] && [ -x \"$h\" ] || exit 0; exec \"$h\""
    )
}

/// A value as a configuration file spells it (git-config(1), "Syntax"), and a path as the list of
/// alternates does (gitrepository-layout(5)), whatever is in it.
pub fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n").replace('\t', "\\t"))
}

/// The included file, relative to `config.worktree` (git-config(1), "Includes").
pub const INCLUDED: &str = "agentwt/hooks/config";
/// The setting without which git does not read `config.worktree`.
pub(super) const EXTENSION: &str = "extensions.worktreeConfig";
const BLOCK: &[u8] = b"[include]\n\tpath = agentwt/hooks/config\n";

/// Makes the include the last entry in the worktree's configuration: of two `core.hooksPath` the last
/// wins. It is appended as text, as `git config` would put it into an earlier `[include]`.
pub(super) fn include(git: &Git, file: &Utf8Path) -> Result<(), GitError> {
    if read_file(file)?.is_some_and(|text| text.ends_with(BLOCK)) {
        return Ok(());
    }
    exclude(git, file)?;
    let mut text = read_file(file)?.unwrap_or_default();
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(BLOCK);
    edit(file, |copy| written(copy, fs::write(copy, &text)))
}

/// Removes the include, and the file with its last entry.
pub(super) fn exclude(git: &Git, file: &Utf8Path) -> Result<(), GitError> {
    if !read_file(file)?.is_some_and(|text| text.contains_str(INCLUDED)) {
        return Ok(());
    }
    let value = ["--fixed-value", "--unset-all", "include.path", INCLUDED];
    git.config_file_unset(file, &value)?;
    if read_file(file)?.is_some_and(|text| text.is_empty()) {
        remove(file)?;
    }
    Ok(())
}

/// Turns the extension on, as git's own `init_worktree_config` (worktree.c) does: `core.bare = true`
/// and `core.worktree` of the common configuration would break every linked worktree, and move to the
/// main worktree's `config.worktree`. The common file is replaced once, so that no other worktree sees
/// half of it.
pub(super) fn enable_extension(git: &Git, common: &Utf8Path) -> Result<(), GitError> {
    let config = common.join("config");
    if git.config_file_get_bool(&config, EXTENSION)? == Some(true) {
        return Ok(());
    }
    // a false core.bare stays: it may be there against a user's own setting
    let bare = git.config_file_get_bool(&config, "core.bare")? == Some(true);
    let bare = bare.then(|| ("core.bare", "true".to_owned()));
    let elsewhere = git.config_file_get_all(&config, "core.worktree")?.pop();
    let elsewhere = elsewhere.map(|path| ("core.worktree", path));
    edit(&config, |copy| {
        for (key, value) in bare.into_iter().chain(elsewhere) {
            git.config_file_set(&common.join("config.worktree"), key, &value)?;
            git.config_file_unset(copy, &["--unset-all", key])?;
        }
        git.config_file_set(copy, EXTENSION, "true")
    })
}

/// Replaces a configuration file under git's own lock (`<file>.lock`); `change` edits the copy there.
fn edit(
    file: &Utf8Path,
    change: impl FnOnce(&Utf8Path) -> Result<(), GitError>,
) -> Result<(), GitError> {
    // a configuration that is a symbolic link stays a link, as with git
    let target = file.canonicalize_utf8().unwrap_or_else(|_| file.to_owned());
    let lock = Utf8PathBuf::from(format!("{target}.lock"));
    contention::repeated(|| match File::create_new(&lock) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(GitError::Failed {
            what: "switch our hooks on".to_owned(),
            argv: Vec::new(),
            status: Some(255),
            words: format!("could not lock config file {target}: File exists"),
        }),
        created => written(&lock, created.map(drop)),
    })?;
    let copied = if target.exists() {
        written(&lock, fs::copy(&target, &lock).map(drop))
    } else {
        Ok(())
    };
    let changed = copied.and_then(|()| change(&lock));
    let replaced = changed.and_then(|()| written(&target, fs::rename(&lock, &target)));
    replaced.inspect_err(|_| drop(fs::remove_file(&lock)))
}
