//! What is read of git's settings and of where a repository is without starting git must be what
//! git itself says.
//!
//! Each test asks in a program of its own, this one again, under an environment of its own: once
//! with `GIT_AGENTWT_READ=git` and once with `own`; the answers must be the same. How often git
//! was started says who gave them.

mod discovery;
mod generated;
mod settings;
mod starts;

use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::Utf8Path;
use git_agentwt::git::{Call, Duct, Git, GitMode, Output, Runner, SharedRunner};

use crate::support::TestRepo;

/// Names the file that lists what the program below asks, one question a line.
const QUESTIONS: &str = "AGENTWT_TEST_QUESTIONS";

/// Keys that the files of the tests set, and how they are asked for: as a boolean, or as a path.
const BOOLEANS: &[&str] = &[
    "core.ignoreCase",
    "core.bare",
    "agentwt.key",
    "Agentwt.KEY",
    "agentwt.key-1",
    "agentwt.Sub.key",
    "agentwt.sub.key",
    "agentwt.a.b.key",
    "agentwt.A.b.key",
    "agentwt.a\"b\\c.key",
    "agentwt..key",
];
const PATHS: &[&str] = &[
    "core.excludesFile",
    "core.hooksPath",
    "agentwt.other",
    "include.path",
];
/// Those of them that the files of the test of all files set, and one that is not set: the list of
/// all settings says there which file counts.
const OF_FILES: (&[&str], &[&str]) = (
    &["core.bare", "agentwt.key"],
    &["core.excludesFile", "agentwt.other"],
);
/// Keys that there cannot be.
const NO_KEYS: &[&str] = &[
    "agentwt",
    "agentwt.sub.1key",
    "agentwt.k_y",
    "agent_wt.key",
    ".key",
];

/// Does what the usual runner does, and counts.
struct Counting(Arc<AtomicUsize>);

impl Runner for Counting {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Duct.run(call)
    }

    fn is_local(&self) -> bool {
        true
    }
}

/// Holds the answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    said: String,
    starts: usize,
}

/// Asks in a repository, once each way; both must say the same. Gives what was said, and how often
/// git was started for it where it was not forced to be.
#[track_caller]
fn ask(repo: &TestRepo, questions: &[String], prepare: impl Fn(&mut Command)) -> Vec<Answer> {
    let list = repo.root().join("questions");
    std::fs::write(&list, questions.join("\n")).expect("a list");
    let [by_git, own] = ["git", "own"].map(|reading| {
        let program = std::env::current_exe().expect("a program");
        let mut command = repo.command(program, repo.root());
        prepare(&mut command);
        command.args(["--exact", "own_settings::answers", "--nocapture"]);
        command.env("GIT_AGENTWT_READ", reading);
        let said = repo.said(&command.env(QUESTIONS, &list).output().expect("it starts"));
        assert_eq!(said.status, 0, "{said}");
        let lines = said
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("answer "));
        let answers = lines.map(|line| {
            let (starts, said) = line.split_once(' ').expect("two parts");
            Answer {
                said: said.to_owned(),
                starts: starts.parse().expect("a number"),
            }
        });
        answers.collect::<Vec<_>>()
    });
    assert_eq!(own.len(), questions.len(), "each question has its answer");
    for ((question, by_git), own) in questions.iter().zip(&by_git).zip(&own) {
        assert_eq!(own.said, by_git.said, "{question}");
    }
    own
}

/// The program that answers.
#[test]
fn answers() {
    let Some(list) = std::env::var_os(QUESTIONS) else {
        return;
    };
    let questions = std::fs::read_to_string(list).expect("a list");
    let mut all = String::from("\n");
    for question in questions.lines() {
        let starts = Arc::new(AtomicUsize::new(0));
        let runner = SharedRunner::new(Counting(Arc::clone(&starts)));
        let words: Vec<&str> = question.split('|').collect();
        let said = match words[..] {
            ["find", dir] => found(&Git::unchecked(Utf8Path::new(dir), runner)),
            [what @ ("settings" | "files"), mode, git_dir, work_tree] => {
                let mode = if mode == "hardened" {
                    GitMode::Hardened
                } else {
                    GitMode::User
                };
                let git_dir = Utf8Path::new(git_dir);
                let work_tree = Some(Utf8Path::new(work_tree)).filter(|tree| *tree != "");
                let git = Git::unchecked(git_dir, runner).on(git_dir, work_tree);
                let keys = if what == "files" {
                    OF_FILES
                } else {
                    (BOOLEANS, PATHS)
                };
                settings(&git.with_mode(mode), git_dir, keys)
            }
            [what @ ("list" | "typed" | "no keys"), git_dir] => {
                let git_dir = Utf8Path::new(git_dir);
                let git = Git::unchecked(git_dir, runner).on(git_dir, None);
                let no_key = |key: &&str| short(&git.config_get(key));
                match what {
                    "list" => short(&git.config_list()),
                    "typed" => {
                        let paths = short(&git.config_get_all_paths("agentwt.key"));
                        format!("{paths} {}", short(&git.config_get_bool("agentwt.key")))
                    }
                    _ => NO_KEYS.iter().map(no_key).collect(),
                }
            }
            _ => panic!("an odd question: {question}"),
        };
        let starts = starts.load(Ordering::SeqCst);
        writeln!(all, "answer {starts} {said}").expect("text");
    }
    println!("{all}");
}

/// Everything that is asked of where a repository is.
fn found(git: &Git) -> String {
    let layout = git.layout();
    let bare = layout.as_ref().ok().and_then(Option::as_ref);
    let bare = bare.map(|layout| short(&git.on(&layout.common_dir, None).is_bare_repository()));
    let admin = short(&git.absolute_git_dir());
    format!("{} bare {bare:?} admin {admin}", short(&layout))
}

/// Everything that is asked of settings, of these booleans and these paths.
fn settings(git: &Git, git_dir: &Utf8Path, (booleans, paths): (&[&str], &[&str])) -> String {
    let mut all = short(&git.config_list());
    for section in ["agentwt", "core"] {
        write!(
            all,
            " {section} {}",
            short(&git.config_get_section(section))
        )
        .expect("text");
    }
    let file = git_dir.join("config");
    for key in booleans.iter().chain(paths) {
        let answers = [
            short(&git.config_get(key)),
            short(&git.config_file_get_all(&file, key)),
        ];
        write!(all, " {key} {answers:?}").expect("text");
    }
    // what is not there is not there for any key
    let missing = git_dir.join("there-is-none");
    for key in [booleans[0], paths[0]] {
        let answer = short(&git.config_file_get_all(&missing, key));
        write!(all, " {key} missing {answer}").expect("text");
    }
    for key in booleans {
        let answers = [
            short(&git.config_get_bool(key)),
            short(&git.config_file_get_bool(&file, key)),
        ];
        write!(all, " {key} {answers:?}").expect("text");
    }
    for key in paths {
        let answers = [
            short(&git.config_get_all_paths(key)),
            short(&git.config_get_path(key)),
        ];
        write!(all, " {key} {answers:?}").expect("text");
    }
    all
}

/// An answer in one line; git's words differ with what was asked first.
fn short<T: Debug, E>(answer: &Result<T, E>) -> String {
    answer
        .as_ref()
        .map_or_else(|_| "an error".to_owned(), |answer| format!("{answer:?}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("it is UTF-8")
}
