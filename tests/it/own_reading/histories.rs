//! Tests of how commits are related, over histories that were made up.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use git_agentwt::git::Git;
use git_agentwt::name::CommitId;

use super::{Both, By};
use crate::support::{TestRepo, gits};

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or(0) % most
    }
}

/// How the dates of commits go.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// Each commit is newer than the one before it.
    Right,
    /// Many commits have one date.
    Slow,
    /// Some commits are older than their parents.
    Wrong,
}

/// Gives git a stream of commits (git-fast-import(1)).
fn import(repo: &TestRepo, options: &[&str], stream: &str) {
    let mut import = repo
        .command("git", repo.main())
        .args(["fast-import", "--quiet"])
        .args(options)
        .stdin(Stdio::piped())
        .spawn()
        .expect("git starts");
    let input = import.stdin.as_mut().expect("its input");
    input.write_all(stream.as_bytes()).expect("written");
    assert!(import.wait().expect("it ends").success());
}

/// Makes a history of so many commits with several roots, criss-cross merges and octopuses.
fn history(repo: &TestRepo, count: usize, clock: Clock, random: &mut Random) -> Vec<CommitId> {
    let mut stream = String::new();
    for at in 1..=count {
        let date = 1_700_000_000
            + match clock {
                Clock::Right => at * 60,
                Clock::Slow => at / 4,
                Clock::Wrong => at * 60 + random.below(8) * 150,
            };
        let from = |random: &mut Random| at - 1 - random.below((at - 1).min(9));
        let mut parents: Vec<usize> = Vec::new();
        if at > 3 {
            let many = [1, 1, 1, 2, 2, 3, 4][random.below(7)];
            for _ in 0..many {
                let parent = from(random);
                if !parents.contains(&parent) {
                    parents.push(parent);
                }
            }
        }
        if at % 61 == 0 {
            parents.clear();
        }
        stream.push_str(&format!(
            "reset refs/heads/made\ncommit refs/heads/made\nmark :{at}\n\
             committer A <a@b> {date} +0000\ndata 0\n"
        ));
        for (number, parent) in parents.iter().enumerate() {
            let word = if number == 0 { "from" } else { "merge" };
            stream.push_str(&format!("{word} :{parent}\n"));
        }
        // each commit has a tree of its own, or two of them would be one
        stream.push_str(&format!("M 100644 inline f\ndata <<E\n{at}\nE\n\n"));
    }
    let marks = repo.root().join("marks");
    let kept = format!("--export-marks={}", marks.display());
    import(repo, &["--force", &kept], &stream);
    let marks = fs::read_to_string(marks).expect("marks");
    let mut all: Vec<(usize, CommitId)> = marks
        .lines()
        .map(|line| {
            let (mark, id) = line.split_once(' ').expect("a mark and an id");
            let id = CommitId::parse(id).expect("an id");
            (mark[1..].parse().expect("a number"), id)
        })
        .collect();
    all.sort();
    all.into_iter().map(|(_, id)| id).collect()
}

/// Asks everything of some commits; which answers must be our own.
fn ask(both: &Both, by: By, some: &[CommitId]) {
    let [one, other, rest @ ..] = some else {
        panic!("two commits at least");
    };
    let what = format!("{some:?}");
    both.ask(by, &what, |git| git.is_ancestor(one, other));
    both.ask(by, &what, |git| git.is_ancestor(other, one));
    both.ask(by, &what, |git| git.rev_list_count(one, other));
    both.ask(by, &what, |git| git.rev_list(&[one], &[other]));
    both.ask(by, &what, |git| {
        let rest: Vec<&CommitId> = rest.iter().collect();
        git.rev_list(&rest, &[one, other])
    });
    both.ask(by, &what, |git| git.rev_list(&[other, one], &[]));
    both.ask(by, &what, |git| git.rev_list_parents(some, None));
    both.ask(by, &what, |git| git.rev_list_parents(rest, Some(one)));
    // git's order among equals is its own, and so is what it takes of several
    both.ask(By::Any, &what, |git| {
        git.merge_base_all(one, std::slice::from_ref(other))
    });
    both.ask(By::Any, &what, |git| git.merge_base_all(one, &some[1..]));
    both.ask(By::Any, &what, |git| git.merge_base_octopus(some));
    both.ask(by, &what, |git| git.merge_base_independent(some));
}

#[test]
fn made_up_histories_are_walked_as_each_git_walks_them() {
    let mut random = Random(7);
    for (_, bin) in gits() {
        for clock in [Clock::Right, Clock::Slow, Clock::Wrong] {
            let repo = TestRepo::empty().with_git(&bin);
            let all = history(&repo, 200, clock, &mut random);
            let (user, hardened) = (Both::of(&repo), Both::of(&repo).hardened());
            for round in 0..12 {
                let some: Vec<CommitId> = (0..4)
                    .map(|_| all[random.below(all.len())].clone())
                    .collect();
                let near: Vec<CommitId> = (0..3)
                    .map(|_| all[all.len() - 1 - random.below(12)].clone())
                    .collect();
                let both = if round % 2 == 0 { &user } else { &hardened };
                ask(both, By::Us, &some);
                ask(both, By::Us, &near);
            }
            let heads = ["made", "x", "y"];
            for (name, at) in heads.iter().zip([199, 150, 90]) {
                repo.git(&[
                    "update-ref",
                    &format!("refs/heads/{name}"),
                    all[at].as_str(),
                ]);
            }
            repo.git(&["tag", "-a", "-m", "x", "tagged", all[120].as_str()]);
            repo.git(&["tag", "blob", "made:f"]);
            for commit in [&all[5], &all[90], &all[140], &all[199]] {
                hardened.ask(By::Us, "containing", |git| {
                    git.refs_containing(commit, &["refs/"])
                });
            }
        }
    }
}

#[test]
fn what_git_reads_in_another_way_is_left_to_it() {
    let repo = TestRepo::empty();
    let mut random = Random(3);
    let all = history(&repo, 40, Clock::Right, &mut random);
    let some = [all[39].clone(), all[20].clone(), all[5].clone()];
    let (user, hardened) = (Both::of(&repo), Both::of(&repo).hardened());
    ask(&user, By::Us, &some);
    // a replaced commit, a graft
    repo.git(&["replace", "--graft", all[39].as_str()]);
    ask(&user, By::Git, &some);
    ask(&hardened, By::Us, &some);
    repo.git(&["replace", "-d", all[39].as_str()]);
    let _ = fs::remove_dir(repo.main().join(".git/refs/replace"));
    let info = repo.main().join(".git/info/grafts");
    fs::write(&info, format!("{}\n", all[39])).expect("written");
    user.ask(By::Git, "a graft", |git| git.rev_list(&[&some[0]], &[]));
    hardened.ask(By::Us, "a graft", |git| git.rev_list(&[&some[0]], &[]));
    fs::remove_file(&info).expect("removed");
    // the end of a shallow clone
    fs::write(repo.main().join(".git/shallow"), format!("{}\n", all[38])).expect("written");
    ask(&user, By::Git, &some);
    ask(&hardened, By::Git, &some);
    fs::remove_file(repo.main().join(".git/shallow")).expect("removed");
    // what is not there
    let missing = CommitId::parse(&"1".repeat(40)).expect("an id");
    let with = [all[39].clone(), missing.clone(), all[5].clone()];
    ask(&hardened, By::Any, &with);
    hardened.ask(By::Git, "missing", |git| {
        git.is_ancestor(&missing, &with[0])
    });
    hardened.ask(By::Git, "missing", |git| {
        git.rev_list(&[&missing, &with[0]], &[])
    });
    hardened.ask(By::Git, "missing", |git| {
        git.merge_base_all(&with[0], std::slice::from_ref(&missing))
    });
    hardened.ask(By::Us, "nothing new", |git| {
        git.rev_list(&[&all[3]], &[&all[3], &missing])
    });
    // too long to be walked here
    let long = TestRepo::empty();
    let mut stream = String::new();
    for at in 1..=10_050 {
        stream.push_str(&format!(
            "commit refs/heads/long\nmark :{at}\ncommitter A <a@b> {} +0000\ndata 0\n",
            1_700_000_000 + at
        ));
        if at > 1 {
            stream.push_str(&format!("from :{}\n", at - 1));
        }
    }
    import(&long, &[], &stream);
    let id = |name: &str| CommitId::parse(&long.git(&["rev-parse", name])).expect("an id");
    let (tip, near, far) = (id("long"), id("long~9000"), id("long~10040"));
    let both = Both::of(&long);
    both.ask(By::Us, "near", |git| git.rev_list_count(&near, &tip));
    both.ask(By::Git, "far", |git| git.rev_list_count(&far, &tip));
    both.ask(By::Git, "far", |git| git.is_ancestor(&far, &tip));
}

#[test]
fn answers_do_not_depend_on_whether_objects_are_packed() {
    let repo = TestRepo::empty();
    let all = history(&repo, 60, Clock::Right, &mut Random(11));
    repo.git(&["update-ref", "refs/heads/made", all[59].as_str()]);
    let some = [all[59].clone(), all[30].clone(), all[31].clone()];
    let answers = || -> BTreeSet<Option<Vec<CommitId>>> {
        let both = Both::of(&repo);
        ask(&both, By::Us, &some);
        let list = both.ask(By::Us, "list", |git: &Git| {
            git.rev_list(&[&some[0]], &[&some[1]])
        });
        BTreeSet::from([list])
    };
    let before = answers();
    repo.git(&["repack", "-a", "-q", "-f", "--depth=50"]);
    assert_eq!(before, answers(), "packed, with deltas");
    repo.git(&["commit-graph", "write", "--reachable"]);
    assert_eq!(before, answers(), "with a commit graph");
}
