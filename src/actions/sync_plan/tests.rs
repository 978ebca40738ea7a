use super::*;
use crate::config::BYTES_PER_MB;
use crate::inventory::placed::{PlacedFile, PlacedOrigin};
use crate::scope::rule::{Case, EntryKind, RuleList, RuleOrigin, ScopeRule};
use crate::sync::PatternOrigin;
use crate::sync::matcher::Matcher;

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

fn candidate(text: &str, size: u64) -> Candidate {
    Candidate {
        path: path(text),
        stat: stat(size, FILE),
        patterns: Vec::new(),
    }
}

/// Everything that a plan is made of, to be changed by a test.
struct World {
    selection: Selection,
    scope: Scope,
    there: WorktreeFiles,
    force: bool,
}

impl World {
    /// Patterns, optional where they begin with `?`, and candidates, which they select.
    fn new(patterns: &[&str], mut entries: Vec<Candidate>) -> Self {
        let parse = |(at, text): (usize, &&str)| {
            let origin = PatternOrigin::File(u32::try_from(at).expect("few") + 1);
            let text = text.trim_start_matches('?');
            Pattern::parse(text, origin).expect("it is a pattern")
        };
        let mut all: Vec<Pattern> = patterns.iter().enumerate().map(parse).collect();
        for (pattern, text) in all.iter_mut().zip(patterns) {
            if text.starts_with('?') {
                *pattern = pattern.clone().optional();
            }
        }
        let matcher = Matcher::new(&all, None, Case::Sensitive).expect("they are patterns");
        for entry in &mut entries {
            entry.patterns = matcher.selected(&entry.path, EntryKind::File).patterns;
        }
        let rules = [
            (RuleList::Write, "src/**"),
            (RuleList::Read, "**"),
            (RuleList::Exclude, "*.pem"),
        ];
        let rules = rules.map(|(list, pattern)| {
            ScopeRule::new(list, pattern, RuleOrigin::Flag(format!("--{list}")))
        });
        Self {
            selection: Selection {
                candidates: Candidates {
                    tracked: vec![0; all.len()],
                    entries,
                    not_entered: Vec::new(),
                },
                patterns: all,
                limits: FileSyncConfig::default(),
            },
            scope: Scope::compile(rules.into(), Case::Sensitive).expect("they are rules"),
            there: WorktreeFiles::default(),
            force: false,
        }
    }

    fn stands(mut self, text: &str, compared: ComparedFiles) -> Self {
        let stat = stat(7, FILE);
        let existing = ExistingFile { stat, compared };
        self.there.existing.insert(path(text), existing);
        self
    }

    fn forced(mut self) -> Self {
        self.force = true;
        self
    }

    fn plan(&self) -> Result<SyncPlan, SyncRefusal> {
        plan(&SyncFacts {
            name: "task-5",
            path: "/r/.agentwt/worktrees/task-5".into(),
            scope: &self.scope,
            there: &self.there,
            root: "/r".into(),
            selection: &self.selection,
            force: self.force,
        })
    }

    fn refusal(&self) -> SyncRefusal {
        self.plan().expect_err("it is refused")
    }
}

fn help(refusal: &SyncRefusal) -> String {
    let help = miette::Diagnostic::help(refusal);
    help.expect("there is help").to_string()
}

#[track_caller]
fn assert_config(refusal: &SyncRefusal, why: &str) {
    let is_config = matches!(refusal, SyncRefusal::Config { .. });
    assert!(is_config && refusal.to_string().contains(why), "{refusal}");
}

fn env() -> World {
    World::new(&[".env"], vec![candidate(".env", 3)])
}

fn copied(plan: &SyncPlan) -> Vec<(String, u32, bool)> {
    let one = |one: &PlannedCopy| (one.path.to_string(), one.bits, one.over.is_some());
    plan.copy.iter().map(one).collect()
}

#[test]
fn what_may_only_be_read_is_copied_without_write_bits() {
    let world = World::new(
        &["**/.env"],
        vec![candidate(".env", 3), candidate("src/.env", 3)],
    );
    let plan = world.plan().expect("it is allowed");
    let expected = [
        (".env".to_owned(), 0o444, false),
        ("src/.env".to_owned(), 0o644, false),
    ];
    assert_eq!(copied(&plan), expected);
    assert_eq!((plan.files().count(), plan.bytes()), (2, 6));
}

#[test]
fn a_pattern_that_selects_nothing_is_a_mistake_unless_it_is_optional() {
    let world = World::new(&[".env"], Vec::new());
    assert_config(
        &world.refusal(),
        "`.env` (.agentwt/config.toml:1) matches nothing",
    );
    let mut world = World::new(&[".env"], Vec::new());
    world.selection.candidates.tracked[0] = 1;
    assert_config(&world.refusal(), "matches only tracked files (1)");
    let world = World::new(&["?.env"], Vec::new());
    assert_eq!(world.plan(), Ok(SyncPlan::default()));
}

#[test]
fn what_the_scope_excludes_is_left_out_and_a_given_pattern_of_only_that_contradicts_it() {
    let both = vec![candidate("a.pem", 3), candidate("a.txt", 3)];
    let world = World::new(&["a.*"], both.clone());
    let plan = world.plan().expect("it is allowed");
    assert_eq!(
        plan.excluded,
        [(path("a.pem"), "exclude \"*.pem\" (--exclude)".to_owned())]
    );
    assert_eq!(plan.files().count(), 1);
    // its only file was selected by an earlier pattern first
    let mut world = World::new(&["a.*", "*.pem"], both.clone());
    assert_eq!(world.plan().map(|plan| plan.excluded.len()), Ok(1));
    let given = Pattern::parse("*.pem", PatternOrigin::Flag("--sync")).expect("it is one");
    world.selection.patterns[1] = given;
    let why = "that the sync pattern `*.pem` (--sync) matches, as a.pem: exclude";
    assert_config(&world.refusal(), why);
    let world = World::new(&["a.txt", "a.*"], both);
    assert_eq!(world.plan().map(|plan| plan.files().count()), Ok(1));
}

#[test]
fn a_file_and_all_files_have_a_limit() {
    let mb = BYTES_PER_MB;
    let world = |sizes: &[u64]| {
        let files = sizes.iter().enumerate();
        let files = files.map(|(at, size)| candidate(&format!("f{at}"), *size));
        let mut world = World::new(&["f*"], files.collect());
        world.selection.limits.max_file_size_mb = 2;
        world.selection.limits.max_total_size_mb = 3;
        world
    };
    assert!(world(&[2 * mb]).plan().is_ok());
    assert!(world(&[2 * mb, mb]).plan().is_ok());
    let refusal = world(&[1, 2 * mb + 1]).refusal();
    assert_eq!(
        refusal.to_string(),
        "cannot sync f1: it has 2.00 MiB (2097153 bytes), and a file may have 2 MiB"
    );
    assert!(
        help(&refusal).contains("`max_file_size_mb = 3`"),
        "{}",
        help(&refusal)
    );
    let refusal = world(&[2 * mb, mb, 1]).refusal();
    assert!(refusal.to_string().contains("f0"), "{refusal}");
    assert!(
        help(&refusal).contains("`max_total_size_mb = 4`"),
        "{}",
        help(&refusal)
    );
}

#[test]
fn what_stands_there_is_kept_brought_up_to_date_or_refused() {
    let plan = env().stands(".env", ComparedFiles::Other).plan();
    assert!(matches!(plan, Err(SyncRefusal::Edited { .. })));
    let forced = env().stands(".env", ComparedFiles::Other).forced().plan();
    let forced = forced.expect("it is allowed");
    assert_eq!(
        (forced.save.len(), forced.copy[0].over.is_some()),
        (1, true)
    );
    for compared in [ComparedFiles::Same, ComparedFiles::AsPlaced] {
        let plan = env()
            .stands(".env", compared)
            .plan()
            .expect("it is allowed");
        assert_eq!(
            (plan.save.len(), plan.copy[0].over.is_some()),
            (0, true),
            "{compared:?}"
        );
    }
    let mut world = env().stands(".env", ComparedFiles::AsPlaced);
    let source = Some(world.selection.candidates.entries[0].stat);
    let file = PlacedFile {
        path: path(".env"),
        origin: PlacedOrigin::Synced,
        kind: PlacedKind::File,
        digest: None,
        stat: stat(7, FILE),
        source,
    };
    world.there.placed = Placed::new(vec![file], 0);
    let plan = world.plan().expect("it is allowed");
    assert_eq!((plan.kept, plan.copy.len()), (1, 0));
}

#[test]
fn nothing_is_written_through_a_link_or_over_a_directory_not_even_with_force() {
    let mut world = World::new(&["d/**"], vec![candidate("d/f", 1)]);
    world.there.in_the_way.insert(path("d"));
    let mut over = env();
    let directory = stat(0, 0o040_755);
    let compared = ComparedFiles::Other;
    over.there.existing.insert(
        path(".env"),
        ExistingFile {
            stat: directory,
            compared,
        },
    );
    for world in [world, over] {
        for refusal in [world.refusal(), world.forced().refusal()] {
            assert!(matches!(refusal, SyncRefusal::Blocked { .. }));
            assert!(refusal.to_string().contains("has to be a"), "{refusal}");
        }
    }
}

#[test]
fn a_path_that_the_branch_tracks_is_left_alone() {
    let mut world = env();
    world.there.tracked.push(path(".env"));
    let plan = world.forced().plan().expect("it is allowed");
    assert_eq!((plan.tracked.len(), plan.copy.len()), (1, 0));
}

#[test]
fn what_has_no_content_is_refused() {
    let mut world = env();
    world.selection.candidates.entries[0].stat.mode = 0o010_644;
    assert_eq!(
        world.refusal().to_string(),
        "cannot sync .env: it is a FIFO, a socket or a device"
    );
}
