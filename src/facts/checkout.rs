//! Reads what decides who checks a new worktree out.

use camino::{Utf8Path, Utf8PathBuf};

use super::add::Listing;
use super::conversions;
use crate::config::Strategy;
use crate::disk::checkout::folds_case;
use crate::disk::files;
use crate::git::Git;
use crate::git::checkout::CheckoutBy;
use crate::path::RepoPath;
use crate::plan::checkout::{Asked, CheckoutFacts};
use crate::worktree::WorktreeError;
use crate::worktree::repository::{Repository, joined};

/// The hooks that git runs in a checkout, beside post-checkout (githooks(5)).
const HOOKS: [&str; 2] = ["post-index-change", "reference-transaction"];

/// Holds the settings of a new worktree, and what they say of hooks.
pub struct Surroundings {
    /// Every setting, keys in lower case but for the middle part.
    pub settings: Vec<(String, bstr::BString)>,
    hooks: Utf8PathBuf,
}

impl Surroundings {
    /// Reads the settings of a worktree that is registered.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn of(git: &Git, common_dir: &Utf8Path, path: &Utf8Path) -> Result<Self, WorktreeError> {
        let settings = git.config_list()?;
        let settings: Vec<_> = settings.into_iter().map(|(_, k, v)| (k, v)).collect();
        let is_set = settings.iter().any(|(key, _)| key == "core.hookspath");
        let named = if is_set {
            git.config_get_path("core.hooksPath")?
        } else {
            None
        };
        let hooks = match named {
            // git puts a slash before the name of the hook (measured with 2.47)
            Some(directory) if directory.as_str().is_empty() => "/".into(),
            // relative to where hooks run: the root of the worktree
            Some(directory) => path.join(directory),
            None => common_dir.join("hooks"),
        };
        Ok(Self { settings, hooks })
    }

    /// Whether git would run a hook: a file, which a checkout may have brought, or a setting.
    /// Whoever cannot tell says yes.
    #[must_use]
    pub fn has_hook(&self, hook: &str) -> bool {
        let configured = |(key, _): &(String, _)| key.starts_with("hook.");
        self.settings.iter().any(configured) || files::exists(&self.hooks.join(hook))
    }
}

/// Reads everything; what is in the new worktree is what git put there by then.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read<'a>(
    own: &Repository,
    git: &Git,
    path: &Utf8Path,
    strategy: Strategy,
    listing: &'a Listing,
) -> Result<(CheckoutFacts<'a>, Surroundings), WorktreeError> {
    let asked = match git.checkout_by() {
        CheckoutBy::Own => Asked::Own,
        CheckoutBy::Git => Asked::Git,
    };
    let is_open = asked == Asked::Own && strategy == Strategy::Worktree;
    let (surroundings, system, replaced) = std::thread::scope(|scope| {
        let system = scope.spawn(|| is_open.then(|| git.system_attributes()).transpose());
        let replaced = || {
            is_open
                .then(|| git.for_each_ref(&["refs/replace/"]))
                .transpose()
        };
        let replaced = scope.spawn(replaced);
        let surroundings = Surroundings::of(git, &own.common_dir, path);
        (surroundings, joined(system), joined(replaced))
    });
    let (surroundings, replaced) = (surroundings?, replaced?);
    let mut attributes = Vec::new();
    if let Some(system) = system? {
        attributes = conversions::beside(own, git, &surroundings.settings, system)?;
        attributes.extend(conversions::tracked(own, listing)?);
    }
    let tracked = |hook: &str| {
        let file = surroundings.hooks.join(hook);
        let inside = file.strip_prefix(path).ok();
        let inside = inside.and_then(|inside| RepoPath::parse(inside.as_str()).ok());
        let entries = &listing.entries;
        inside.is_some_and(|inside| entries.binary_search_by(|(p, _)| p.cmp(&inside)).is_ok())
    };
    let mut hooks = HOOKS.into_iter();
    let hook = hooks.find(|hook| surroundings.has_hook(hook) || tracked(hook));
    let facts = CheckoutFacts {
        asked,
        strategy,
        is_local: true,
        settings: surroundings.settings.clone(),
        attributes,
        attribute_source: git.reads_attributes_elsewhere(),
        entries: &listing.entries,
        hook,
        replaced: replaced.is_some_and(|refs| !refs.is_empty()),
        folds_case: is_open && folds_case(path),
    };
    Ok((facts, surroundings))
}
