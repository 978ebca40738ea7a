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
