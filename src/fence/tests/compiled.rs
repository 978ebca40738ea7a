//! The grants, masks and class of each kind of pattern.

use camino::Utf8Path;

use super::*;
use crate::config::value::Fence;
use crate::fence::landlock::{FileView, write_rules};
use crate::fence::mount;
use crate::fence::mount::CommandSession;
use crate::fence::policy::Class;

#[test]
fn grants_and_classes_of_a_rich_policy() {
    let policy = rich();
    let grants = policy
        .grants
        .iter()
        .map(|grant| format!("{:?} {}", grant.kind, grant.path));
    let classes = policy
        .patterns
        .iter()
        .filter(|class| class.class != Class::Exact);
    let classes = classes.map(|class| format!("{:?} {:?} {class}", class.class, class.fences));
    let names = |paths: &[RepoPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut all: Vec<String> = grants.chain(classes).collect();
    all.push(format!("make {:?}", names(&policy.directories_to_make)));
    all.push(format!("mask {:?}", names(&policy.masks)));
    insta::assert_snapshot!(all.join("\n"), @r##"
    File README.md
    File a "b".md
    File docs/a.md
    Tree new
    File package.json
    Tree src
    Tree target
    Tree tests
    Under [Landlock, Mount, Container] `/package.json`: it can be edited in place, and neither be removed nor replaced
    Under [Landlock, Mount, Container] `docs/*.md`: the files that match now can be edited in place; new ones cannot be made
    Over [Landlock, Mount, Container] `tests/**/*.rs`: everything below `tests` can be written
    Under [Landlock, Mount, Container] `*.md`: the files that match now can be edited in place; new ones cannot be made
    Over [Landlock] `src/gen/**`: `src/gen` can be written with the directory around it
    make ["new"]
    mask ["src/gen"]
    "##);
}

#[test]
fn each_kind_of_pattern_has_its_grants_and_its_class() {
    const COVER: bool = false;
    const STRICT: bool = true;
    use Class::{Exact, Over, Under};
    for (pattern, strict, class, grants) in [
        ("src/**", COVER, Exact, &["src/"][..]),
        ("/src/", COVER, Exact, &["src/"]),
        ("/src", COVER, Exact, &["src/"]),
        ("/new/**", STRICT, Exact, &["new/"]),
        ("new/sub/*", STRICT, Exact, &["new/sub/"]),
        ("/package.json", COVER, Under, &["package.json"]),
        ("/package.json/**", COVER, Under, &[]),
        ("docs/new.md", COVER, Over, &["docs/"]),
        ("docs/new.md", STRICT, Under, &[]),
        ("/new.md", COVER, Under, &[]),
        ("tests/**/*.rs", COVER, Over, &["tests/"]),
        ("tests/**/*.rs", STRICT, Under, &["tests/a.rs"]),
        ("src/*/", COVER, Over, &["src/"]),
        ("src/*/", STRICT, Under, &["src/gen/"]),
        (
            "*.md",
            COVER,
            Under,
            &["README.md", "a \"b\".md", "docs/a.md"],
        ),
        ("/link.md", COVER, Under, &[]),
        ("link.md/**", COVER, Under, &[]),
        ("link.md/a/b", COVER, Under, &[]),
        ("sub/", COVER, Under, &["lib/sub/"]),
        ("**/*.c", COVER, Under, &["lib/a.c", "lib/sub/b.c"]),
        (".git/**", COVER, Under, &[]),
        ("/.git", COVER, Under, &[]),
        (".GIT/hooks/*.sh", COVER, Under, &[]),
        (".agentwt/**", COVER, Exact, &[]),
    ] {
        let request = FenceRequest {
            strict,
            ..FenceRequest::default()
        };
        let policy = policy_of(&scope(&[(Write, pattern)]), FILES, request);
        let found = policy
            .grants
            .iter()
            .filter(|grant| grant.path != path("target"));
        let found = found.map(|grant| match grant.kind {
            GrantKind::Tree => format!("{}/", grant.path),
            GrantKind::File => grant.path.to_string(),
        });
        assert_eq!(found.collect::<Vec<_>>(), grants, "{pattern} {strict}");
        for fence in [Fence::Landlock, Fence::Mount, Fence::Container] {
            let classes: Vec<Class> = policy.classes(fence).map(|class| class.class).collect();
            assert_eq!(classes, [class], "{pattern} {strict}");
        }
        let classes: Vec<Class> = policy
            .classes(Fence::Seatbelt)
            .map(|one| one.class)
            .collect();
        assert_eq!(classes, [Exact], "{pattern}");
        assert!(
            policy
                .patterns
                .iter()
                .all(|one| one.says.is_empty() == (one.class == Exact))
        );
    }
}

#[test]
fn everything_is_the_worktree_for_a_mount_and_its_entries_for_landlock() {
    let files = [FILES, &[".agentwt/memory/x"]].concat();
    let policy = policy_of(&scope(&[(Write, "**")]), &files, FenceRequest::default());
    assert!(policy.is_whole);
    let grants: Vec<String> = policy
        .grants
        .iter()
        .map(|grant| grant.path.to_string())
        .collect();
    let top = [
        "README.md",
        "a \"b\".md",
        "docs",
        "lib",
        "package.json",
        "src",
        "target",
        "tests",
    ];
    assert_eq!(grants, top);
    assert_eq!(policy.masks, [path(".agentwt")]);
    let class = |fence| {
        policy
            .classes(fence)
            .map(|class| class.class)
            .collect::<Vec<_>>()
    };
    assert_eq!(class(Fence::Mount), [Class::Exact]);
    assert_eq!(class(Fence::Landlock), [Class::Under, Class::Over]);
    let words = lines(&mount::arguments(
        &policy,
        &command(),
        Utf8Path::new("/"),
        CommandSession::OfTerminal,
    ));
    let place = |text: &str| {
        words
            .find(text)
            .unwrap_or_else(|| panic!("{text} in {words}"))
    };
    assert!(
        place("--bind /r/wt/task ") < place("/private/dotgit /r/wt/task/.git"),
        "{words}"
    );
    assert!(!words.contains("--new-session"), "{words}");
    assert!(
        rules(&write_rules(&policy, FileView::Mounts))
            .starts_with("tree .\ntree /r/main/.git/agentwt")
    );
    assert!(!rules(&write_rules(&policy, FileView::Host)).contains("tree .\n"));
}

#[test]
fn a_pattern_is_not_widened_where_something_excluded_stands() {
    for exclude in ["docs/a.pem", "*.pem", "docs/*.pem"] {
        let scope = scope(&[(Write, "docs/*.md"), (Exclude, exclude)]);
        let policy = policy_of(&scope, FILES, FenceRequest::default());
        assert!(!is_granted(&policy, &path("docs/a.pem")), "{exclude}");
        assert!(is_granted(&policy, &path("docs/a.md")), "{exclude}");
    }
    // what is excluded as a whole gets nothing
    for exclude in ["docs", "docs/", "docs/*", "docs/**", "**"] {
        let scope = scope(&[
            (Write, "docs/**"),
            (Write, "docs/new.md"),
            (Exclude, exclude),
        ]);
        let policy = policy_of(&scope, FILES, FenceRequest::default());
        assert!(
            policy.grants.iter().all(|grant| grant.path != path("docs")),
            "{exclude}"
        );
    }
}

#[test]
fn tracked_files_are_asked_for_only_where_a_pattern_needs_them() {
    let scope = scope(&[
        (Write, "src/**"),
        (Write, "docs/a.md"),
        (Exclude, "src/gen/"),
    ]);
    let policy = compile(&PolicyFacts {
        scope: &scope,
        tracked: &|| panic!("no pattern needs it"),
        exists: &|_| Some(ExistingEntry::Directory),
        ignored: Vec::new(),
        places: places(),
        request: FenceRequest::default(),
    });
    assert_eq!(policy.masks, [path("src/gen")]);
}

#[test]
fn a_policy_can_be_written_and_read_again() {
    let mut policy = rich();
    policy
        .masks
        .push(RepoPath::parse(&b"a\\\xff\n"[..]).expect("it is normal"));
    let json = serde_json::to_string(&policy).expect("it has a form");
    assert_eq!(
        serde_json::from_str::<Policy>(&json).expect("it is whole"),
        policy
    );
}
