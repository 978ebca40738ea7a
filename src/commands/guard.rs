//! `git agentwt guard`: decides on a tool call of an agent program before the program makes it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use camino::Utf8Path;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::text::Text;
use crate::client::call::ToolCall;
use crate::commands::{Outcome, Session, is_nowhere};
use crate::config::value::{Choice as _, Client};
use crate::disk::resolve::resolve;
use crate::git::index::read_paths;
use crate::judge::compare::Delta;
use crate::scope::rule::{Access, EntryKind, RuleText};
use crate::truth::layers::ignore_rules::{EXCLUDES_FILE, INFO_EXCLUDE, rules};
use crate::words::error::Error;
use crate::words::path::{RepoPath, escape_for_terminal, shell_word};
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Repository, WORKTREES};

/// Decide on a tool call of an agent program, before it edits a file
///
/// Reads the call from stdin, the JSON that the program gives its hook, and decides by the scope of
/// the worktree. A call that edits a file out of scope, in the main worktree or in another worktree
/// is answered with a denial that the program understands: the rule that decided, and the path to
/// use instead. Every other call is answered with nothing, and the program goes on as usual. `git
/// agentwt add --client` writes the hook.
///
/// Links and `..` are followed; a file that does not exist yet is judged as a new file. Shell
/// commands pass. Input that is not a tool call passes with a warning on stderr.
#[derive(Args, Debug)]
pub struct Guard {
    /// Answer as this program expects it [default: detected from the call]
    #[arg(long, value_name = "name", value_parser = PossibleValuesParser::new(Client::words()))]
    pub client: Option<String>,
}

/// The number of files that a denial names.
const SHOWN: usize = 5;

/// The answer of `guard`: the denial in the words of the program, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GuardAnswer {
    /// The denial.
    pub denial: Option<String>,
}

impl Answer for GuardAnswer {
    const DOCUMENT: &'static str = "guard";

    fn print(&self, text: &mut Text) {
        if let Some(denial) = &self.denial {
            text.line(denial);
        }
    }
}

/// Decides on the call on standard input. Input that is not known passes, with a note.
pub fn run(session: &Session, options: &Guard) -> Outcome<GuardAnswer> {
    let passed = |why: &str| Outcome {
        notes: vec![format!("the guard decides nothing: {why}")],
        ..Outcome::done(GuardAnswer::default())
    };
    let call = match ToolCall::parse(&session.input, options.client.as_deref()) {
        Ok(call) => call,
        Err(why) => return passed(&format!("this is not a tool call: {why}")),
    };
    if call.paths.is_empty() {
        return Outcome::done(GuardAnswer::default());
    }
    let reason = match denials(session, &call) {
        Ok(reasons) if reasons.is_empty() => return Outcome::done(GuardAnswer::default()),
        Ok(reasons) => reasons.join("\n"),
        Err(error) if is_about_no_worktree(&error) => return passed(&error.to_string()),
        Err(error) => format!("git agentwt cannot tell whether this is in scope: {error}"),
    };
    Outcome::done(GuardAnswer {
        denial: Some(call.denial(&reason)),
    })
}

/// True if an error says that this is no worktree of ours.
fn is_about_no_worktree(error: &Error) -> bool {
    let fault = error.find::<WorktreeFault>();
    is_nowhere(error) || matches!(fault, Some(WorktreeFault::NotInWorktree { .. }))
}

/// The reasons to deny a call, a limited number.
fn denials(session: &Session, call: &ToolCall) -> Result<Vec<String>, Error> {
    let repository = session.repository()?;
    let worktree = Worktree::of(&repository, None)?;
    let judge = Judge {
        repository: &repository,
        worktree: &worktree,
    };
    let named = call.directory.as_deref().unwrap_or_default();
    let directory = session.resolve(Utf8Path::new(named));
    let mut denials = Vec::new();
    for path in &call.paths {
        denials.extend(judge.denied(path, directory.join(path).as_std_path()));
        if denials.len() == SHOWN {
            break;
        }
    }
    Ok(denials)
}

struct Judge<'j> {
    repository: &'j Repository,
    worktree: &'j Worktree,
}

impl Judge<'_> {
    /// Why the program must not edit a file; `None` if it may. `named` is the file as it was named.
    fn denied(&self, named: &str, path: &Path) -> Option<String> {
        // if links go in a circle or a directory is closed, the program cannot write either
        let resolved = resolve(path, &|_| false).ok()?;
        match resolved.strip_prefix(&self.worktree.record.path) {
            Ok(inside) => self.denied_inside(inside),
            Err(_) => self.denied_outside(named, &resolved),
        }
    }

    /// Why a path of the worktree must not be edited.
    fn denied_inside(&self, inside: &Path) -> Option<String> {
        let (access, why) = self.refused(inside)?;
        if access == Access::Excluded {
            return Some(why);
        }
        let name = &self.worktree.record.name;
        let pattern = shell_word(&format!("/{}", inside.display()));
        Some(format!(
            "{why}; if the task needs this edit, ask the user to run: git agentwt scope \
                {name} --add-write {pattern}"
        ))
    }

    /// Why a file outside of the worktree must not be edited, and what to edit instead; `None` if
    /// it is not of this repository.
    fn denied_outside(&self, named: &str, resolved: &Path) -> Option<String> {
        let shown = escape_for_terminal(named.as_bytes());
        let root = &self.worktree.record.path;
        let name = &self.worktree.record.name;
        let place = self.other_place_of(resolved)?;
        let other_file = place.in_worktree.filter(InWorktree::is_file);
        let Some(InWorktree { worktree, path }) = other_file else {
            return Some(format!(
                "{shown} is in {}, which is not this task's",
                place.root
            ));
        };
        let instead = match self.refused(path) {
            Some((_, why)) => why,
            None => {
                let own_file = root.as_std_path().join(path);
                let shown_file = escape_for_terminal(own_file.as_os_str().as_bytes());
                format!("edit {shown_file} instead")
            }
        };
        Some(format!(
            "{shown} is in {worktree}, not in your worktree {name}: {instead}"
        ))
    }

    /// The access to a path of the worktree that must not be edited, and the rule that decided;
    /// `None` if it may be edited.
    fn refused(&self, inside: &Path) -> Option<(Access, String)> {
        let bytes = inside.as_os_str().as_bytes();
        if inside.iter().any(|part| part == ".git") {
            let path = escape_for_terminal(bytes);
            return Some((Access::Excluded, format!("{path} is git's own")));
        }
        // the root itself, or what no path in git can be
        let path = RepoPath::parse(bytes).ok()?;
        let verdict = self.worktree.scope.verdict(&path, EntryKind::File);
        let what = match verdict.access {
            Access::Write => return None,
            Access::Read => "is read-only",
            Access::Excluded => "is excluded",
        };
        // the same exception as in verification: build output, unless a pattern excludes the path
        let may_be_output = verdict.access == Access::Read || verdict.rule.is_none();
        if may_be_output && self.is_build_output(&path).unwrap_or(false) {
            return None;
        }
        let rule = verdict.rule.map(|rule| RuleText::from(rule).text());
        let by = rule.unwrap_or_else(|| "no pattern matches".to_owned());
        Some((verdict.access, format!("{path} {what} in this task: {by}")))
    }

    /// True if the ignore rules of the base ignore a path that is neither in the base nor staged
    /// nor placed.
    fn is_build_output(&self, path: &RepoPath) -> Result<bool, Error> {
        let manifest = self.worktree.manifest()?;
        if manifest.base(path).is_some() || self.worktree.placed()?.get(path).is_some() {
            return Ok(false);
        }
        let repository = self.worktree.readable_repository(self.repository);
        let index = self.worktree.record.admin_dir.join("index");
        let staged = read_paths(&index, repository.format)?;
        if staged.is_none_or(|staged| staged.contains(path)) {
            return Ok(false);
        }
        let objects = repository.objects()?;
        let recorded = [EXCLUDES_FILE, INFO_EXCLUDE];
        let mut rules = rules(self.worktree, &manifest, &objects, &Delta::new(), &recorded)?;
        Ok(rules.ignores_file(path))
    }

    /// Where a path outside of the worktree is; `None` if a task need not leave it alone
    /// (`Repository::closed_root`).
    fn other_place_of<'p>(&self, resolved: &'p Path) -> Option<OtherPlace<'_, 'p>> {
        let root = &self.repository.root;
        let common = &self.repository.home().common_dir;
        // first, as the main worktree has git's directory in it
        if resolved.starts_with(common) {
            return Some(OtherPlace {
                root: common,
                in_worktree: None,
            });
        }
        if !resolved.starts_with(self.repository.closed_root()) {
            return None;
        }
        let inside = resolved.strip_prefix(root).ok()?;
        let below_worktrees = inside.strip_prefix(WORKTREES).unwrap_or(Path::new(""));
        let mut parts = below_worktrees.components();
        if let Some(directory) = parts.next() {
            let name = escape_for_terminal(directory.as_os_str().as_bytes());
            return Some(OtherPlace {
                root,
                in_worktree: Some(InWorktree {
                    worktree: format!("the worktree {name}"),
                    path: parts.as_path(),
                }),
            });
        }
        if self.repository.has_no_main_worktree() {
            return Some(OtherPlace {
                root,
                in_worktree: None,
            });
        }
        Some(OtherPlace {
            root,
            in_worktree: Some(InWorktree {
                worktree: "the main worktree".to_owned(),
                path: inside,
            }),
        })
    }
}

/// Where a path outside of the worktree is.
struct OtherPlace<'r, 'p> {
    /// The directory of the repository, or git's.
    root: &'r Utf8Path,
    /// Where it is in a worktree; none if it is in none.
    in_worktree: Option<InWorktree<'p>>,
}

/// A place in another worktree.
struct InWorktree<'p> {
    /// Which one, for people.
    worktree: String,
    /// The path in it; empty for the worktree itself.
    path: &'p Path,
}

impl InWorktree<'_> {
    /// True for a file that this task may have too: not for the worktree itself, nor for what is
    /// git's.
    fn is_file(&self) -> bool {
        !self.path.starts_with(".git") && !self.path.as_os_str().is_empty()
    }
}
