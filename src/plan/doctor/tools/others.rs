//! Judges cargo, Docker, pytest, Bazel, Watchman and VS Code.

use super::text::{Comments, ignores_us, lists, names_us, section};
use super::{Tool, Tools, Verdict};

/// The Cargo Book, "The `members` and `exclude` fields". Measured with cargo 1.9x: a member pattern
/// matches names that begin with a dot, and a package without its own workspace root below a
/// workspace is refused ("believes it's in a workspace when it's not").
pub const CARGO: Tool = Tool {
    name: "cargo",
    files: &["Cargo.toml"],
    judge: cargo,
    fix: "exclude = [\".agentwt\"] in [workspace] of Cargo.toml",
};

fn cargo(tools: &Tools) -> Verdict {
    let Some(text) = tools.text("Cargo.toml") else {
        return Verdict::Unused;
    };
    let Some(workspace) = section(text, "[workspace]") else {
        return Verdict::StaysOut("Cargo.toml is no workspace".to_owned());
    };
    let of = |key: &str| lists(workspace, key, Comments::Hash).into_iter().flatten();
    if of("exclude").any(|one| one.trim_end_matches('/') == ".agentwt") {
        return Verdict::StaysOut("the workspace excludes it".to_owned());
    }
    let reaches = |one: &String| one == "*" || one == "**" || one.starts_with("**/");
    if let Some(pattern) = of("members").find(reaches) {
        return Verdict::WalksIn(format!(
            "members = [\"{pattern}\"] takes .agentwt for a member, and every command fails"
        ));
    }
    match tools.names_without_cargo_root() {
        Some(names) => Verdict::WalksIn(format!(
            "in {names} there is no root Cargo.toml, so cargo takes the packages there for lost members of this workspace and refuses"
        )),
        None => Verdict::Costs(
            "a worktree whose scope excludes the root Cargo.toml would be taken for a part of this workspace".to_owned(),
        ),
    }
}

/// docs.docker.com, "Build context": everything that `.dockerignore` does not name, whatever git
/// ignores; `<name of the Dockerfile>.dockerignore` comes first.
pub const DOCKER: Tool = Tool {
    name: "docker",
    files: &[
        "Dockerfile",
        "Containerfile",
        "docker-compose.yml",
        "docker-compose.yaml",
        "compose.yml",
        "compose.yaml",
        "Dockerfile.dockerignore",
        ".dockerignore",
        ".containerignore",
    ],
    judge: docker,
    fix: "echo .agentwt >> .dockerignore",
};

fn docker(tools: &Tools) -> Verdict {
    let recipes = ["Dockerfile", "Containerfile"];
    let compose = [
        "docker-compose.yml",
        "docker-compose.yaml",
        "compose.yml",
        "compose.yaml",
    ];
    let builds = |file: &&str| tools.text(file).is_some_and(|text| text.contains("build:"));
    if tools.first(&recipes).is_none() && !compose.iter().any(builds) {
        return Verdict::Unused;
    }
    let ignore = tools.first(&[
        "Dockerfile.dockerignore",
        ".dockerignore",
        ".containerignore",
    ]);
    match ignore {
        Some((file, text)) if ignores_us(text) => Verdict::StaysOut(format!("{file} has .agentwt")),
        Some((file, text)) if names_us(text, Comments::Hash) => {
            Verdict::Unclear(format!("{file} names .agentwt in a way of its own"))
        }
        Some((file, _)) => Verdict::WalksIn(format!(
            "{file} does not have .agentwt: every worktree goes into the build context, and into images by `COPY . .`"
        )),
        None => Verdict::WalksIn(
            "there is no .dockerignore: every worktree goes into the build context, and into images by `COPY . .`".to_owned(),
        ),
    }
}

/// docs.pytest.org, `norecursedirs`: the default has `.*`; a value of one's own replaces it.
pub const PYTEST: Tool = Tool {
    name: "pytest",
    files: &["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"],
    judge: pytest,
    fix: "add .* to norecursedirs in pytest's configuration",
};

fn pytest(tools: &Tools) -> Verdict {
    let sections = [
        ("pytest.ini", "[pytest]"),
        ("pyproject.toml", "[tool.pytest.ini_options]"),
        ("pyproject.toml", "[tool.pytest]"),
        ("tox.ini", "[pytest]"),
        ("setup.cfg", "[tool:pytest]"),
    ];
    let found = sections
        .iter()
        .find_map(|(file, head)| Some((*file, section(tools.text(file)?, head)?)));
    let Some((file, text)) = found else {
        return Verdict::Unused;
    };
    let Some((_, dirs)) = text.split_once("norecursedirs") else {
        return Verdict::StaysOut("it enters no directory that begins with a dot".to_owned());
    };
    // a list of TOML, or the rest of the line and the indented lines after it
    let mut lines = dirs.lines();
    let first = lines.next().unwrap_or_default();
    let more = lines.take_while(|line| line.starts_with([' ', '\t', ']', '"', '\'']));
    let value: String = std::iter::once(first)
        .chain(more)
        .collect::<Vec<_>>()
        .join(" ");
    let separators = |c: char| c.is_whitespace() || "=[]\"',".contains(c);
    let mut words = value.split(separators);
    if words.any(|word| word == ".*" || word.contains("agentwt")) {
        Verdict::StaysOut(format!("norecursedirs in {file} covers it"))
    } else {
        Verdict::WalksIn(format!(
            "norecursedirs in {file} has no .*, which the default has: the tests of every worktree are collected"
        ))
    }
}

/// bazel.build, `.bazelignore`: directories, one a line, in which no package is looked for;
/// `//...` enters names that begin with a dot.
pub const BAZEL: Tool = Tool {
    name: "bazel",
    files: &[
        "MODULE.bazel",
        "WORKSPACE",
        "WORKSPACE.bazel",
        "REPO.bazel",
        ".bazelignore",
    ],
    judge: bazel,
    fix: "echo .agentwt >> .bazelignore",
};

fn bazel(tools: &Tools) -> Verdict {
    let roots = ["MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"];
    if tools.first(&roots).is_none() {
        return Verdict::Unused;
    }
    let is_ours = |line: &str| {
        matches!(
            line.trim().trim_end_matches('/'),
            ".agentwt" | ".agentwt/worktrees"
        )
    };
    let ignored = tools.text(".bazelignore").unwrap_or_default();
    let rules = tools.text("REPO.bazel").unwrap_or_default();
    if ignored.lines().any(is_ours) {
        Verdict::StaysOut(".bazelignore has .agentwt".to_owned())
    } else if names_us(rules, Comments::Hash) {
        Verdict::StaysOut("REPO.bazel names .agentwt".to_owned())
    } else {
        Verdict::WalksIn("//... has the packages of every worktree".to_owned())
    }
}

/// facebook.github.io/watchman, `ignore_dirs`.
pub const WATCHMAN: Tool = Tool {
    name: "watchman",
    files: &[".watchmanconfig"],
    judge: watchman,
    fix: "\"ignore_dirs\": [\".agentwt\"] in .watchmanconfig",
};

fn watchman(tools: &Tools) -> Verdict {
    let Some(text) = tools.text(".watchmanconfig") else {
        return Verdict::Unused;
    };
    let ignored = lists(text, "ignore_dirs", Comments::Slashes);
    if ignored.iter().flatten().any(|one| one.contains("agentwt")) {
        Verdict::StaysOut(".watchmanconfig ignores it".to_owned())
    } else {
        Verdict::Costs("it watches the files of every worktree".to_owned())
    }
}

/// code.visualstudio.com, `files.watcherExclude`: search goes by git's ignore rules, the watcher
/// does not.
pub const VS_CODE: Tool = Tool {
    name: "vscode",
    files: &[".vscode/settings.json"],
    judge: vs_code,
    fix: "\"files.watcherExclude\": { \"**/.agentwt/worktrees/**\": true } in .vscode/settings.json",
};

fn vs_code(tools: &Tools) -> Verdict {
    let Some(text) = tools.text(".vscode/settings.json") else {
        return Verdict::Unused;
    };
    if names_us(text, Comments::Slashes) {
        Verdict::StaysOut(".vscode/settings.json names .agentwt".to_owned())
    } else {
        Verdict::Costs("its watcher follows the files of every worktree".to_owned())
    }
}
