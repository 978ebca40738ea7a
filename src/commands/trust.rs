//! `git agentwt trust`: records that the user trusts the commands of the config as they are now.

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::text::Text;
use crate::arguments::output::AnswerOutput;
use crate::commands::{Outcome, Session};
use crate::config::{CONFIG_PATH, Config};
use crate::words::error::Error;
use crate::words::path::escape_for_terminal;
use crate::words::text::{count, would};
use crate::worktree::decisions::require_outside;
use crate::worktree::settings::load_config;
use crate::worktree::trust::{TrustStore, TrustedCommands, UserCommands};

/// Trust the set-up commands of the config
///
/// Prints the commands of `[setup]` and `[teardown]` in `.agentwt/config.toml`, and records their
/// digest for this repository in your own state directory, never in the repository. From then on
/// `git agentwt add` runs the commands of `[setup]` in a new worktree, and `remove` and `land` run
/// those of `[teardown]`. A text that changed is not run until you trust it again.
///
/// Only a person trusts: the command is refused (exit 4) inside a worktree, but for `--list`.
#[derive(Args, Debug)]
pub struct Trust {
    /// Print everything that you trust, in all repositories
    #[arg(long, conflicts_with_all = ["revoke", "dry_run"])]
    pub list: bool,
    /// Take the trust in all texts of this repository back
    #[arg(long)]
    pub revoke: bool,
    /// Print what would be trusted, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// The answer of `trust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrustAnswer {
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The commands of the config as they are now.
    pub commands: UserCommands,
    /// Whether these commands are trusted now, or with `-n` would be.
    pub trusted: bool,
    /// With `--revoke`: the number of texts of this repository that are not trusted any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<usize>,
    /// With `--list`: everything that you trust, in all repositories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<TrustedCommands>>,
}

/// Trusts the commands, takes the trust back, or lists what is trusted.
///
/// # Errors
/// Fails inside a worktree (but for `--list`), for an invalid config, and when the file of the user
/// cannot be used.
pub fn run(session: &Session, options: &Trust) -> Result<Outcome<TrustAnswer>, Error> {
    let repository = session.repository()?;
    let state = session.state.as_deref();
    let config = match load_config(&repository, &[], &session.environment) {
        Ok(loaded) => loaded.config,
        // what is trusted can be listed and taken back whatever the config is by now
        Err(_) if options.list || options.revoke => Config::default(),
        Err(error) => return Err(error),
    };
    let commands = UserCommands::new(&repository, &config);
    let trust = TrustStore::read(state)?;
    let mut answer = TrustAnswer {
        dry_run: options.dry_run,
        trusted: trust.holds(&commands) && !commands.is_empty(),
        commands,
        revoked: None,
        list: None,
    };
    if options.list {
        answer.list = Some(trust.trusted);
        return Ok(Outcome::done(answer));
    }
    require_outside(&repository, &session.command_line)?;
    session.check()?;
    if options.revoke {
        answer.revoked = Some(if options.dry_run {
            trust.number_of(&repository)
        } else {
            TrustStore::revoke(state, &repository)?
        });
        answer.trusted = false;
    } else if !answer.commands.is_empty() {
        if !options.dry_run {
            TrustStore::add(state, &repository, &answer.commands, &Session::now())?;
        }
        answer.trusted = true;
    }
    Ok(Outcome::done(answer))
}

impl Answer for TrustAnswer {
    const DOCUMENT: &'static str = "trust";

    /// The exact texts on stdout, none cut off; what was done on stderr.
    fn print(&self, text: &mut Text) {
        for one in self.list.iter().flatten() {
            let repository = escape_for_terminal(one.commands.repository.as_str().as_bytes());
            text.line(format!("{repository} ({})", one.at));
            print_commands(&one.commands, "  ", text);
        }
        if self.list.is_some() {
            return;
        }
        if let Some(revoked) = self.revoked {
            let verb = would(self.dry_run, "revoked", "would revoke");
            let number = count(revoked, "text", "texts");
            return text.tell(format!("{verb} the trust in {number} of this repository"));
        }
        print_commands(&self.commands, "", text);
        if !self.trusted {
            return text.tell(format!("nothing to trust: {CONFIG_PATH} has no commands"));
        }
        let verb = would(self.dry_run, "trusted", "would trust");
        text.tell(format!(
            "{verb}: `git agentwt add` runs [setup], and a removal runs [teardown]; a changed \
                text is not run"
        ));
        text.tell("to take it back: git agentwt trust --revoke");
    }
}

fn print_commands(commands: &UserCommands, indent: &str, text: &mut Text) {
    for (table, texts) in [("setup", &commands.setup), ("teardown", &commands.teardown)] {
        for command in texts {
            let command = escape_for_terminal(command.as_bytes());
            text.line(format!("{indent}{table:<8}  {command}"));
        }
    }
}
