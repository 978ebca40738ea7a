//! Very many objects are read through a store that is opened anew now and then, and come to the same.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use camino::Utf8Path;
use git_agentwt::git::object_format::ObjectFormat;
use git_agentwt::git::objects::Objects;
use git_agentwt::words::entry::ObjectId;
use git_agentwt::words::name::CommitId;

use crate::support::TestRepo;

/// How many directories, each with ten files: more trees and more blobs than are read at once.
const DIRECTORIES: usize = 620;

/// A repository with one pack.
fn many() -> TestRepo {
    let repo = TestRepo::empty();
    let mut stream = String::from(
        "commit refs/heads/main\ncommitter A <a@example.invalid> 1700000000 +0000\ndata 0\n",
    );
    for n in 0..DIRECTORIES * 10 {
        let text = format!("file {n}\n").repeat(20);
        let path = format!("d{:03}/f{n}", n / 10);
        writeln!(
            stream,
            "M 100644 inline {path}\ndata {}\n{text}",
            text.len()
        )
        .expect("a string takes all");
    }
    let mut import = repo.command("git", repo.main());
    import.args(["fast-import", "--quiet", "--force"]);
    let mut child = import.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(stream.as_bytes()).expect("git reads it");
    drop(input);
    assert!(child.wait().expect("it was started").success());
    repo
}

fn objects(repo: &TestRepo) -> Objects {
    let directory = Utf8Path::from_path(repo.main()).expect("it is UTF-8");
    Objects::open(&directory.join(".git"), ObjectFormat::default()).expect("there are objects")
}

/// What git lists: path and id.
fn listed(repo: &TestRepo) -> Vec<(String, String)> {
    let lines = repo.git(&["ls-tree", "-r", "main"]);
    let one = |line: &str| {
        let (entry, path) = line.split_once('\t').expect("a tab stands before the path");
        let id = entry.rsplit(' ').next().expect("there is an id");
        (path.to_owned(), id.to_owned())
    };
    lines.lines().map(one).collect()
}

#[test]
fn a_listing_of_many_trees_is_what_git_lists() {
    let repo = many();
    let objects = objects(&repo);
    let head = CommitId::parse(&repo.git(&["rev-parse", "main"])).expect("it is an id");
    let tree = objects.commit(&head).expect("it is there").tree;
    let ours = objects.list(&tree).expect("every tree is there");
    let ours: Vec<_> = ours
        .iter()
        .map(|(path, entry)| (path.to_string(), entry.id.to_string()))
        .collect();
    assert_eq!(ours, listed(&repo));
    assert_eq!(ours.len(), DIRECTORIES * 10);
}

/// The pack goes while it is read: what is mapped is read on, and the next store finds the new one.
#[test]
fn many_blobs_are_read_while_the_pack_is_replaced() {
    let repo = many();
    let objects = objects(&repo);
    let all = listed(&repo);
    for (n, (path, id)) in all.iter().enumerate() {
        if n % 3_000 == 1_000 {
            repo.git(&["-c", "pack.threads=1", "repack", "-adfq"]);
        }
        let id = ObjectId::from_hex(id.as_bytes()).expect("it is an id");
        let content = objects.blob(&id).expect("it is there");
        let number = path.split_once("/f").expect("a file").1;
        assert_eq!(content, format!("file {number}\n").repeat(20).as_bytes());
    }
    let missing = ObjectId::from_hex(&[b'1'; 40]).expect("it is an id");
    assert!(objects.blob(&missing).is_err());
}
