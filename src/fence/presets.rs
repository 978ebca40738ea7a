//! Knows what programs must write outside of the worktree: their state and caches, `presets.toml`.
//!
//! What a program would run, or believe, for the user later is not writable, whether it is there or
//! not: so each name that is writable is listed, and what is not listed is not. A client writes new
//! names at the top of its directory, and Landlock grants a directory as a whole or not; so it gets
//! another directory in the place of that one, a [`StandIn`].

use std::path::Path;
use std::sync::LazyLock;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

/// The file of all presets.
static FILE: LazyLock<PresetFile> = LazyLock::new(|| {
    toml::from_str(include_str!("presets.toml")).expect("because a test reads it")
});

/// So long is the longest name of a directory that claude makes of a path as it is.
const LONGEST: usize = 200;

/// `presets.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetFile {
    program: Vec<Preset>,
}

/// What one program must write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name of the program.
    pub name: String,
    /// The document that says what it writes.
    pub source: String,
    /// Its directories and files.
    state: Vec<State>,
}

/// A directory or file of a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Where it is below the home directory.
    home: Utf8PathBuf,
    /// The variable that moves it.
    variable: Option<String>,
    /// Where it is below the value of the variable.
    #[serde(default)]
    below: Utf8PathBuf,
    /// It is a directory, which is made before the command starts.
    #[serde(default)]
    directory: bool,
    /// The names in it that alone are writable; a slash at the end is a directory, which is made.
    /// Without these, all of it is writable. A `%` is the directory in which the command starts, as
    /// claude writes it.
    #[serde(default)]
    writable: Vec<String>,
    /// The directories in it that are made before the command starts, and are not writable.
    #[serde(default)]
    made: Vec<String>,
    /// The program gets another directory in its place, of which all is writable: a [`StandIn`].
    #[serde(default)]
    stand_in: bool,
    /// Of a stand-in: the names of which the program has its own in each worktree; a `*` is any
    /// text.
    #[serde(default)]
    own: Vec<String>,
    /// Of a stand-in: the file of which some settings come back.
    settings: Option<SettingsFile>,
}

/// A file of settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsFile {
    /// Its name in the directory.
    file: String,
    /// It stands beside the directory, and in the directory where the variable moves that.
    #[serde(default)]
    beside: bool,
    /// The keys whose values come back; `*.key` is one in each object that the user's file has.
    keys: Vec<String>,
}

/// Holds where the user is, of which the paths of a preset depend.
#[derive(Clone, Copy)]
pub struct UserEnvironment<'a> {
    /// The home directory.
    pub home: &'a Utf8Path,
    /// The directory in which the command starts.
    pub start: &'a Utf8Path,
    /// The value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Holds the paths of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetPaths {
    /// What is writable.
    pub rw: Vec<Utf8PathBuf>,
    /// The directories that are made.
    pub made: Vec<Utf8PathBuf>,
    /// The directories in whose place the program gets another.
    pub stand_ins: Vec<StandIn>,
}

/// Describes a directory in whose place a program gets another, which it may write as a whole: what
/// it finds there are links to what is in the directory, and copies of its small files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandIn {
    /// The name of the program.
    pub program: &'static str,
    /// The variable that moves the directory.
    pub variable: &'static str,
    /// Where the directory is below the value of the variable; empty where it is the value.
    pub below: Utf8PathBuf,
    /// The directory of the user.
    pub directory: Utf8PathBuf,
    /// The names that are writable in it; those of directories end with a slash.
    pub shared: Vec<String>,
    /// The names of which the program has its own in each worktree; a `*` is any text.
    pub own: Vec<&'static str>,
    /// The file of which some settings come back.
    pub settings: Option<Settings>,
}

/// Describes a file of settings, of which the program gets a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file of the user.
    pub file: Utf8PathBuf,
    /// The keys whose values come back; `*.key` is one in each object that the user's file has.
    pub keys: Vec<&'static str>,
}

impl Preset {
    /// Every preset.
    pub fn all() -> &'static [Self] {
        &FILE.program
    }

    /// The one of a program, by the last component of its path. `npx`, `pip3` and `uvx` count as
    /// their packages.
    pub fn of(program: &Path) -> Option<&'static Self> {
        let name = match program.file_stem()?.to_str()? {
            "npx" => "npm",
            "pip3" => "pip",
            "uvx" => "uv",
            other => other,
        };
        Self::all().iter().find(|preset| preset.name == name)
    }

    /// The paths, whether they exist or not.
    pub fn paths(&'static self, user: UserEnvironment<'_>) -> PresetPaths {
        let mut paths = PresetPaths::default();
        for state in &self.state {
            let directory = state.path(user);
            if state.is_writable_as_a_whole() {
                paths.rw.push(directory.clone());
                if state.directory {
                    paths.made.push(directory.clone());
                }
            }
            for name in state.writable_names(user) {
                let path = below(&directory, &name);
                if name.ends_with('/') {
                    paths.made.push(path.clone());
                }
                paths.rw.push(path);
            }
            for name in &state.made {
                paths.made.push(below(&directory, name));
            }
            if state.stand_in {
                paths.stand_ins.push(state.stand_in(&self.name, user));
            }
        }
        paths.rw.sort_unstable();
        paths.rw.dedup();
        paths
    }
}

impl State {
    /// Where the variable has it; what is no absolute path counts for nothing (XDG base
    /// directories).
    fn path_by_variable(&self, user: UserEnvironment<'_>) -> Option<Utf8PathBuf> {
        let value = Utf8PathBuf::from((user.variable)(self.variable.as_deref()?)?);
        if !value.is_absolute() {
            return None;
        }
        Some(value.iter().chain(&self.below).collect())
    }

    fn path(&self, user: UserEnvironment<'_>) -> Utf8PathBuf {
        self.path_by_variable(user)
            .unwrap_or_else(|| user.home.join(&self.home))
    }

    fn is_writable_as_a_whole(&self) -> bool {
        self.writable.is_empty() && self.made.is_empty() && !self.stand_in
    }

    /// The names that are writable, with the name that claude gives to the directory of the start.
    fn writable_names(&self, user: UserEnvironment<'_>) -> Vec<String> {
        let start = start_name(user.start);
        let mut names = Vec::new();
        for name in &self.writable {
            if !name.contains('%') {
                names.push(name.clone());
            } else if start.len() <= LONGEST {
                names.push(name.replace('%', &start));
            }
        }
        names
    }

    /// The directory that the program gets in the place of this one.
    fn stand_in(&'static self, program: &'static str, user: UserEnvironment<'_>) -> StandIn {
        let settings = self.settings.as_ref();
        StandIn {
            program,
            variable: self.variable.as_deref().unwrap_or_default(),
            below: self.below.clone(),
            directory: self.path(user),
            shared: self.writable_names(user),
            own: self.own.iter().map(String::as_str).collect(),
            settings: settings.map(|settings| self.settings(settings, user)),
        }
    }

    fn settings(&self, settings: &'static SettingsFile, user: UserEnvironment<'_>) -> Settings {
        let directory = self.path(user);
        let is_moved = self.path_by_variable(user).is_some();
        let around = directory.parent().filter(|_| settings.beside && !is_moved);
        Settings {
            file: around.unwrap_or(&directory).join(&settings.file),
            keys: settings.keys.iter().map(String::as_str).collect(),
        }
    }
}

impl StandIn {
    /// True if the program has its own of this name in each worktree.
    pub fn is_own(&self, name: &str) -> bool {
        self.own.iter().any(|pattern| matches(pattern, name))
    }

    /// What is around the directory, if the variable names that.
    pub fn around(&self) -> Option<&Utf8Path> {
        match self.below.components().count() {
            0 => None,
            depth => self.directory.ancestors().nth(depth),
        }
    }
}

/// True if a name fits a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    for part in middle.split('*') {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

/// The path of a name in a directory.
fn below(directory: &Utf8Path, name: &str) -> Utf8PathBuf {
    directory.join(name.trim_end_matches('/'))
}

/// A directory as a name, as claude writes it.
fn start_name(directory: &Utf8Path) -> String {
    let mut name = String::new();
    for unit in directory.as_str().encode_utf16() {
        let letter = char::from_u32(unit.into());
        let plain = letter.filter(char::is_ascii_alphanumeric);
        name.push(plain.unwrap_or('-'));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(program: &str, variables: &[(&str, &str)]) -> PresetPaths {
        let preset = Preset::of(Path::new(program)).expect("there is one");
        let find = |name: &str| {
            let found = variables.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        preset.paths(UserEnvironment {
            home: Utf8Path::new("/home/u"),
            start: Utf8Path::new("/home/u/p/.agentwt/worktrees/t"),
            variable: &find,
        })
    }

    #[test]
    fn a_variable_moves_the_state_of_a_program() {
        let rw = |paths: PresetPaths| paths.rw;
        assert_eq!(
            rw(paths("/usr/bin/claude", &[])),
            [
                "/home/u/.cache/claude-cli-nodejs",
                "/home/u/.claude/.credentials.json",
                "/home/u/.claude/history.jsonl",
                "/home/u/.claude/projects/-home-u-p--agentwt-worktrees-t",
            ]
        );
        let settings = |paths: PresetPaths| {
            let stand_in = paths.stand_ins.into_iter().next().expect("there is one");
            stand_in.settings.expect("it has some").file
        };
        assert_eq!(settings(paths("claude", &[])), "/home/u/.claude.json");
        let moved = [("CLAUDE_CONFIG_DIR", "/c"), ("XDG_CACHE_HOME", "relative")];
        assert_eq!(
            rw(paths("claude", &moved)),
            [
                "/c/.credentials.json",
                "/c/history.jsonl",
                "/c/projects/-home-u-p--agentwt-worktrees-t",
                "/home/u/.cache/claude-cli-nodejs",
            ]
        );
        assert_eq!(settings(paths("claude", &moved)), "/c/.claude.json");
        let moved = [("GEMINI_CLI_HOME", "/g")];
        let stand_in = paths("gemini", &moved).stand_ins.remove(0);
        assert_eq!(stand_in.directory, "/g/.gemini");
        assert_eq!(stand_in.around(), Some(Utf8Path::new("/g")));
        assert_eq!(rw(paths("uvx", &[("UV_CACHE_DIR", "/x")])).len(), 3);
        assert!(Preset::of(Path::new("sh")).is_none());
    }

    #[test]
    fn no_directory_of_a_client_is_writable_as_a_whole() {
        for (program, directory) in [
            ("claude", "/home/u/.claude"),
            ("claude", "/home/u/.claude.json"),
            ("codex", "/home/u/.codex"),
            ("gemini", "/home/u/.gemini"),
            ("opencode", "/home/u/.local/share/opencode"),
            ("opencode", "/home/u/.cache/opencode"),
            ("aider", "/home/u/.aider"),
        ] {
            let found = paths(program, &[]).rw;
            let is_around = |path: &&Utf8PathBuf| Utf8Path::new(directory).starts_with(path);
            assert_eq!(found.iter().find(is_around), None, "{program}");
        }
        for path in paths("cargo", &[]).rw {
            assert!(
                !["bin", "config.toml", ".cargo"].contains(&path.file_name().unwrap_or_default())
            );
        }
    }

    #[test]
    fn a_program_has_its_own_of_names_with_any_text() {
        let codex = paths("codex", &[]).stand_ins.remove(0);
        for (name, is_own) in [
            ("state_5.sqlite", true),
            ("state_5.sqlite-wal", true),
            ("tmp", true),
            ("tmp2", false),
            ("config.toml", false),
        ] {
            assert_eq!(codex.is_own(name), is_own, "{name}");
        }
        assert!(matches("a*b*", "a1b2") && matches("*.db*", "x.db-wal"));
        assert!(!matches("a*b", "a1b2") && !matches("*.db", "x.db2"));
        assert!(matches("a*b", "abxb") && matches("a*b*c", "abbcc") && matches("a", "a"));
        assert!(!matches("ab*b", "ab") && !matches("a*b*b", "ab") && !matches("a", "ab"));
    }

    #[test]
    fn every_preset_has_a_source_and_is_found_by_its_name() {
        for preset in Preset::all() {
            assert!(preset.source.starts_with("https://"), "{}", preset.name);
            let of_name = Preset::of(Path::new(&preset.name));
            assert_eq!(of_name.map(|found| &found.name), Some(&preset.name));
            for state in &preset.state {
                assert!(
                    state.home.as_str().starts_with(['.', 'L']),
                    "{}",
                    state.home
                );
                let has_stand_in_fields = !state.own.is_empty() || state.settings.is_some();
                assert!(state.stand_in || !has_stand_in_fields, "{}", state.home);
                let has_made = state.directory || !state.made.is_empty();
                assert!(!state.stand_in || !has_made, "{}", state.home);
            }
        }
        assert_eq!(Preset::all().len(), 9);
    }
}
