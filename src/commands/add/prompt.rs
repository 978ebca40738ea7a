//! Reads the prompt that `add` was given, and which one a worktree was made with.

use camino::Utf8Path;

use crate::cli::ContextOptions;
use crate::client::{self, AgentProgram};
use crate::disk::files;
use crate::error::Error;
use crate::path::{RepoPath, escape_for_terminal};
use crate::placed::{Origin, PlacedKind};
use crate::plan::refusal::Refusal;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;

/// Reads the prompt: the text, the file, or what came on standard input. `start` is where files
/// are relative to.
///
/// # Errors
/// Fails when the file cannot be read; refuses what is no text.
pub fn read(
    options: &ContextOptions,
    start: &Utf8Path,
    input: &[u8],
) -> Result<Option<Vec<u8>>, Error> {
    let (from, bytes) = match (&options.prompt, &options.prompt_file) {
        (None, None) => return Ok(None),
        _ if options.reads_stdin() => ("standard input".to_owned(), input.to_vec()),
        (Some(text), _) => ("--prompt".to_owned(), text.clone().into_bytes()),
        (None, Some(file)) => {
            let path = escape_for_terminal(file.as_bytes());
            let bytes = files::read_stream(&start.join(file))?;
            let missing = || Refusal::NoPromptFile { path: path.clone() };
            (path.clone(), bytes.ok_or_else(missing)?)
        }
    };
    if bytes.contains(&0) {
        return Err(Refusal::NoText { from }.into());
    }
    Ok(Some(bytes))
}

/// Says of a worktree that is there what became of the context that was asked for; nothing when
/// it was made with this prompt, for this client.
///
/// # Errors
/// Fails when the list of placed files, or one of them, cannot be read.
pub fn of_kept(
    known: &Worktree,
    options: &ContextOptions,
    prompt: Option<&[u8]>,
) -> Result<Option<String>, WorktreeError> {
    if prompt.is_none() && options.client.is_none() {
        return Ok(None);
    }
    let placed = known.placed()?;
    let context: Vec<&RepoPath> = placed
        .files()
        .iter()
        .filter(|file| file.origin == Origin::Context && file.kind == PlacedKind::File)
        .map(|file| &file.path)
        .collect();
    let asked = options.client.as_deref().map(client::named);
    let Some(first) = context.first() else {
        let wants_some = !matches!(asked, Some(None));
        return Ok(wants_some.then(|| {
            "context is only written when a worktree is made: this one was made without".to_owned()
        }));
    };
    let of_client = |asked: Option<&AgentProgram>| {
        let files = asked.map_or(&[][..], |client| client.files);
        context
            .iter()
            .all(|path| files.iter().any(|file| *path.as_bstr() == *file.path))
    };
    let at = |path: &RepoPath| known.record.path.join(path.to_string());
    let mut has_prompt = prompt.is_none();
    for path in &context {
        let bytes = files::read(&at(path))?.unwrap_or_default();
        has_prompt |= prompt.is_some_and(|prompt| bytes.starts_with(prompt));
    }
    if has_prompt && asked.is_none_or(of_client) {
        return Ok(None);
    }
    Ok(Some(format!(
        "context is only written when a worktree is made; that of this one is {}",
        at(first)
    )))
}
