//! Reads the settings that matter to worktrees.

use super::{Here, is_true};
use crate::plan::doctor::settings::Settings;
use crate::worktree::repository::Main;

/// Looks at them. What stands in the common file has the scope `local`, what stands in the main
/// worktree's own has `worktree` (git-config(1), `--show-scope`).
pub fn look(here: &Here<'_>) -> Settings {
    let repository = here.repository;
    let common = |key: &str| {
        let mut all = here.config.iter().rev();
        let found = all.find(|(scope, found, _)| scope == "local" && found == key);
        found.map(|(_, _, value)| value.to_string())
    };
    let explicit = here.setting("safe.barerepository");
    Settings {
        file: repository.common_dir.join("config"),
        worktree_config: common("extensions.worktreeconfig").is_some_and(|value| is_true(&value)),
        bare_in_common: common("core.bare").is_some_and(|value| is_true(&value)),
        worktree_in_common: common("core.worktree"),
        explicit_bare: repository.main == Main::Bare
            && explicit.is_some_and(|(_, value)| value == "explicit"),
        config_faults: here.prefix.as_ref().err().cloned(),
    }
}
