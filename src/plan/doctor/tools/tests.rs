use super::*;

/// Judges one tool by these files: its line's level, or none.
#[track_caller]
fn level(tool: &Tool, files: &[(&'static str, &str)]) -> Option<Level> {
    let files: Files = files
        .iter()
        .map(|(name, text)| (*name, (*text).to_owned()))
        .collect();
    let known = |name: &&&'static str| tool.files.contains(*name);
    assert_eq!(
        files.keys().filter(known).count(),
        files.len(),
        "it is read"
    );
    let tools = Tools {
        files,
        without_cargo_root: Vec::new(),
    };
    judge(tool, &tools).map(|line| line.level)
}

const STAYS_OUT: Option<Level> = Some(Level::Ok);
const WALKS_IN: Option<Level> = Some(Level::Warning);
const NOTE: Option<Level> = Some(Level::Note);

#[test]
fn eslint_with_a_flat_config_has_to_be_told() {
    let flat = |text| level(&javascript::ESLINT, &[("eslint.config.mjs", text)]);
    assert_eq!(flat("export default [js.configs.recommended]"), WALKS_IN);
    assert_eq!(
        flat("export default [globalIgnores(['.agentwt/'])]"),
        STAYS_OUT
    );
    assert_eq!(flat("[{ ignores: ['**/.*'] }]"), STAYS_OUT);
    assert_eq!(flat("// .agentwt is linted\nexport default []"), WALKS_IN);
    let with_gitignore = |text| {
        let config = ("eslint.config.js", "[includeIgnoreFile(gitignorePath)]");
        level(&javascript::ESLINT, &[config, (".gitignore", text)])
    };
    assert_eq!(with_gitignore("/.agentwt/worktrees/\n"), STAYS_OUT);
    assert_eq!(with_gitignore("node_modules\n"), WALKS_IN);
}

#[test]
fn eslint_with_an_old_config_passes_over_dots() {
    let old = |ignored| {
        let config = (".eslintrc.json", "{}");
        level(&javascript::ESLINT, &[config, (".eslintignore", ignored)])
    };
    assert_eq!(old("dist\n"), STAYS_OUT);
    assert_eq!(old("!.*\n"), WALKS_IN);
    assert_eq!(old("!.*\n.agentwt\n"), STAYS_OUT);
    assert_eq!(level(&javascript::ESLINT, &[(".gitignore", "x")]), None);
}

#[test]
fn prettier_reads_two_ignore_files() {
    let with = |file, text| {
        level(
            &javascript::PRETTIER,
            &[(".prettierrc", "{}"), (file, text)],
        )
    };
    assert_eq!(with(".prettierignore", "dist\n"), WALKS_IN);
    assert_eq!(with(".prettierignore", ".agentwt\n"), STAYS_OUT);
    assert_eq!(with(".gitignore", "/.agentwt/worktrees/\n"), STAYS_OUT);
    let package = (
        "package.json",
        "{ \"devDependencies\": { \"prettier\": \"3\" } }",
    );
    assert_eq!(level(&javascript::PRETTIER, &[package]), WALKS_IN);
    assert_eq!(
        level(&javascript::PRETTIER, &[("package.json", "{}")]),
        None
    );
}

#[test]
fn jest_needs_a_pattern_below_its_root() {
    let config = |text| level(&javascript::JEST, &[("jest.config.js", text)]);
    assert_eq!(config("module.exports = {}"), WALKS_IN);
    let right = "module.exports = { modulePathIgnorePatterns: ['<rootDir>/\\\\.agentwt/'] }";
    assert_eq!(config(right), STAYS_OUT);
    // it would hide every test of a run inside a worktree
    let wrong = "module.exports = { modulePathIgnorePatterns: ['/.agentwt/'] }";
    assert_eq!(config(wrong), WALKS_IN);
    // the map of modules still has them
    let half = "module.exports = { testPathIgnorePatterns: ['<rootDir>/.agentwt/'] }";
    assert_eq!(config(half), WALKS_IN);
    assert_eq!(
        config("module.exports = { roots: ['<rootDir>/src'] }"),
        STAYS_OUT
    );
    assert_eq!(
        config("module.exports = { roots: ['<rootDir>'] }"),
        WALKS_IN
    );
    assert_eq!(config("module.exports = without('.agentwt')"), NOTE);
    let package = |text| level(&javascript::JEST, &[("package.json", text)]);
    assert_eq!(package("{ \"jest\": {} }"), WALKS_IN);
    assert_eq!(
        package("{ \"jest\": { \"modulePathIgnorePatterns\": [\"<rootDir>/.agentwt/\"] } }"),
        STAYS_OUT
    );
    assert_eq!(package("{ \"scripts\": { \"test\": \"jest\" } }"), None);
}

#[test]
fn vitest_excludes_by_globs() {
    let config = |text| level(&javascript::VITEST, &[("vitest.config.ts", text)]);
    assert_eq!(
        config("export default defineConfig({ test: {} })"),
        WALKS_IN
    );
    assert_eq!(
        config("{ test: { exclude: ['**/.agentwt/**'] } }"),
        STAYS_OUT
    );
    assert_eq!(
        config("{ test: { include: ['src/**/*.test.ts'] } }"),
        STAYS_OUT
    );
    assert_eq!(config("{ test: { include: ['**/*.test.ts'] } }"), WALKS_IN);
    assert_eq!(config("{ test: { exclude: outside('.agentwt') } }"), NOTE);
    let package = (
        "package.json",
        "{ \"devDependencies\": { \"vitest\": \"4\" } }",
    );
    assert_eq!(level(&javascript::VITEST, &[package]), WALKS_IN);
    assert_eq!(
        level(&javascript::VITEST, &[("vite.config.ts", "{}")]),
        None
    );
}

#[test]
fn vite_only_watches() {
    let config = |text| level(&javascript::VITE, &[("vite.config.ts", text)]);
    assert_eq!(config("export default {}"), NOTE);
    assert_eq!(
        config("{ server: { watch: { ignored: [`${import.meta.dirname}/.agentwt/**`] } } }"),
        STAYS_OUT
    );
    assert_eq!(
        config("{ server: { watch: { ignored: ['**/.agentwt/**'] } } }"),
        WALKS_IN
    );
}

#[test]
fn tsc_enters_no_dot_unless_it_is_spelled() {
    let config = |text| level(&javascript::TSC, &[("tsconfig.json", text)]);
    assert_eq!(config("{}"), STAYS_OUT);
    assert_eq!(
        config("{ \"include\": [\"**/*.ts\", \"./src\", \"../x\"] }"),
        STAYS_OUT
    );
    assert_eq!(
        config("{ \"include\": [\".next/types/**/*.ts\"] }"),
        STAYS_OUT
    );
    assert_eq!(config("{ \"include\": [\"**/.*/**/*.ts\"] }"), WALKS_IN);
    assert_eq!(
        config("{ \"include\": [\".*/**\"], /* all */ \"exclude\": [\".agentwt\"] }"),
        STAYS_OUT
    );
}

#[test]
fn cargo_is_told_in_its_workspace() {
    let manifest = |text| level(&others::CARGO, &[("Cargo.toml", text)]);
    assert_eq!(manifest("[package]\nname = \"a\"\n"), STAYS_OUT);
    assert_eq!(manifest("[workspace]\nmembers = [\"crates/*\"]\n"), NOTE);
    assert_eq!(manifest("[workspace]\nmembers = [\"*\"]\n"), WALKS_IN);
    assert_eq!(
        manifest("[workspace]\nmembers = [\"*\"]\nexclude = [\".agentwt\"]\n"),
        STAYS_OUT
    );
    // that key leaves files out of what is published
    assert_eq!(
        manifest("[package]\nexclude = [\".agentwt\"]\n[workspace]\nmembers = [\"a\"]\n"),
        NOTE
    );
    let text = "[workspace]\nmembers = [\"a\"]\n".to_owned();
    let tools = Tools {
        files: [("Cargo.toml", text)].into_iter().collect(),
        without_cargo_root: vec!["task".to_owned()],
    };
    let line = judge(&others::CARGO, &tools).map(|line| line.level);
    assert_eq!(line, WALKS_IN);
}

#[test]
fn docker_reads_its_own_ignore_file() {
    let with = |file, text| level(&others::DOCKER, &[("Dockerfile", "FROM x"), (file, text)]);
    assert_eq!(
        level(&others::DOCKER, &[("Dockerfile", "FROM x")]),
        WALKS_IN
    );
    assert_eq!(with(".dockerignore", ".git\n"), WALKS_IN);
    assert_eq!(with(".dockerignore", ".agentwt\n"), STAYS_OUT);
    assert_eq!(with(".dockerignore", "*\n!src\n"), STAYS_OUT);
    assert_eq!(with(".dockerignore", ".agentwt/work*\n"), NOTE);
    assert_eq!(with("Dockerfile.dockerignore", ".agentwt\n"), STAYS_OUT);
    let compose = |text| level(&others::DOCKER, &[("compose.yaml", text)]);
    assert_eq!(compose("services:\n  a:\n    image: x\n"), None);
    assert_eq!(compose("services:\n  a:\n    build: .\n"), WALKS_IN);
}

#[test]
fn pytest_enters_no_dot_unless_the_default_is_replaced() {
    let ini = |text| level(&others::PYTEST, &[("pytest.ini", text)]);
    assert_eq!(ini("[pytest]\naddopts = -q\n"), STAYS_OUT);
    assert_eq!(ini("[pytest]\nnorecursedirs = build dist\n"), WALKS_IN);
    assert_eq!(
        ini("[pytest]\nnorecursedirs =\n    build\n    .*\naddopts = x\n"),
        STAYS_OUT
    );
    let toml = |text| level(&others::PYTEST, &[("pyproject.toml", text)]);
    assert_eq!(toml("[tool.ruff]\n"), None);
    let own = "[tool.pytest.ini_options]\nnorecursedirs = [\n  \"build\",\n]\n";
    assert_eq!(toml(own), WALKS_IN);
    let whole = "[tool.pytest.ini_options]\nnorecursedirs = [\"build\", \".*\"]\n";
    assert_eq!(toml(whole), STAYS_OUT);
}

#[test]
fn bazel_watchman_and_vs_code_have_lists() {
    let bazel = |text| {
        level(
            &others::BAZEL,
            &[("MODULE.bazel", ""), (".bazelignore", text)],
        )
    };
    assert_eq!(bazel("node_modules\n"), WALKS_IN);
    assert_eq!(bazel(".agentwt\n"), STAYS_OUT);
    let watchman = |text| level(&others::WATCHMAN, &[(".watchmanconfig", text)]);
    assert_eq!(watchman("{}"), NOTE);
    assert_eq!(watchman("{ \"ignore_dirs\": [\".agentwt\"] }"), STAYS_OUT);
    let code = |text| level(&others::VS_CODE, &[(".vscode/settings.json", text)]);
    assert_eq!(code("{ // .agentwt\n}"), NOTE);
    assert_eq!(
        code("{ \"files.watcherExclude\": { \"**/.agentwt/worktrees/**\": true } }"),
        STAYS_OUT
    );
}

#[test]
fn every_tool_has_a_name_of_its_own_and_a_fix() {
    let mut names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TOOLS.len());
    assert!(
        TOOLS
            .iter()
            .all(|tool| tool.fix.contains(".agentwt") || tool.fix.contains(".*"))
    );
}
