//! Judges tools of projects in `JavaScript`.

use super::text::{Comments, has_key, ignores_us, lists, names_us};
use super::{Tool, Tools, Verdict};

const JS: Comments = Comments::Slashes;

const FLAT: &[&str] = &[
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    "eslint.config.mts",
    "eslint.config.cts",
];

const OLD: &[&str] = &[
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.yaml",
    ".eslintrc.yml",
    ".eslintrc.json",
    ".eslintrc",
];

/// eslint.org, "Ignore Files": the defaults of flat configs are `**/node_modules/` and `.git/`, and
/// names that begin with a dot are looked at (eslint/eslint#18236); `.eslintignore` and
/// `.gitignore` are not read. The old configs pass over such names.
pub const ESLINT: Tool = Tool {
    name: "eslint",
    files: &[
        "eslint.config.js",
        "eslint.config.mjs",
        "eslint.config.cjs",
        "eslint.config.ts",
        "eslint.config.mts",
        "eslint.config.cts",
        ".eslintrc.js",
        ".eslintrc.cjs",
        ".eslintrc.yaml",
        ".eslintrc.yml",
        ".eslintrc.json",
        ".eslintrc",
        ".eslintignore",
        ".gitignore",
    ],
    judge: eslint,
    fix: "add globalIgnores([\".agentwt/worktrees/\"]), of \"eslint/config\", to the list in your eslint.config",
};

fn eslint(tools: &Tools) -> Verdict {
    if let Some((file, text)) = tools.first(FLAT) {
        let reads = [
            "gitignore",
            "IgnoreFile",
            "@antfu/eslint-config",
            "withNuxt",
        ];
        let reads_gitignore = reads.iter().any(|word| text.contains(word));
        let all_dots = ["**/.*", ".*/", ".*/**"];
        let is_all_dots = |one: &String| all_dots.contains(&one.trim_end_matches('/'));
        return if names_us(text, JS) {
            Verdict::StaysOut(format!("{file} names .agentwt"))
        } else if lists(text, "ignores", JS).iter().flatten().any(is_all_dots) {
            Verdict::StaysOut(format!("{file} ignores names that begin with a dot"))
        } else if reads_gitignore && tools.text(".gitignore").is_some_and(ignores_us) {
            Verdict::StaysOut(format!("{file} takes in .gitignore, which has .agentwt"))
        } else {
            Verdict::WalksIn(format!(
                "{file} does not ignore .agentwt/worktrees: every file is linted once more for each worktree"
            ))
        };
    }
    let Some((file, text)) = tools.first(OLD) else {
        return Verdict::Unused;
    };
    let ignored = tools.text(".eslintignore").unwrap_or_default();
    let takes_dots_in = |line: &str| matches!(line.trim(), "!.*" | "!.*/" | "!**/.*");
    if ignored.lines().any(takes_dots_in) || text.contains("\"!.*\"") || text.contains("'!.*'") {
        if ignores_us(ignored) || names_us(text, JS) {
            return Verdict::StaysOut("it is told to".to_owned());
        }
        return Verdict::WalksIn("its rules take in names that begin with a dot".to_owned());
    }
    Verdict::StaysOut(format!(
        "with {file} it passes over names that begin with a dot"
    ))
}

/// prettier.io, "Ignoring Code": `.prettierignore`, and since 3.0 `.gitignore`, both of the current
/// directory; names that begin with a dot are formatted.
pub const PRETTIER: Tool = Tool {
    name: "prettier",
    files: &[
        ".prettierrc",
        ".prettierrc.json",
        ".prettierrc.yaml",
        ".prettierrc.yml",
        ".prettierrc.js",
        ".prettierrc.mjs",
        ".prettierrc.cjs",
        ".prettierrc.toml",
        "prettier.config.js",
        "prettier.config.mjs",
        "prettier.config.cjs",
        "prettier.config.ts",
        ".prettierignore",
        ".gitignore",
        "package.json",
    ],
    judge: prettier,
    fix: "echo .agentwt/worktrees/ >> .prettierignore",
};

fn prettier(tools: &Tools) -> Verdict {
    let configs = PRETTIER.files.iter().copied();
    let configs: Vec<_> = configs.filter(|file| file.contains("prettier")).collect();
    if tools.first(&configs).is_none() && !tools.has_package("prettier") {
        return Verdict::Unused;
    }
    for file in [".prettierignore", ".gitignore"] {
        if tools.text(file).is_some_and(ignores_us) {
            return Verdict::StaysOut(format!("{file} has .agentwt"));
        }
    }
    Verdict::WalksIn(
        "neither .prettierignore nor .gitignore has .agentwt: `prettier --write .` would rewrite agents' files".to_owned(),
    )
}

const JEST_CONFIGS: &[&str] = &[
    "jest.config.js",
    "jest.config.ts",
    "jest.config.mjs",
    "jest.config.mts",
    "jest.config.cjs",
    "jest.config.cts",
    "jest.config.json",
];

/// jestjs.io, `modulePathIgnorePatterns`: regular expressions over absolute paths, which also keep
/// the map of modules out. So one without `<rootDir>` hides every file of a run inside a worktree
/// (jestjs/jest#16356).
pub const JEST: Tool = Tool {
    name: "jest",
    files: &[
        "jest.config.js",
        "jest.config.ts",
        "jest.config.mjs",
        "jest.config.mts",
        "jest.config.cjs",
        "jest.config.cts",
        "jest.config.json",
        "package.json",
    ],
    judge: jest,
    fix: "modulePathIgnorePatterns: [\"<rootDir>/\\\\.agentwt/\"] in jest's configuration: with <rootDir>, or a run inside a worktree finds nothing",
};

fn jest(tools: &Tools) -> Verdict {
    let package = (
        "package.json",
        tools.text("package.json").unwrap_or_default(),
    );
    let Some((file, text)) = tools
        .first(JEST_CONFIGS)
        .or(tools.has_package("jest").then_some(package))
    else {
        return Verdict::Unused;
    };
    let of = |key: &str| -> Vec<String> { lists(text, key, JS).into_iter().flatten().collect() };
    let ours = |all: &[String]| -> Vec<String> {
        let ours = all.iter().filter(|one| one.contains("agentwt"));
        ours.cloned().collect()
    };
    let modules = ours(&of("modulePathIgnorePatterns"));
    let tests = ours(&of("testPathIgnorePatterns"));
    let unanchored = modules
        .iter()
        .chain(&tests)
        .find(|one| !one.contains("<rootDir>"));
    if let Some(pattern) = unanchored {
        return Verdict::WalksIn(format!(
            "\"{pattern}\" in {file} matches whole paths, so it hides every test of a run inside a worktree"
        ));
    }
    if !modules.is_empty() {
        return Verdict::StaysOut(format!("{file} has it in modulePathIgnorePatterns"));
    }
    let roots = of("roots");
    let is_whole = |root: &String| matches!(root.trim_end_matches('/'), "<rootDir>" | "." | "");
    if !roots.is_empty() && !roots.iter().any(is_whole) {
        return Verdict::StaysOut(format!("the roots in {file} are below the root"));
    }
    if file != "package.json" && tests.is_empty() && names_us(text, JS) {
        return Verdict::Unclear(format!(
            "{file} names .agentwt in a way that only jest understands"
        ));
    }
    Verdict::WalksIn(format!(
        "{file} does not ignore .agentwt/worktrees: tests run once for each worktree, and a mock or package of the same name may be taken from there"
    ))
}

const VITEST_CONFIGS: &[&str] = &[
    "vitest.config.ts",
    "vitest.config.mts",
    "vitest.config.js",
    "vitest.config.mjs",
    "vitest.workspace.ts",
    "vitest.workspace.js",
];

const VITE_CONFIGS: &[&str] = &[
    "vite.config.ts",
    "vite.config.mts",
    "vite.config.js",
    "vite.config.mjs",
];

/// vitest.dev, `test.exclude`: globs relative to the root; the defaults name `node_modules` and
/// `.git` only, and no ignore file is read.
pub const VITEST: Tool = Tool {
    name: "vitest",
    files: &[
        "vitest.config.ts",
        "vitest.config.mts",
        "vitest.config.js",
        "vitest.config.mjs",
        "vitest.workspace.ts",
        "vitest.workspace.js",
        "vite.config.ts",
        "vite.config.mts",
        "vite.config.js",
        "vite.config.mjs",
        "package.json",
    ],
    judge: vitest,
    fix: "test: { exclude: [...configDefaults.exclude, \"**/.agentwt/**\"] }, with configDefaults of \"vitest/config\"",
};

fn vitest(tools: &Tools) -> Verdict {
    let found = tools.first(VITEST_CONFIGS);
    if found.is_none() && !tools.has_package("vitest") {
        return Verdict::Unused;
    }
    let Some((file, text)) = found.or(tools.first(VITE_CONFIGS)) else {
        return Verdict::WalksIn(
            "without a configuration it runs the tests of every worktree".to_owned(),
        );
    };
    let excluded = lists(text, "exclude", JS);
    if excluded.iter().flatten().any(|one| one.contains("agentwt")) {
        return Verdict::StaysOut(format!("{file} excludes it"));
    }
    let includes = lists(text, "include", JS);
    let is_anchored = |one: &String| {
        let first = one.trim_start_matches("./").split('/').next();
        first.is_some_and(|first| !first.is_empty() && !first.contains(['*', '{', '(', '[', '?']))
    };
    if names_us(text, JS) {
        return Verdict::Unclear(format!(
            "{file} names .agentwt outside of a list to exclude"
        ));
    }
    if !includes.is_empty() && includes.iter().flatten().all(is_anchored) {
        return Verdict::StaysOut(format!("{file} includes named directories only"));
    }
    Verdict::WalksIn(format!(
        "{file} does not exclude .agentwt: the tests of every worktree run"
    ))
}

/// vite.dev, `server.watch`: the root is watched, but for `.git`, `node_modules` and the cache. The
/// patterns match absolute paths.
pub const VITE: Tool = Tool {
    name: "vite",
    files: &[
        "vite.config.ts",
        "vite.config.mts",
        "vite.config.js",
        "vite.config.mjs",
    ],
    judge: vite,
    fix: "server: { watch: { ignored: [`${import.meta.dirname}/.agentwt/**`] } }: with the directory, or nothing is watched inside a worktree",
};

fn vite(tools: &Tools) -> Verdict {
    let Some((file, text)) = tools.first(VITE_CONFIGS) else {
        return Verdict::Unused;
    };
    let ignored = lists(text, "ignored", JS);
    let ours = ignored.iter().flatten().find(|one| one.contains("agentwt"));
    match ours {
        Some(pattern) if pattern.starts_with("**/") => Verdict::WalksIn(format!(
            "\"{pattern}\" in {file} matches whole paths, so nothing is watched inside a worktree"
        )),
        Some(_) => Verdict::StaysOut(format!("{file} ignores it")),
        None => Verdict::Costs("its server watches the files of every worktree".to_owned()),
    }
}

/// typescriptlang.org, tsconfig `include`: a wildcard matches no name that begins with a dot
/// (microsoft/TypeScript#9528); such names must be spelled.
pub const TSC: Tool = Tool {
    name: "tsc",
    files: &["tsconfig.json"],
    judge: tsc,
    fix: "add \".agentwt\" to \"exclude\" in tsconfig.json",
};

fn tsc(tools: &Tools) -> Verdict {
    let Some(text) = tools.text("tsconfig.json") else {
        return Verdict::Unused;
    };
    let excluded = lists(text, "exclude", JS);
    if excluded
        .iter()
        .flatten()
        .any(|one| one.contains(".agentwt"))
    {
        return Verdict::StaysOut("tsconfig.json excludes it".to_owned());
    }
    let enters = |part: &str| part == ".agentwt" || part.starts_with('.') && part.contains('*');
    let included = lists(text, "include", JS);
    let spelled = included
        .iter()
        .flatten()
        .find(|one| one.split('/').any(enters));
    match spelled {
        Some(pattern) => Verdict::WalksIn(format!(
            "\"{pattern}\" in tsconfig.json takes in .agentwt: every declaration is there twice"
        )),
        None if has_key(text, "extends") && included.is_empty() => Verdict::StaysOut(
            "its wildcards match no name that begins with a dot, unless what tsconfig.json extends spells it".to_owned(),
        ),
        None => {
            Verdict::StaysOut("its wildcards match no name that begins with a dot".to_owned())
        }
    }
}
