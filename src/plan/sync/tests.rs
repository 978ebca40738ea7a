use super::*;
use crate::scope::{Case, Origin as RuleOrigin, RuleList, ScopeRule};
use crate::sync::{CandidateKind, Matches, Need, PatternOrigin, Search, SelectedBy};

const FILE: u32 = 0o100_644;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("it is normal")
}

fn stat(size: u64, mode: u32) -> Stat {
    Stat {
        size,
        mode,
        ..Stat::default()
    }
}

fn candidate(text: &str, size: u64, by: usize) -> Candidate {
    Candidate {
        path: path(text),
        kind: CandidateKind::File,
        stat: stat(size, FILE),
        by: SelectedBy::Pattern(by),
    }
}

fn selects(pattern: &Pattern, path: &RepoPath) -> bool {
    Search::new(std::slice::from_ref(pattern), Case::Sensitive).selects(path)
}

/// Everything that a plan is made of, to be changed by a test.
struct World {
    patterns: Vec<Pattern>,
    limits: FileSyncConfig,
    candidates: Candidates,
    scope: Scope,
    tracked: Vec<RepoPath>,
    placed: Placed,
    standing: BTreeMap<RepoPath, Standing>,
    in_the_way: BTreeSet<RepoPath>,
}

impl World {
    /// Each pattern with its need; each candidate is the first pattern's that selects it.
    fn new(patterns: &[(&str, Need)], entries: Vec<Candidate>) -> Self {
        let parse = |(at, (text, need)): (usize, &(&str, Need))| {
            let line = u32::try_from(at).expect("few") + 1;
            Pattern::parse(text, PatternOrigin::File(line), *need).expect("it is a pattern")
        };
        let patterns: Vec<Pattern> = patterns.iter().enumerate().map(parse).collect();
        let matches = patterns.iter().map(|pattern| Matches {
            untracked: entries
                .iter()
                .filter(|one| selects(pattern, &one.path))
                .count(),
            tracked: 0,
        });
        let rules = [
            (RuleList::Write, "src/**"),
            (RuleList::Read, "**"),
            (RuleList::Exclude, "*.pem"),
        ];
        let rules = rules.map(|(list, pattern)| {
            ScopeRule::new(list, pattern, RuleOrigin::Flag(format!("--{list}")))
        });
        Self {
            candidates: Candidates {
                matches: matches.collect(),
                entries,
                not_entered: Vec::new(),
            },
            patterns,
            limits: FileSyncConfig::default(),
            scope: Scope::compile(rules.into(), Case::Sensitive).expect("they are rules"),
            tracked: Vec::new(),
            placed: Placed::default(),
            standing: BTreeMap::new(),
            in_the_way: BTreeSet::new(),
        }
    }

    fn stands(mut self, text: &str, compared: Compared) -> Self {
        let stat = stat(7, FILE);
        self.standing
            .insert(path(text), Standing { stat, compared });
        self
    }

    fn plan(&self, force: Force) -> Result<SyncPlan, SyncRefusal> {
        plan(
            &SyncFacts {
                name: "task-5",
                path: "/r/.agentwt/worktrees/task-5".into(),
                root: "/r".into(),
                patterns: &self.patterns,
                limits: &self.limits,
                candidates: &self.candidates,
                scope: &self.scope,
                is_tracked: &|path| self.tracked.contains(path),
                placed: &self.placed,
                standing: &self.standing,
                in_the_way: &self.in_the_way,
            },
            force,
        )
    }

    fn refusal(&self) -> SyncRefusal {
        self.plan(Force::No).expect_err("it is refused")
    }
}

fn env() -> World {
    World::new(&[(".env", Need::Required)], vec![candidate(".env", 3, 0)])
}

fn copied(plan: &SyncPlan) -> Vec<(String, u32, bool)> {
    let one = |one: &Copying| (one.path.to_string(), one.bits, one.over.is_some());
    plan.copy.iter().map(one).collect()
}

#[test]
fn what_may_only_be_read_is_copied_without_write_bits() {
    let world = World::new(
        &[("**/.env", Need::Required)],
        vec![candidate(".env", 3, 0), candidate("src/.env", 3, 0)],
    );
    let plan = world.plan(Force::No).expect("it is allowed");
    let expected = [
        (".env".to_owned(), 0o444, false),
        ("src/.env".to_owned(), 0o644, false),
    ];
    assert_eq!(copied(&plan), expected);
    assert_eq!((plan.files(), plan.bytes()), (2, 6));
}

#[test]
fn a_pattern_that_selects_nothing_is_a_mistake_unless_it_is_optional() {
    let world = World::new(&[(".env", Need::Required)], Vec::new());
    assert!(matches!(world.refusal(), SyncRefusal::NoMatch { .. }));
    let mut world = World::new(&[(".env", Need::Required)], Vec::new());
    world.candidates.matches[0].tracked = 1;
    assert!(matches!(
        world.refusal(),
        SyncRefusal::OnlyTracked { tracked: 1, .. }
    ));
    let world = World::new(&[(".env", Need::Optional)], Vec::new());
    assert_eq!(world.plan(Force::No), Ok(SyncPlan::default()));
}

#[test]
fn what_the_scope_excludes_is_left_out_and_a_pattern_of_only_that_contradicts_it() {
    let both = vec![candidate("a.pem", 3, 0), candidate("a.txt", 3, 0)];
    let world = World::new(&[("a.*", Need::Required)], both.clone());
    let plan = world.plan(Force::No).expect("it is allowed");
    assert_eq!(
        plan.excluded,
        [(path("a.pem"), "exclude \"*.pem\" (--exclude)".to_owned())]
    );
    assert_eq!(plan.files(), 1);
    // its only file was selected by an earlier pattern first
    let world = World::new(
        &[("a.*", Need::Required), ("*.pem", Need::Required)],
        both.clone(),
    );
    let SyncRefusal::AllExcluded { pattern, rule, .. } = world.refusal() else {
        panic!("another refusal");
    };
    assert_eq!((pattern.as_str(), rule.contains("*.pem")), ("*.pem", true));
    // what it selected first is excluded, and what it selects as well is not
    let mut first = both;
    first[0].by = SelectedBy::Pattern(1);
    let world = World::new(&[("a.txt", Need::Required), ("a.*", Need::Required)], first);
    assert_eq!(world.plan(Force::No).map(|plan| plan.files()), Ok(1));
}

#[test]
fn a_file_and_all_files_have_a_limit() {
    let mb = crate::config::BYTES_PER_MB;
    let world = |sizes: &[u64]| {
        let files = sizes.iter().enumerate();
        let files = files.map(|(at, size)| candidate(&format!("f{at}"), *size, 0));
        let mut world = World::new(&[("f*", Need::Required)], files.collect());
        world.limits.max_file_size_mb = 2;
        world.limits.max_total_size_mb = 3;
        world
    };
    assert!(world(&[2 * mb]).plan(Force::No).is_ok());
    assert!(world(&[2 * mb, mb]).plan(Force::No).is_ok());
    let refusal = world(&[1, 2 * mb + 1]).refusal();
    assert_eq!(
        refusal.to_string(),
        "cannot sync f1: it has 2 MB (2097153 bytes), and a file may have 2 MB"
    );
    assert!(
        refusal.advice().contains("`max_file_size_mb = 3`"),
        "{}",
        refusal.advice()
    );
    let refusal = world(&[2 * mb, mb, 1]).refusal();
    assert!(refusal.to_string().contains("f0"), "{refusal}");
    assert!(
        refusal.advice().contains("`max_total_size_mb = 4`"),
        "{}",
        refusal.advice()
    );
}

#[test]
fn what_stands_there_is_kept_brought_up_to_date_or_refused() {
    let plan = env().stands(".env", Compared::Other).plan(Force::No);
    assert!(matches!(plan, Err(SyncRefusal::Edited { .. })));
    let forced = env().stands(".env", Compared::Other).plan(Force::Yes);
    let forced = forced.expect("it is allowed");
    assert_eq!(
        (forced.save.len(), forced.copy[0].over.is_some()),
        (1, true)
    );
    for compared in [Compared::Same, Compared::AsPlaced] {
        let plan = env()
            .stands(".env", compared)
            .plan(Force::No)
            .expect("it is allowed");
        assert_eq!(
            (plan.save.len(), plan.copy[0].over.is_some()),
            (0, true),
            "{compared:?}"
        );
    }
    let mut world = env().stands(".env", Compared::AsPlaced);
    let source = Some(world.candidates.entries[0].stat);
    let file = crate::placed::PlacedFile {
        path: path(".env"),
        origin: crate::placed::Origin::Synced,
        kind: PlacedKind::File,
        digest: None,
        stat: stat(7, FILE),
        source,
    };
    world.placed = Placed::new(vec![file], 0);
    let plan = world.plan(Force::No).expect("it is allowed");
    assert_eq!((plan.kept, plan.copy.len()), (1, 0));
}

#[test]
fn nothing_is_written_through_a_link_or_over_a_directory_not_even_with_force() {
    let mut world = World::new(&[("d/**", Need::Required)], vec![candidate("d/f", 1, 0)]);
    world.in_the_way.insert(path("d"));
    let mut over = env();
    let directory = stat(0, 0o040_755);
    let compared = Compared::Other;
    over.standing.insert(
        path(".env"),
        Standing {
            stat: directory,
            compared,
        },
    );
    for force in [Force::No, Force::Yes] {
        let refusal = world.plan(force);
        assert!(matches!(refusal, Err(SyncRefusal::InTheWay { .. })));
        let refusal = over.plan(force);
        assert!(matches!(refusal, Err(SyncRefusal::AnotherKind { .. })));
    }
}

#[test]
fn a_path_that_the_branch_tracks_is_left_alone() {
    let mut world = env();
    world.tracked.push(path(".env"));
    let plan = world.plan(Force::Yes).expect("it is allowed");
    assert_eq!((plan.tracked.len(), plan.copy.len()), (1, 0));
}

#[test]
fn what_has_no_content_is_refused() {
    let mut world = env();
    world.candidates.entries[0].kind = CandidateKind::Special("a FIFO");
    assert_eq!(
        world.refusal().to_string(),
        "cannot sync .env: it is a FIFO"
    );
}
