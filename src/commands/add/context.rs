//! Decides which files tell the client about its task, before anything is made; pure.

use super::plan::AddPlan;
use crate::client::{ClientRefusal, Context, Layout, PathState, Root};
use crate::config::Choice;
use crate::entry::Entry;
use crate::path::RepoPath;

use crate::scope::{Access, Case, EntryKind, Scope, escape_for_rule};

/// Holds what stands in the worktree before we write there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    /// The scope.
    pub scope: &'a Scope,
    /// Every entry of the commit that is checked out.
    pub tracked: &'a [(RepoPath, Entry)],
    /// What is synced from the main worktree.
    pub synced: &'a [RepoPath],
    /// What the client must leave alone.
    pub root: Root<'a>,
}

/// Plans the context files of a new worktree; none where it has no client.
///
/// # Errors
/// Refuses when every file that the client reads by itself is held or excluded.
pub(super) fn plan_context(
    plan: &AddPlan,
    prompt: &[u8],
    around: &Around<'_>,
) -> Result<Layout, ClientRefusal> {
    let Some(client) = crate::client::named(Choice::as_str(plan.client)) else {
        return Ok(Layout::default());
    };
    let record = &plan.record;
    let context = Context {
        prompt,
        name: &record.name,
        branch: &record.branch,
        base: &record.base.commit,
        revision: &record.base.revision,
        rules: &record.scope,
        root: around.root,
    };
    client.layout(&context, &|path| around.state(path))
}

impl Around<'_> {
    /// What will stand at a path. What the scope keeps away is that first: it is not there,
    /// tracked or not.
    fn state(&self, path: &RepoPath) -> PathState {
        let verdict = self.scope.verdict(path, EntryKind::File);
        if verdict.access == Access::Excluded {
            let rule = verdict.rule.map(|rule| {
                let pattern = escape_for_rule(&rule.pattern);
                format!("the {} pattern `{pattern}` ({})", rule.list, rule.origin)
            });
            return PathState::Excluded(rule);
        }
        let tracked = self.tracked.iter();
        let tracked = tracked.map(|(path, _)| (path, PathState::Tracked));
        let synced = self.synced.iter().map(|path| (path, PathState::Synced));
        let held = tracked
            .chain(synced)
            .find_map(|(other, by)| self.held(path, other, by));
        held.unwrap_or(PathState::Free)
    }

    /// How one entry stands in the way of a path.
    fn held(&self, path: &RepoPath, other: &RepoPath, by: PathState) -> Option<PathState> {
        let (wanted, there) = (path.as_bstr(), other.as_bstr());
        let same = |a: &[u8], b: &[u8]| match self.scope.case() {
            Case::Sensitive => a == b,
            Case::Insensitive => a.eq_ignore_ascii_case(b),
        };
        let below = |above: &[u8], path: &[u8]| {
            path.len() > above.len()
                && path[above.len()] == b'/'
                && same(above, &path[..above.len()])
        };
        if same(wanted, there) {
            Some(by)
        } else if below(there, wanted) {
            Some(PathState::Above(other.clone()))
        } else {
            below(wanted, there).then_some(PathState::Directory)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Mode, ObjectId};
    use crate::scope::{Origin, RuleList, ScopeRule};

    #[track_caller]
    fn state(case: Case, tracked: &[&str], synced: &[&str], path: &str) -> String {
        let parse = |text: &str| RepoPath::parse(text).expect("a path");
        let rules = [(RuleList::Read, "**"), (RuleList::Exclude, "*.secret.md")]
            .map(|(list, pattern)| ScopeRule::new(list, pattern, Origin::Flag("--x".to_owned())));
        let entry = Entry {
            mode: Mode::File,
            id: ObjectId::none(),
        };
        let around = Around {
            scope: &Scope::compile(rules.into(), case).expect("valid"),
            tracked: &tracked
                .iter()
                .map(|path| (parse(path), entry))
                .collect::<Vec<_>>(),
            synced: &synced.iter().map(|path| parse(path)).collect::<Vec<_>>(),
            root: Root::Bare("/r".into()),
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
