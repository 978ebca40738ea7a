//! Judges settings of git that break worktrees, and our own config.

use camino::Utf8PathBuf;

use super::{Diagnosis, Level, Topic, word};

/// Holds what is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The common configuration file.
    pub file: Utf8PathBuf,
    /// `extensions.worktreeConfig`.
    pub worktree_config: bool,
    /// `core.bare` is true in the common file.
    pub bare_in_common: bool,
    /// `core.worktree` in the common file.
    pub worktree_in_common: Option<String>,
    /// `safe.bareRepository` is `explicit`, and the repository is bare.
    pub explicit_bare: bool,
    /// Our config, or the git settings and variables for it, as far as they are wrong.
    pub config_faults: Option<String>,
}

fn line(check: &'static str, level: Level, found: impl Into<String>) -> Diagnosis {
    Diagnosis::new(Topic::Settings, check, level, found)
}

/// Judges it.
#[must_use]
pub fn diagnose(settings: &Settings) -> Vec<Diagnosis> {
    let mut lines = worktree_config(settings);
    if settings.explicit_bare {
        let found = "safe.bareRepository=explicit: git finds this bare repository only by name";
        let fix = "stand in a worktree, or say `git --git-dir=<dir>`; git agentwt names it itself";
        lines.push(line("bare-repository", Level::Note, found).fixed_by(fix));
    }
    lines.push(match &settings.config_faults {
        None => line(
            "config",
            Level::Ok,
            ".agentwt/config.toml and agentwt.* are valid",
        ),
        Some(first) => line("config", Level::Problem, first.clone())
            .fixed_by("correct it; with the line shown: git agentwt scope"),
    });
    lines
}

/// With the extension, keys that are meant for one worktree must not be common (git-worktree(1),
/// "CONFIGURATION FILE"): each linked one would be bare, or work on the files of another.
fn worktree_config(settings: &Settings) -> Vec<Diagnosis> {
    let file = word(settings.file.as_str());
    if !settings.worktree_config {
        let found =
            "extensions.worktreeConfig is off; `git agentwt add` turns it on when it needs it";
        return vec![line("worktree-config", Level::Ok, found)];
    }
    let mut lines = Vec::new();
    let own = settings.file.with_file_name("config.worktree");
    let own = word(own.as_str());
    let mut misplaced = |key: &str, value: &str| {
        let found = format!(
            "{key} stands in the common configuration beside extensions.worktreeConfig: it breaks every linked worktree"
        );
        let value = word(value);
        let fix = format!(
            "git config --file {own} {key} {value} && git config --file {file} --unset-all {key}"
        );
        lines.push(line("worktree-config", Level::Problem, found).fixed_by(fix));
    };
    if settings.bare_in_common {
        misplaced("core.bare", "true");
    }
    if let Some(path) = &settings.worktree_in_common {
        misplaced("core.worktree", path);
    }
    if lines.is_empty() {
        let found = "extensions.worktreeConfig is on, and no key of one worktree is common";
        lines.push(line("worktree-config", Level::Ok, found));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_worktree_are_common_only_without_the_extension() {
        let with = |worktree_config, bare_in_common, path: Option<&str>| {
            let settings = Settings {
                file: "/r/.git/config".into(),
                worktree_config,
                bare_in_common,
                worktree_in_common: path.map(ToOwned::to_owned),
                ..Settings::default()
            };
            let lines = diagnose(&settings);
            let bad = lines.iter().filter(|line| line.level == Level::Problem);
            bad.filter_map(|line| line.fix.clone()).collect::<Vec<_>>()
        };
        assert!(with(false, true, Some("..")).is_empty());
        assert!(with(true, false, None).is_empty());
        assert_eq!(
            with(true, true, None),
            [
                "git config --file /r/.git/config.worktree core.bare true && git config --file /r/.git/config --unset-all core.bare"
            ]
        );
        assert_eq!(with(true, true, Some("../my files")).len(), 2);
    }
}
