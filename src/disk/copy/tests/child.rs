//! Runs a copy in a process of its own: with another umask, as another user, or to be killed.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::Utf8PathBuf;

use crate::disk::copy::staging::Source;
use crate::disk::copy::tests::support::Ground;
use crate::inventory::placed::PlacedKind;

/// Says who runs it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum As {
    Myself,
    /// Nobody in particular, to whom the ground is given; oneself when one is no root.
    Ordinary,
}

/// Represents a copy in another process.
pub struct Child<'a> {
    ground: &'a Ground,
    what: String,
    before: String,
    user: As,
}

impl<'a> Child<'a> {
    pub fn new(ground: &'a Ground, what: &str) -> Self {
        Self {
            ground,
            what: what.to_owned(),
            before: ":".to_owned(),
            user: As::Myself,
        }
    }

    /// A line of sh before it.
    pub fn shell(mut self, line: &str) -> Self {
        line.clone_into(&mut self.before);
        self
    }

    pub fn user(mut self, user: As) -> Self {
        self.user = user;
        self
    }

    #[track_caller]
    pub fn ok(self) {
        let output = self.output();
        assert!(output.status.success(), "{}", said(&output));
    }

    #[track_caller]
    pub fn output(self) -> Output {
        let line = format!(
            "{}; exec \"$0\" --exact disk::copy::tests::child::in_a_child --ignored --nocapture",
            self.before
        );
        let mut command = if self.user == As::Ordinary && is_root() {
            let given = Command::new("chown")
                .args(["-R", "65534:65534", self.ground.root().as_str()])
                .status();
            assert!(given.expect("chown starts").success());
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh"]);
            command
        } else {
            Command::new("sh")
        };
        command
            .args(["-c", &line])
            .arg(self.program())
            .env("COPY_GROUND", self.ground.root())
            .env("COPY_DOES", &self.what)
            .output()
            .expect("sh starts")
    }

    /// This test's program, where anybody may start it.
    fn program(&self) -> PathBuf {
        let ours = std::env::current_exe().expect("a program");
        if self.user == As::Myself {
            return ours;
        }
        let root = self.ground.root();
        std::fs::set_permissions(root, PermissionsExt::from_mode(0o755)).expect("it is ours");
        let program = root.join("program").into_std_path_buf();
        if !program.exists() && std::fs::hard_link(&ours, &program).is_err() {
            std::fs::copy(&ours, &program).expect("the program is copied");
        }
        program
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// What a child does: the ground and the verb come from the environment.
#[test]
#[ignore = "it is started by other tests"]
fn in_a_child() {
    let ground = std::env::var("COPY_GROUND").expect("a test starts it");
    let ground = Ground::at(Utf8PathBuf::from(ground));
    let what = std::env::var("COPY_DOES").expect("a test starts it");
    let mut items = ground.items();
    match what.split_once(' ').unwrap_or((&what, "")) {
        ("place", "") => {
            assert_eq!(ground.place().done(), [""; 0]);
        }
        ("place", _files) => {
            items.retain(|item| !matches!(item.from, Source::File(PlacedKind::Directory, _)));
            let staged = ground.stage(&items).expect("it is staged");
            let settled = ground.move_in(staged).expect("it is settled");
            assert_eq!(settled.done(), [""; 0]);
        }
        ("take", _back) => assert_eq!(ground.place().take_back(), [""; 0]),
        ("fail", _) => {
            let error = ground.stage(&items).expect_err("it fails");
            println!("said: {error}");
        }
        ("abort", at) => {
            let at: usize = at.parse().expect("a number");
            let asked = AtomicUsize::new(0);
            let stop = || {
                if asked.fetch_add(1, Ordering::Relaxed) == at {
                    std::process::abort();
                }
                false
            };
            let staged = ground.stage_until(&items, &stop).expect("it is staged");
            let settled = ground.move_in(staged).expect("it is settled");
            assert_eq!(settled.done(), [""; 0]);
        }
        (other, _) => unreachable!("{other} is no verb"),
    }
}
