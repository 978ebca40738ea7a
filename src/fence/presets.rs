//! Names what programs must write outside of the worktree: their state and caches, [`PRESETS`].
//!
//! Settings, hooks and commands that stand inside are not writable: the program would run them for the
//! user later, outside of every fence. Landlock cannot take them out again, and none of the fences of Linux can
//! forbid to make one that is missing (`Policy::limits`).

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

/// Holds what one program must write.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name of the program.
    pub program: &'static str,
    /// Its directories and files.
    pub directories: &'static [StateDirectory],
    /// The document that says so.
    pub source: &'static str,
}

/// Holds a directory (or a file) of a program.
#[derive(Clone, Copy, Debug)]
pub struct StateDirectory {
    /// The variable that moves it, and after a slash where it is below the value; empty where there is none.
    pub variable: &'static str,
    /// Where it is below the home directory without the variable.
    pub at_home: &'static str,
    /// The names in it that are writable; all of it without a name.
    pub writable: &'static str,
    /// The names in it that are not writable all the same.
    pub protected: &'static str,
}

/// Holds the paths of a preset, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetPaths {
    /// What is writable.
    pub rw: Vec<Utf8PathBuf>,
    /// What is not, although it stands in what is.
    pub read_only: Vec<Utf8PathBuf>,
}

const fn state(
    variable: &'static str,
    at_home: &'static str,
    protected: &'static str,
) -> StateDirectory {
    StateDirectory {
        variable,
        at_home,
        writable: "",
        protected,
    }
}

/// The presets, by program.
pub const PRESETS: &[Preset] = &[
    Preset {
        program: "claude",
        directories: &[
            state(
                "CLAUDE_CONFIG_DIR",
                ".claude",
                "settings.json settings.local.json CLAUDE.md hooks commands agents skills rules plugins output-styles keybindings.json",
            ),
            state("CLAUDE_CONFIG_DIR/.claude.json", ".claude.json", ""),
            state(
                "XDG_CACHE_HOME/claude-cli-nodejs",
                ".cache/claude-cli-nodejs",
                "",
            ),
        ],
        source: "https://code.claude.com/docs/en/claude-directory",
    },
    Preset {
        program: "codex",
        directories: &[state(
            "CODEX_HOME",
            ".codex",
            "config.toml AGENTS.md AGENTS.override.md hooks.json rules prompts skills plugins",
        )],
        source: "https://developers.openai.com/codex/config-advanced",
    },
    Preset {
        program: "gemini",
        directories: &[state(
            "",
            ".gemini",
            "settings.json trustedFolders.json GEMINI.md .env commands extensions policies skills keybindings.json",
        )],
        source: "https://geminicli.com/docs/reference/configuration",
    },
    Preset {
        program: "opencode",
        directories: &[
            state("XDG_DATA_HOME/opencode", ".local/share/opencode", "bin"),
            state("XDG_STATE_HOME/opencode", ".local/state/opencode", ""),
            state("XDG_CACHE_HOME/opencode", ".cache/opencode", ""),
        ],
        source: "https://opencode.ai/docs/troubleshooting/#storage",
    },
    Preset {
        program: "aider",
        directories: &[state("", ".aider", "oauth-keys.env")],
        source: "https://aider.chat/docs/more/analytics.html and aider/models.py (cache of models)",
    },
    Preset {
        program: "cargo",
        directories: &[StateDirectory {
            // not `bin`, `config.toml`, `credentials.toml`
            writable: "registry git .package-cache .package-cache-mutate",
            ..state("CARGO_HOME", ".cargo", "")
        }],
        source: "https://doc.rust-lang.org/cargo/guide/cargo-home.html",
    },
    Preset {
        program: "npm",
        directories: &[state("npm_config_cache", ".npm", "")],
        source: "https://docs.npmjs.com/cli/configuring-npm/folders#cache",
    },
    Preset {
        program: "pip",
        directories: &[
            state("PIP_CACHE_DIR", "Library/Caches/pip", ""),
            state("XDG_CACHE_HOME/pip", ".cache/pip", ""),
        ],
        source: "https://pip.pypa.io/en/stable/topics/caching/#default-paths",
    },
    Preset {
        program: "uv",
        directories: &[
            state("UV_CACHE_DIR", ".cache/uv", ""),
            state("XDG_CACHE_HOME/uv", ".cache/uv", ""),
            // interpreters and tools; their links in `~/.local/bin` are not writable
            state("XDG_DATA_HOME/uv", ".local/share/uv", ""),
        ],
        source: "https://docs.astral.sh/uv/reference/storage",
    },
];

impl Preset {
    /// The one of a program, by the last component of its path. `npx`, `pip3` and `uvx` count as their packages.
    pub fn of(program: &Path) -> Option<&'static Self> {
        let name = program.file_stem()?.to_str()?;
        let name = match name {
            "npx" => "npm",
            "pip3" => "pip",
            "uvx" => "uv",
            other => other,
        };
        PRESETS.iter().find(|preset| preset.program == name)
    }

    /// The paths, whether they exist or not.
    pub fn paths(&self, home: &Utf8Path, variable: &dyn Fn(&str) -> Option<String>) -> PresetPaths {
        let mut paths = PresetPaths::default();
        for directory in self.directories {
            let mut named = Utf8Path::new(directory.variable).iter();
            let moved = named.next().and_then(variable).map(Utf8PathBuf::from);
            // what is no absolute path counts for nothing (XDG base directories)
            let moved = moved.filter(|value| value.is_absolute());
            let path = match moved {
                Some(value) => std::iter::once(value.as_str()).chain(named).collect(),
                None => home.join(directory.at_home),
            };
            let below = |names: &'static str| names.split_whitespace().map(|name| path.join(name));
            paths.rw.extend(below(directory.writable));
            if directory.writable.is_empty() {
                paths.rw.push(path.clone());
            }
            paths.read_only.extend(below(directory.protected));
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
        for preset in PRESETS {
            assert!(preset.source.starts_with("https://"), "{}", preset.program);
            let found = Preset::of(Path::new(preset.program));
            assert_eq!(found.map(|found| found.program), Some(preset.program));
        }
    }
}
