//! The repository in which acts are done: [`World`], and what git has there: [`Seen`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};

use super::acts::{Act, Actor, WORDS};
use crate::support::TestRepo;

/// What a worktree starts from, a kind of clone each: the options of `git clone`.
pub const CLONES: [&str; 4] = [
    "",
    "--ref-format=reftable",
    "--depth 2 --no-single-branch",
    "--depth 2 --no-single-branch --ref-format=reftable",
];

/// What stands in the directory of a world, beside the home and the copies: the last two once an
/// act made them.
const PARTS: [&str; 5] = ["repo", "origin.git", "mate", "made", "users-own"];

/// The files of a commit, or of a directory: what each path holds.
pub type Files = BTreeMap<String, String>;

/// Represents a clone with the worktree `task`, a bare remote, and the clone of a teammate. It is
/// made once and copied back to the same place before each sequence.
pub struct World {
    pub repo: TestRepo,
    pub base: String,
    /// The copy to begin from.
    first: PathBuf,
    /// The copy that [`World::save`] makes.
    saved: PathBuf,
}

/// Holds one commit.
#[derive(Clone, Debug)]
pub struct Commit {
    pub parents: Vec<String>,
    pub tree: String,
    pub committer: String,
}

/// Holds every object that is there.
#[derive(Default)]
pub struct Objects {
    pub commits: BTreeMap<String, Commit>,
    trees: BTreeMap<String, Vec<(String, String)>>,
    blobs: BTreeMap<String, String>,
}

/// Holds where refs are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    pub places: BTreeMap<String, String>,
    /// The commit of the worktree's HEAD, and the ref that it names.
    pub head: Option<String>,
    pub branch: Option<String>,
}

impl World {
    pub fn new(options: &str) -> Self {
        let repo = TestRepo::project();
        fs::remove_dir_all(repo.main()).expect("it is there");
        let script = format!(
            "set -e; {WORDS}
            export WHO=user N=base
            git init -q mate; cd mate
            for i in 1 2 3; do N=base$i
                put README; put docs/x; put src/a; put src/b; git add -A; git commit -q -m $i; done
            git tag v1
            git checkout -q -b dev HEAD~; N=dev; put docs/dev; git add -A; git commit -q -m dev
            git checkout -q main; cd ..
            git clone -q --bare mate origin.git
            git -C mate remote add origin \"file://$PWD/origin.git\"; git -C mate fetch -q
            git -C mate branch -q -u origin/main
            git clone -q {options} \"file://$PWD/origin.git\" repo
            cd repo; git branch -q dev origin/dev
            put README; git stash -q
            rm -f .git/hooks/*.sample ../mate/.git/hooks/*.sample ../origin.git/hooks/*.sample
            git agentwt add task --write 'src/**'"
        );
        repo.sh(repo.root(), &script).ok();
        let base = repo.git(&["rev-parse", "main"]);
        let first = repo.root().join("first");
        let saved = repo.root().join("saved");
        copy_parts(repo.root(), &first);
        Self {
            repo,
            base,
            first,
            saved,
        }
    }

    /// Makes everything as it was in the beginning.
    pub fn reset(&self) {
        copy_parts(&self.first, self.repo.root());
    }

    /// Keeps everything as it is now, for [`World::restore`].
    pub fn save(&self) {
        copy_parts(self.repo.root(), &self.saved);
    }

    /// Makes everything as it was at the last [`World::save`].
    pub fn restore(&self) {
        copy_parts(&self.saved, self.repo.root());
    }

    /// Does an act, whatever comes of it: git may refuse.
    pub fn does(&self, act: &Act, number: usize) {
        let (actor, _, script) = act;
        let directory = self.directory(*actor);
        let mut command = self.repo.command("sh", &directory);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), actor.name());
            command.env(format!("GIT_{role}_EMAIL"), "x@example.invalid");
        }
        let output = command
            .env("WHO", actor.name())
            .env("N", number.to_string())
            .env("MAIN", self.repo.main())
            .env("ROOT", self.repo.root())
            .env("BASE", &self.base)
            .arg("-c")
            .arg(format!("{WORDS}{script}"))
            .output()
            .expect("sh starts");
        if std::env::var_os("AGENTWT_ATTRIBUTION_SHOW").is_some() {
            let said = String::from_utf8_lossy(&output.stderr);
            println!("{number} {}: {script}\n{said}", actor.name());
        }
    }

    fn directory(&self, actor: Actor) -> PathBuf {
        match actor {
            Actor::Agent => self.worktree(),
            Actor::User => self.repo.main().to_owned(),
            Actor::Upstream => self.repo.root().join("mate"),
        }
    }

    pub fn worktree(&self) -> PathBuf {
        self.repo.worktree("task")
    }

    pub fn refs(&self) -> Refs {
        let format = "--format=%(objectname) %(refname) %(symref)";
        let mut refs = Refs::default();
        for line in self.lines(&["for-each-ref", "--include-root-refs", format]) {
            let mut words = line.split(' ').map(ToOwned::to_owned);
            let id = words.next().expect("an id");
            let name = words.next().expect("a name");
            if name == "HEAD" {
                refs.head = Some(id);
                refs.branch = words.next().filter(|branch| !branch.is_empty());
            } else if name.starts_with("refs/") {
                refs.places.insert(name, id);
            }
        }
        if refs.head.is_none() {
            // git does not list a HEAD whose branch is gone
            refs.branch = self.lines(&["symbolic-ref", "-q", "HEAD"]).pop();
        }
        refs
    }

    /// What git prints in the worktree; nothing if it fails.
    pub fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let mut command = self.repo.command("git", &self.worktree());
        let output = command.args(arguments).output();
        output.expect("git starts").stdout
    }

    /// The lines that git prints in the worktree; none if it fails.
    fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let printed = self.git(arguments);
        let printed = String::from_utf8_lossy(&printed);
        printed.lines().map(ToOwned::to_owned).collect()
    }

    /// What is staged.
    pub fn index(&self, objects: &Objects) -> Files {
        let mut files = Files::new();
        for line in self.lines(&["ls-files", "-s"]) {
            let (entry, path) = line.split_once('\t').expect("a tab");
            let id = entry.split(' ').nth(1).expect("an id");
            files.insert(path.to_owned(), objects.blob(id));
        }
        files
    }

    /// What is on disk.
    pub fn disk(&self) -> Files {
        let mut files = Files::new();
        read_below(&self.worktree(), "", &mut files);
        files
    }

    /// The commits at which history is cut.
    pub fn shallow(&self) -> Option<BTreeSet<String>> {
        let text = fs::read_to_string(self.repo.main().join(".git/shallow")).ok()?;
        Some(text.lines().map(ToOwned::to_owned).collect())
    }

    /// The commits in the list of stashes.
    pub fn stashes(&self) -> Vec<String> {
        self.lines(&["rev-list", "-g", "refs/stash", "--"])
    }

    pub fn objects(&self) -> Objects {
        let all = ["cat-file", "--batch-all-objects", "--unordered", "--batch"];
        let printed = self.git(&all);
        Objects::parse(&printed)
    }
}

/// Replaces what stands in one directory by what stands in another.
fn copy_parts(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for part in PARTS {
        let old = to.join(part);
        if old.exists() {
            fs::remove_dir_all(&old).expect("it can be removed");
        }
        let new = from.join(part);
        if new.exists() {
            copy(&new, &old);
        }
    }
}

/// Copies a directory with its permissions and times. An object never changes: both have one file.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new directory");
    let is_of_objects = from
        .parent()
        .is_some_and(|above| above.ends_with("objects"));
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let copied = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &copied);
        } else if is_of_objects {
            fs::hard_link(entry.path(), &copied).expect("a link");
        } else {
            fs::copy(entry.path(), &copied).expect("a copy");
            copy_times(&entry.path(), &copied);
        }
    }
    let permissions = fs::metadata(from).expect("it is there").permissions();
    fs::set_permissions(to, permissions).expect("a directory of ours");
    copy_times(from, to);
}

fn copy_times(from: &Path, to: &Path) {
    let metadata = fs::metadata(from).expect("it is there");
    let accessed = metadata.accessed().expect("a time");
    let modified = metadata.modified().expect("a time");
    let times = FileTimes::new()
        .set_accessed(accessed)
        .set_modified(modified);
    let file = File::open(to).expect("it can be read");
    file.set_times(times).expect("a file of ours");
}

fn read_below(root: &Path, below: &str, files: &mut Files) {
    for entry in fs::read_dir(root.join(below)).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ".git" {
            continue;
        }
        let path = match below {
            "" => name,
            _ => format!("{below}/{name}"),
        };
        if entry.file_type().expect("a type").is_dir() {
            read_below(root, &path, files);
        } else {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            files.insert(path, text);
        }
    }
}

impl Objects {
    fn parse(printed: &[u8]) -> Self {
        let mut objects = Self::default();
        let mut rest = printed;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let end = end.expect("a line");
            let line = String::from_utf8_lossy(&rest[..end]).into_owned();
            let words: Vec<&str> = line.split(' ').collect();
            let size: usize = words[2].parse().expect("a size");
            let body = &rest[end + 1..end + 1 + size];
            rest = &rest[end + 2 + size..];
            let id = words[0].to_owned();
            match words[1] {
                "commit" => {
                    objects.commits.insert(id, parse_commit(body));
                }
                "tree" => {
                    objects.trees.insert(id, parse_tree(body));
                }
                "blob" => {
                    let text = String::from_utf8_lossy(body).into_owned();
                    objects.blobs.insert(id, text);
                }
                _ => {}
            }
        }
        objects
    }

    fn blob(&self, id: &str) -> String {
        self.blobs.get(id).cloned().unwrap_or_default()
    }

    /// The files of a commit; none where it is not there.
    pub fn files(&self, commit: &str) -> Files {
        let mut files = Files::new();
        if let Some(commit) = self.commits.get(commit) {
            self.add_files(&commit.tree, "", &mut files);
        }
        files
    }

    fn add_files(&self, tree: &str, below: &str, files: &mut Files) {
        let Some(entries) = self.trees.get(tree) else {
            return;
        };
        for (name, id) in entries {
            let path = format!("{below}{name}");
            if self.trees.contains_key(id) {
                self.add_files(id, &format!("{path}/"), files);
            } else {
                files.insert(path, self.blob(id));
            }
        }
    }

    /// The commits that can be reached from these, as far as history is here.
    pub fn reach<'a>(&self, tips: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<String> = tips.into_iter().cloned().collect();
        while let Some(id) = waiting.pop() {
            let Some(commit) = self.commits.get(&id) else {
                continue;
            };
            if reached.insert(id) {
                waiting.extend(commit.parents.iter().cloned());
            }
        }
        reached
    }

    /// The commits among these that no other of them has.
    pub fn newest(&self, commits: &BTreeSet<String>) -> BTreeSet<String> {
        let mut newest = commits.clone();
        for id in commits {
            if let Some(commit) = self.commits.get(id) {
                for older in self.reach(&commit.parents) {
                    newest.remove(&older);
                }
            }
        }
        newest
    }
}

fn parse_commit(body: &[u8]) -> Commit {
    let text = String::from_utf8_lossy(body);
    let mut commit = Commit {
        parents: Vec::new(),
        tree: String::new(),
        committer: String::new(),
    };
    for line in text.lines().take_while(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "tree" => rest.clone_into(&mut commit.tree),
            "parent" => commit.parents.push(rest.to_owned()),
            "committer" => {
                let name = rest.split(' ').next().unwrap_or_default();
                name.clone_into(&mut commit.committer);
            }
            _ => {}
        }
    }
    commit
}

fn parse_tree(body: &[u8]) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let mut rest = body;
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let name = head.split_once(' ').expect("a mode and a name").1;
        let hex = rest[end + 1..end + 21].iter();
        let id: String = hex.map(|byte| format!("{byte:02x}")).collect();
        entries.push((name.to_owned(), id));
        rest = &rest[end + 21..];
    }
    entries
}
