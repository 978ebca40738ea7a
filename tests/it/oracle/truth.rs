//! Says by itself which paths are violations: walks and hashes the worktree, reads whole trees,
//! and knows from the operations what is upstream's work. No code of the program takes part, no
//! `git status` and no `git merge-base`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::world::World;

type Name = Vec<u8>;

/// What stands at a path: git's mode and id. An empty directory has neither.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry(String, String);

type Tree = BTreeMap<Name, Entry>;

/// Compares the paths that `verify` blames with those that are to blame.
pub fn agrees(world: &World) -> Result<(), String> {
    let (expected, unsure) = violations(world);
    let said = world
        .repo
        .agentwt_in(&world.worktree, &["verify", "--format", "tsv"]);
    if said.status > 1 {
        return Err(format!("there is no verdict: {said}"));
    }
    let mut reported = reported(&said.stdout);
    reported.retain(|name| !unsure.contains(name));
    let names = |of: &BTreeSet<Name>, but: &BTreeSet<Name>| -> Vec<String> {
        let only = of.difference(but);
        only.map(|name| name.escape_ascii().to_string()).collect()
    };
    let (missed, wrong) = (names(&expected, &reported), names(&reported, &expected));
    if missed.is_empty() && wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "missed: {missed:?}\nblamed wrongly: {wrong:?}\nverify said:\n{said}"
    ))
}

/// The paths of violations against the scope, with `\ooo` read back.
fn reported(tsv: &str) -> BTreeSet<Name> {
    let mut paths = BTreeSet::new();
    for line in tsv.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [path, kind, reason, level] = fields[..] else {
            panic!("an odd line: {line}");
        };
        // few contents are in use: upstream may add as an excluded file what is there already
        let of_scope =
            matches!(reason, "read-only" | "excluded") && level == "violation" && kind != "leak";
        if of_scope && !path.starts_with('@') {
            paths.insert(unescaped(path));
        }
    }
    paths
}

fn unescaped(text: &str) -> Name {
    let mut parts = text.split('\\');
    let mut name = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(3);
        name.push(u8::from_str_radix(digits, 8).expect("octal digits"));
        name.extend_from_slice(rest.as_bytes());
    }
    name
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Write,
    Read,
    Excluded,
}

fn access(path: &[u8]) -> Access {
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    parts.pop();
    if parts.contains(&&b"secrets"[..]) {
        Access::Excluded
    } else if path.starts_with(b"src/") || path.starts_with(b"tests/") || path == b"package.json" {
        Access::Write
    } else {
        Access::Read
    }
}

/// What the base's own rules ignore: `build/` and `*.log`, at any depth.
fn ignored(path: &[u8], entry: &Entry) -> bool {
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let directories = if entry.0.is_empty() {
        parts.len()
    } else {
        parts.len() - 1
    };
    parts.iter().any(|part| part.ends_with(b".log"))
        || parts[..directories].contains(&&b"build"[..])
}

/// The paths to blame, and those of which it cannot be said: ignored by rules that others took
/// over from the worktree, which then are upstream's.
fn violations(world: &World) -> (BTreeSet<Name>, BTreeSet<Name>) {
    let git = Reader::new(world);
    let head = git.commit("HEAD");
    let branch = git.commit("refs/heads/agentwt/task");
    let (committed, mut commits, lost) = git.references(head.as_deref());
    let mut working = committed.clone();
    if let Ok(merged) = fs::read_to_string(world.admin.join("MERGE_HEAD")) {
        let below = head.as_deref().map(|head| git.ancestors(head));
        let is_new = |id: &&str| !below.as_ref().is_some_and(|all| all.contains(*id));
        let upstream = |id: &&str| git.upstream.contains(*id);
        let merged: Vec<&str> = merged.lines().filter(upstream).filter(is_new).collect();
        commits.extend(merged.iter().map(|id| (*id).to_owned()));
        if lost {
            working.extend(merged.iter().map(|id| git.tree(id)));
        } else if !merged.is_empty() {
            working = git.merged(&commits);
        }
    }
    // to be like main is now is no change: a merge makes none of it
    let tip = git.commit("refs/heads/main").map(|id| git.tree(&id));
    let like = |trees: &[Tree]| -> Vec<Tree> { trees.iter().chain(&tip).cloned().collect() };
    let head_tree = head.as_deref().map(|id| git.tree(id));
    let indexes = git.indexes();
    let mut disk = Tree::new();
    walk(&world.worktree, &mut Name::new(), &mut disk);
    // git has no empty directory; it is a change only where a file should be
    let references: Vec<&Tree> = working.iter().chain(&tip).collect();
    disk.retain(|path, entry| {
        !entry.0.is_empty() || references.iter().any(|tree| tree.contains_key(path))
    });

    let mut bad = BTreeSet::new();
    let mut compare = |state: &Tree, references: &[Tree], only: &dyn Fn(&Name) -> bool| {
        let names: BTreeSet<&Name> = references
            .iter()
            .flat_map(Tree::keys)
            .chain(state.keys())
            .collect();
        for name in names {
            let known = references
                .iter()
                .any(|tree| tree.get(name) == state.get(name));
            if !known && access(name) != Access::Write && only(name) {
                bad.insert(name.clone());
            }
        }
    };
    if let Some(tree) = &head_tree {
        compare(tree, &like(&committed), &|_| true);
    }
    if let Some(branch) = branch.filter(|branch| head.as_ref() != Some(branch)) {
        compare(&git.tree(&branch), &git.references_of(&branch).0, &|_| true);
    }
    for index in &indexes {
        compare(index, &like(&working), &|_| true);
    }
    let tracked = |name: &Name| {
        let mut trees = working.iter().chain(&head_tree).chain(&indexes);
        trees.any(|tree| tree.contains_key(name))
    };
    compare(
        &disk,
        &like(&working),
        &|name| match (disk.get(name), access(name)) {
            (None, Access::Excluded) => false,
            (Some(entry), Access::Read) => tracked(name) || !ignored(name, entry),
            (None, Access::Read) | (Some(_), Access::Excluded) | (_, Access::Write) => true,
        },
    );
    // what is excluded is absent, however it looks
    for name in disk.keys().filter(|name| access(name) == Access::Excluded) {
        if working.iter().any(|tree| tree.contains_key(name)) {
            bad.insert(name.clone());
        }
    }
    let rules = |tree: &Tree| -> Vec<(Name, Entry)> {
        let files = tree
            .iter()
            .filter(|(name, _)| name.ends_with(b".gitignore"));
        files
            .map(|(name, entry)| (name.clone(), entry.clone()))
            .collect()
    };
    let own = rules(&git.tree(&world.base));
    let mut unsure = BTreeSet::new();
    if working.iter().any(|tree| rules(tree) != own) {
        let untracked = disk.keys().filter(|name| !tracked(name));
        unsure.extend(
            untracked
                .filter(|name| access(name) == Access::Read)
                .cloned(),
        );
    }
    bad.retain(|name| !unsure.contains(name));
    (bad, unsure)
}

fn walk(dir: &Path, prefix: &mut Name, found: &mut Tree) {
    let mut empty = true;
    for entry in fs::read_dir(dir).expect("a directory") {
        let entry = entry.expect("an entry");
        empty = false;
        let name = entry.file_name();
        if prefix.is_empty() && name == ".git" {
            continue;
        }
        let length = prefix.len();
        prefix.extend_from_slice(name.as_bytes());
        let data = entry.metadata().expect("it is there");
        if data.is_dir() {
            prefix.push(b'/');
            walk(&entry.path(), prefix, found);
        } else if data.is_symlink() {
            let text = fs::read_link(entry.path()).expect("a link");
            let id = blob(text.as_os_str().as_bytes());
            found.insert(prefix.clone(), Entry("120000".into(), id));
        } else {
            let executable = data.permissions().mode() & 0o100 != 0;
            let mode = if executable { "100755" } else { "100644" };
            let id = blob(&fs::read(entry.path()).expect("a file"));
            found.insert(prefix.clone(), Entry(mode.into(), id));
        }
        prefix.truncate(length);
    }
    if empty {
        let name = prefix.strip_suffix(b"/").unwrap_or(prefix).to_vec();
        found.insert(name, Entry(String::new(), String::new()));
    }
}

/// The id of a blob: SHA-1 of `blob <size>`, NUL and the bytes (gitformat-pack(5), "loose").
fn blob(bytes: &[u8]) -> String {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher.try_finalize().expect("no collision").to_string()
}

fn bytes(world: &World, arguments: &[&str]) -> Vec<u8> {
    let mut command = world.repo.command("git", &world.worktree);
    let output = command.args(arguments).output().expect("git starts");
    assert!(output.status.success(), "git {arguments:?}");
    output.stdout
}

/// Reads trees, the index and how commits are related, by plumbing.
struct Reader<'w> {
    world: &'w World,
    parents: HashMap<String, Vec<String>>,
    /// Everything that upstream has.
    upstream: HashSet<String>,
}

impl<'w> Reader<'w> {
    fn new(world: &'w World) -> Self {
        let arguments = ["rev-list", "--parents", "--all", "--reflog"];
        let lines = bytes(world, &arguments);
        let lines = String::from_utf8(lines).expect("digits");
        let parents = lines.lines().map(|line| {
            let mut ids = line.split(' ').map(str::to_owned);
            (ids.next().unwrap_or_default(), ids.collect())
        });
        let mut reader = Self {
            world,
            parents: parents.collect(),
            upstream: HashSet::new(),
        };
        let tips = &world.upstream;
        reader.upstream = tips.iter().flat_map(|tip| reader.ancestors(tip)).collect();
        reader
    }

    fn commit(&self, revision: &str) -> Option<String> {
        let arguments = ["rev-parse", "-q", "--verify", revision];
        let said = self.world.repo.try_git(&self.world.worktree, &arguments);
        (said.status == 0).then(|| said.ok())
    }

    fn tree(&self, commit: &str) -> Tree {
        let output = bytes(self.world, &["ls-tree", "-r", "-z", "--full-tree", commit]);
        let lines = output
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty());
        lines.map(|line| record(line, 2).0).collect()
    }

    /// The index; in a conflict once as "ours" and once as "theirs".
    fn indexes(&self) -> Vec<Tree> {
        let output = bytes(self.world, &["ls-files", "-s", "-z"]);
        let (mut ours, mut theirs, mut conflict) = (Tree::new(), Tree::new(), false);
        for line in output
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty())
        {
            let ((name, entry), stage) = record(line, 1);
            conflict |= stage != "0";
            if matches!(stage.as_str(), "0" | "2") {
                ours.insert(name.clone(), entry.clone());
            }
            if matches!(stage.as_str(), "0" | "3") {
                theirs.insert(name, entry);
            }
        }
        if conflict {
            vec![ours, theirs]
        } else {
            vec![ours]
        }
    }

    fn ancestors(&self, commit: &str) -> HashSet<String> {
        let mut all = HashSet::new();
        let mut waiting = vec![commit.to_owned()];
        while let Some(id) = waiting.pop() {
            if all.insert(id.clone()) {
                waiting.extend(self.parents.get(&id).into_iter().flatten().cloned());
            }
        }
        all
    }

    /// The trees that HEAD may look like without anybody's doing.
    fn references(&self, head: Option<&str>) -> (Vec<Tree>, Vec<String>, bool) {
        let base = &self.world.base;
        let Some(head) = head else {
            return (vec![self.tree(base)], vec![base.clone()], false);
        };
        let (mut trees, mut commits, lost) = self.references_of(head);
        let symbolic = fs::read_to_string(self.world.admin.join("HEAD")).expect("HEAD");
        let on_branch = symbolic.trim() == "ref: refs/heads/agentwt/task";
        let rebasing = !symbolic.starts_with("ref:")
            && ["rebase-merge", "rebase-apply"].iter().any(|dir| {
                let name = fs::read_to_string(self.world.admin.join(dir).join("head-name"));
                name.is_ok_and(|name| name.trim() == "refs/heads/agentwt/task")
            });
        if !on_branch && !rebasing && self.world.foreign.iter().any(|id| id == head) {
            trees.push(self.tree(head));
            commits.push(head.to_owned());
        }
        (trees, commits, lost)
    }

    /// The nearest common ancestors of a commit and upstream, merged; and the base if it is none of
    /// its ancestors and nothing newer of upstream is (which is the last that is said).
    fn references_of(&self, commit: &str) -> (Vec<Tree>, Vec<String>, bool) {
        let own = self.ancestors(commit);
        let common: Vec<&String> = own
            .iter()
            .filter(|id| self.upstream.contains(*id))
            .collect();
        let above = |id: &String| {
            let mut others = common.iter().filter(|other| **other != id);
            others.any(|other| self.ancestors(other).contains(id))
        };
        let best = common.iter().filter(|id| !above(id));
        let mut best: Vec<String> = best.map(|id| (*id).clone()).collect();
        let before = self.ancestors(&self.world.base);
        let lost = !own.contains(&self.world.base) && best.iter().all(|id| before.contains(id));
        if lost {
            best.push(self.world.base.clone());
            return (best.iter().map(|id| self.tree(id)).collect(), best, lost);
        }
        (self.merged(&best), best, lost)
    }

    /// The trees of commits, each with what only others changed since their common ancestor.
    fn merged(&self, commits: &[String]) -> Vec<Tree> {
        let trees: Vec<Tree> = commits.iter().map(|id| self.tree(id)).collect();
        let mut shared = commits.iter().map(|id| self.ancestors(id));
        let first = shared.next().unwrap_or_default();
        let shared = shared.fold(first, |all, one| all.intersection(&one).cloned().collect());
        let above = |id: &String| {
            let mut others = shared.iter().filter(|other| *other != id);
            others.any(|other| self.ancestors(other).contains(id))
        };
        let Some(ancestor) = shared.iter().find(|id| !above(id)) else {
            return trees;
        };
        let old = self.tree(ancestor);
        let names: BTreeSet<&Name> = trees
            .iter()
            .flat_map(Tree::keys)
            .chain(old.keys())
            .collect();
        let mut merged = trees.clone();
        for name in names {
            let changed = trees.iter().find(|tree| tree.get(name) != old.get(name));
            let Some(changed) = changed else { continue };
            for tree in &mut merged {
                if tree.get(name) == old.get(name) {
                    match changed.get(name) {
                        Some(entry) => tree.insert(name.clone(), entry.clone()),
                        None => tree.remove(name),
                    };
                }
            }
        }
        merged
    }
}

/// Reads `<mode> … <id> <field>\t<name>` where the id is field `at` of those before the tab.
fn record(line: &[u8], at: usize) -> ((Name, Entry), String) {
    let tab = line.iter().position(|byte| *byte == b'\t').expect("a tab");
    let fields = std::str::from_utf8(&line[..tab]).expect("digits");
    let fields: Vec<&str> = fields.split(' ').collect();
    let entry = Entry(fields[0].into(), fields[at].into());
    let last = fields.last().copied().unwrap_or_default().to_owned();
    ((line[tab + 1..].to_vec(), entry), last)
}
