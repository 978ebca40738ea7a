//! Names the tools of the main worktree that may walk into the worktrees, and the line that keeps
//! each out. What a configuration does is not judged: a tool that is used is a note, until one of
//! its files names `.agentwt`.

use super::{Diagnosis, Level, Topic};

/// Holds a tool: its name, the files at the root by which it is recognised, the file that may name
/// `.agentwt` beside those (or the same), and the line to add.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The files at the root by which it is recognised, and that may name `.agentwt`.
    pub files: &'static [&'static str],
    /// Another file that may name `.agentwt`.
    pub ignore_file: Option<&'static str>,
    /// What keeps it out.
    pub line: &'static str,
}

const fn tool(name: &'static str, files: &'static [&'static str], line: &'static str) -> Tool {
    Tool {
        name,
        files,
        ignore_file: None,
        line,
    }
}

/// Every tool that is recognised.
pub const TOOLS: [Tool; 12] = [
    tool(
        "eslint",
        &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
        ],
        "add globalIgnores([\".agentwt/worktrees/\"]), of \"eslint/config\", to the list in your eslint.config",
    ),
    Tool {
        name: "prettier",
        files: &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yaml",
            ".prettierrc.js",
            "prettier.config.js",
        ],
        ignore_file: Some(".prettierignore"),
        line: "echo .agentwt/worktrees/ >> .prettierignore",
    },
    tool(
        "jest",
        &[
            "jest.config.js",
            "jest.config.ts",
            "jest.config.mjs",
            "jest.config.cjs",
            "jest.config.json",
        ],
        "modulePathIgnorePatterns: [\"<rootDir>/\\\\.agentwt/\"] in jest's configuration: with <rootDir>, or a run inside a worktree finds nothing",
    ),
    tool(
        "vitest",
        &[
            "vitest.config.ts",
            "vitest.config.mts",
            "vitest.config.js",
            "vitest.config.mjs",
        ],
        "test: { exclude: [...configDefaults.exclude, \"**/.agentwt/**\"] }, with configDefaults of \"vitest/config\"",
    ),
    tool(
        "vite",
        &[
            "vite.config.ts",
            "vite.config.mts",
            "vite.config.js",
            "vite.config.mjs",
        ],
        "server: { watch: { ignored: [`${import.meta.dirname}/.agentwt/**`] } }: with the directory, or nothing is watched inside a worktree",
    ),
    tool(
        "tsc",
        &["tsconfig.json"],
        "add \".agentwt\" to \"exclude\" in tsconfig.json",
    ),
    tool(
        "cargo",
        &["Cargo.toml"],
        "exclude = [\".agentwt\"] in [workspace] of Cargo.toml",
    ),
    Tool {
        name: "docker",
        files: &[
            "Dockerfile",
            "Containerfile",
            "docker-compose.yml",
            "docker-compose.yaml",
            "compose.yml",
            "compose.yaml",
        ],
        ignore_file: Some(".dockerignore"),
        line: "echo .agentwt >> .dockerignore",
    },
    tool(
        "pytest",
        &["pytest.ini"],
        "keep .* in norecursedirs of pytest's configuration, or add .agentwt",
    ),
    Tool {
        name: "bazel",
        files: &["MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"],
        ignore_file: Some(".bazelignore"),
        line: "echo .agentwt >> .bazelignore",
    },
    tool(
        "watchman",
        &[".watchmanconfig"],
        "\"ignore_dirs\": [\".agentwt\"] in .watchmanconfig",
    ),
    tool(
        "vscode",
        &[".vscode/settings.json"],
        "\"files.watcherExclude\": { \"**/.agentwt/worktrees/**\": true } in .vscode/settings.json",
    ),
];

/// Holds a tool that is used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedTool {
    /// Its place in [`TOOLS`].
    pub place: usize,
    /// The file by which it was recognised.
    pub file: &'static str,
    /// Whether one of its files names `.agentwt`.
    pub is_named: bool,
}

/// Judges the tools.
#[must_use]
pub fn diagnose(used: &[UsedTool]) -> Vec<Diagnosis> {
    let line = |used: &UsedTool| {
        let (Tool { name, line, .. }, file) = (&TOOLS[used.place], used.file);
        if used.is_named {
            let found = format!("{name}: its configuration names .agentwt");
            return Diagnosis::new(Topic::Tools, name, Level::Ok, found);
        }
        let found = format!("{name} ({file}) may walk into .agentwt/worktrees");
        Diagnosis::new(Topic::Tools, name, Level::Note, found).fixed_by(*line)
    };
    if used.is_empty() {
        let found = "no tool that walks into .agentwt/worktrees was recognised";
        return vec![Diagnosis::new(Topic::Tools, "tools", Level::Ok, found)];
    }
    used.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_a_note_until_its_configuration_names_our_directory() {
        let used = |is_named| UsedTool {
            place: 7,
            file: "Dockerfile",
            is_named,
        };
        let levels = |used: Vec<UsedTool>| diagnose(&used)[0].level;
        assert_eq!(levels(vec![used(false)]), Level::Note);
        assert_eq!(levels(vec![used(true)]), Level::Ok);
        assert_eq!(levels(Vec::new()), Level::Ok);
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!((names.len(), names[7]), (12, "docker"));
    }
}
