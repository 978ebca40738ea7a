//! Names what programs must write outside of the worktree: their state and caches, `presets.txt`.
//!
//! What a program would run, or believe, for the user later is not writable, whether it is there or not: so each
//! name that is writable is listed, and what is not listed is not. A client writes new names at the top of its
//! directory, and Landlock grants a directory as a whole or not; so it gets another directory in the place of
//! that one, a [`StandIn`].

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

/// A paragraph for each program: its name, and the document that says what it writes; then a line for each directory
/// or file: the variable that moves it (and after a slash where it is below the value), where it is below the home
/// directory without the variable, and names in it: with `+` what alone is writable, with `!` what is made and is not
/// writable. A slash at the end says that it is a directory, which is made before the command starts.
///
/// A line that begins with `=` is of a [`StandIn`]; `-` and `~` before a name are of these only. A `%` is the directory
/// in which the command starts, as claude writes it.
const PRESETS: &str = include_str!("presets.txt");

/// So long is the longest name of a directory that claude makes of a path as it is.
const LONGEST: usize = 200;

/// Holds what one program must write.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name of the program.
    pub program: &'static str,
    /// The lines of its directories and files.
    state: &'static str,
}

/// Holds where the user is, of which the paths of a preset depend.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
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

/// Describes a directory in whose place a program gets another, which it may write as a whole: what it finds there are
/// links to what is in the directory, and copies of its small files.
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
    /// The names that are writable in it (`+`); those of directories end with a slash.
    pub shared: Vec<String>,
    /// The names of which the program has its own in each worktree (`-`); a `*` is any text.
    pub own: Vec<&'static str>,
    /// The file of which some settings come back (`~`).
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
    pub fn all() -> impl Iterator<Item = Self> {
        PRESETS.split("\n\n").filter_map(|paragraph| {
            let (head, state) = paragraph.split_once('\n')?;
            let (program, _source) = head.split_once(' ')?;
            Some(Self { program, state })
        })
    }

    /// The one of a program, by the last component of its path. `npx`, `pip3` and `uvx` count as their packages.
    pub fn of(program: &Path) -> Option<Self> {
        let name = match program.file_stem()?.to_str()? {
            "npx" => "npm",
            "pip3" => "pip",
            "uvx" => "uv",
            other => other,
        };
        Self::all().find(|preset| preset.program == name)
    }

    /// The paths, whether they exist or not.
    pub fn paths(&self, around: Surroundings<'_>) -> PresetPaths {
        let mut paths = PresetPaths::default();
        for line in self.state.lines() {
            let line = Line::parse(line);
            let directory = line.directory(around);
            for name in line.writable(around) {
                let path = below(&directory, &name);
                paths.made.extend(name.ends_with('/').then(|| path.clone()));
                paths.rw.push(path);
            }
            let made = line.marked('!');
            paths.made.extend(made.map(|name| below(&directory, name)));
            if line.is_stand_in {
                paths.stand_ins.push(line.stand_in(self.program, around));
            }
        }
        paths.rw.sort_unstable();
        paths.rw.dedup();
        paths
    }
}

impl StandIn {
    /// Whether the program has its own of this name in each worktree.
    pub fn is_own(&self, name: &str) -> bool {
        self.own.iter().any(|pattern| matches(pattern, name))
    }

    /// What is around the directory, if the variable names that.
    pub fn around(&self) -> Option<&Utf8Path> {
        let depth = self.below.components().count();
        (depth > 0).then(|| self.directory.ancestors().nth(depth))?
    }
}

/// Whether a name is one with `*` for any text, at its ends or between two parts.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
        last = Some(part);
    }
    last == Some("") || rest.is_empty()
}

/// A line of a preset.
struct Line {
    is_stand_in: bool,
    /// The variable, and where the directory is below its value.
    named: &'static Utf8Path,
    at_home: &'static str,
    names: Vec<&'static str>,
}

impl Line {
    fn parse(line: &'static str) -> Self {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        Self {
            is_stand_in: first.starts_with('='),
            named: Utf8Path::new(first.trim_start_matches('=')),
            at_home: words.next().unwrap_or_default(),
            names: words.collect(),
        }
    }

    fn marked(&self, mark: char) -> impl Iterator<Item = &'static str> {
        let names = self.names.iter();
        names.filter_map(move |name| name.strip_prefix(mark))
    }

    fn variable(&self) -> &'static str {
        self.named.iter().next().unwrap_or_default()
    }

    /// Where the variable has it; what is no absolute path counts for nothing (XDG base directories).
    fn moved(&self, around: Surroundings<'_>) -> Option<Utf8PathBuf> {
        let value = (around.variable)(self.variable()).map(Utf8PathBuf::from);
        let value = value.filter(|value| value.is_absolute())?;
        Some(value.iter().chain(self.named.iter().skip(1)).collect())
    }

    fn directory(&self, around: Surroundings<'_>) -> Utf8PathBuf {
        let moved = self.moved(around);
        moved.unwrap_or_else(|| below(around.home, self.at_home))
    }

    /// The names that are writable; empty, or a slash, for the whole.
    fn writable(&self, around: Surroundings<'_>) -> Vec<String> {
        let name = start_name(around.start);
        let mut names: Vec<String> = self
            .marked('+')
            .filter(|named| !named.contains('%') || name.len() <= LONGEST)
            .map(|named| named.replace('%', &name))
            .collect();
        let is_whole = names.is_empty() && self.marked('!').next().is_none();
        if is_whole && !self.is_stand_in {
            let end = if self.at_home.ends_with('/') { "/" } else { "" };
            names.push(end.to_owned());
        }
        names
    }

    fn stand_in(&self, program: &'static str, around: Surroundings<'_>) -> StandIn {
        let directory = self.directory(around);
        let is_moved = self.moved(around).is_some();
        let settings = self
            .marked('~')
            .next()
            .and_then(|marked| marked.split_once(':'));
        let settings = settings.map(|(name, keys)| {
            // beside the directory, and in it where the variable moves that
            let beside = name.strip_prefix("../");
            let at = beside.filter(|_| !is_moved).and(directory.parent());
            let at = at.unwrap_or(&directory);
            Settings {
                file: at.join(beside.unwrap_or(name)),
                keys: keys.split(',').collect(),
            }
        });
        StandIn {
            program,
            variable: self.variable(),
            below: self.named.iter().skip(1).collect(),
            shared: self.writable(around),
            own: self.marked('-').collect(),
            directory,
            settings,
        }
    }
}

/// The path of a name below a directory, or the directory itself.
fn below(directory: &Utf8Path, name: &str) -> Utf8PathBuf {
    match name.trim_matches('/') {
        "" => directory.to_owned(),
        name => directory.join(name),
    }
}

/// A directory as a name, as claude writes it.
fn start_name(directory: &Utf8Path) -> String {
    let letters = directory.as_str().encode_utf16();
    let plain = |letter: u16| {
        let letter = char::from_u32(letter.into());
        let letter = letter.filter(char::is_ascii_alphanumeric);
        letter.unwrap_or('-')
    };
    letters.map(plain).collect()
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
        preset.paths(Surroundings {
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
    }

    #[test]
    fn every_preset_has_a_source_and_is_found_by_its_name() {
        for preset in Preset::all() {
            let head = format!("{} https://", preset.program);
            assert!(
                PRESETS.lines().any(|line| line.starts_with(&head)),
                "{head}"
            );
            let found = Preset::of(Path::new(preset.program));
            assert_eq!(found.map(|found| found.program), Some(preset.program));
            for line in preset.state.lines() {
                let line = Line::parse(line);
                assert!(line.at_home.starts_with(['.', 'L']), "{}", line.at_home);
                let marks: &[char] = if line.is_stand_in {
                    &['+', '-', '~']
                } else {
                    &['+', '!']
                };
                assert!(
                    line.names.iter().all(|name| name.starts_with(marks)),
                    "{:?}",
                    line.names
                );
            }
        }
        assert_eq!(Preset::all().count(), 9);
    }
}
