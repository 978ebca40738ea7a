//! Computes the files of our directory of hooks.

use camino::Utf8Path;

use crate::config::value::OnViolation;
use crate::git::settings_file::quoted;
use crate::git::version::GitVersion;

/// How git is told to run our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By `hook.<name>.command`: beside the user's hooks, before them (git-hook(1), git 2.54).
    Configured,
    /// By a `core.hooksPath` of this worktree, whose hooks run the user's and then ours.
    HooksPath,
}

impl Method {
    /// The method for a git: its own hooks where it has them.
    pub fn of(version: GitVersion) -> Self {
        if version >= GitVersion::CONFIGURED_HOOKS {
            Self::Configured
        } else {
            Self::HooksPath
        }
    }
}

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

/// True if a text is one of our scripts.
pub(super) fn is_script(text: &[u8]) -> bool {
    [CHAIN, OURS_SCRIPT, JOURNAL, COMMITTING]
        .iter()
        .any(|script| script.as_bytes() == text)
}

/// Computes every file: its path in our directory of hooks and its text. All but `config` are
/// executable. `directory` is where git will find them, `user` the directory of the user's hooks.
pub(super) fn files(
    method: Method,
    on_violation: OnViolation,
    directory: &Utf8Path,
    user: &Utf8Path,
) -> Vec<(String, String)> {
    let config = config(method, on_violation, directory);
    let mut files = vec![("config".to_owned(), config)];
    for name in scripts(on_violation) {
        let text = match name {
            "reference-transaction" => JOURNAL,
            "prepare-commit-msg" => COMMITTING,
            _ => OURS_SCRIPT,
        };
        files.push((format!("{OURS}/{name}"), text.to_owned()));
    }
    if method == Method::HooksPath {
        for name in chained(user) {
            let text = match name {
                // as cheap as possible where no hook of the user's is chained
                "reference-transaction" if !user.join(name).exists() => JOURNAL,
                _ => CHAIN,
            };
            files.push((name.to_owned(), text.to_owned()));
        }
    }
    files
}

/// The names of the hooks that are chained where the user's hooks are in this directory.
fn chained(user: &Utf8Path) -> Vec<&'static str> {
    let mut names: Vec<_> = EVENTS.split(' ').chain(OTHERS.split(' ')).collect();
    for name in &ON_DEMAND[1..] {
        if user.join(name).exists() {
            names.push(name);
        }
    }
    names
}

/// The names of our scripts.
pub(super) fn scripts(on_violation: OnViolation) -> impl Iterator<Item = &'static str> {
    let asking = match on_violation {
        OnViolation::Block => ASKING,
        OnViolation::Report => "",
    };
    EVENTS.split(' ').chain(asking.split_terminator(' '))
}

/// The included configuration. An event without a command is fatal to `git commit`; no reader sees
/// that here, as the directory is replaced as a whole.
fn config(method: Method, on_violation: OnViolation, directory: &Utf8Path) -> String {
    match method {
        Method::Configured => {
            let mut text = String::new();
            for event in scripts(on_violation) {
                if event != "ref-update" {
                    let command = quoted(&command(event, directory));
                    text += &format!(
                        "[hook \"agentwt-{event}\"]\n\tcommand = {command}\n\tevent = {event}\n"
                    );
                }
            }
            text
        }
        Method::HooksPath => format!("[core]\n\thooksPath = {}\n", quoted(directory.as_str())),
    }
}

/// What the script of reference-transaction does, without starting it: this runs a hundred times in
/// a rebase.
const WRITE_JOURNAL: &str = "case $1 in \
     committed) [ -d \"$GIT_DIR/agentwt\" ] && exec cat >>\"$GIT_DIR/agentwt/journal\"; exit 0 ;; \
     prepared) [ -e \"$GIT_DIR/agentwt/committing\" ] || exit 0 ;; \
     *) exit 0 ;; \
     esac; ";

/// The shell command of a configured hook, to which git appends `"$@"`; quiet where the worktree
/// has no hooks of ours, and where `git worktree add` sets no `GIT_DIR`.
fn command(event: &str, directory: &Utf8Path) -> String {
    let skip = match event {
        // `git worktree add` starts it in the new worktree, by the settings of the worktree it
        // stood in
        "post-checkout" => {
            let file = directory.with_file_name("journal");
            let journal = file.as_str().replace('\'', r"'\''");
            format!(r#"[ -n "$GIT_DIR" ] || echo "worktree $PWD" >>'{journal}'; "#)
        }
        "post-index-change" => r#"[ "$1" = 1 ] || exit 0; "#.to_owned(),
        "reference-transaction" => WRITE_JOURNAL.to_owned(),
        _ => String::new(),
    };
    format!(
        "[ -n \"$GIT_DIR\" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git; \
         {skip}h=$GIT_DIR/agentwt/hooks/{OURS}/{event}; \
         [ -n \"$GIT_DIR\" ] && [ -x \"$h\" ] || exit 0; exec \"$h\""
    )
}
