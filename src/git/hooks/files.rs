//! Computes the files of our directory of hooks: which, and what is in each.

use camino::Utf8Path;

use super::{Hooks, Method, PreCommit};

/// The directory of our own events, inside our directory of hooks: also the mark by which the
/// stubs know one of ours.
pub(super) const OURS: &str = "agentwt.d";

/// What we listen to (githooks(5)); pre-commit comes only on request.
pub(super) const EVENTS: [&str; 6] = [
    "post-commit",
    "post-merge",
    "post-applypatch",
    "post-rewrite",
    "post-checkout",
    "post-index-change",
];

/// Every other hook of githooks(5) as of git 2.53, the last before configured hooks came:
/// `core.hooksPath` hides all of them.
const OTHERS: [&str; 18] = [
    "applypatch-msg",
    "pre-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "pre-rebase",
    "pre-push",
    "pre-receive",
    "update",
    "post-receive",
    "post-update",
    "pre-auto-gc",
    "sendemail-validate",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
];

/// Hooks whose mere presence costs or changes something, so they are chained only where the user
/// has them: reference-transaction runs several times a command, the other two replace what git
/// does without them.
pub(super) const ON_DEMAND: [&str; 3] =
    ["reference-transaction", "push-to-checkout", "proc-receive"];

const CHAIN: &str = include_str!("../../../hooks/chain.sh");
const OURS_SCRIPT: &str = include_str!("../../../hooks/ours.sh");

/// Holds one file of our directory of hooks.
pub(super) struct HookFile {
    /// Its path in the directory.
    pub(super) name: String,
    /// What is in it.
    pub(super) text: String,
    /// Its permissions.
    pub(super) mode: u32,
}

/// Holds every file of our directory of hooks, and the record of the binary's path.
pub(super) struct Content {
    pub(super) files: Vec<HookFile>,
    pub(super) bin: HookFile,
}

impl Content {
    /// Computes the files; nothing is written.
    pub(super) fn new(
        hooks: &Hooks,
        method: Method,
        ask: PreCommit,
        user: &Utf8Path,
        binary: &Utf8Path,
    ) -> Self {
        let data = |name: &str, text| HookFile {
            name: name.to_owned(),
            text,
            mode: 0o644,
        };
        let script = |name, text: &str| HookFile {
            name,
            text: text.to_owned(),
            mode: 0o755,
        };
        let directory = hooks.state().join("hooks");
        let mut files = vec![data("config", config(method, ask, &directory))];
        files.extend(events(ask).map(|event| script(format!("{OURS}/{event}"), OURS_SCRIPT)));
        files.extend(
            stubs(method, user)
                .into_iter()
                .map(|name| script(name.to_owned(), CHAIN)),
        );
        Self {
            files,
            bin: data("bin", format!("{binary}\n")),
        }
    }
}

/// Whether a directory of hooks is one of ours, of whichever worktree.
pub(super) fn is_ours(directory: &Utf8Path) -> bool {
    directory.join(OURS).is_dir()
}

/// Our events.
fn events(ask: PreCommit) -> impl Iterator<Item = &'static str> {
    let asked = match ask {
        PreCommit::Blocks => Some("pre-commit"),
        PreCommit::Absent => None,
    };
    EVENTS.into_iter().chain(asked)
}

/// The names under which the chaining stub stands.
fn stubs(method: Method, user: &Utf8Path) -> Vec<&'static str> {
    match method {
        Method::Configured => Vec::new(),
        Method::HooksPath => {
            let wanted = ON_DEMAND
                .into_iter()
                .filter(|name| user.join(name).exists());
            EVENTS.into_iter().chain(OTHERS).chain(wanted).collect()
        }
    }
}

/// The included configuration. An event without a command is fatal to `git commit`, which no
/// reader can see here: the file comes whole.
fn config(method: Method, ask: PreCommit, directory: &Utf8Path) -> String {
    let configured = |event| {
        let command = quoted(&command(event));
        format!("[hook \"agentwt-{event}\"]\n\tcommand = {command}\n\tevent = {event}\n")
    };
    match method {
        Method::Configured => events(ask).map(configured).collect(),
        Method::HooksPath => format!("[core]\n\thooksPath = {}\n", quoted(directory.as_str())),
    }
}

/// The shell command of a configured hook, to which git appends `"$@"`; quiet where the worktree
/// has no hooks of ours, and where `git worktree add` sets no `GIT_DIR`.
fn command(event: &str) -> String {
    let skip = match event {
        "post-index-change" => r#"[ "$1" = 1 ] || exit 0; "#,
        _ => "",
    };
    format!(
        "{skip}h=$GIT_DIR/agentwt/hooks/{OURS}/{event}; \
         [ -n \"$GIT_DIR\" ] && [ -x \"$h\" ] || exit 0; exec \"$h\""
    )
}

/// A value as a configuration file spells it (git-config(1), "Syntax").
fn quoted(value: &str) -> String {
    let mut out = String::from('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
