//! Reads the prompt, and plans the files that tell the client about its task.

use bstr::ByteSlice as _;
use camino::Utf8Path;

use crate::client::context::Context;
use crate::client::guards::{GuardFacts, top_entries};
use crate::client::layout::{ClientRefusal, ContextLayout, PathState};
use crate::client::programs;
use crate::commands::add::arguments::ContextOptions;
use crate::config::value::{Choice as _, Client};
use crate::disk::files;
use crate::inventory::placed::{PlacedKind, PlacedOrigin};
use crate::record::worktree::Record;
use crate::refusal::Refusal;
use crate::scope::compiled::Scope;
use crate::scope::rule::{Access, Case, EntryKind};
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::path::{RepoPath, escape_for_rule, escape_for_terminal};
use crate::worktree::loaded::Worktree;

/// Holds what the context and the guards are planned from: what will stand in the worktree before
/// we write there, and what the client is told of the places around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextFacts<'a> {
    /// The scope.
    pub scope: &'a Scope,
    /// Every entry of the commit that is checked out.
    pub tracked: &'a [(RepoPath, Entry)],
    /// What is synced from the main worktree.
    pub synced: &'a [RepoPath],
    /// The directory of the repository, which the context tells the client to leave alone.
    pub root: &'a Utf8Path,
    /// The directory that guards close (`Repository::closed_root`): that of the repository, or
    /// only its `.agentwt` where the rest is open to the user's client.
    pub closed_root: &'a Utf8Path,
    /// Our own executable, which guards call.
    pub binary: &'a Utf8Path,
}

impl ContextFacts<'_> {
    /// Plans the context files and the guards of a new worktree; without a client there are none.
    ///
    /// # Errors
    /// Refuses when every file that the client reads by itself is held or excluded.
    pub fn plan_context(
        &self,
        client: Client,
        record: &Record,
        prompt: &[u8],
    ) -> Result<ContextLayout, ClientRefusal> {
        let Some(program) = programs::named(client.as_str()) else {
            return Ok(ContextLayout::default());
        };
        let context = Context {
            prompt,
            name: &record.name,
            branch: &record.branch,
            base: &record.base.commit,
            revision: &record.base.revision,
            rules: &record.scope,
            root: self.root,
        };
        let mut layout = program.layout(&context, &|path| self.state(path))?;
        let guards = GuardFacts {
            scope: self.scope,
            worktree: &record.path,
            closed_root: self.closed_root,
            binary: self.binary,
            top: &top_entries(self.tracked.iter().map(|(path, _)| path)),
        };
        program.add_guards(&guards, &mut layout, &|path| self.state(path));
        Ok(layout)
    }

    /// What will be at a path. The scope comes first: what it excludes is absent, even if it is
    /// tracked.
    fn state(&self, path: &RepoPath) -> PathState {
        let verdict = self.scope.verdict(path, EntryKind::File);
        if verdict.access == Access::Excluded {
            let rule = verdict.rule.map(|rule| {
                let pattern = escape_for_rule(&rule.pattern);
                format!("the {} pattern `{pattern}` ({})", rule.list, rule.origin)
            });
            return PathState::Excluded(rule);
        }
        for (other, _) in self.tracked {
            if let Some(state) = self.state_beside(path, other, PathState::Tracked) {
                return state;
            }
        }
        for other in self.synced {
            if let Some(state) = self.state_beside(path, other, PathState::Synced) {
                return state;
            }
        }
        PathState::Free
    }

    /// The state of a path beside another path that is there: `taken` if both are the same; `None`
    /// if neither is below the other.
    fn state_beside(
        &self,
        path: &RepoPath,
        other: &RepoPath,
        taken: PathState,
    ) -> Option<PathState> {
        if self.is_same(path.as_bstr(), other.as_bstr()) {
            return Some(taken);
        }
        if self.is_below(path.as_bstr(), other.as_bstr()) {
            return Some(PathState::Above(other.clone()));
        }
        if self.is_below(other.as_bstr(), path.as_bstr()) {
            return Some(PathState::Directory);
        }
        None
    }

    /// True if the file system takes two names for the same.
    fn is_same(&self, a: &[u8], b: &[u8]) -> bool {
        match self.scope.case() {
            Case::Sensitive => a == b,
            Case::Insensitive => a.eq_ignore_ascii_case(b),
        }
    }

    fn is_below(&self, path: &[u8], above: &[u8]) -> bool {
        path.get(above.len()) == Some(&b'/') && self.is_same(above, &path[..above.len()])
    }
}

/// Reads the prompt: the text, the file, or what came on standard input. `start` is where files
/// are relative to.
///
/// # Errors
/// Fails when the file cannot be read.
pub(super) fn read_prompt(
    options: &ContextOptions,
    start: &Utf8Path,
    input: &[u8],
) -> Result<Option<Vec<u8>>, Error> {
    if options.reads_stdin() {
        return Ok(Some(input.to_vec()));
    }
    if let Some(text) = &options.prompt {
        return Ok(Some(text.clone().into_bytes()));
    }
    let Some(file) = &options.prompt_file else {
        return Ok(None);
    };
    match files::read_stream(&start.join(file))? {
        Some(bytes) => Ok(Some(bytes)),
        None => {
            let path = escape_for_terminal(file.as_bytes());
            Err(Refusal::NoPromptFile { path }.into())
        }
    }
}

/// The note that an existing worktree keeps the context it has. `None` if its context has all that
/// was asked for: the prompt, if one was given, and the files of the client, if one was named.
///
/// # Errors
/// Fails when the list of placed files, or one of them, cannot be read.
pub(super) fn note_on_kept_context(
    worktree: &Worktree,
    options: &ContextOptions,
    prompt: Option<&[u8]>,
) -> Result<Option<String>, Error> {
    let root = &worktree.record.path;
    let mut context_paths = Vec::new();
    for file in worktree.placed()?.files() {
        if file.origin == PlacedOrigin::Context && file.kind == PlacedKind::File {
            context_paths.push(file.path.to_string());
        }
    }
    let has_client = match options.client.as_deref() {
        Some(client) => is_context_of(client, &context_paths),
        None => true,
    };
    let has_prompt = match prompt {
        Some(prompt) => is_prompt_in(prompt, root, &context_paths)?,
        None => true,
    };
    if has_prompt && has_client {
        return Ok(None);
    }
    let note = match file_to_show(&context_paths) {
        None => "context is only written when a worktree is made: this one was made without".into(),
        Some(file) => format!(
            "context is only written when a worktree is made; that of this one is {}",
            root.join(file)
        ),
    };
    Ok(Some(note))
}

/// True if one of these files has the prompt in it.
fn is_prompt_in(prompt: &[u8], root: &Utf8Path, context: &[String]) -> Result<bool, Error> {
    for file in context {
        let bytes = files::read(&root.join(file))?.unwrap_or_default();
        if bytes.contains_str(prompt) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The first Markdown file of a context, as the others may only configure the guards of a client;
/// the first file where there is none.
fn file_to_show(context: &[String]) -> Option<&String> {
    for file in context {
        if Utf8Path::new(file).extension() == Some("md") {
            return Some(file);
        }
    }
    context.first()
}

/// True if these context files are those of a client; a client without any has none.
fn is_context_of(client: &str, context: &[String]) -> bool {
    let mut paths: Vec<&str> = Vec::new();
    if let Some(program) = programs::named(client) {
        paths.extend(program.paths());
    }
    paths.is_empty() == context.is_empty()
        && context.iter().all(|file| paths.contains(&file.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::rule::RuleList;
    use crate::scope::rule::RuleOrigin;
    use crate::scope::rule::ScopeRule;
    use crate::words::entry::Mode;
    use crate::words::entry::ObjectId;

    #[track_caller]
    fn state(case: Case, tracked: &[&str], synced: &[&str], path: &str) -> String {
        let parse = |text: &str| RepoPath::parse(text).expect("it is a path");
        let rules =
            [(RuleList::Read, "**"), (RuleList::Exclude, "*.secret.md")].map(|(list, pattern)| {
                ScopeRule::new(list, pattern, RuleOrigin::Flag("--x".to_owned()))
            });
        let entry = Entry {
            mode: Mode::File,
            id: ObjectId::none(),
        };
        let around = ContextFacts {
            scope: &Scope::compile(rules.into(), case).expect("valid"),
            tracked: &tracked
                .iter()
                .map(|name| (parse(name), entry))
                .collect::<Vec<_>>(),
            synced: &synced.iter().map(|name| parse(name)).collect::<Vec<_>>(),
            root: "/r".into(),
            closed_root: "/r".into(),
            binary: "/b".into(),
        };
        match around.state(&parse(path)) {
            PathState::Free => "free".to_owned(),
            PathState::Above(path) => format!("below {path}"),
            PathState::Excluded(rule) => rule.unwrap_or_else(|| "no list".to_owned()),
            held => format!("{held:?}").to_lowercase(),
        }
    }

    #[test]
    fn a_path_is_free_only_where_nothing_stands_in_its_way() {
        use Case::{Insensitive, Sensitive};
        let dotted = ".claude/CLAUDE.md";
        for (case, tracked, synced, path, expected) in [
            (Sensitive, &[][..], &[][..], "AGENTS.md", "free"),
            (Sensitive, &["AGENTS.md"], &[], "AGENTS.md", "tracked"),
            (Sensitive, &["agents.md"], &[], "AGENTS.md", "free"),
            (Insensitive, &["agents.md"], &[], "AGENTS.md", "tracked"),
            (Sensitive, &[], &["AGENTS.md"], "AGENTS.md", "synced"),
            (
                Sensitive,
                &["docs/AGENTS.md", "AGENTS.md2"],
                &[],
                "AGENTS.md",
                "free",
            ),
            (Sensitive, &["AGENTS.md/x"], &[], "AGENTS.md", "directory"),
            (Sensitive, &[".claude/settings.json"], &[], dotted, "free"),
            (Sensitive, &[".claude"], &[], dotted, "below .claude"),
            (Insensitive, &[".Claude"], &[], dotted, "below .Claude"),
            (
                Sensitive,
                &["a.secret.md"],
                &[],
                "a.secret.md",
                "the exclude pattern `*.secret.md` (--x)",
            ),
        ] {
            assert_eq!(
                state(case, tracked, synced, path),
                expected,
                "{tracked:?} {path}"
            );
        }
    }
}
