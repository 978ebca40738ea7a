//! Fences: what a command can and cannot do in one, each beside the same without a fence.

mod restricted;
mod supervised;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use camino::Utf8PathBuf;
use git_agentwt::config::value::Fence;
use git_agentwt::fence::init::Start;
use git_agentwt::fence::policy::FenceRequest;
use git_agentwt::fence::policy::Grant;
use git_agentwt::fence::policy::GrantKind;
use git_agentwt::fence::policy::Places;
use git_agentwt::fence::policy::Policy;
use git_agentwt::fence::start::CommandOutput;
use git_agentwt::fence::start::Launch;
use git_agentwt::words::path::RepoPath;

use crate::support::{binary, is_root};

/// Nobody, by number.
const ORDINARY: u32 = 65534;

/// A worktree with `src` and `package.json` in its scope, and a place beside it.
struct World {
    dir: tempfile::TempDir,
    user: Option<u32>,
}

/// Does this as the user of the tests, and as an ordinary user where the tests run as root.
fn as_each_user(what: impl Fn(&World)) {
    what(&World::new(None));
    if is_root() {
        let world = World::new(Some(ORDINARY));
        // what the tests start may stand where only root can go: then `.ci/run` does this
        let reachable = [binary(), ourselves()];
        if reachable.iter().all(|path| {
            world
                .command("test")
                .arg("-x")
                .arg(path)
                .status()
                .is_ok_and(|status| status.success())
        }) {
            what(&world);
        }
    }
}

/// The program of these tests.
fn ourselves() -> PathBuf {
    std::env::current_exe().expect("we run")
}

/// The command line by which this program does one thing in a process of its own.
fn alone(test: &str) -> Vec<String> {
    let ours = ourselves().display().to_string();
    let words = [
        &ours,
        test,
        "--exact",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ];
    words.map(ToOwned::to_owned).to_vec()
}

impl World {
    fn new(user: Option<u32>) -> Self {
        // in `/dev/shm` and `/tmp` a fence lets everything be written
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let script = "mkdir -p work/src outside main/.git private/git private/tmp private/home \
            main/.git && echo hidden >main/file && : >work/.git && : >private/dotgit && echo '{}' >work/package.json && echo text >outside/file && echo text >work/readme && chmod -R a+rwX .";
        let made = Command::new("sh")
            .args(["-c", script])
            .current_dir(&dir)
            .status();
        assert!(made.expect("sh").success());
        if let Some(user) = user {
            let all = Command::new("chown")
                .arg("-R")
                .arg(user.to_string())
                .arg(dir.path())
                .status();
            assert!(all.expect("chown").success());
        }
        Self { dir, user }
    }

    fn path(&self, below: &str) -> PathBuf {
        let root = self.dir.path().canonicalize().expect("it is there");
        root.join(below)
    }

    /// A command of the user, in the worktree.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                let number = user.to_string();
                command.args(["--reuid", &number, "--regid", &number, "--clear-groups"]);
                command.arg(program);
                command
            }
        };
        command.current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    /// The Landlock fence around the worktree.
    fn start(&self) -> Start {
        let path = |below| Utf8PathBuf::from_path_buf(self.path(below)).expect("UTF-8");
        let grant = |path: &str, kind| Grant {
            path: RepoPath::parse(path).expect("it is relative"),
            kind,
        };
        let policy = Policy {
            places: Places {
                root: path("work"),
                // nothing is hidden
                main: path("work"),
                others: Vec::new(),
                common_dir: path("main/.git"),
                withheld: Vec::new(),
                shown_in_git: Vec::new(),
                shown: Vec::new(),
                states: Vec::new(),
                private: path("private"),
                binary: Utf8PathBuf::from_path_buf(binary()).expect("UTF-8"),
            },
            is_whole: false,
            grants: vec![
                grant("package.json", GrantKind::File),
                grant("src", GrantKind::Tree),
            ],
            directories_to_make: Vec::new(),
            masks: Vec::new(),
            ignored: Vec::new(),
            patterns: Vec::new(),
            write_regexes: Vec::new(),
            exclude_regexes: Vec::new(),
            request: FenceRequest::default(),
        };
        Start {
            fence: Fence::Landlock,
            policy,
            requested: Vec::new(),
        }
    }

    /// The same, with the main worktree hidden.
    fn start_with_main_hidden(&self) -> Start {
        let mut start = self.start();
        let main = Utf8PathBuf::from_path_buf(self.path("main"));
        start.policy.places.main = main.expect("UTF-8");
        start
    }

    /// The command line that runs another one with these restrictions.
    fn fenced(&self, start: &Start, line: &[&str]) -> Vec<String> {
        let file = self.path("private/start.json");
        let text = serde_json::to_vec(start).expect("it is plain");
        std::fs::write(&file, text).expect("it can be written");
        let head = [
            binary().display().to_string(),
            "__init".to_owned(),
            file.display().to_string(),
            "--".to_owned(),
        ];
        head.into_iter()
            .chain(line.iter().map(|word| (*word).to_owned()))
            .collect()
    }

    /// The command line that runs another one in namespaces.
    fn mounted(&self, line: &[&str]) -> Vec<String> {
        let mut start = self.start_with_main_hidden();
        start.fence = Fence::Mount;
        self.fenced(&start, line);
        let words: Vec<_> = line.iter().map(Into::into).collect();
        let launch = Launch {
            fence: start.fence,
            policy: &start.policy,
            command: &words,
            dir: &start.policy.places.root,
            output: CommandOutput::Stdout,
            variables: Vec::new(),
            timeout: None,
            signal: &std::sync::Arc::default(),
        };
        let words = launch.line().into_iter();
        words
            .map(|word| word.into_string().expect("UTF-8"))
            .collect()
    }

    fn run(&self, line: &[String]) -> Output {
        self.command(&line[0])
            .args(&line[1..])
            .output()
            .expect("it starts")
    }

    /// Whether a command succeeds without a fence, and in one.
    #[track_caller]
    fn both(&self, start: &Start, line: &[&str]) -> (bool, bool) {
        let plain: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let fenced = self.run(&self.fenced(start, line));
        let control = self.run(&plain);
        (control.status.success(), fenced.status.success())
    }

    /// Holds a script against what a fence lets pass: all of it without one.
    #[track_caller]
    fn script(&self, script: &str, passes: bool) {
        let found = self.both(&self.start(), &["sh", "-ec", script]);
        assert_eq!(found, (true, passes), "user {:?}: {script}", self.user);
    }
}

/// Text of what a command said.
fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
