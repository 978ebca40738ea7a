//! The whole life of worktrees: workers that add, write, commit, run commands in fences, accept,
//! land, remove, undo and prune, kills, and a user beside. Every text that was written must be
//! found where the documentation says (CONTRIBUTING.md).

mod ledger;
mod places;
mod user;
mod worker;
mod world;

use std::time::Duration;

use crate::support::{Choices, number};
use user::User;
use worker::Worker;
use world::{Run, World};

/// Lets three workers live for some seconds, or as many and as long as the environment says.
#[test]
fn nothing_that_was_written_is_lost_in_a_life() {
    let workers = number("AGENTWT_LIFE_WORKERS", 3);
    let seconds = number("AGENTWT_LIFE_SECONDS", 5);
    let seed = number("AGENTWT_LIFE_SEED", 1);
    let count = usize::try_from(workers).expect("a small number");
    let world = World::new(seed, count, Duration::from_secs(seconds));
    std::thread::scope(|threads| {
        for worker in 0..count {
            let worker = Worker::new(&world, worker);
            threads.spawn(move || worker.live());
        }
        let user = User::new(&world, count);
        threads.spawn(move || user.live());
    });
    die(&world, count);
    world.end();
}

/// Removes everything that is left, and looks for every text after each step.
fn die(world: &World, workers: usize) {
    let mut choices = Choices(1);
    world.audit("at the end", |_| true);
    world.agentwt("main", &["prune"], Run::ToItsEnd, &mut choices);
    world.audit("after the last prune", |_| true);
    for worker in 0..workers {
        for number in 0..worker::NAMES {
            let name = format!("life-{worker}-{number}");
            let words = ["remove", "-ff", &name];
            world.agentwt(&name, &words, Run::ToItsEnd, &mut choices);
        }
    }
    world.ledger.remove_any_worktree();
    world.audit("after all were removed", |_| true);
    world.prune_at_once(Run::ToItsEnd, &mut choices);
    world.audit("after the trash has expired", |_| true);
}
