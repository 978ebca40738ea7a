//! Writes what the shells complete from: clap's own output for `git-agentwt`, and what makes
//! `git agentwt <TAB>` and the names of worktrees work.
//!
//! It only makes text. The parts that clap does not know are kept as shell in `completions/`.
//!
//! ```
//! use clap_complete::Shell;
//! use git_agentwt::cli::completions::completions;
//! assert!(completions(Shell::Bash).contains("_git_agentwt()"));
//! ```

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::commands::env::ShellName;

const NAME: &str = "git-agentwt";
/// A name without a dash: with one, `clap_complete` 4.6.11 writes `git__agentwt__subcmd__add` in
/// one place and `git__subcmd__agentwt__subcmd__add` in another, and completes no command.
const BASH_NAME: &str = "_git_agentwt_clap";
const BASH: &str = include_str!("completions/git.bash");
const ZSH: &str = include_str!("completions/git.zsh");
const FISH: &str = include_str!("completions/git.fish");
/// What a value is for zsh, and the end of the name of the function that completes it.
const ZSH_VALUES: [(&str, &str); 4] = [
    ("profile", "profiles"),
    ("branch", "branches"),
    ("commit-ish", "refs"),
    ("ref", "refs"),
];

/// Returns the completions of a shell, as its standard place takes them.
pub fn completions(shell: Shell) -> String {
    match shell {
        Shell::Bash => without_registration(&generated(shell, BASH_NAME)) + BASH,
        Shell::Fish => generated(shell, NAME) + FISH,
        Shell::Zsh => with_names_for_zsh(&generated(shell, NAME)),
        // The two others have nothing for `git agentwt`, and `Shell` may grow.
        _ => generated(shell, NAME),
    }
}

/// Returns the function that changes to worktrees, for a shell.
pub const fn shell_function(shell: ShellName) -> &'static str {
    match shell {
        ShellName::Bash => concat!(
            include_str!("completions/awt.sh"),
            include_str!("completions/awt.bash")
        ),
        ShellName::Zsh => concat!(
            include_str!("completions/awt.sh"),
            include_str!("completions/awt.zsh")
        ),
        ShellName::Fish => include_str!("completions/awt.fish"),
    }
}

/// What clap makes of the definitions for a program of this name.
fn generated(shell: Shell, name: &'static str) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut visible(name), name, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The command line without what is hidden: clap completes hidden commands as well.
fn visible(name: &'static str) -> Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|c| !c.is_hide_set()).cloned();
    Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(all.get_arguments().cloned())
        .subcommands(shown.collect::<Vec<_>>())
}

/// Cuts what registers clap's function for its own name; ours is registered, and calls it.
fn without_registration(text: &str) -> String {
    let end = text.rfind("\nif [[ ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Completes every argument called `name` or `names` with the worktrees there are, and the values
/// that are profiles, branches or commits.
fn with_names_for_zsh(text: &str) -> String {
    let mut text = text.to_owned();
    for (value, end) in ZSH_VALUES {
        let own = format!(":{value}:_git_agentwt_{end}'");
        text = text.replace(&format!(":{value}:_default'"), &own);
    }
    let mut out = String::with_capacity(text.len() + ZSH.len());
    for line in text.lines() {
        let is_name = ["':name -- ", "'::name -- ", "'*::names -- "]
            .iter()
            .any(|start| line.starts_with(start));
        if is_name {
            out.push_str(&line.replace(":_default'", ":_git_agentwt_names'"));
        } else {
            out.push_str(line);
        }
        out.push('\n');
        if line == "autoload -U is-at-least" {
            out.push_str(ZSH);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_completes_the_commands_but_not_the_hidden_one() {
        for shell in [
            Shell::Bash,
            Shell::Zsh,
            Shell::Fish,
            Shell::Elvish,
            Shell::PowerShell,
        ] {
            let text = completions(shell);
            assert!(text.contains("reapply"), "{shell}");
            assert!(!text.contains("Act on a hook event"), "{shell}");
            assert!(!text.contains("hook)"), "{shell}");
        }
    }

    #[test]
    fn zsh_completes_the_names_of_worktrees_but_not_of_a_new_one() {
        let text = completions(Shell::Zsh);
        let named = |start: &str| {
            text.lines()
                .filter(|line| line.starts_with(start))
                .map(|line| line.contains("_git_agentwt_names"))
                .collect::<Vec<_>>()
        };
        assert_eq!(named("':name --"), [true, true], "accept, open");
        assert_eq!(
            named("'::name --"),
            [true; 7],
            "path, changed, reapply, renew, exec, env, statusline"
        );
        assert_eq!(named("'::new-name --"), [false; 2], "add, run");
        for (function, uses) in [("profiles", 4), ("branches", 4), ("refs", 3)] {
            let end = format!(":_git_agentwt_{function}' \\\n");
            assert_eq!(text.matches(&end).count(), uses, "{function}");
        }
        assert_eq!(text.matches("\n_git_agentwt_names()").count(), 1);
    }
}
