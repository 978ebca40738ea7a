//! What the verdict has to be, from who did what: [`Story`].
//!
//! Nothing here is read from reflogs or journals. A ref that differs after an act was moved by
//! whoever acted; a file says who wrote it; a commit names who made it.

use std::collections::{BTreeMap, BTreeSet};

use super::acts::{Act, Actor, Way};
use super::world::{Files, Objects, Refs, World};

/// The worktree's own branch, and the two refs that it follows.
const OWN: &str = "refs/heads/agentwt/task";
const OWN_UPSTREAM: &str = "refs/remotes/origin/agentwt/task";
const MAIN: &str = "refs/heads/main";
const ORIGIN_MAIN: &str = "refs/remotes/origin/main";
const ORIGIN_HEAD: &str = "refs/remotes/origin/HEAD";

/// The branch that only pushes to the path of the repository make.
const PUSHED_TO_PATH: &str = "refs/heads/z";

/// The least and the most that a place may be called: 0 nothing, 1 a notice, 2 a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub least: u8,
    pub most: u8,
}

pub const NOTHING: Range = Range { least: 0, most: 0 };
const NOTICE: Range = Range { least: 1, most: 1 };
const VIOLATION: Range = Range { least: 2, most: 2 };
const AT_MOST_NOTICE: Range = Range { least: 0, most: 1 };
const AT_LEAST_NOTICE: Range = Range { least: 1, most: 2 };
/// Where neither the product nor the decisions say which.
pub const ANY: Range = Range { least: 0, most: 2 };

impl Range {
    fn or_worse(&mut self, other: Self) {
        self.least = self.least.max(other.least);
        self.most = self.most.max(other.most);
    }
}

/// Holds one move of a ref.
#[derive(Clone)]
struct Move {
    who: Actor,
    way: Way,
    old: Option<String>,
    new: Option<String>,
}

/// Holds what happened since `add`.
#[derive(Clone)]
pub struct Story {
    at_add: Refs,
    now: Refs,
    moves: BTreeMap<String, Vec<Move>>,
    /// What HEAD was on after an act of the agent.
    heads: BTreeSet<String>,
    stashes_at_add: Vec<String>,
    shallow_at_add: Option<BTreeSet<String>>,
    /// The number of the last act by which others took over what the agent had made.
    taken_until: usize,
    /// Whether the agent moved a branch that others build on.
    is_tainted: bool,
    /// Whether that is the base branch, here or on the remote.
    is_base_moved: bool,
    /// Whether others may have built on that.
    is_built_on: bool,
    /// Whether logs were made to forget.
    is_forgotten: bool,
    /// Whether a branch was renamed that had no commit any more.
    renamed_unborn: bool,
    /// The refs that moved since then: their logs have that.
    logged_since: BTreeSet<String>,
    /// The refs that the agent told git to delete when they were gone: a hook is told no more.
    deleted_again: BTreeSet<String>,
    /// The scripts of the acts that run no hook or replace a log.
    past: Vec<&'static str>,
    /// The refs that the agent moved to where they were.
    moved_nowhere: BTreeSet<String>,
    user_popped: bool,
    /// Whether the user was on another branch than `main`.
    user_switched: bool,
    made_by_agent: bool,
    default_by: Option<Actor>,
}

/// What is expected: of each place and path, and of the list `changed`.
#[derive(Default)]
pub struct Expected {
    pub places: BTreeMap<String, Range>,
    pub must_change: BTreeSet<String>,
    pub must_not_change: BTreeSet<String>,
}

/// What a state may be compared with.
struct Upstream {
    /// Every state that a path has had in what counts as work of others.
    had: BTreeMap<String, BTreeSet<Option<String>>>,
    reach: BTreeSet<String>,
    tips_now: Vec<(String, Files)>,
    is_rewound: bool,
    /// Whether a ref of it moved and is back where it was at `add`.
    is_back: bool,
    /// Whether refs lead to all that it ever had, so that no log is needed to know it.
    is_all_there: bool,
    /// What it has that it had not at `add`.
    since_add: BTreeSet<String>,
}

/// Holds what the paths of one state are compared with.
struct References<'a> {
    upstream: &'a Upstream,
    /// The files of the merge bases.
    bases: &'a [Files],
    /// The files of what upstream has and the state has not.
    since: &'a [Files],
    /// The commits that the state has.
    reach: &'a BTreeSet<String>,
}

/// Says how strictly content of others is judged in a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// As the own branch: what only another branch has is a change.
    Strictly,
    /// As a branch on what others made.
    Loosely,
    /// As a place that only must not be blamed without a reason.
    ForAgentsAtMost,
}

impl Story {
    pub fn new(world: &World) -> Self {
        let refs = world.refs();
        Self {
            at_add: refs.clone(),
            now: refs,
            moves: BTreeMap::new(),
            heads: BTreeSet::new(),
            stashes_at_add: world.stashes(),
            shallow_at_add: world.shallow(),
            taken_until: 0,
            is_tainted: false,
            is_base_moved: false,
            is_built_on: false,
            is_forgotten: false,
            renamed_unborn: false,
            logged_since: BTreeSet::new(),
            deleted_again: BTreeSet::new(),
            past: Vec::new(),
            moved_nowhere: BTreeSet::new(),
            user_popped: false,
            user_switched: false,
            made_by_agent: false,
            default_by: None,
        }
    }

    /// Notes what an act did.
    pub fn note(&mut self, act: &Act, number: usize, after: Refs) {
        let (who, way, script) = *act;
        let names: BTreeSet<String> = self.now.places.keys().cloned().collect();
        let names = names.into_iter().chain(after.places.keys().cloned());
        for name in names.collect::<BTreeSet<String>>() {
            let old = self.now.places.get(&name).cloned();
            let new = after.places.get(&name).cloned();
            if old == new {
                continue;
            }
            let is_shared = name != OWN && self.at_add.places.contains_key(&name);
            let is_fetched = way == Way::Fetch && name.starts_with("refs/remotes/");
            if who == Actor::Agent && is_shared && !is_fetched {
                self.is_tainted = true;
                self.is_base_moved |= name == MAIN || name == ORIGIN_MAIN;
            }
            self.logged_since.insert(name.clone());
            let moves = self.moves.entry(name).or_default();
            moves.push(Move { who, way, old, new });
        }
        if who == Actor::Agent && script.contains("push") {
            // the remote may have moved although no ref here shows it
            self.is_tainted |= script.contains(":main") || script.contains(":dev");
            self.is_base_moved |= script.contains(":main");
        }
        if who != Actor::Agent && way != Way::Fetch && self.is_tainted {
            self.is_built_on = true;
        }
        if who != Actor::Agent && script.contains("git pull") && self.is_tainted {
            self.is_built_on = true;
        }
        let takes_dev =
            who == Actor::User && (script.contains("k dev") || script.contains("t dev"));
        if way == Way::Takes || takes_dev {
            self.taken_until = number;
        }
        let deleted = script.strip_prefix("git update-ref -d ");
        if let Some(name) = deleted.filter(|name| !self.now.places.contains_key(*name)) {
            self.deleted_again.insert(name.to_owned());
        }
        if way == Way::Past {
            self.past.push(script);
        }
        if who == Actor::Agent {
            for name in [
                MAIN,
                "refs/heads/dev",
                ORIGIN_MAIN,
                "refs/remotes/origin/dev",
            ] {
                let short = name.rsplit('/').next().unwrap_or_default();
                let is_on_it = after.branch.as_deref() == Some(name);
                let is_named = script.contains(name)
                    || script.contains(&format!("-f {short}"))
                    || script.contains(&format!(":{short}"));
                if (is_named || is_on_it) && self.now.places.get(name) == after.places.get(name) {
                    self.moved_nowhere.insert(name.to_owned());
                }
            }
        }
        if way == Way::Forgets {
            self.is_forgotten = true;
            self.logged_since.clear();
        }
        self.user_switched |= who == Actor::User && script.contains("checkout");
        self.user_popped |= who == Actor::User && script.contains("stash pop");
        self.made_by_agent |= who == Actor::Agent && script.contains("worktree add");
        // git moves each HEAD that is on the branch, and writes no log where there is no commit
        let is_unborn = !self.now.places.contains_key("refs/heads/dev");
        self.renamed_unborn |= is_unborn && script.contains("git branch -M dev ");
        if script.contains("origin/HEAD") {
            self.default_by = Some(who);
        }
        self.now = after;
        if who == Actor::Agent {
            self.heads.extend(self.now.head.clone());
            if script.contains("--onto dev") {
                // HEAD was there, also where the rebase was aborted
                self.heads
                    .extend(self.now.places.get("refs/heads/dev").cloned());
            }
        }
    }

    /// What the verdict has to be now.
    pub fn expected(&self, world: &World) -> Expected {
        let objects = world.objects();
        let stashes = world.stashes();
        let upstream = self.upstream(world, &objects);
        let mut expected = Expected::default();
        self.add_paths(world, &objects, &upstream, &stashes, &mut expected);
        let names = self.at_add.places.keys().chain(self.moves.keys());
        for name in names {
            let range = match name.as_str() {
                "refs/stash" => self.stash(&objects, &stashes),
                _ => self.of_ref(name, &objects),
            };
            expected.places.insert(format!("@git/{name}"), range);
        }
        let head = self.of_head(world, &objects, &upstream);
        expected.places.insert("@head".to_owned(), head);
        expected
            .places
            .insert("@git/config".to_owned(), AT_MOST_NOTICE);
        if self.is_forgotten || self.renamed_unborn {
            // nothing tells then how HEAD of the main worktree came to another branch
            expected
                .places
                .insert("@git/HEAD".to_owned(), AT_MOST_NOTICE);
        }
        let shallow = self.of_shallow(world, &objects);
        expected.places.insert("@git/shallow".to_owned(), shallow);
        let is_made = self.made_by_agent && world.repo.root().join("made").exists();
        let made = if is_made { NOTICE } else { NOTHING };
        expected
            .places
            .insert("@git/worktrees/made".to_owned(), made);
        expected
    }

    /// Whether the worktree's HEAD, or a ref by the agent's doing, was on a commit.
    fn agent_was_on(&self, id: &String) -> bool {
        let mut moves = self.moves.values().flatten();
        let is_it = |one: &Move| one.who == Actor::Agent && one.new.as_ref() == Some(id);
        self.heads.contains(id) || moves.any(is_it)
    }

    /// Whether a branch got its name from the user while the agent had moved it, or is on it.
    fn is_near_agent(&self, name: &str) -> bool {
        let is_renamed = name == "refs/heads/dev3";
        let is_on_it = self.now.branch.as_deref() == Some(name);
        let mut moves = self.moves.get("refs/heads/dev").into_iter().flatten();
        is_renamed && (is_on_it || moves.any(|one| one.who == Actor::Agent))
    }

    /// Whether the user has a branch checked out, and had when it was moved.
    fn is_users_branch(&self, name: &str) -> bool {
        name == MAIN && !self.user_switched
    }

    fn is_by_agent(objects: &Objects, id: &str) -> bool {
        let commit = objects.commits.get(id);
        commit.is_some_and(|commit| commit.committer == Actor::Agent.name())
    }

    /// What a ref is that is no stash.
    fn of_ref(&self, name: &str, objects: &Objects) -> Range {
        let before = self.at_add.places.get(name);
        let now = self.now.places.get(name);
        let none = Vec::new();
        let moves = self.moves.get(name).unwrap_or(&none);
        let is_agent = |one: &&Move| one.who == Actor::Agent;
        let by_agent: Vec<&Move> = moves.iter().filter(is_agent).collect();
        let last = moves.last();
        let is_last_agent = last.is_some_and(|last| last.who == Actor::Agent);
        if name == OWN {
            // where it is and whether it is there is said of HEAD
            return NOTHING;
        }
        if name == ORIGIN_HEAD {
            return match self.default_by {
                None => NOTHING,
                Some(Actor::Agent) => AT_LEAST_NOTICE,
                Some(_) => NOTICE,
            };
        }
        let Some(last) = last else {
            return NOTHING;
        };
        let is_gone_between = moves
            .iter()
            .any(|one| one.new.is_none() && one.old.is_some());
        let first = &moves[0];
        if name.starts_with("refs/remotes/") {
            return self.of_remote(name, moves, &by_agent);
        }
        let short = name.rsplit('/').next().unwrap_or_default();
        let mut past = self.past.iter();
        // a copy onto the same commit is no move, but replaces the log
        let is_past = past.any(|script| script.contains(short));
        let is_on_agents = now.is_some_and(|id| Self::is_by_agent(objects, id));
        if before.is_some() && before == now {
            return NOTHING;
        }
        if now.is_none() && self.deleted_again.contains(name) {
            return ANY;
        }
        if before.is_some() {
            if by_agent.is_empty() {
                // which worktree moved a branch that none has checked out, only its log can tell
                let is_where_agent_was = now.is_some_and(|id| self.agent_was_on(id));
                if self.moved_nowhere.contains(name) && !self.is_users_branch(name) {
                    return ANY;
                }
                // without its log, a merge of the agent's work by the user is not told from a move
                // past the hooks
                let is_logged = self.is_users_branch(name) && self.logged_since.contains(name);
                if is_where_agent_was && self.is_forgotten && !is_logged {
                    return ANY;
                }
                // an update-ref and a push leave no words of who moved it to a commit of the agent
                if is_where_agent_was && is_past && !self.is_users_branch(name) {
                    return ANY;
                }
                let is_told = is_past
                    || is_where_agent_was
                    || self.is_forgotten
                    || name.starts_with("refs/tags/")
                    || is_gone_between;
                return if is_told { AT_MOST_NOTICE } else { NOTHING };
            }
            if !is_last_agent {
                // others took it back to where the agent had moved it, or made it again there
                if by_agent.iter().any(|one| one.new.as_ref() == now) {
                    return ANY;
                }
                if self.moved_nowhere.contains(name) {
                    return ANY;
                }
                // the user's update-ref and the agent's reset went to one commit: no log has words
                if is_past && now.is_some_and(|id| self.agent_was_on(id)) {
                    return ANY;
                }
                // of a rename over it, git only tells the hooks that it deletes the old one
                if now.is_none() && is_past {
                    return ANY;
                }
                if self.is_forgotten && now.is_some_and(|id| self.agent_was_on(id)) {
                    return ANY;
                }
                let mut by_agent = by_agent.iter();
                if now.is_none() && by_agent.any(|one| one.new.is_none()) {
                    return ANY;
                }
                return if is_on_agents { ANY } else { AT_MOST_NOTICE };
            }
            if last.way == Way::Past {
                // no hook tells of it: where the place is another's, others could have done it; without
                // logs, where others have it since too
                let is_taken = self.is_forgotten && self.taken_until > 0;
                return if is_on_agents && !is_taken {
                    AT_LEAST_NOTICE
                } else {
                    ANY
                };
            }
            return VIOLATION;
        }
        let is_made_by_agent = first.who == Actor::Agent;
        let is_by_agent_alone = by_agent.len() == moves.len();
        let is_renamed_by_user = by_agent.is_empty() && name == "refs/heads/dev3";
        match (now, is_made_by_agent) {
            _ if is_gone_between && now.is_some() && (is_past || !is_by_agent_alone) => ANY,
            // known: a branch that was pushed to the path of the repository
            (Some(_), true) if name == PUSHED_TO_PATH => AT_MOST_NOTICE,
            // no hook tells of it: anybody could have made it at what others have
            (Some(_), true) if is_past && (moves.len() > 1 || self.is_forgotten) => ANY,
            (Some(_), true) if is_past && !is_on_agents => AT_MOST_NOTICE,
            // known: where refs are tables, git reads no log of a HEAD without a commit
            (Some(_), true) if is_past && self.now.head.is_none() => AT_MOST_NOTICE,
            // nor of a rename of a branch whose commit others took over since
            (Some(_), true) if is_past && self.taken_until > 0 => AT_MOST_NOTICE,
            (Some(_), true) if is_by_agent_alone => NOTICE,
            (Some(_), true) => AT_MOST_NOTICE,
            // the user renamed what the agent moved or is on
            (_, false) if by_agent.is_empty() && self.is_near_agent(name) => ANY,
            // and what others brought onto it from where the agent had moved the base branch
            (_, false) if is_renamed_by_user && is_on_agents && self.is_built_on => ANY,
            // without logs it may be a copy of the agent's branch, of which no hook tells where refs
            // are tables
            (Some(id), false)
                if by_agent.is_empty() && self.is_forgotten && self.agent_was_on(id) =>
            {
                AT_MOST_NOTICE
            }
            (_, false) if by_agent.is_empty() => NOTHING,
            (Some(_), false) if is_last_agent && !is_past => VIOLATION,
            (None, true) if is_by_agent_alone => NOTHING,
            (None, false) if is_last_agent && !is_past && moves.len() == 2 => VIOLATION,
            _ => ANY,
        }
    }

    /// What a remote-tracking ref is.
    fn of_remote(&self, name: &str, moves: &[Move], by_agent: &[&Move]) -> Range {
        let before = self.at_add.places.get(name);
        let now = self.now.places.get(name);
        let last = moves.last().expect("it moved");
        let has = |way: Way| by_agent.iter().any(|one| one.way == way);
        let is_only = |way: Way| by_agent.iter().all(|one| one.way == way);
        if before == now {
            return NOTHING;
        }
        // a push of what is there, and another push of others, leave the same log
        if self.moved_nowhere.contains(name) {
            return ANY;
        }
        if by_agent.is_empty() {
            // without a log, where the agent was too can be its doing
            let is_where_agent_was = now.is_some_and(|id| self.agent_was_on(id));
            if self.is_forgotten && is_where_agent_was {
                return ANY;
            }
            // others pushed the base branch as the agent had moved it
            if self.is_base_moved && is_where_agent_was {
                return AT_MOST_NOTICE;
            }
            return NOTHING;
        }
        let is_moved_by_agent = last.who == Actor::Agent && last.way != Way::Fetch;
        // known: a log that was made to forget a push
        let is_known = is_moved_by_agent && before.is_some() && now.is_some();
        if self.is_forgotten && (name == OWN_UPSTREAM || !is_known) {
            return ANY;
        }
        if name == OWN_UPSTREAM {
            return if has(Way::Plain) { ANY } else { NOTHING };
        }
        if is_only(Way::Fetch) {
            // one that is gone there is removed here
            return if now.is_none() {
                AT_MOST_NOTICE
            } else {
                NOTHING
            };
        }
        // where a fetch had it before, a fetch of others has brought it back
        let is_fetched_there = |one: &Move| one.way == Way::Fetch && one.new.as_ref() == now;
        let (_, earlier) = moves.split_last().expect("it moved");
        if last.way == Way::Fetch && !has(Way::Push) && earlier.iter().any(is_fetched_there) {
            return AT_MOST_NOTICE;
        }
        if before.is_none() {
            let is_made_so = moves.len() == by_agent.len() && is_only(Way::Push) && now.is_some();
            return if is_made_so { NOTICE } else { ANY };
        }
        match (last.who, last.way) {
            (Actor::Agent, Way::Push) if now.is_some() => VIOLATION,
            (Actor::Agent, Way::Plain) => VIOLATION,
            // a fetch takes back a move of the ref here, and no push to the remote
            (Actor::Agent, Way::Fetch) if has(Way::Push) && now.is_some() => VIOLATION,
            (Actor::User | Actor::Upstream, _) if now.is_some() => AT_LEAST_NOTICE,
            _ => ANY,
        }
    }

    fn stash(&self, objects: &Objects, stashes: &[String]) -> Range {
        let mut there = stashes.to_vec();
        there.extend(self.now.places.get("refs/stash").cloned());
        let is_agents = |id: &&String| Self::is_by_agent(objects, id);
        let has_agents = there.iter().any(|id| is_agents(&id));
        let is_lost = self.stashes_at_add.iter().any(|id| !there.contains(id));
        match (has_agents, is_lost, self.user_popped) {
            (true, false, false) => NOTICE,
            (false, false, _) => NOTHING,
            (_, true, false) => AT_LEAST_NOTICE,
            _ => ANY,
        }
    }

    fn of_head(&self, world: &World, objects: &Objects, upstream: &Upstream) -> Range {
        let Some(head) = &self.now.head else {
            return AT_LEAST_NOTICE;
        };
        let reach = objects.reach([head]);
        let common: BTreeSet<String> = reach.intersection(&upstream.reach).cloned().collect();
        let of_base = objects.reach([&world.base]);
        // what upstream took over since replaces the base as well as the base itself
        let mut newest = objects.newest(&common).into_iter();
        let has_newer = newest.any(|id| !of_base.contains(&id));
        // known: a commit of the user that was merged here and taken back there
        let is_taken_back = upstream.is_back && !upstream.is_all_there;
        let is_told = !self.is_tainted && !self.is_forgotten && !is_taken_back;
        if has_newer && !reach.contains(&world.base) && !is_told {
            return ANY;
        }
        let has_base = reach.contains(&world.base) || has_newer;
        let branch = self.now.branch.as_deref();
        if branch == Some(OWN) {
            return match (has_base, upstream.is_rewound) {
                (true, _) => NOTHING,
                (false, true) => ANY,
                (false, false) if self.is_built_on => ANY,
                (false, false) => VIOLATION,
            };
        }
        let is_made_here = branch.is_none_or(|name| {
            let moves = self.moves.get(name);
            let first = moves.and_then(|moves| moves.first());
            let is_first = first.is_some_and(|first| first.who == Actor::Agent);
            is_first && !self.at_add.places.contains_key(name)
        });
        if branch.is_some_and(|name| self.is_near_agent(name)) {
            return AT_LEAST_NOTICE;
        }
        if !is_made_here {
            return VIOLATION;
        }
        if branch.is_none() && !self.now.places.contains_key(OWN) {
            // that its branch was renamed, and not deleted, only the log of the new one has
            return AT_LEAST_NOTICE;
        }
        let is_own = Self::is_by_agent(objects, head) || *head == world.base;
        // what another branch was before its log was forgotten, nothing tells
        // known: a branch of others that was renamed at the base
        let is_known = branch == Some("refs/heads/dev2") && *head == world.base;
        if has_base && is_own && !self.is_forgotten && !is_known {
            NOTICE
        } else {
            AT_LEAST_NOTICE
        }
    }

    fn of_shallow(&self, world: &World, objects: &Objects) -> Range {
        let now = world.shallow();
        if now == self.shallow_at_add {
            return NOTHING;
        }
        if self.shallow_at_add.is_none() {
            return VIOLATION;
        }
        let mut ends = now.iter().flatten();
        // without logs the ends of a fetch are not told from others
        if self.is_forgotten || ends.any(|end| Self::is_by_agent(objects, end)) {
            AT_LEAST_NOTICE
        } else {
            NOTICE
        }
    }

    /// What others made, as the product says: what the base branch and its upstream had at `add`,
    /// and where others moved them.
    fn upstream(&self, world: &World, objects: &Objects) -> Upstream {
        let mut tips = BTreeSet::from([world.base.clone()]);
        let mut tips_now = Vec::new();
        let mut is_rewound = false;
        let mut is_back = false;
        for name in [MAIN, ORIGIN_MAIN] {
            let place_at_add = self.at_add.places.get(name);
            tips.extend(place_at_add.cloned());
            let mut is_followed = true;
            for one in self.moves.get(name).into_iter().flatten() {
                let is_fetched = one.way == Way::Fetch && name == ORIGIN_MAIN;
                is_followed = one.who != Actor::Agent || is_fetched;
                is_back |= one.new.as_ref() == place_at_add;
                if is_followed {
                    tips.extend(one.new.clone());
                }
            }
            if let Some(now) = self.now.places.get(name).filter(|_| is_followed) {
                tips_now.push((now.clone(), objects.files(now)));
                is_rewound |= !objects.reach([now]).contains(&world.base);
            }
        }
        let at_add = [MAIN, ORIGIN_MAIN].map(|name| self.at_add.places.get(name));
        let there = tips_now
            .iter()
            .map(|(id, _)| id)
            .chain(at_add.into_iter().flatten());
        let reach_of_tips = objects.reach(&tips);
        let is_all_there = objects.reach(there) == reach_of_tips;
        let at_add = objects.reach(at_add.into_iter().flatten());
        let newest = objects.newest(&tips_now.iter().map(|(id, _)| id.clone()).collect());
        tips_now.retain(|(id, _): &(String, Files)| newest.contains(id));
        let reach = objects.reach(&tips);
        let mut had: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
        let all: Vec<Files> = reach.iter().map(|id| objects.files(id)).collect();
        for files in &all {
            for path in files.keys() {
                had.entry(path.clone()).or_default();
            }
        }
        for (path, states) in &mut had {
            states.extend(all.iter().map(|files| files.get(path).cloned()));
        }
        Upstream {
            had,
            reach,
            tips_now,
            is_rewound,
            is_back,
            since_add: reach_of_tips.difference(&at_add).cloned().collect(),
            is_all_there,
        }
    }

    fn add_paths(
        &self,
        world: &World,
        objects: &Objects,
        upstream: &Upstream,
        stashes: &[String],
        expected: &mut Expected,
    ) {
        let mut ranges: BTreeMap<String, Range> = BTreeMap::new();
        let head = self.now.head.as_ref();
        let is_home = self.now.branch.as_deref() == Some(OWN);
        let how = if is_home {
            Judged::Strictly
        } else {
            Judged::Loosely
        };
        if let Some(head) = head {
            self.add_state(
                objects,
                upstream,
                (&objects.files(head), head),
                how,
                &mut ranges,
            );
            let is_foreign = !is_home && !Self::is_by_agent(objects, head);
            for files in [world.index(objects), world.disk()] {
                self.add_state(objects, upstream, (&files, head), how, &mut ranges);
                if is_foreign {
                    // HEAD can be there without the files: which branch they are of is open
                    let paths = ranges.values_mut();
                    paths.for_each(|range| range.most = 2);
                }
            }
        } else {
            let mut paths: BTreeSet<String> = upstream.had.keys().cloned().collect();
            paths.extend(world.index(objects).into_keys());
            paths.extend(world.disk().into_keys());
            for path in paths {
                ranges.insert(path, ANY);
            }
        }
        if let Some(own) = self.now.places.get(OWN).filter(|_| !is_home) {
            let files = objects.files(own);
            let how = Judged::Strictly;
            self.add_state(objects, upstream, (&files, own), how, &mut ranges);
        }
        for (name, moves) in &self.moves {
            let Some(now) = self.now.places.get(name).filter(|_| name != OWN) else {
                continue;
            };
            let is_kind = !name.starts_with("refs/remotes/")
                || name == OWN_UPSTREAM
                || moves[0].way == Way::Push;
            let mut by_agent = moves.iter().map(|one| one.who == Actor::Agent);
            let is_by_agent_only = by_agent.clone().all(|is_agent| is_agent);
            let is_pushed = !name.starts_with("refs/remotes/")
                || moves.last().is_some_and(|last| last.way == Way::Push);
            if !by_agent.any(|is_agent| is_agent) {
                continue;
            }
            let is_own = is_kind && is_by_agent_only && is_pushed;
            // known: a branch that was pushed to the path of the repository
            let is_own = is_own && name != PUSHED_TO_PATH;
            let how = if is_own && !self.at_add.places.contains_key(name) {
                Judged::Loosely
            } else {
                Judged::ForAgentsAtMost
            };
            self.add_state(
                objects,
                upstream,
                (&objects.files(now), now),
                how,
                &mut ranges,
            );
        }
        for stash in stashes {
            if Self::is_by_agent(objects, stash) {
                let files = objects.files(stash);
                self.add_state(
                    objects,
                    upstream,
                    (&files, stash),
                    Judged::Loosely,
                    &mut ranges,
                );
            }
        }
        for (path, range) in &ranges {
            if range.least == 2 {
                expected.must_change.insert(path.clone());
            }
            if range.most == 0 {
                expected.must_not_change.insert(path.clone());
            }
        }
        self.add_history(objects, upstream, &mut ranges);
        for (path, range) in ranges {
            let is_in_scope = path.starts_with("src/");
            expected
                .places
                .insert(path, if is_in_scope { NOTHING } else { range });
        }
    }

    /// Adds what one state says of each path.
    fn add_state(
        &self,
        objects: &Objects,
        upstream: &Upstream,
        (files, commit): (&Files, &String),
        how: Judged,
        ranges: &mut BTreeMap<String, Range>,
    ) {
        let reach = objects.reach([commit]);
        let common: BTreeSet<String> = reach.intersection(&upstream.reach).cloned().collect();
        let bases: Vec<Files> = objects
            .newest(&common)
            .iter()
            .map(|id| objects.files(id))
            .collect();
        let since = upstream.reach.difference(&common);
        let since: Vec<Files> = since.map(|id| objects.files(id)).collect();
        let paths = files.keys().chain(upstream.had.keys());
        for path in paths.collect::<BTreeSet<&String>>() {
            let state = files.get(path);
            let mut range = self.of_content(
                path,
                state,
                &References {
                    upstream,
                    bases: &bases,
                    since: &since,
                    reach: &reach,
                },
            );
            let is_agents = state.is_some_and(|text| text.starts_with("agent "));
            match how {
                Judged::Strictly => {}
                Judged::Loosely if is_agents => {}
                Judged::Loosely | Judged::ForAgentsAtMost => range.least = 0,
            }
            ranges
                .entry(path.clone())
                .or_insert(NOTHING)
                .or_worse(range);
        }
    }

    /// Whether the agent moved a ref by a fetch.
    fn has_fetched(&self) -> bool {
        let is_fetch = |one: &Move| one.who == Actor::Agent && one.way == Way::Fetch;
        self.moves.values().flatten().any(is_fetch)
    }

    /// Whether HEAD was on what upstream has since `add`.
    fn has_taken_over(&self, upstream: &Upstream) -> bool {
        let mut heads = self.heads.iter();
        heads.any(|head| upstream.since_add.contains(head))
    }

    /// What it is that a path has a state.
    fn of_content(
        &self,
        path: &String,
        state: Option<&String>,
        references: &References<'_>,
    ) -> Range {
        let References {
            upstream,
            bases,
            since,
            reach,
        } = references;
        let none = BTreeSet::from([None]);
        let had = upstream.had.get(path).unwrap_or(&none);
        let is_had = had.contains(&state.cloned());
        if let Some(number) = agents_number(state) {
            // others pushed or built on a branch as the agent had moved it, and no log tells of that
            if self.is_forgotten && self.is_built_on {
                return ANY;
            }
            let is_taken = number <= self.taken_until;
            if !is_had || !is_taken && !self.is_built_on {
                return VIOLATION;
            }
            let mut tips = upstream.tips_now.iter();
            if tips.all(|(_, tip)| tip.get(path) != state) {
                // what upstream took over, and took back
                return ANY;
            }
        }
        // known: a commit of the user that was merged here and taken back there
        if upstream.is_back && !upstream.is_all_there {
            return ANY;
        }
        // without logs what the agent fetched or took over is not told from what it moved there,
        // and what upstream had for a time is not known
        let is_lost = self.is_forgotten
            && (self.has_fetched()
                || self.has_taken_over(upstream)
                || self.moved_nowhere.contains(ORIGIN_MAIN)
                || self.moved_nowhere.contains(MAIN)
                || !upstream.is_all_there);
        if self.is_base_moved || self.is_built_on || is_lost || bases.is_empty() {
            return ANY;
        }
        if bases.iter().all(|base| base.get(path) == state) {
            return NOTHING;
        }
        // upstream went back to it
        if upstream.is_rewound
            && upstream
                .tips_now
                .iter()
                .any(|(_, tip)| tip.get(path) == state)
        {
            return ANY;
        }
        // what is merged already is no excuse
        let mut tips = upstream
            .tips_now
            .iter()
            .filter(|(id, _)| !reach.contains(id));
        if tips.any(|(_, tip)| tip.get(path) == state) {
            // known: what one of two refs of upstream has that went different ways
            return if upstream.tips_now.len() > 1 {
                ANY
            } else {
                NOTHING
            };
        }
        if !is_had {
            return VIOLATION;
        }
        let is_since = since.iter().any(|files| files.get(path) == state);
        if bases.len() == 1 && !is_since {
            VIOLATION
        } else {
            ANY
        }
    }

    /// Adds what commits of the agent touched, though it may be as before again.
    fn add_history(
        &self,
        objects: &Objects,
        upstream: &Upstream,
        ranges: &mut BTreeMap<String, Range>,
    ) {
        let been_on = objects.reach(&self.heads);
        for (id, commit) in &objects.commits {
            let is_brought = been_on.contains(id) && !upstream.reach.contains(id);
            if !Self::is_by_agent(objects, id) && !is_brought {
                continue;
            }
            let parent = commit.parents.first();
            let before = parent
                .map(|parent| objects.files(parent))
                .unwrap_or_default();
            let files = objects.files(id);
            for path in files.keys().chain(before.keys()) {
                let range = ranges.entry(path.clone()).or_insert(NOTHING);
                range.or_worse(AT_MOST_NOTICE);
            }
        }
        for id in been_on {
            if !Self::is_by_agent(objects, &id) {
                continue;
            }
            for (path, text) in objects.files(&id) {
                let had = upstream.had.get(&path);
                let is_had = had.is_some_and(|had| had.contains(&Some(text.clone())));
                if text.starts_with("agent ") && !is_had {
                    let range = ranges.entry(path).or_insert(NOTHING);
                    range.or_worse(NOTICE);
                }
            }
        }
    }
}

/// The number of the act in which the agent wrote this.
fn agents_number(state: Option<&String>) -> Option<usize> {
    let number = state?.strip_prefix("agent ")?;
    number.trim().parse().ok()
}
