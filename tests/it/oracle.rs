//! Holds `verify` against an oracle: random sequences of file and git operations in a real
//! worktree, and now and then the paths that `verify` blames against those that two full walks, of
//! trees and of the disk, blame ([`truth`]). Neither way may one be missing.
//!
//! `AGENTWT_ORACLE_ROUNDS=500` runs more sequences, `AGENTWT_ORACLE_SEED=7` begins with another
//! one. A sequence that fails is made shorter before it is printed.

mod ops;
mod truth;
mod world;

use crate::support::number;
use ops::{Choices, Op};
use world::World;

/// How many sequences an ordinary run tries, in all shards together.
const ROUNDS: u64 = 10;

/// The first of them: among the next ten are sequences that find a `compare` which forgets modes
/// (19), all references but the first (14), or what is only in a reference (16).
const FIRST: u64 = 12;

/// How many operations a sequence has.
const LENGTH: usize = 24;

/// After how many operations the two are compared.
const STEP: usize = 3;

/// How often a failing sequence is run again to make it shorter.
const TRIES: usize = 80;

/// Runs a sequence in a new repository; the first disagreement, with how many operations it took.
fn run(ops: &[Op]) -> Result<(), (usize, String)> {
    let mut world = World::new();
    for (at, op) in ops.iter().enumerate() {
        world.perform(at, op);
        if (at + 1) % STEP == 0 || at + 1 == ops.len() {
            truth::agrees(&world).map_err(|why| (at + 1, why))?;
        }
    }
    Ok(())
}

/// Leaves out whatever is not needed for a disagreement.
fn shorter(mut ops: Vec<Op>, mut why: String) -> (Vec<Op>, String) {
    let mut part = ops.len() / 2;
    let mut tries = 0;
    while part > 0 {
        let mut start = 0;
        while start < ops.len() && tries < TRIES {
            let mut fewer = ops.clone();
            fewer.drain(start..(start + part).min(ops.len()));
            tries += 1;
            match run(&fewer) {
                Err((needed, other)) => {
                    fewer.truncate(needed);
                    (ops, why) = (fewer, other);
                }
                Ok(()) => start += part,
            }
        }
        part /= 2;
    }
    (ops, why)
}

fn shard(shard: u64, shards: u64) {
    let rounds = number("AGENTWT_ORACLE_ROUNDS", ROUNDS);
    let first = number("AGENTWT_ORACLE_SEED", FIRST);
    for seed in (first..first + rounds).filter(|seed| seed % shards == shard) {
        let mut choices = Choices::new(seed);
        let mut ops: Vec<Op> = (0..LENGTH).map(|_| Op::any(&mut choices)).collect();
        let Err((needed, why)) = run(&ops) else {
            continue;
        };
        ops.truncate(needed);
        let (ops, why) = shorter(ops, why);
        let list: String = ops.iter().map(|op| format!("  {op:?}\n")).collect();
        panic!("seed {seed}, after these operations:\n{list}{why}");
    }
}

#[test]
fn verify_blames_what_two_full_walks_blame_1() {
    shard(0, 2);
}

#[test]
fn verify_blames_what_two_full_walks_blame_2() {
    shard(1, 2);
}
