//! Names the tools of the main worktree that may walk into the worktrees, and the line that keeps
//! each out. Configurations are not judged: a tool is a note until one of its files names `.agentwt`.

use bstr::ByteSlice as _;
use camino::Utf8Path;

use super::DoctorCheck;
use crate::disk::files;
use crate::error::Error;

/// Two lines for each tool: its name, with the files at the root that show its use and that may name
/// `.agentwt` (with a `+`, a file that only may name it); and the line to add.
const TOOLS: &str = r#"
eslint eslint.config.js eslint.config.mjs eslint.config.cjs eslint.config.ts
add globalIgnores([".agentwt/worktrees/"]), of "eslint/config", to the list in your eslint.config
prettier .prettierrc .prettierrc.json .prettierrc.yaml .prettierrc.js prettier.config.js +.prettierignore
echo .agentwt/worktrees/ >> .prettierignore
jest jest.config.js jest.config.ts jest.config.mjs jest.config.cjs jest.config.json
modulePathIgnorePatterns: ["<rootDir>/\\.agentwt/"] in jest's configuration: with <rootDir>, or a run inside a worktree finds nothing
vitest vitest.config.ts vitest.config.mts vitest.config.js vitest.config.mjs
test: { exclude: [...configDefaults.exclude, "**/.agentwt/**"] }, with configDefaults of "vitest/config"
vite vite.config.ts vite.config.mts vite.config.js vite.config.mjs
server: { watch: { ignored: [`${import.meta.dirname}/.agentwt/**`] } }: with the directory, or nothing is watched inside a worktree
tsc tsconfig.json
add ".agentwt" to "exclude" in tsconfig.json
cargo Cargo.toml
exclude = [".agentwt"] in [workspace] of Cargo.toml
docker Dockerfile Containerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml +.dockerignore
echo .agentwt >> .dockerignore
pytest pytest.ini
keep .* in norecursedirs of pytest's configuration, or add .agentwt
bazel MODULE.bazel WORKSPACE WORKSPACE.bazel +.bazelignore
echo .agentwt >> .bazelignore
watchman .watchmanconfig
"ignore_dirs": [".agentwt"] in .watchmanconfig
vscode .vscode/settings.json
"files.watcherExclude": { "**/.agentwt/worktrees/**": true } in .vscode/settings.json
"#;

/// Checks the tools that are used at a root.
pub(super) fn tools(root: &Utf8Path) -> Result<Vec<DoctorCheck>, Error> {
    let mut checks = Vec::new();
    let mut lines = TOOLS.trim().lines();
    while let (Some(tool), Some(line)) = (lines.next(), lines.next()) {
        let (name, files) = tool.split_once(' ').unwrap_or((tool, ""));
        let (mut shown, mut is_named) = (None, false);
        for file in files.split(' ') {
            let path = root.join(file.trim_start_matches('+'));
            // a directory of that name configures nothing
            if files::is_directory(&path) {
                continue;
            }
            if let Some(bytes) = files::read(&path)? {
                shown = shown.or(Some(file).filter(|file| !file.starts_with('+')));
                is_named |= bytes.contains_str(".agentwt");
            }
        }
        checks.extend(shown.map(|file| {
            if is_named {
                let found = format!("{name}: its configuration names .agentwt");
                return DoctorCheck::ok(name, found);
            }
            let found = format!("{name} ({file}) may walk into .agentwt/worktrees");
            DoctorCheck::note(name, found, line)
        }));
    }
    if checks.is_empty() {
        let found = "no tool that walks into .agentwt/worktrees was recognised";
        checks.push(DoctorCheck::ok("tools", found));
    }
    Ok(checks)
}
