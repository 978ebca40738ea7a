//! Reads how gix is to check out, as `gix::Repository::checkout_options` does.
//!
//! That function stands behind a feature of gix that also brings its status and directory walks,
//! six more crates.

use std::num::NonZero;

use gix::filter::Pipeline;
use gix::filter::plumbing::driver::apply::Delay;
use gix::fs::Capabilities;
use gix::index::State;
use gix::worktree::stack::State as StackState;
use gix::worktree::stack::state::Attributes;
use gix::worktree::stack::state::attributes::Source;
use gix::worktree::validate::path::component::Options as PathRules;
use gix_worktree_state::checkout::Options;

/// Whether a checkout starts programs that convert files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Filters {
    /// At least one file has a filter.
    Run,
    /// No file has one.
    Unused,
}

/// Reads the options of a checkout into an empty directory.
///
/// # Errors
/// Fails when a setting has no valid value.
pub(super) fn read_options(
    repo: &gix::Repository,
    filters: Filters,
) -> Result<Options, gix::Error> {
    let config = repo.config_snapshot();
    let settings = config.plumbing();
    let no_index = State::new(repo.object_hash());
    let stack = repo.attributes_only(&no_index, Source::IdMapping)?.detach();
    let attributes = match stack.state() {
        StackState::AttributesStack(attributes) => attributes.clone(),
        _other_states => Attributes::default(),
    };
    let (mut pipeline, _) = Pipeline::new(repo, stack)?.into_parts();
    if let Ok(mut head) = repo.head() {
        let context = pipeline.driver_context_mut();
        context.ref_name = head.referent_name().map(|name| name.as_bstr().to_owned());
        context.treeish = head.peel_to_commit().ok().map(|commit| commit.id);
    }
    let protect_hfs = settings.boolean("core.protectHFS")?;
    let protect_ntfs = settings.boolean("core.protectNTFS")?;
    Ok(Options {
        fs: Capabilities {
            // as git, which sets the bit whatever `core.fileMode` says
            executable_bit: true,
            ..repo.filesystem_options()?
        },
        validate: PathRules {
            protect_windows: cfg!(windows),
            protect_hfs: protect_hfs.unwrap_or(cfg!(target_os = "macos")),
            protect_ntfs: protect_ntfs.unwrap_or(true),
        },
        thread_limit: thread_limit(settings.integer("checkout.workers")?, filters),
        destination_is_initially_empty: true,
        overwrite_existing: false,
        // the error of a filter has to name its path: only errors that are collected do
        keep_going: filters == Filters::Run,
        stat_options: repo.stat_options()?,
        attributes,
        filters: pipeline,
        filter_process_delay: Delay::Allow,
    })
}

/// Returns how many threads check out, as `checkout.workers` says (git-config(1)); none if gix
/// decides. It deals out a few chunks for each thread: of two, one would end long before the other.
fn thread_limit(workers: Option<i64>, filters: Filters) -> Option<usize> {
    match (workers, filters) {
        (Some(workers), _) => Some(usize::try_from(workers).unwrap_or(0)),
        (None, Filters::Run) => None,
        (None, Filters::Unused) => {
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            Some(cores * 4)
        }
    }
}
