//! Taking over what has stood for a lease, by the observer's own clock; and many at once.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::Duration;

use camino::Utf8Path;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::git::runner::Trace;
use git_agentwt::record::claim::Lease;
use git_agentwt::words::exit::ExitCode;
use git_agentwt::words::name::WorktreeName;
use git_agentwt::worktree::claims::Claims;
use git_agentwt::worktree::claims::Renewal;
use git_agentwt::worktree::claims::holder;
use git_agentwt::worktree::claims::is_lost;
use git_agentwt::worktree::repository::Repository;

use super::{Fleet, REF, line};

fn repository(dir: &std::path::Path) -> Repository {
    let dir = Utf8Path::from_path(dir).expect("it is UTF-8");
    Repository::find(dir, SharedRunner::default(), Trace::default()).expect("it is there")
}

fn second(seconds: u64) -> Lease {
    Lease::of_seconds(seconds).expect("a lease")
}

#[test]
fn of_a_hundred_rounds_each_has_exactly_one_winner() {
    let fleet = Fleet::new();
    let repositories = [repository(fleet.repo.main()), repository(&fleet.other)];
    let mut winners = BTreeSet::new();
    for round in 0..100 {
        let name = WorktreeName::parse(&format!("n{round}")).expect("a name");
        let barrier = Barrier::new(2);
        let take = |repository: &Repository| {
            let claims = Claims::at(repository, &name, "origin", &[]).expect("a remote");
            let who = holder(repository, None, None).expect("we run");
            barrier.wait();
            match claims.take(&who, second(600)) {
                Ok(taken) => Some(taken.held.commit.to_string()),
                Err(held) if is_lost(&held) => None,
                Err(other) => panic!("{round}: {other}"),
            }
        };
        let won = std::thread::scope(|scope| {
            let all = repositories.each_ref().map(|one| scope.spawn(|| take(one)));
            all.map(|thread| thread.join().expect("it ends"))
        });
        let won: Vec<String> = won.into_iter().flatten().collect();
        assert_eq!(won.len(), 1, "{round}: {won:?}");
        winners.insert(format!("refs/agentwt/claims/n{round} {}", won[0]));
    }
    let list = [
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/agentwt/",
    ];
    let there = fleet.repo.git_in(&fleet.server, &list);
    let there: BTreeSet<String> = there.lines().map(ToOwned::to_owned).collect();
    assert_eq!(winners, there);
}

#[test]
fn another_takes_over_after_a_full_lease_and_not_before_and_of_two_one() {
    let fleet = Fleet::new();
    let name = WorktreeName::parse("task").expect("a name");
    let third = fleet.repo.root().join("third");
    let (from, to) = (
        fleet.server.display().to_string(),
        third.display().to_string(),
    );
    fleet
        .repo
        .git_in(fleet.repo.root(), &["clone", "-q", &from, &to]);
    let all = [fleet.repo.main(), &fleet.other, &third].map(repository);
    let [first, rest @ ..] = &all;
    let claims = Claims::at(first, &name, "origin", &[]).expect("a remote");
    let by = holder(first, None, None).expect("we run");
    let held = claims.take(&by, second(2)).expect("it is free").held;
    // renewed after they have looked: they begin anew
    let look = |repository: &Repository| {
        let claims = Claims::at(repository, &name, "origin", &[]).expect("a remote");
        claims.take(
            &holder(repository, None, None).expect("we run"),
            second(600),
        )
    };
    assert!(rest.iter().all(|one| look(one).is_err()));
    std::thread::sleep(Duration::from_millis(1500));
    let held = claims
        .renew(&held, &Renewal::default())
        .expect("it is ours")
        .0;
    std::thread::sleep(Duration::from_secs(1));
    assert!(
        rest.iter().all(|one| look(one).is_err()),
        "it was renewed a second ago"
    );
    claims.check_ours(&held).expect("it is ours");
    std::thread::sleep(Duration::from_millis(2100));
    let barrier = Barrier::new(2);
    let take = |repository: &Repository| {
        barrier.wait();
        look(repository).ok()
    };
    let taken = std::thread::scope(|scope| {
        let both = rest.each_ref().map(|one| scope.spawn(|| take(one)));
        both.map(|thread| thread.join().expect("it ends"))
    });
    let taken: Vec<_> = taken.into_iter().flatten().collect();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!(taken[0].taken_from.as_ref(), Some(&by));
    // and the first has lost it, for the probe and for renewal
    assert!(claims.check_ours(&held).is_err_and(|error| is_lost(&error)));
    let lost = claims
        .renew(&held, &Renewal::default())
        .expect_err("it is lost");
    assert_eq!(lost.exit_code(), ExitCode::OwnershipLost);
    claims
        .release(&held)
        .expect("there is nothing to give back");
    assert_eq!(fleet.claimed(), taken[0].held.commit.to_string());
}

#[test]
fn the_times_in_a_claim_count_for_nothing() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    let message = fleet.message();
    for year in ["1970", "9999"] {
        let odd: Vec<String> = message
            .lines()
            .map(|line| match line.split_once(" = ") {
                Some((key @ ("since" | "renewed" | "expires"), _)) => {
                    format!("{key} = \"{year}-01-01T00:00:00Z\"")
                }
                _other => line.to_owned(),
            })
            .collect();
        let odd = odd.join("\n");
        let script = format!(
            "git update-ref {REF} $(printf '%s\\n' '{odd}' | GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' git -c user.name=x -c user.email=x commit-tree $(git mktree </dev/null))"
        );
        fleet.repo.sh(&fleet.server, &script).ok();
        let said = fleet.add_other(&[]);
        let error = line(said.fails(8), "error: cannot claim");
        assert!(error.contains(&format!("since {year}")), "{said}");
        line(&said, "help: if it stays unchanged for 10m from now");
        // whoever made it knows it by what is in it
        fleet.repo.agentwt(&["renew", "task"]).ok();
    }
}

#[test]
fn whoever_was_killed_after_the_push_knows_its_own_claim_again() {
    let fleet = Fleet::new();
    let name = WorktreeName::parse("task").expect("a name");
    let first = repository(fleet.repo.main());
    let by = holder(&first, None, None).expect("we run");
    let claims = Claims::at(&first, &name, "origin", &[]).expect("a remote");
    let held = claims.take(&by, second(600)).expect("it is free").held;
    // before the record is written: the state has no commit
    // another owner of the same repository does not take it for its own
    let another = holder(&first, Some("another"), None).expect("we run");
    assert!(claims.take(&another, second(600)).is_err());
    fleet.add(&[]).ok();
    assert_ne!(fleet.claimed(), held.commit.to_string());
    // renewed, and killed before the record was written: the record names an older commit
    let record = fleet
        .repo
        .main()
        .join(".git/agentwt/worktrees/task/record.toml");
    let before = std::fs::read(&record).expect("a record");
    fleet.repo.agentwt(&["renew", "task", "--lease", "2h"]).ok();
    std::fs::write(&record, &before).expect("it can be written");
    fleet.repo.agentwt(&["renew", "task"]).ok();
    let claim = fleet.message();
    assert!(claim.contains("\nlease = 7200\n"), "as it was: {claim}");
    fleet.repo.agentwt(&["remove", "task"]).ok();
    assert_eq!(fleet.claimed(), "");
}
