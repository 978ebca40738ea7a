//! Says why a copy placed nothing.

use crate::inventory::placed::PlacedKind;
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// Says why nothing was placed.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum CopyError {
    #[error("{path} changed while it was copied")]
    #[diagnostic(code(agentwt::copy::changed))]
    #[diagnostic(help(
        "wait until nothing writes to it (`ls -l '{path}'`), then run the same command again"
    ))]
    Changed { path: RepoPath },
    #[error("cannot place {path}: a {} stands there", found.as_str())]
    #[diagnostic(code(agentwt::copy::in_the_way))]
    #[diagnostic(help(
        "nothing is written through a link or over a file: look with `ls -ld '{path}'`, \
         move it away, then run the same command again"
    ))]
    InTheWay { path: RepoPath, found: PlacedKind },
}

pub(super) fn changed(path: &RepoPath) -> Error {
    CopyError::Changed { path: path.clone() }.into()
}
