//! Reads the entries of a reflog, and what the commands that wrote them tell of where a commit came
//! from.

use bstr::ByteSlice;

use crate::git::object_format::commit_id_of;
use crate::words::name::{CommitId, branch_of};

/// One entry of a reflog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflogEntry {
    /// Where the ref was; none if it was nowhere, and where refs are tables: git does not say it.
    pub old: Option<CommitId>,
    /// Where the ref went.
    pub id: CommitId,
    /// Why, as the command that moved it said.
    pub reason: String,
}

/// Commands that go to a commit that was there before, and of which git does not tell the
/// reference-transaction hook where HEAD was.
const CHECKOUTS: [&str; 4] = ["checkout", "branch", "Branch", "clone"];

/// What an import writes into the log of a branch that it moves to a commit of the worktree's own.
pub const IMPORT_OF_OWN: &str = "agentwt exec: the commits of a fenced command";
/// What it writes where it moves the branch to a commit that is not.
pub const IMPORT_OF_OTHERS: &str = "agentwt exec: a commit that was there before";

/// Steps of a rebase that make no commit, as they stand before the colon.
const STEPS_WITHOUT_COMMIT: [&str; 4] = ["(start)", "(finish)", "(abort)", "(reset)"];

/// Those of which git does not tell the reference-transaction hook where HEAD was.
const STEPS_OF_CHECKOUT: [&str; 3] = ["(reset)", "(abort)", "(finish)"];

/// Commands that write the subject of a commit after the colon.
const COMMANDS_WITH_SUBJECT: [&str; 5] = ["commit", "cherry-pick", "revert", "am", "rebase"];

/// Commands that move a ref on from where it is, and so cannot have begun its log, unless they made
/// the ref.
const COMMANDS_THAT_GO_ON: [&str; 9] = [
    "commit",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "am",
    "fetch",
    "pull",
    "reset",
];

/// Commands that make a commit and write something else after the colon; the last five rewrite
/// history.
const COMMANDS_WITHOUT_SUBJECT: [&str; 7] = [
    "merge",
    "pull",
    "fast-import",
    "filter-branch",
    "fixup",
    "replay",
    "reword",
];

/// Commands that can make the first commit of a branch.
const BEGINNING_COMMANDS: [&str; 3] = ["am", "cherry-pick", "commit (initial)"];

/// What stands after the colon where another command ran a reset (builtin/reset.c).
const RESET_INSIDE: &str = "updating HEAD";

/// How the entry of a fetch or a pull ends that made the ref (builtin/fetch.c).
const STORED: [&str; 3] = [": storing head", ": storing ref", ": storing tag"];

/// Commands that can bring a commit from anywhere.
const BARE_MOVES: [&str; 6] = [
    "reset:",
    "checkout:",
    "branch:",
    "Branch:",
    "push",
    "update by push",
];

impl ReflogEntry {
    /// True if the command that logged it made the commit, and did not only go there.
    pub fn made_a_commit(&self) -> bool {
        let command = self.command();
        let has_moved =
            command == "reset" || CHECKOUTS.contains(&command) || self.reason == IMPORT_OF_OTHERS;
        !self.reason.is_empty() && !has_moved && !self.is_step_without_commit()
    }

    /// Returns what stands before the message: a command and its arguments, and the step of a
    /// rebase.
    fn command(&self) -> &str {
        let command = self.reason.split(": ").next().unwrap_or_default();
        // the subject of the commit may be empty
        command.strip_suffix(':').unwrap_or(command)
    }

    /// True if a step of a rebase logged it that makes no commit, a fast-forward, or a reset in
    /// another command. The subject of a commit says nothing.
    fn is_step_without_commit(&self) -> bool {
        let command = self.command();
        let is_step = STEPS_WITHOUT_COMMIT
            .iter()
            .any(|step| command.ends_with(step));
        // the argument of a merge can have anything in it
        let message = self.reason.rsplit(": ").next().unwrap_or_default();
        let has_subject = self
            .command_words()
            .next()
            .is_some_and(|word| COMMANDS_WITH_SUBJECT.contains(&word));
        let is_without_commit = message.starts_with("Fast-forward") || self.is_reset_inside();
        is_step || self.is_rebase_of_nothing() || !has_subject && is_without_commit
    }

    /// True if a rename of the branch that HEAD is on logged it, or a rebase that went back to its
    /// branch: the message names branches in full. The subject of a commit may name any.
    pub fn is_rename_or_end_of_rebase(&self) -> bool {
        let command = self.command();
        let ends_rebase = command.starts_with("rebase")
            && ["(finish)", "(abort)", " finished"]
                .iter()
                .any(|end| command.ends_with(end));
        ends_rebase || self.reason.starts_with("Branch: renamed ")
    }

    /// True if `git rebase <upstream> <branch>` logged it for a branch that is up to date, which is
    /// only checked out (builtin/rebase.c).
    fn is_rebase_of_nothing(&self) -> bool {
        self.reason.starts_with("rebase: checkout ")
    }

    /// True if the command that logged a move of this ref brought the commit from another
    /// repository, or made it in a worktree that has the branch checked out: by what that command
    /// wrote into the log (`git update-ref` writes nothing, `git branch -f` "branch: Reset to …", a
    /// push to this repository "push").
    pub fn came_from_elsewhere(&self, name: &str) -> bool {
        if self.is_reset_inside() {
            return false;
        }
        let is_tracking = name.starts_with("refs/remotes/");
        match self.command_words().next() {
            Some("fetch" | "pull" | "clone" | "remote") => self.fetched_from_elsewhere(name),
            Some("update") => is_tracking && self.reason.starts_with("update by push"),
            Some("commit" | "merge" | "rebase" | "am" | "cherry-pick" | "revert") => !is_tracking,
            Some(_) | None => false,
        }
    }

    /// True if a fetch was from another repository, and of what the ref is named after.
    fn fetched_from_elsewhere(&self, name: &str) -> bool {
        let mut arguments = self.command_words().skip(1);
        // the refspec of another remote can name this ref as well
        if name.starts_with("refs/remotes/")
            && let Some(remote) = arguments.find(|word| is_name_of_remote(word))
            && !name.starts_with(&format!("refs/remotes/{remote}/"))
        {
            return false;
        }
        let message = self
            .reason
            .split_once(':')
            .map_or("", |(_, message)| message);
        let mut words = self
            .command_words()
            .skip(1)
            .chain(message.split_whitespace());
        if words.any(is_here) {
            return false;
        }
        !self
            .reason
            .split_whitespace()
            .any(|word| is_refspec_of_another(word, name))
    }

    /// Returns the words before the first colon: a command and its arguments.
    fn command_words(&self) -> impl Iterator<Item = &str> {
        let command = self.reason.split(':').next().unwrap_or_default();
        command.split_whitespace()
    }

    /// True if a reset may have logged it that another command ran, as `git merge --abort` does.
    fn is_reset_inside(&self) -> bool {
        let message = self.reason.split_once(": ").map(|(_, message)| message);
        message == Some(RESET_INSIDE)
    }

    /// True if a command moved the ref that can bring a commit from anywhere: `reset`, `checkout
    /// -B`, `branch -f`, a push to this repository, and `update-ref` without a message.
    pub fn is_bare_move(&self) -> bool {
        self.reason.is_empty()
            || self.is_reset_inside()
            || BARE_MOVES
                .iter()
                .any(|command| self.reason.starts_with(command))
    }

    /// True if the command that logged it needs a ref that is there: if this is the oldest entry,
    /// the beginning of the log was expired.
    pub fn goes_on(&self) -> bool {
        let command = self.command_words().next().unwrap_or_default();
        let is_reset_branch = self.reason.starts_with("branch: Reset to");
        let goes_on = COMMANDS_THAT_GO_ON.contains(&command) && !self.made_the_ref(command);
        is_reset_branch || goes_on
    }

    /// True if a command that mostly goes on made the ref: the first commit, or a fetch or a pull
    /// under a new name.
    fn made_the_ref(&self, command: &str) -> bool {
        match command {
            "commit" => self.reason.starts_with("commit (initial)"),
            "fetch" | "pull" => STORED.iter().any(|end| self.reason.ends_with(end)),
            _other => false,
        }
    }

    /// True if a command logged it that goes to a commit which is there, and of which git does not
    /// tell the reference-transaction hook where HEAD was. So does `git symbolic-ref`, which leaves
    /// no word where refs are tables.
    pub fn is_checkout(&self) -> bool {
        let command = self.command();
        let is_step = STEPS_OF_CHECKOUT.iter().any(|step| command.ends_with(step));
        let is_checkout = command == "initial pull" || CHECKOUTS.contains(&command);
        self.reason.is_empty() || is_step || is_checkout || self.is_rebase_of_nothing()
    }

    /// True if a command of git's logged it that made a commit.
    pub fn is_commit_of_git(&self) -> bool {
        let command = self.command_words().next().unwrap_or_default();
        let is_of_git =
            COMMANDS_WITH_SUBJECT.contains(&command) || COMMANDS_WITHOUT_SUBJECT.contains(&command);
        is_of_git && self.made_a_commit()
    }

    /// True if it went nowhere, where refs are tables and git does not say where the ref was.
    pub fn is_reset_to_head(&self) -> bool {
        self.old.is_none() && self.reason == "reset: moving to HEAD"
    }

    /// True if it can be the first commit of a branch.
    pub fn may_begin_branch(&self) -> bool {
        self.old.is_none() && BEGINNING_COMMANDS.contains(&self.command())
    }

    /// True if this is the same move as another, in the log of another ref.
    pub fn is_same_move(&self, other: &Self) -> bool {
        self.id == other.id && self.reason == other.reason
    }

    /// Returns the branch that this one was before `git branch -m`, or is a copy of
    /// (git-branch(1)).
    pub fn renamed_or_copied_from(&self) -> Option<&str> {
        let mut words = self.reason.strip_prefix("Branch: ")?.split(' ');
        match words.next()? {
            "renamed" | "copied" => words.next(),
            _ => None,
        }
    }

    /// True if a push to a remote moved a remote-tracking ref onto this commit (git-push(1)).
    pub fn is_push_of(&self, commit: &CommitId) -> bool {
        self.id == *commit && self.reason.starts_with("update by push")
    }

    /// Returns the commit from which HEAD went away, if HEAD named it by itself and was on no branch:
    /// perhaps nothing else names that commit.
    pub fn left_detached_commit(&self) -> Option<CommitId> {
        let route = self.reason.strip_prefix("checkout: moving from ")?;
        let from = route.split(' ').next().unwrap_or_default();
        CommitId::parse(from).ok()
    }
}

/// Lists the commits that commands made that wrote a log, the newest first. A merge that fails logs
/// that it goes back to where HEAD was, and made no commit.
pub fn made_commits(log: &[ReflogEntry]) -> Vec<CommitId> {
    let mut commits = Vec::new();
    for (at, entry) in log.iter().enumerate() {
        let stayed = log.get(at + 1).is_some_and(|older| older.id == entry.id);
        if entry.made_a_commit() && !stayed {
            commits.push(entry.id.clone());
        }
    }
    commits
}

/// Returns the newest entry of a log that went elsewhere than the one before: where refs are tables,
/// git logs a move to the same place too.
pub fn last_move(log: &[ReflogEntry]) -> Option<&ReflogEntry> {
    let mut newest = log.first()?;
    for older in &log[1..] {
        if older.id != newest.id {
            break;
        }
        newest = older;
    }
    Some(newest)
}

/// True if an argument of `git fetch` names what is here already: `fetch . HEAD:…`.
fn is_here(word: &str) -> bool {
    word.starts_with(['.', '/']) || word == "file"
}

/// True if an argument of `git fetch` is neither an option nor the number of one.
fn is_name_of_remote(word: &str) -> bool {
    !word.starts_with('-') && !word.bytes().all(|byte| byte.is_ascii_digit())
}

/// True if a word is a refspec that brings another branch than the one that a ref is named after.
fn is_refspec_of_another(word: &str, name: &str) -> bool {
    let refspec = word.trim_start_matches('+').trim_end_matches(':');
    let Some((source, destination)) = refspec.split_once(':') else {
        return false;
    };
    let is_for_this_ref = destination == name
        || format!("refs/{destination}") == name
        || format!("refs/heads/{destination}") == name
        || format!("refs/remotes/{destination}") == name;
    is_for_this_ref && branch_of(source) != short_name(name)
}

/// Returns the branch that a ref is named after: `main` for `refs/heads/main` and for
/// `refs/remotes/origin/main`.
fn short_name(name: &str) -> &str {
    let tracking = name.strip_prefix("refs/remotes/");
    match tracking.and_then(|rest| rest.split_once('/')) {
        Some((_, branch)) => branch,
        None => branch_of(name),
    }
}

/// Parses the file of a reflog, the newest entry first. As git does, it passes over a line that is
/// damaged, and over an entry that went to nothing.
pub fn parse_reflog_file(bytes: &[u8]) -> Vec<ReflogEntry> {
    let mut entries = Vec::new();
    for line in gix::refs::file::log::iter::forward(bytes).flatten() {
        let id = commit_id_of(&line.new_oid());
        if id.is_known() {
            let old = commit_id_of(&line.previous_oid());
            entries.push(ReflogEntry {
                old: old.is_known().then_some(old),
                id,
                reason: line.message.to_str_lossy().into_owned(),
            });
        }
    }
    entries.reverse();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(entries: &[(char, &str)]) -> Vec<ReflogEntry> {
        let mut log = Vec::new();
        for (letter, reason) in entries {
            let id = CommitId::parse(&letter.to_string().repeat(40)).expect("an id");
            let reason = (*reason).to_owned();
            let old = None;
            log.push(ReflogEntry { old, id, reason });
        }
        log
    }

    #[test]
    fn a_merge_that_failed_made_no_commit() {
        let failed = ('a', "merge dev: updating HEAD");
        let first = ('a', "checkout: moving from main to x");
        assert_eq!(made_commits(&log(&[failed, first])), []);
        let merged = ('b', "merge dev: Merge made by the 'ort' strategy.");
        let entries = log(&[merged, failed, first]);
        assert_eq!(made_commits(&entries), [entries[0].id.clone()]);
    }

    #[test]
    fn the_first_entry_of_a_log_can_have_made_a_commit() {
        let entries = log(&[('a', "commit (initial): a")]);
        assert_eq!(made_commits(&entries), [entries[0].id.clone()]);
    }

    #[test]
    fn a_command_that_only_went_to_a_commit_did_not_make_it() {
        for (reason, made) in [
            ("commit: c", true),
            ("commit (amend): c", true),
            ("merge x: Merge made by the 'ort' strategy.", true),
            ("rebase (pick): c", true),
            ("rebase (start): checkout main", false),
            ("rebase (finish): returning to refs/heads/x", false),
            ("rebase (abort): updating HEAD", false),
            ("merge x: Fast-forward", false),
            ("merge x: updating HEAD", false),
            ("commit: updating HEAD", true),
            ("rebase (reset): 'onto'", false),
            ("pull --rebase origin a:b (start): checkout c", false),
            ("commit: (start)", true),
            ("commit: Fast-forward", true),
            ("cherry-pick: say (finish)", true),
            ("rebase (pick): x: Fast-forward", true),
            ("checkout: moving from main to x", false),
            ("reset: moving to HEAD~", false),
            ("branch: Created from main", false),
            ("Branch: renamed refs/heads/x to refs/heads/y", false),
            ("clone: from x", false),
            ("", false),
        ] {
            let entry = &log(&[('a', reason)])[0];
            assert_eq!(entry.made_a_commit(), made, "{reason}");
        }
    }

    #[test]
    fn a_command_that_goes_on_needs_a_ref_and_a_bare_move_needs_nothing() {
        for (reason, goes_on, is_bare) in [
            ("commit: c", true, false),
            ("commit (initial): c", false, false),
            ("merge x: Fast-forward", true, false),
            ("rebase (finish): refs/heads/main onto C", true, false),
            ("cherry-pick: c", true, false),
            ("revert: c", true, false),
            ("am: c", true, false),
            ("pull: Fast-forward", true, false),
            ("reset: moving to HEAD~", true, true),
            ("checkout: moving from main to x", false, true),
            ("merge x: updating HEAD", true, true),
            ("branch: Created from main", false, true),
            ("Branch: renamed refs/heads/x to refs/heads/y", false, true),
            ("push", false, true),
            ("update by push", false, true),
            ("fetch origin: storing head", false, false),
            ("fetch origin v1:v1: storing tag", false, false),
            ("fetch origin x:refs/x: storing ref", false, false),
            ("fetch . +HEAD:new: forced-update", true, false),
            ("fetch . HEAD:new: fast-forward", true, false),
            ("pull origin side:new: storing head", false, false),
            ("branch: Reset to main", true, true),
            ("clone: from x", false, false),
            // `git update-ref`
            ("", false, true),
        ] {
            let entry = &log(&[('a', reason)])[0];
            assert_eq!(entry.goes_on(), goes_on, "{reason}");
            assert_eq!(entry.is_bare_move(), is_bare, "{reason}");
        }
    }

    #[test]
    fn what_came_from_elsewhere_is_known_by_the_command_and_its_arguments() {
        let main = "refs/heads/main";
        let tracking = "refs/remotes/origin/main";
        for (name, reason, is_from_elsewhere) in [
            (main, "commit: c", true),
            (main, "merge x: Fast-forward", true),
            (main, "rebase (finish): refs/heads/main onto C", true),
            (main, "am: c", true),
            (main, "cherry-pick: c", true),
            (main, "revert: c", true),
            (tracking, "commit: c", false),
            (
                tracking,
                "remote: renamed refs/remotes/x/main to refs/remotes/origin/main",
                true,
            ),
            (tracking, "update by push", true),
            (tracking, "update: main", false),
            (main, "update by push", false),
            // what a fetch names: another remote, this repository, or another branch
            (tracking, "fetch origin: fast-forward", true),
            (tracking, "fetch origin2: fast-forward", false),
            (main, "fetch origin main:main: fast-forward", true),
            (main, "fetch . main:main: fast-forward", false),
            (main, "fetch /srv/x main:main: fast-forward", false),
            (main, "fetch file:///srv/x main:main: fast-forward", false),
            (main, "fetch origin side:main: storing head", false),
            (
                tracking,
                "fetch origin +main:refs/remotes/origin/main: storing head",
                true,
            ),
            (main, "fetch origin side:heads/main: storing head", false),
            (
                tracking,
                "fetch origin side:origin/main: storing head",
                false,
            ),
            (
                main,
                "fetch origin main:main side:other: fast-forward",
                true,
            ),
        ] {
            let entry = &log(&[('a', reason)])[0];
            let found = entry.came_from_elsewhere(name);
            assert_eq!(found, is_from_elsewhere, "{name}: {reason}");
        }
    }

    #[test]
    fn a_detached_head_is_left_by_the_id_that_it_named() {
        let from_commit = format!("checkout: moving from {} to main", "a".repeat(40));
        let left = CommitId::parse(&"a".repeat(40)).expect("an id");
        for (reason, commit) in [
            (from_commit.as_str(), Some(left)),
            ("checkout: moving from main to x", None),
            ("commit: c", None),
        ] {
            let entry = &log(&[('b', reason)])[0];
            assert_eq!(entry.left_detached_commit(), commit, "{reason}");
        }
    }

    #[test]
    fn a_file_is_read_from_its_end_without_what_went_to_nothing() {
        let [zeros, a, b] = ["0", "a", "b"].map(|digit| digit.repeat(40));
        let who = "A <a@example.invalid> 1700000000 +0000";
        let lines = [
            format!("{zeros} {a} {who}\tcommit (initial): a\n"),
            format!("{a} {zeros} {who}\tdeleted\n"),
            format!("{a} {b} {who}\tcommit: b\n"),
        ];
        let entries = parse_reflog_file(lines.concat().as_bytes());
        let mut expected = log(&[('b', "commit: b"), ('a', "commit (initial): a")]);
        expected[0].old = Some(expected[1].id.clone());
        assert_eq!(entries, expected);
    }

    #[test]
    fn the_last_move_of_a_log_is_one_that_went_elsewhere() {
        let entries = log(&[('b', ""), ('b', "commit: b"), ('a', "clone: from x")]);
        assert_eq!(last_move(&entries), Some(&entries[1]));
        assert_eq!(last_move(&[]), None);
    }
}
