//! `git agentwt hooks claude`: lets Claude Code make its worktrees by git-agentwt, or no longer.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::arguments::scope::ScopeLists;
use crate::client::claude::{ClaudeSettings, EVENTS};
use crate::commands::hooks::HooksDone;
use crate::commands::hooks::arguments::{ClaudeAction, HooksClaude};
use crate::commands::{Outcome, Session, bare};
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::refusal::Refusal;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::path::shell_word;
use crate::words::text::would;
use crate::worktree::decisions::require_outside;
use crate::worktree::repository::{Main, Repository};
use crate::worktree::settings::{load_config, rules_of};

/// The settings that Claude Code reads for one user only: a colleague without git-agentwt could
/// make no worktree if the hooks were in the file that is committed.
const LOCAL: &str = ".claude/settings.local.json";
/// The settings that are committed.
const SHARED: &str = ".claude/settings.json";

/// The answer of `hooks claude`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaudeHooksAnswer {
    /// The settings file of Claude Code.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// `installed` or `uninstalled`; absent for `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub done: Option<HooksDone>,
    /// Whether nothing was done (`-n`).
    pub dry_run: bool,
    /// Whether the file changed, or would.
    pub changed: bool,
    /// `complete`, `partly` or `missing`: which of the two hooks are there, and whether the program
    /// that they call is.
    #[schemars(with = "String")]
    pub state: ClaudeHooksState,
    /// The commands that Claude Code calls.
    pub commands: Vec<String>,
}

/// Which of the two hooks are there and call a program that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaudeHooksState {
    /// Both.
    Complete,
    /// Some, or their program is gone.
    Partly,
    /// None.
    #[default]
    Missing,
}

impl ClaudeHooksState {
    /// The word in every output format.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partly => "partly",
            Self::Missing => "missing",
        }
    }
}

impl Answer for ClaudeHooksAnswer {
    const DOCUMENT: &'static str = "hooks-claude";

    fn print(&self, text: &mut Text) {
        let path = text.paint.name(self.path.as_str());
        let Some(done) = self.done else {
            text.line(path);
            text.fact("state", self.state.as_str());
            for command in &self.commands {
                text.fact("calls", command);
            }
            return;
        };
        text.tell(match done {
            HooksDone::Installed if self.changed => {
                let installed = would(self.dry_run, "installed", "would install");
                format!("{installed} the worktree hooks in {path}")
            }
            HooksDone::Installed => format!("the worktree hooks are in {path}"),
            HooksDone::Uninstalled if self.changed => {
                let removed = would(self.dry_run, "removed", "would remove");
                format!("{removed} the worktree hooks from {path}")
            }
            HooksDone::Uninstalled => format!("no worktree hook of ours is in {path}"),
        });
    }

    fn rows(&self) -> Vec<Row> {
        let fields = [self.state.as_str(), self.path.as_str()];
        vec![Row::record(&fields.map(str::as_bytes))]
    }
}

/// Installs, removes or shows the hooks.
///
/// # Errors
/// Refuses inside a worktree, and settings that are not those of Claude Code; fails when the disk
/// does.
pub fn run(session: &Session, options: &HooksClaude) -> Result<Outcome<ClaudeHooksAnswer>, Error> {
    let repository = session.repository_to_change()?;
    if repository.main == Main::Bare {
        return Err(bare(&repository)?.into());
    }
    let path = repository.root.join(LOCAL);
    let _one_at_a_time = Lock::wait(&repository.shared_lock())?;
    let (text, mut settings) = read(&path)?;
    let done = match options.action {
        ClaudeAction::Install => {
            require_outside(&repository, &session.command_line)?;
            let binary = shell_word(session.binary.as_str());
            let installed = settings.install(&binary);
            installed.map_err(|why| not_settings(&path, why))?;
            Some(HooksDone::Installed)
        }
        ClaudeAction::Uninstall => {
            require_outside(&repository, &session.command_line)?;
            let uninstalled = settings.uninstall();
            uninstalled.map_err(|why| not_settings(&path, why))?;
            Some(HooksDone::Uninstalled)
        }
        ClaudeAction::Status => None,
    };
    let changed = done.is_some() && settings.text() != text.as_deref();
    if changed && !options.dry_run {
        write(&path, settings.text())?;
    }
    let mut notes = Vec::new();
    if options.action != ClaudeAction::Uninstall {
        notes.extend(find_obstacles(session, &repository, &settings)?);
    }
    let commands = our_commands(&settings);
    let state = state_of(&commands);
    let mut exit = ExitCode::Success;
    if options.action == ClaudeAction::Status && state != ClaudeHooksState::Complete {
        exit = ExitCode::Violations;
    }
    let answer = ClaudeHooksAnswer {
        path,
        done,
        dry_run: options.dry_run,
        changed,
        state,
        commands: commands.into_iter().map(|command| command.line).collect(),
    };
    Ok(Outcome {
        answer,
        notes,
        exit,
    })
}

/// Reads a settings file, with its text; a missing file is read as an empty one.
fn read(path: &Utf8Path) -> Result<(Option<String>, ClaudeSettings), Error> {
    let mut text = None;
    if let Some(bytes) = files::read(path)? {
        let read = String::from_utf8(bytes);
        text = Some(read.map_err(|error| not_settings(path, error.to_string()))?);
    }
    match ClaudeSettings::parse(text.as_deref().unwrap_or_default()) {
        Ok(settings) => Ok((text, settings)),
        Err(why) => Err(not_settings(path, why)),
    }
}

fn not_settings(path: &Utf8Path, why: String) -> Error {
    let path = path.to_owned();
    Refusal::NotClaudeSettings { path, why }.into()
}

/// Writes the file where a link leads; one with nothing in it goes.
fn write(path: &Utf8Path, text: Option<&str>) -> Result<(), Error> {
    let Some(text) = text else {
        files::remove_file(path)?;
        if let Some(directory) = path.parent() {
            files::remove_if_empty(directory);
        }
        return Ok(());
    };
    let file = files::canonical(path).unwrap_or_else(|_| path.to_owned());
    Ok(files::write(&file, text.as_bytes())?)
}

/// A command of ours in the settings.
struct HookCommand {
    line: String,
    /// Whether the program that it calls exists.
    has_program: bool,
}

/// Our commands in the settings, of both hooks.
fn our_commands(settings: &ClaudeSettings) -> Vec<HookCommand> {
    let mut commands = Vec::new();
    for (event, end) in EVENTS {
        for line in settings.commands(event).0 {
            let quoted = line.strip_suffix(end).unwrap_or_default();
            let binary = quoted.trim_matches('\'').replace("'\\''", "'");
            let has_program = files::exists(Utf8Path::new(&binary));
            commands.push(HookCommand { line, has_program });
        }
    }
    commands
}

fn state_of(commands: &[HookCommand]) -> ClaudeHooksState {
    if commands.is_empty() {
        return ClaudeHooksState::Missing;
    }
    let all_work = commands.iter().all(|command| command.has_program);
    if commands.len() == EVENTS.len() && all_work {
        ClaudeHooksState::Complete
    } else {
        ClaudeHooksState::Partly
    }
}

/// What would keep Claude Code from making a worktree although the hooks are there.
fn find_obstacles(
    session: &Session,
    repository: &Repository,
    settings: &ClaudeSettings,
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    notes.extend(note_on_other_hook(LOCAL, settings));
    if let Ok((_, shared)) = read(&repository.root.join(SHARED)) {
        notes.extend(note_on_other_hook(SHARED, &shared));
    }
    let loaded = load_config(repository, &[], &session.environment)?;
    let profile = loaded.settings.profile(&loaded.config)?;
    if rules_of("", profile, &ScopeLists::default(), loaded.found).is_err() {
        let note = "the config has no write list: until it has one, Claude Code gets no worktree";
        notes.push(note.to_owned());
    }
    Ok(notes)
}

/// Says that a settings file has a hook beside ours that creates worktrees; nothing if it has none.
fn note_on_other_hook(file: &str, settings: &ClaudeSettings) -> Option<String> {
    let (creates, _) = EVENTS[0];
    let (_, others) = settings.commands(creates);
    (others > 0).then(|| {
        format!(
            "{file} has another WorktreeCreate hook: Claude Code runs both, and uses one worktree"
        )
    })
}
