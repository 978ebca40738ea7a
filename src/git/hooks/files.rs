//! Computes the files of our directory of hooks: which, and what is in each.

use camino::Utf8Path;

use super::{Hooks, Method, PreCommit};

/// The directory of our own events, inside our directory of hooks: also the mark by which the
/// stubs know one of ours.
pub(super) const OURS: &str = "agentwt.d";

/// What we listen to (githooks(5)); what asks first comes only on request.
pub(super) const EVENTS: [&str; 7] = [
    "post-commit",
    "post-merge",
    "post-applypatch",
    "post-rewrite",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
];

/// The hooks through which a commit asks us first; `ref-update` is no event, but what
/// reference-transaction starts.
pub(super) const ASKING: [&str; 3] = ["pre-commit", "prepare-commit-msg", "ref-update"];

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

/// Hooks that are chained only where the user has them: the first runs several times a command,
/// and without the user's it only keeps the journal; the other two replace what git does without
/// them.
pub(super) const ON_DEMAND: [&str; 3] =
    ["reference-transaction", "push-to-checkout", "proc-receive"];

const CHAIN: &str = include_str!("../../../hooks/core-hooksPath.sh");
const OURS_SCRIPT: &str = include_str!("../../../hooks/post-commit.sh");
const JOURNAL: &str = include_str!("../../../hooks/reference-transaction.sh");
const COMMITTING: &str = include_str!("../../../hooks/prepare-commit-msg.sh");

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
        files.extend(scripts(ask).map(|name| script(format!("{OURS}/{name}"), text_of(name))));
        files.extend(
            stubs(method, user)
                .into_iter()
                .map(|(name, text)| script(name.to_owned(), text)),
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

/// Our scripts.
fn scripts(ask: PreCommit) -> impl Iterator<Item = &'static str> {
    let asking: &[&str] = match ask {
        PreCommit::Blocks => &ASKING,
        PreCommit::Absent => &[],
    };
    EVENTS.into_iter().chain(asking.iter().copied())
}

/// Our events.
fn events(ask: PreCommit) -> impl Iterator<Item = &'static str> {
    scripts(ask).filter(|name| *name != "ref-update")
}

fn text_of(script: &str) -> &'static str {
    match script {
        "reference-transaction" => JOURNAL,
        "prepare-commit-msg" => COMMITTING,
        _ => OURS_SCRIPT,
    }
}

/// The names under which something stands for the user's hook, and what.
fn stubs(method: Method, user: &Utf8Path) -> Vec<(&'static str, &'static str)> {
    let text = |name: &'static str| match name {
        // as cheap as can be where there is nothing to chain to
        "reference-transaction" if !user.join(name).exists() => (name, JOURNAL),
        _ => (name, CHAIN),
    };
    match method {
        Method::Configured => Vec::new(),
        Method::HooksPath => {
            let others = ON_DEMAND[1..].iter().copied();
            let wanted = others.filter(|name| user.join(name).exists());
            let all = EVENTS.into_iter().chain(OTHERS).chain(wanted);
            all.map(text).collect()
        }
    }
}

/// The included configuration. An event without a command is fatal to `git commit`, which no
/// reader can see here: the file comes whole.
fn config(method: Method, ask: PreCommit, directory: &Utf8Path) -> String {
    let configured = |event| {
        let command = quoted(&command(event, directory));
        format!("[hook \"agentwt-{event}\"]\n\tcommand = {command}\n\tevent = {event}\n")
    };
    match method {
        Method::Configured => events(ask).map(configured).collect(),
        Method::HooksPath => format!("[core]\n\thooksPath = {}\n", quoted(directory.as_str())),
    }
}

/// The shell command of a configured hook, to which git appends `"$@"`; quiet where the worktree
/// has no hooks of ours, and where `git worktree add` sets no `GIT_DIR`.
fn command(event: &str, directory: &Utf8Path) -> String {
    let made = format!(
        r#"[ -n "$GIT_DIR" ] || echo "worktree $PWD" >>{}; "#,
        in_shell(&directory.with_file_name("journal"))
    );
    let skip = match event {
        // `git worktree add` starts it in the new worktree, by the settings of the one it stood in
        "post-checkout" => made.as_str(),
        "post-index-change" => r#"[ "$1" = 1 ] || exit 0; "#,
        // what the script would do, without starting it: this runs a hundred times in a rebase
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

/// A word as the shell reads it whole.
fn in_shell(path: &Utf8Path) -> String {
    format!("'{}'", path.as_str().replace('\'', r"'\''"))
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
