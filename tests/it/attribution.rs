//! Holds `verify` against a model that knows who did what: random sequences of acts by the agent,
//! the user and upstream ([`acts`]), in clones that git made, with files and with reftables, with
//! and without all of their history. After every other act the model ([`model`]) says what the
//! verdict has to be of each path and each ref, and `git agentwt verify --json` must agree.
//!
//! `AGENTWT_ATTRIBUTION_SEQUENCES=100000` runs more sequences, `AGENTWT_ATTRIBUTION_SEED=7` begins
//! with another one; a seed always gives the same sequence. `AGENTWT_ATTRIBUTION_ENDINGS=6` tries
//! six other endings after each act of it, each from a copy of what was there: each is a sequence,
//! and three times as many of them run in a second. A sequence that fails is made shorter by
//! leaving out one act at a time, as long as the same place is judged otherwise: acts are scripts
//! that stand alone, so each part of a sequence is a sequence, and nothing more is needed.
//! `AGENTWT_ATTRIBUTION_SHOW=1` prints what git says.
//!
//! Two thirds of the time of a sequence are the acts of the agent, and most of these is the hooks,
//! some ten for a commit; so a long run is done with a program that is optimised
//! (`AGENTWT_TEST_BINARY`) and in memory (`TMPDIR`): CONTRIBUTING.md has the command.
//!
//! Where neither the product nor the decisions say which of two levels it is, the model allows both
//! (`ANY` and its kin in the model): a ref that both the agent and others moved, or that was
//! deleted and made again; what is made past the hooks at a commit of others; content of others in
//! a branch that the agent made on theirs; states that upstream had and took back; remote-tracking
//! refs once git was made to forget logs; and content that is not the agent's once the agent has
//! moved a branch that others build on. What the program is known to judge wrongly is allowed too:
//! `known` has a case of each, and the model says `known:` where it allows for it.
//!
//! Left out, as `cases` has them: commits past the hooks (`-c core.hooksPath`), edits of git's own
//! files, files in a conflict (a merge that meets one is aborted), excluded files, submodules,
//! settings, notes, replace refs and other worktrees of ours. Left out without another test: what
//! the user does to the worktree's own branch and its directory, symbolic refs that are made new,
//! `origin/HEAD` moved by the user, and history that a teammate's clone lacks. Git's dates are
//! fixed and old, so `gc` expires all logs.

mod acts;
mod known;
mod model;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use acts::{ACTS, Act};
use model::{ANY, Expected, NOTHING, Range, Story};
use world::{CLONES, World};

use crate::support::{Choices, binary};

/// How many sequences an ordinary run tries.
const SEQUENCES: u64 = 24;

/// How many sequences run at a time.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Holds one disagreement: the place, and the rest.
#[derive(Clone, Debug)]
struct Disagreement {
    place: String,
    said: String,
}

/// A sequence: each act with its number, which stays when others are left out.
type Sequence = Vec<(usize, Act)>;

fn number(name: &str, or: u64) -> u64 {
    let named = std::env::var(name).ok();
    named.map_or(or, |text| text.parse().expect("a number"))
}

/// The choices that a seed makes.
fn choices_of(seed: u64) -> Choices {
    // a generator of this kind begins with what looks like its seed
    let mut choices = Choices(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for _ in 0..4 {
        choices.below(2);
    }
    choices
}

/// The first sequence that these choices give.
fn generate_sequence(choices: &mut Choices) -> Sequence {
    let length = 2 + choices.below(8);
    let mut sequence = Sequence::new();
    for number in 1..=length {
        sequence.push((number, choices.one(ACTS)));
    }
    sequence
}

/// Counts how strictly places were held: of each, how often to one level, and how often to none.
#[derive(Default)]
struct Strictness {
    places: BTreeMap<String, [u64; 2]>,
}

impl Strictness {
    fn add(&mut self, expected: &Expected) {
        for (place, range) in &expected.places {
            let [strictly, not_at_all] = self.places.entry(place.clone()).or_default();
            *strictly += u64::from(range.least == range.most);
            *not_at_all += u64::from(*range == ANY);
        }
    }

    fn merge(&mut self, other: Self) {
        for (place, [strictly, not_at_all]) in other.places {
            let sum = self.places.entry(place).or_default();
            sum[0] += strictly;
            sum[1] += not_at_all;
        }
    }

    /// The sum, and the places that were not held at all the most often.
    fn show(&self) -> String {
        let mut open: Vec<(u64, &String)> = Vec::new();
        let mut sum = [0, 0];
        for (place, [strictly, not_at_all]) in &self.places {
            sum[0] += strictly;
            sum[1] += not_at_all;
            open.push((*not_at_all, place));
        }
        open.sort_unstable_by(|one, other| other.cmp(one));
        let [strictly, not_at_all] = sum;
        let mut text = format!("{strictly} places had one level, {not_at_all} any:");
        for (times, place) in open.iter().take(20) {
            text.push_str(&format!(" {place} {times}"));
        }
        text
    }
}

/// Runs a sequence in a world as it was in the beginning, until the first disagreement.
fn run(
    world: &World,
    sequence: &[(usize, Act)],
    strictness: &mut Strictness,
) -> Option<Disagreement> {
    world.reset();
    let mut story = Story::new(world);
    for (at, (number, act)) in sequence.iter().enumerate() {
        perform(world, &mut story, act, *number);
        if is_judged(at, sequence.len()) {
            let disagreement = judge(world, &story, strictness);
            if disagreement.is_some() {
                return disagreement;
            }
        }
    }
    None
}

/// Whether the verdict is read after this act of a sequence.
fn is_judged(at: usize, length: usize) -> bool {
    at % 2 == 1 || at + 1 == length
}

/// Does an act, and notes it.
fn perform(world: &World, story: &mut Story, act: &Act, number: usize) {
    world.does(act, number);
    story.note(act, number, world.refs());
}

/// Holds the verdict against the story.
fn judge(world: &World, story: &Story, strictness: &mut Strictness) -> Option<Disagreement> {
    let expected = story.expected(world);
    strictness.add(&expected);
    compare(world, &expected)
}

/// Holds the sequences of one seed: the first, and others that begin with the same acts.
struct Family {
    first: Sequence,
    /// For each act of the first sequence but the last one, the acts that end another sequence
    /// after it.
    endings: Vec<Vec<Act>>,
}

impl Family {
    /// The sequences of a seed, with so many other endings after each act.
    fn generate(seed: u64, endings_of_each: u64) -> Self {
        let mut choices = choices_of(seed);
        let first = generate_sequence(&mut choices);
        let mut endings = Vec::new();
        for _ in 1..first.len() {
            let mut acts = Vec::new();
            for _ in 0..endings_of_each {
                acts.push(choices.one(ACTS));
            }
            endings.push(acts);
        }
        Self { first, endings }
    }

    /// Runs all sequences, each until its first disagreement.
    fn run(&self, world: &World, tally: &mut Tally) -> Vec<(Sequence, Disagreement)> {
        let mut failures = Vec::new();
        world.reset();
        let mut story = Story::new(world);
        for (at, (number, act)) in self.first.iter().enumerate() {
            if at > 0 {
                failures.extend(self.run_endings(world, &story, at, tally));
            }
            perform(world, &mut story, act, *number);
            if is_judged(at, self.first.len())
                && let Some(why) = judge(world, &story, &mut tally.strictness)
            {
                failures.push((self.first.clone(), why));
                break;
            }
        }
        tally.sequences += 1;
        failures
    }

    /// Runs the other endings of the sequence's first `length` acts, and leaves the world as these
    /// acts did.
    fn run_endings(
        &self,
        world: &World,
        story: &Story,
        length: usize,
        tally: &mut Tally,
    ) -> Vec<(Sequence, Disagreement)> {
        let mut failures = Vec::new();
        let endings = &self.endings[length - 1];
        if endings.is_empty() {
            return failures;
        }
        world.save();
        for ending in endings {
            let number = length + 1;
            let mut story_of_ending = story.clone();
            perform(world, &mut story_of_ending, ending, number);
            tally.sequences += 1;
            if let Some(why) = judge(world, &story_of_ending, &mut tally.strictness) {
                let mut sequence = self.first[..length].to_vec();
                sequence.push((number, *ending));
                failures.push((sequence, why));
            }
            world.restore();
        }
        failures
    }
}

/// Counts what ran.
#[derive(Default)]
struct Tally {
    sequences: u64,
    strictness: Strictness,
}

impl Tally {
    fn merge(&mut self, other: Self) {
        self.sequences += other.sequences;
        self.strictness.merge(other.strictness);
    }
}

/// Holds what `verify` says.
struct Verdict {
    status: Option<i32>,
    valid: bool,
    /// How each place and path is judged: 1 a notice, 2 a violation.
    levels: BTreeMap<String, u8>,
    details: BTreeMap<String, String>,
    changed: BTreeSet<String>,
}

impl Verdict {
    /// What `verify` says; what it printed where that is no verdict.
    fn read(world: &World) -> Result<Self, String> {
        let mut command = world.repo.command(binary(), &world.worktree());
        let output = command.args(["verify", "--json"]).output();
        let output = output.expect("it starts");
        let status = output.status.code();
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{status:?}: {said}"));
        };
        let shown = &value["worktrees"][0];
        let listed = shown["changed"].as_array().into_iter().flatten();
        let changed = listed.filter_map(|change| change["path"].as_str());
        let mut verdict = Self {
            status,
            valid: shown["valid"] == true,
            levels: BTreeMap::new(),
            details: BTreeMap::new(),
            changed: changed.map(ToOwned::to_owned).collect(),
        };
        for (list, level) in [("violations", 2), ("notices", 1)] {
            for finding in shown[list].as_array().into_iter().flatten() {
                verdict.add(finding, level);
            }
        }
        Ok(verdict)
    }

    fn add(&mut self, finding: &serde_json::Value, level: u8) {
        let place = finding["path"].as_str().or(finding["place"].as_str());
        let place = place.expect("a place").to_owned();
        let before = self.levels.entry(place.clone()).or_default();
        *before = (*before).max(level);
        let words = ["kind", "reason", "detail"].map(|key| finding[key].to_string());
        let detail = self.details.entry(place).or_default();
        detail.push_str(&words.join(" "));
    }
}

/// The findings, a line each: place and level.
fn findings(world: &World) -> String {
    let verdict = Verdict::read(world).expect("a verdict");
    let lines = verdict.levels.iter();
    lines
        .map(|(place, level)| format!("{place} {level}\n"))
        .collect()
}

/// Holds the verdict against what is expected.
fn compare(world: &World, expected: &Expected) -> Option<Disagreement> {
    let verdict = match Verdict::read(world) {
        Ok(verdict) => verdict,
        Err(said) => return Some(disagreement("status", said)),
    };
    let Verdict {
        status,
        valid,
        levels,
        details,
        changed,
    } = &verdict;
    let is_bad = levels.values().any(|level| *level == 2);
    if *status != Some(i32::from(is_bad)) || *valid == is_bad {
        return Some(disagreement("status", format!("{status:?}, {levels:?}")));
    }
    let places: BTreeSet<&String> = levels.keys().chain(expected.places.keys()).collect();
    for place in places {
        let range = expected.places.get(place).copied().unwrap_or(NOTHING);
        let level = levels.get(place).copied().unwrap_or_default();
        if level < range.least || level > range.most {
            let detail = details.get(place).cloned().unwrap_or_default();
            let Range { least, most } = range;
            let said = format!("level {level}, expected {least} to {most} {detail}");
            return Some(disagreement(place, said));
        }
    }
    if let Some(path) = expected.must_change.difference(changed).next() {
        return Some(disagreement(path, "it is not among the changes".to_owned()));
    }
    if let Some(path) = expected.must_not_change.intersection(changed).next() {
        return Some(disagreement(path, "it is among the changes".to_owned()));
    }
    None
}

fn disagreement(place: &str, said: String) -> Disagreement {
    Disagreement {
        place: place.to_owned(),
        said,
    }
}

/// Leaves out whatever is not needed for a disagreement about the same place.
fn shorten(world: &World, sequence: &Sequence, why: &Disagreement) -> (Sequence, Disagreement) {
    let (mut sequence, mut why) = (sequence.clone(), why.clone());
    let mut at = sequence.len();
    while at > 0 {
        at -= 1;
        let mut fewer = sequence.clone();
        fewer.remove(at);
        let found = run(world, &fewer, &mut Strictness::default());
        if let Some(found) = found.filter(|found| found.place == why.place) {
            sequence = fewer;
            why = found;
        }
    }
    (sequence, why)
}

/// Prints a sequence as it can be typed.
fn show(sequence: &Sequence) -> String {
    let lines = sequence.iter().map(|(number, (who, _, script))| {
        let who = who.name();
        format!("  {number} {who}: {script}\n")
    });
    lines.collect()
}

/// Represents a search: each worker takes the next seed until enough sequences ran.
struct Search {
    next_seed: AtomicU64,
    wanted: u64,
    endings_of_each: u64,
    tally: Mutex<Tally>,
    failures: Mutex<Vec<String>>,
}

impl Search {
    fn work(&self) {
        let mut worlds: BTreeMap<&str, World> = BTreeMap::new();
        while self.tally.lock().expect("no panic").sequences < self.wanted {
            let seed = self.next_seed.fetch_add(1, Ordering::Relaxed);
            let options = generate_options(seed);
            let world = worlds.entry(options).or_insert_with(|| World::new(options));
            let family = Family::generate(seed, self.endings_of_each);
            let mut tally_of_family = Tally::default();
            let failures = family.run(world, &mut tally_of_family);
            self.tally.lock().expect("no panic").merge(tally_of_family);
            for (sequence, why) in failures {
                let (short, short_why) = shorten(world, &sequence, &why);
                let Disagreement { place, said } = short_why;
                let list = show(&short);
                let failure = format!("seed {seed} [{options}]: {place}: {said}\n{list}");
                println!("{failure}");
                self.failures.lock().expect("no panic").push(failure);
            }
        }
    }
}

/// The kind of clone of a seed.
fn generate_options(seed: u64) -> &'static str {
    let kind = seed % 4;
    CLONES[usize::try_from(kind).expect("a small number")]
}

fn check(wanted: u64) {
    let first = number("AGENTWT_ATTRIBUTION_SEED", 0);
    let search = Search {
        next_seed: AtomicU64::new(first),
        wanted,
        endings_of_each: number("AGENTWT_ATTRIBUTION_ENDINGS", 0),
        tally: Mutex::default(),
        failures: Mutex::default(),
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..workers() {
            scope.spawn(|| search.work());
        }
    });
    let tally = search.tally.into_inner().expect("no panic");
    println!("{}", tally.strictness.show());
    let last = search.next_seed.into_inner() - 1;
    let sequences = tally.sequences;
    let found = search.failures.into_inner().expect("no panic").len();
    let seconds = start.elapsed().as_secs();
    println!(
        "{sequences} sequences of seeds {first} to {last} in {seconds} s: {found} disagreements"
    );
    assert_eq!(found, 0, "they are printed above");
}

#[test]
fn the_verdict_is_what_the_model_says() {
    check(number("AGENTWT_ATTRIBUTION_SEQUENCES", SEQUENCES));
}

#[test]
#[ignore = "it takes as long as AGENTWT_ATTRIBUTION_SEQUENCES says"]
fn long() {
    check(number("AGENTWT_ATTRIBUTION_SEQUENCES", 1000));
}
