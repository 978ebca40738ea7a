//! Names what programs must write outside of the worktree: their state and caches, `presets.txt`.
//!
//! Settings, hooks and commands that stand inside are not writable: the program would run them for the
//! user later, outside of every fence. Landlock cannot take them out again, and none of the fences of Linux can
//! forbid to make one that is missing (`docs/fences.md`).

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

/// A paragraph for each program: its name, and the document that says what it writes; then a line for each directory
/// or file: the variable that moves it (and after a slash where it is below the value), where it is below the home
/// directory without the variable, and names in it: with `!` what is not writable, with `+` what alone is writable. A
/// slash at the end says that it is a directory, which is made before the command starts.
const PRESETS: &str = include_str!("presets.txt");

/// Holds what one program must write.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name of the program.
    pub program: &'static str,
    /// The lines of its directories and files.
    state: &'static str,
}

/// Holds the paths of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetPaths {
    /// What is writable.
    pub rw: Vec<Utf8PathBuf>,
    /// The directories of that.
    pub made: Vec<Utf8PathBuf>,
    /// What is not, although it stands in what is.
    pub read_only: Vec<Utf8PathBuf>,
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
    pub fn paths(&self, home: &Utf8Path, variable: &dyn Fn(&str) -> Option<String>) -> PresetPaths {
        let mut paths = PresetPaths::default();
        for line in self.state.lines() {
            let mut words = line.split_whitespace();
            let mut named = Utf8Path::new(words.next().unwrap_or_default()).iter();
            let at_home = words.next().unwrap_or_default();
            let moved = named.next().and_then(variable).map(Utf8PathBuf::from);
            // what is no absolute path counts for nothing (XDG base directories)
            let path = match moved.filter(|value| value.is_absolute()) {
                Some(value) => std::iter::once(value.as_str()).chain(named).collect(),
                None => home.join(at_home),
            };
            let marked = |mark| {
                let words = words.clone();
                words.filter_map(move |word| word.strip_prefix(mark))
            };
            let mut writable: Vec<&str> = marked('+').collect();
            if writable.is_empty() {
                writable.push(if at_home.ends_with('/') { "/" } else { "" });
            }
            for name in writable {
                let path = path.join(name.trim_start_matches('/'));
                paths.made.extend(name.ends_with('/').then(|| path.clone()));
                paths.rw.push(path);
            }
            let protected = marked('!').map(|name| path.join(name));
            paths.read_only.extend(protected);
        }
        paths.rw.sort_unstable();
        paths.rw.dedup();
        paths
    }
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
        preset.paths(Utf8Path::new("/home/u"), &find)
    }

    #[test]
    fn a_variable_moves_the_state_of_a_program() {
        let rw = |paths: PresetPaths| paths.rw;
        assert_eq!(
            rw(paths("/usr/bin/claude", &[])),
            [
                "/home/u/.cache/claude-cli-nodejs",
                "/home/u/.claude",
                "/home/u/.claude.json"
            ]
        );
        let moved = [("CLAUDE_CONFIG_DIR", "/c"), ("XDG_CACHE_HOME", "relative")];
        assert_eq!(
            rw(paths("claude", &moved)),
            ["/c", "/c/.claude.json", "/home/u/.cache/claude-cli-nodejs"]
        );
        assert_eq!(rw(paths("uvx", &[("UV_CACHE_DIR", "/x")])).len(), 3);
        assert!(Preset::of(Path::new("sh")).is_none());
    }

    #[test]
    fn what_a_program_would_run_for_the_user_later_is_not_writable() {
        for (program, protected) in [
            ("claude", "/home/u/.claude/settings.json"),
            ("claude", "/home/u/.claude/hooks"),
            ("codex", "/home/u/.codex/config.toml"),
            ("gemini", "/home/u/.gemini/settings.json"),
        ] {
            let found = paths(program, &[]).read_only;
            assert!(found.iter().any(|path| path == protected), "{protected}");
        }
        for path in paths("cargo", &[]).rw {
            assert!(
                !["bin", "config.toml", ".cargo"].contains(&path.file_name().unwrap_or_default())
            );
        }
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
                let words: Vec<&str> = line.split_whitespace().collect();
                let names = words.get(2..).expect("a variable and a place at home");
                assert!(words[1].starts_with(['.', 'L']), "{line}");
                assert!(
                    names.iter().all(|name| name.starts_with(['!', '+'])),
                    "{line}"
                );
            }
        }
        assert_eq!(Preset::all().count(), 9);
    }
}
