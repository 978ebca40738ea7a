//! Says what is wrong with a set-up, and what puts it right: facts in, [`Diagnosis`] lines out.
//!
//! Each topic has a file with its facts and the pure function that judges them. Nothing here looks
//! at anything, and nothing is repaired: a line that the program can put right by itself names
//! that with a [`Repair`].

pub mod file_system;
pub mod hooks;
pub mod ignored;
pub mod leftovers;
pub mod settings;
pub mod tools;
pub mod versions;

use camino::Utf8PathBuf;

use crate::exit::ExitCode;
use crate::name::WorktreeName;

/// Says how much a line counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is as it should be.
    Ok,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Something will go wrong, or has been left behind.
    Warning,
    /// Something does not work.
    Problem,
}

/// Names a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Git, this program, its manual.
    Versions,
    /// Whether git accepts the repository, and settings that break worktrees.
    Settings,
    /// The hooks of each worktree, and the user's.
    Hooks,
    /// What git ignores and tracks below `.agentwt`.
    Ignored,
    /// Tools that walk into worktrees.
    Tools,
    /// What was left behind.
    Leftovers,
    /// The file system, and who we are on it.
    FileSystem,
}

/// Names what the program can put right by itself: only what is its own and can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The ignore rules are written.
    IgnoreRules,
    /// The hooks of this worktree are installed again.
    Hooks(WorktreeName),
}

/// Holds one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// What it is about.
    pub topic: Topic,
    /// Which check made it: a word for programs.
    pub check: &'static str,
    /// How much it counts.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What puts it right: a command, or an edit.
    pub fix: Option<String>,
    /// What `--fix` does about it.
    pub repair: Option<Repair>,
}

/// Says that a topic could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What could not be looked at.
    pub topic: Topic,
    /// Why.
    pub why: String,
    /// What to do about that.
    pub help: Option<String>,
    /// The status of that error: what could not be told is neither yes nor no.
    pub exit: ExitCode,
}

/// A topic's facts, or why there are none.
pub type Looked<T> = Result<T, Unknown>;

/// Holds everything that was looked at.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Git, this program and its manual.
    pub versions: versions::Versions,
    /// The repository, if there is one here.
    pub repository: Found,
}

/// Says whether there is a repository.
#[derive(Clone, Debug)]
pub enum Found {
    /// There is.
    Here(Box<RepositoryFacts>),
    /// There is none: what can be told anywhere was.
    No(String),
    /// There is, and git refuses it, with this reason and this help.
    Refused(String, Option<String>),
    /// Git itself cannot be used.
    NoGit,
}

/// Holds what was looked at of a repository.
#[derive(Clone, Debug)]
pub struct RepositoryFacts {
    /// The directory that has `.agentwt`.
    pub root: Utf8PathBuf,
    /// Its settings.
    pub settings: settings::Settings,
    /// Its worktrees' hooks.
    pub hooks: Looked<hooks::AllHooks>,
    /// What it ignores; none for a bare repository, which has no main worktree.
    pub ignored: Option<Looked<ignored::Ignored>>,
    /// The tools that it is used with; none for a bare repository.
    pub tools: Option<Looked<Vec<tools::UsedTool>>>,
    /// What was left behind in it.
    pub leftovers: Looked<leftovers::Leftovers>,
    /// What it stands on.
    pub file_system: Looked<file_system::FileSystem>,
}

impl Level {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

impl Topic {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Versions => "versions",
            Self::Settings => "settings",
            Self::Hooks => "hooks",
            Self::Ignored => "ignore-rules",
            Self::Tools => "tools",
            Self::Leftovers => "leftovers",
            Self::FileSystem => "file-system",
        }
    }
}

impl Diagnosis {
    /// Makes a line.
    #[must_use]
    pub fn new(topic: Topic, check: &'static str, level: Level, found: impl Into<String>) -> Self {
        Self {
            topic,
            check,
            level,
            found: found.into(),
            fix: None,
            repair: None,
        }
    }

    /// The same line with what puts it right.
    #[must_use]
    pub fn fixed_by(self, fix: impl Into<String>) -> Self {
        Self {
            fix: Some(fix.into()),
            ..self
        }
    }

    /// The same line with what `--fix` does about it.
    #[must_use]
    pub fn repaired_by(self, repair: Repair) -> Self {
        Self {
            repair: Some(repair),
            ..self
        }
    }
}

/// Judges everything: the lines in the order of the topics, and what could not be looked at.
#[must_use]
pub fn diagnose(facts: &Facts) -> (Vec<Diagnosis>, Vec<Unknown>) {
    fn put<T>(
        looked: &Looked<T>,
        judge: fn(&T) -> Vec<Diagnosis>,
        to: &mut (Vec<Diagnosis>, Vec<Unknown>),
    ) {
        match looked {
            Ok(facts) => to.0.extend(judge(facts)),
            Err(unknown) => to.1.push(unknown.clone()),
        }
    }
    let mut to = (versions::diagnose(&facts.versions), Vec::new());
    let line = |level, found: &str| Diagnosis::new(Topic::Settings, "repository", level, found);
    match &facts.repository {
        Found::NoGit => {}
        Found::No(dir) => to.0.push(line(
            Level::Note,
            &format!("{dir} is in no repository: only what holds everywhere was looked at"),
        )),
        Found::Refused(why, help) => {
            let line = line(
                Level::Problem,
                &format!("git refuses this repository: {why}"),
            );
            to.0.push(match help {
                Some(help) => line.fixed_by(help.clone()),
                None => line,
            });
        }
        Found::Here(all) => {
            to.0.extend(settings::diagnose(&all.settings));
            put(&all.hooks, hooks::diagnose, &mut to);
            if let Some(ignored) = &all.ignored {
                put(ignored, ignored::diagnose, &mut to);
            }
            if let Some(tools) = &all.tools {
                put(tools, |used| tools::diagnose(used), &mut to);
            }
            put(&all.leftovers, leftovers::diagnose, &mut to);
            put(&all.file_system, file_system::diagnose, &mut to);
        }
    }
    to
}

/// Names some of many: the first few, and how many more.
pub(crate) fn some(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A path or a name as one word of a shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// What a command of a fix names after itself, each as a word.
pub(crate) fn words(names: &[String]) -> String {
    let words: Vec<String> = names.iter().map(|name| word(name)).collect();
    words.join(" ")
}
