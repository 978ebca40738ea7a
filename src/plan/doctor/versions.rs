//! Judges the git, the program and the manual that are found.

use camino::Utf8PathBuf;

use super::{Diagnosis, Level, Topic, word};

/// Holds what is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The git that this program starts.
    pub git: GitFound,
    /// Where the first git on `PATH` has configured hooks: every git there, the first one first,
    /// each once.
    pub gits: Vec<(Utf8PathBuf, GitFound)>,
    /// The version of this program.
    pub version: &'static str,
    /// This program, without links.
    pub binary: Utf8PathBuf,
    /// Every `git-agentwt` on `PATH`, as it stands there and without links.
    pub on_path: Vec<(Utf8PathBuf, Utf8PathBuf)>,
    /// The manual.
    pub manual: Manual,
}

/// Says what a git is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitFound {
    /// It cannot be started, for this reason.
    Missing(String),
    /// It is this version, older than that one, which is the oldest that is supported.
    TooOld(String, String),
    /// It can be used.
    Fine {
        /// Its version.
        version: String,
        /// Whether it has configured hooks (git 2.54).
        configured_hooks: bool,
        /// Whether reference-transaction hears of `git symbolic-ref HEAD` (git 2.46).
        tells_symbolic_refs: bool,
    },
}

/// Says whether `git agentwt --help` opens a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manual {
    /// It does.
    Found,
    /// There is no such page.
    NoPage,
    /// There is no man(1).
    NoMan,
}

fn line(check: &'static str, level: Level, found: impl Into<String>) -> Diagnosis {
    Diagnosis::new(Topic::Versions, check, level, found)
}

/// Judges it.
#[must_use]
pub fn diagnose(versions: &Versions) -> Vec<Diagnosis> {
    let mut lines = git(&versions.git);
    lines.extend(other_gits(versions));
    lines.push(program(versions));
    lines.push(match versions.manual {
        Manual::Found => line("manual", Level::Ok, "`git agentwt --help` opens the manual"),
        Manual::NoPage => line("manual", Level::Note, "`git agentwt --help` finds no page")
            .fixed_by("install the pages: ./install.sh in the sources puts them below ~/.local"),
        Manual::NoMan => line("manual", Level::Note, "man is not installed")
            .fixed_by("install man-db, or use `git agentwt <command> -h`"),
    });
    lines
}

fn git(git: &GitFound) -> Vec<Diagnosis> {
    let (version, configured, tells) = match git {
        GitFound::Missing(why) => {
            let found = format!("git cannot be started: {why}");
            return vec![line("git", Level::Problem, found).fixed_by("install git")];
        }
        GitFound::TooOld(version, oldest) => {
            let found = format!("git {version} is too old");
            let fix = format!("install git {oldest} or newer, and put it first on PATH");
            return vec![line("git", Level::Problem, found).fixed_by(fix)];
        }
        GitFound::Fine {
            version,
            configured_hooks,
            tells_symbolic_refs,
        } => (version, *configured_hooks, *tells_symbolic_refs),
    };
    let hooks = if configured {
        "our hooks are configured beside yours"
    } else {
        "our hooks chain to yours by a core.hooksPath of each worktree"
    };
    let mut lines = vec![line("git", Level::Ok, format!("git {version}: {hooks}"))];
    if !tells {
        let found = format!("git {version} tells no hook of `git symbolic-ref HEAD`");
        let fix = "verify finds the other branch all the same; git 2.46 tells it at once";
        lines.push(line("git-symbolic-ref", Level::Note, found).fixed_by(fix));
    }
    lines
}

/// Configured hooks are nothing to an older git.
fn other_gits(versions: &Versions) -> Option<Diagnosis> {
    let configured = |git: &GitFound| match git {
        GitFound::Fine {
            configured_hooks, ..
        } => *configured_hooks,
        GitFound::Missing(_) | GitFound::TooOld(..) => false,
    };
    if !configured(&versions.git) {
        return None;
    }
    let old = versions.gits.iter().find(|(_, git)| !configured(git))?;
    let version = match &old.1 {
        GitFound::Fine { version, .. } | GitFound::TooOld(version, _) => version,
        GitFound::Missing(_) => return None,
    };
    let path = &old.0;
    let found = format!("{path} is git {version}, which runs none of our configured hooks");
    let fix = "let agents and editors use the first git on PATH, and verify what others committed";
    Some(line("other-git", Level::Note, found).fixed_by(fix))
}

fn program(versions: &Versions) -> Diagnosis {
    let Versions {
        version, binary, ..
    } = versions;
    let directory = binary.parent().map(ToString::to_string).unwrap_or_default();
    match versions.on_path.first() {
        None => {
            let found = "git-agentwt is not on PATH, so git does not find `git agentwt`";
            let fix = format!("PATH={}:$PATH", word(&directory));
            line("program", Level::Warning, found).fixed_by(fix)
        }
        Some((_, real)) if real == binary => {
            let found = format!("git-agentwt {version} at {binary}");
            line("program", Level::Ok, found)
        }
        Some((there, _)) => {
            let found = format!("PATH has {there}, and this is {binary}");
            let fix = format!("remove one of them, or PATH={}:$PATH", word(&directory));
            line("program", Level::Warning, found).fixed_by(fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine(version: &str, configured_hooks: bool) -> GitFound {
        GitFound::Fine {
            version: version.to_owned(),
            configured_hooks,
            tells_symbolic_refs: version != "2.39.5",
        }
    }

    #[test]
    fn each_version_of_git_is_judged() {
        for (found, lines) in [
            (fine("2.55.0", true), "git ok"),
            (fine("2.47.3", false), "git ok"),
            (fine("2.39.5", false), "git ok, git-symbolic-ref note"),
            (
                GitFound::TooOld("2.30.0".to_owned(), "2.39.0".to_owned()),
                "git problem",
            ),
            (GitFound::Missing("no such file".to_owned()), "git problem"),
        ] {
            let said: Vec<String> = git(&found)
                .iter()
                .map(|line| format!("{} {}", line.check, line.level.as_str()))
                .collect();
            assert_eq!(said.join(", "), lines, "{found:?}");
        }
    }

    #[test]
    fn an_older_git_beside_configured_hooks_is_named() {
        let with = |first: GitFound, other: GitFound| Versions {
            git: first.clone(),
            gits: vec![("/a/git".into(), first), ("/b/git".into(), other)],
            version: "1",
            binary: "/bin/git-agentwt".into(),
            on_path: Vec::new(),
            manual: Manual::Found,
        };
        let names = |versions| other_gits(&versions).is_some();
        assert!(names(with(fine("2.55.0", true), fine("2.47.3", false))));
        assert!(!names(with(fine("2.55.0", true), fine("2.54.0", true))));
        assert!(!names(with(fine("2.47.3", false), fine("2.39.5", false))));
    }

    #[test]
    fn another_program_first_on_path_is_a_warning() {
        let with = |real: Option<&str>| {
            program(&Versions {
                git: fine("2.55.0", true),
                gits: Vec::new(),
                version: "1",
                binary: "/opt/x/git-agentwt".into(),
                on_path: real
                    .iter()
                    .map(|real| ("/bin/git-agentwt".into(), (*real).into()))
                    .collect(),
                manual: Manual::Found,
            })
            .level
        };
        assert_eq!(with(Some("/opt/x/git-agentwt")), Level::Ok);
        assert_eq!(with(Some("/bin/git-agentwt")), Level::Warning);
        assert_eq!(with(None), Level::Warning);
    }
}
