//! One rich policy in the language of each fence, the class of each kind of pattern, and properties of
//! generated scopes.

use std::ffi::OsString;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::{Fence, Net};
use crate::fence::landlock::{LandlockRule, RuleAccess, RulePlace, read_rules, write_rules};
use crate::fence::policy::{
    Class, ContainerProgram, Grant, GrantKind, Places, Policy, PolicyFacts, Standing, Wishes,
    compile,
};
use crate::fence::{container, mount, seatbelt};
use crate::scope::compiled::Scope;
use crate::scope::rule::RuleList::{Exclude, Read, Write};
use crate::scope::rule::{Access, Case, EntryKind, RuleList, RuleOrigin, ScopeRule};
use crate::words::path::RepoPath;

fn scope(rules: &[(RuleList, &str)]) -> Scope {
    let rules = [(Read, "**")].iter().chain(rules);
    let rules = rules.map(|(list, text)| ScopeRule::new(*list, *text, RuleOrigin::Default));
    Scope::compile(rules.collect(), Case::Sensitive).expect("the patterns are valid")
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("it is normal")
}

fn places() -> Places {
    Places {
        root: "/r/wt/task".into(),
        main: "/r/main".into(),
        others: vec!["/r/wt/other".into(), "/r/main/.agentwt/x".into()],
        common_dir: "/r/main/.git".into(),
        withheld: Vec::new(),
        shown: vec!["/r/main/Cargo.toml".into()],
        states: vec!["/r/main/.git/agentwt/worktrees/task/state/claude".into()],
        private: "/r/main/.git/agentwt/worktrees/task/private".into(),
        binary: "/r/main/target/git-agentwt".into(),
    }
}

/// The policy of a scope where these files stand; those that end with `@` are links.
fn policy_of(scope: &Scope, files: &[&str], wishes: Wishes) -> Policy {
    let exists = |path: &RepoPath| {
        let text = path.as_bstr().to_string();
        let is_above = |file: &&str| file.starts_with(&format!("{text}/"));
        if files.contains(&&*text) {
            Some(Standing::File)
        } else if files.contains(&&*format!("{text}@")) {
            Some(Standing::Other)
        } else {
            files.iter().any(is_above).then_some(Standing::Directory)
        }
    };
    let tracked = || {
        let mut tracked: Vec<RepoPath> = files
            .iter()
            .map(|file| path(file.trim_end_matches('@')))
            .collect();
        tracked.retain(|path| !path.as_bstr().starts_with(b"target"));
        tracked.sort_unstable();
        tracked
    };
    compile(&PolicyFacts {
        scope,
        tracked: &tracked,
        exists: &exists,
        ignored: vec![path("target")],
        places: places(),
        wishes,
    })
}

const FILES: &[&str] = &[
    "README.md",
    "a \"b\".md",
    "docs/a.md",
    "docs/a.pem",
    "lib/a.c",
    "lib/sub/b.c",
    "link.md@",
    "package.json",
    "src/a.rs",
    "src/gen/x.rs",
    "target/x",
    "tests/a.rs",
    "tests/b.txt",
];

fn rich() -> Policy {
    let scope = scope(&[
        (Write, "src/**"),
        (Write, "/package.json"),
        (Write, "docs/*.md"),
        (Write, "tests/**/*.rs"),
        (Write, "*.md"),
        (Write, "/new/"),
        (Exclude, "src/gen/**"),
        (Exclude, "*.pem"),
    ]);
    let wishes = Wishes {
        net: Net::Ports(vec![443, 22]),
        sockets: vec!["/run/user/1000/bus".into()],
        rw: vec!["/home/u/.cargo/registry".into()],
        read_only: vec!["/home/u/.cargo/registry/config".into()],
        ..Wishes::default()
    };
    policy_of(&scope, FILES, wishes)
}

fn lines(words: &[OsString]) -> String {
    let mut text = String::new();
    for word in words {
        let word = word.to_str().expect("it is UTF-8");
        text.push_str(if word.starts_with("--") && !text.is_empty() {
            "\n"
        } else {
            " "
        });
        text.push_str(word);
    }
    text.trim().to_owned()
}

fn command() -> Vec<OsString> {
    ["sh", "-c", "true"].map(OsString::from).to_vec()
}

fn rules(rules: &[LandlockRule]) -> String {
    let line = |rule: &LandlockRule| {
        let access = match rule.access {
            RuleAccess::Tree => "tree",
            RuleAccess::File => "file",
            RuleAccess::Terminal => "terminal",
            RuleAccess::Read => "read",
        };
        match &rule.place {
            RulePlace::Root => format!("{access} ."),
            RulePlace::Below(path) => format!("{access} ./{path}"),
            RulePlace::Other(path) => format!("{access} {}", path.display()),
        }
    };
    let lines: Vec<String> = rules.iter().map(line).collect();
    lines.join("\n")
}

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
fn landlock_has_the_rules_of_the_grants() {
    insta::assert_snapshot!(rules(&write_rules(&rich(), false)), @r##"
    file ./README.md
    file ./a "b".md
    file ./docs/a.md
    tree ./new
    file ./package.json
    tree ./src
    tree ./target
    tree ./tests
    tree /r/main/.git/agentwt/worktrees/task/private/git
    tree /r/main/.git/agentwt/worktrees/task/private/tmp
    tree /r/main/.git/agentwt/worktrees/task/state/claude
    tree /home/u/.cargo/registry
    file /dev/null
    file /dev/zero
    file /dev/full
    terminal /dev/tty
    terminal /dev/ptmx
    terminal /dev/pts
    tree /dev/shm
    "##);
}

#[test]
fn landlock_hides_a_worktree_by_granting_what_stands_beside_it() {
    let list = |directory: &Path| -> Vec<OsString> {
        let names: &[&str] = match directory.to_str() {
            Some("/") => &["dev", "etc", "r", "usr"],
            Some("/r") => &["main", "notes", "wt"],
            Some("/r/wt") => &["other", "task"],
            Some("/r/main/.git") => &["HEAD", "agentwt", "alt", "objects", "refs"],
            Some("/r/main/.git/agentwt") => &["locks", "worktrees"],
            Some("/r/main/.git/alt") => &["HEAD", "objects"],
            other => panic!("{other:?} is not on the way to what is hidden"),
        };
        names.iter().map(OsString::from).collect()
    };
    let mut policy = rich();
    insta::assert_snapshot!(rules(&read_rules(&policy, &list)), @r##"
    read /dev
    read /etc
    read /r/notes
    read /r/wt/task
    read /usr
    read /r/main/.git
    read /r/main/target/git-agentwt
    read /r/main/Cargo.toml
    read /home/u/.cargo/registry
    "##);
    policy.wishes.withholds = true;
    let below = ["objects", "agentwt/worktrees", "alt/objects"];
    let below = below.map(|name| Utf8Path::new("/r/main/.git").join(name));
    policy.places.withheld = below.to_vec();
    let withheld = rules(&read_rules(&policy, &list));
    insta::assert_snapshot!(withheld, @r##"
    read /dev
    read /etc
    read /r/notes
    read /r/wt/task
    read /usr
    read /r/main/.git/HEAD
    read /r/main/.git/agentwt/locks
    read /r/main/.git/alt/HEAD
    read /r/main/.git/refs
    read /r/main/.git/agentwt/worktrees/task
    read /r/main/target/git-agentwt
    read /r/main/Cargo.toml
    read /home/u/.cargo/registry
    "##);
    policy.places.withheld.clear();
    policy.wishes.withholds = false;
    policy.places.main = policy.places.root.clone();
    policy.places.others.clear();
    assert_eq!(read_rules(&policy, &list), []);
}

#[test]
fn bubblewrap_mounts_the_grants() {
    let directory = Utf8Path::new("/r/wt/task/src");
    let words = mount::arguments(&rich(), &command(), directory, false);
    insta::assert_snapshot!(lines(&words), @r##"
    --unshare-user
    --unshare-pid
    --unshare-ipc
    --unshare-uts
    --die-with-parent
    --cap-drop ALL
    --ro-bind / /
    --dev /dev
    --proc /proc
    --ro-bind /proc/sys /proc/sys
    --tmpfs /tmp
    --tmpfs /run
    --new-session
    --ro-bind-try /run/systemd/resolve /run/systemd/resolve
    --ro-bind-try /run/resolvconf /run/resolvconf
    --ro-bind-try /run/NetworkManager/resolv.conf /run/NetworkManager/resolv.conf
    --ro-bind-try /run/nscd /run/nscd
    --ro-bind-try /run/current-system /run/current-system
    --bind-try /home/u/.cargo/registry /home/u/.cargo/registry
    --ro-bind-try /home/u/.cargo/registry/config /home/u/.cargo/registry/config
    --ro-bind-try /run/user/1000/bus /run/user/1000/bus
    --tmpfs /r/main
    --tmpfs /r/wt/other
    --ro-bind /r/main/.git /r/main/.git
    --bind-try /r/main/.git/agentwt/worktrees/task/private/git /r/main/.git/agentwt/worktrees/task/private/git
    --bind-try /r/main/.git/agentwt/worktrees/task/private/tmp /r/main/.git/agentwt/worktrees/task/private/tmp
    --bind-try /r/main/.git/agentwt/worktrees/task/state/claude /r/main/.git/agentwt/worktrees/task/state/claude
    --ro-bind /r/main/target/git-agentwt /r/main/target/git-agentwt
    --ro-bind /r/wt/task /r/wt/task
    --bind /r/wt/task/README.md /r/wt/task/README.md
    --bind /r/wt/task/a "b".md /r/wt/task/a "b".md
    --bind /r/wt/task/docs/a.md /r/wt/task/docs/a.md
    --bind /r/wt/task/new /r/wt/task/new
    --bind /r/wt/task/package.json /r/wt/task/package.json
    --bind /r/wt/task/src /r/wt/task/src
    --bind /r/wt/task/target /r/wt/task/target
    --bind /r/wt/task/tests /r/wt/task/tests
    --ro-bind /r/wt/task/src/gen /r/wt/task/src/gen
    --ro-bind /r/main/.git/agentwt/worktrees/task/private/dotgit /r/wt/task/.git
    --remount-ro /r/main
    --remount-ro /r/wt/other
    --chdir /r/wt/task/src /r/main/target/git-agentwt __init /r/main/.git/agentwt/worktrees/task/private/start.json
    -- sh -c true
    "##);
}

fn container_words(policy: &Policy) -> String {
    let exists = |path: &Path| {
        ["/usr", "/etc", "/home", "/home/u/.cargo/registry"]
            .iter()
            .any(|one| path == Path::new(one))
    };
    let words = container::arguments(
        policy,
        &container::ContainerStart {
            command: &command(),
            directory: Utf8Path::new("/r/wt/task"),
            has_terminal: true,
            has_input: true,
            variables: vec!["PATH", "TERM"],
            name: "agentwt-task",
            user: (1000, 1000),
            exists: &exists,
        },
    );
    lines(&words)
}

#[test]
fn podman_has_the_root_of_the_host() {
    insta::assert_snapshot!(container_words(&rich()), @r##"
    --log-level=fatal run
    --rm
    --interactive
    --tty
    --name=agentwt-task
    --replace
    --userns=keep-id
    --user=1000:1000
    --cap-drop=all
    --security-opt=no-new-privileges
    --security-opt=label=disable
    --log-driver=none
    --network=host
    --read-only
    --read-only-tmpfs=false
    --tmpfs=/tmp:mode=1777,exec
    --tmpfs=/run:mode=0755
    --mount=type=bind,source=/usr,destination=/usr,readonly
    --mount=type=bind,source=/etc,destination=/etc,readonly
    --mount=type=bind,source=/home,destination=/home,readonly
    --mount=type=tmpfs,destination=/r/main,tmpfs-mode=0755,ro,notmpcopyup,U=true
    --mount=type=tmpfs,destination=/r/wt/other,tmpfs-mode=0755,ro,notmpcopyup,U=true
    --mount=type=bind,source=/r/main/target/git-agentwt,destination=/r/main/target/git-agentwt,readonly
    --mount=type=bind,source=/r/main/.git,destination=/r/main/.git,readonly
    --mount=type=bind,source=/r/main/.git/agentwt/worktrees/task/private,destination=/r/main/.git/agentwt/worktrees/task/private,readonly
    --mount=type=bind,source=/home/u/.cargo/registry,destination=/home/u/.cargo/registry
    --mount=type=bind,source=/r/wt/task,destination=/r/wt/task,readonly
    --mount=type=bind,source=/r/wt/task/README.md,destination=/r/wt/task/README.md
    --mount=type=bind,"source=/r/wt/task/a ""b"".md","destination=/r/wt/task/a ""b"".md"
    --mount=type=bind,source=/r/wt/task/docs/a.md,destination=/r/wt/task/docs/a.md
    --mount=type=bind,source=/r/wt/task/new,destination=/r/wt/task/new
    --mount=type=bind,source=/r/wt/task/package.json,destination=/r/wt/task/package.json
    --mount=type=bind,source=/r/wt/task/src,destination=/r/wt/task/src
    --mount=type=bind,source=/r/wt/task/target,destination=/r/wt/task/target
    --mount=type=bind,source=/r/wt/task/tests,destination=/r/wt/task/tests
    --mount=type=bind,source=/r/wt/task/src/gen,destination=/r/wt/task/src/gen,readonly
    --mount=type=bind,source=/r/main/.git/agentwt/worktrees/task/private/dotgit,destination=/r/wt/task/.git,readonly
    --env=PATH
    --env=TERM
    --workdir=/r/wt/task
    --rootfs /r/main/.git/agentwt/worktrees/task/private/rootfs /r/main/target/git-agentwt __init /r/main/.git/agentwt/worktrees/task/private/start.json
    -- sh -c true
    "##);
}

#[test]
fn docker_has_an_image() {
    let mut policy = rich();
    let asks = &mut policy.wishes.container;
    asks.program = ContainerProgram::Docker;
    asks.image = Some("node:20".to_owned());
    asks.memory = Some("4g".to_owned());
    asks.cpus = Some(1.5);
    policy.wishes.net = Net::None;
    insta::assert_snapshot!(container_words(&policy), @r##"
    --log-level=fatal run
    --rm
    --interactive
    --tty
    --name=agentwt-task
    --init
    --user=1000:1000
    --cap-drop=all
    --security-opt=no-new-privileges
    --security-opt=label=disable
    --log-driver=none
    --network=none
    --memory=4g
    --cpus=1.5
    --mount=type=bind,source=/r/main/.git,destination=/r/main/.git,readonly
    --mount=type=bind,source=/r/main/.git/agentwt/worktrees/task/private,destination=/r/main/.git/agentwt/worktrees/task/private,readonly
    --mount=type=bind,source=/home/u/.cargo/registry,destination=/home/u/.cargo/registry
    --mount=type=bind,source=/r/wt/task,destination=/r/wt/task,readonly
    --mount=type=bind,source=/r/wt/task/README.md,destination=/r/wt/task/README.md
    --mount=type=bind,"source=/r/wt/task/a ""b"".md","destination=/r/wt/task/a ""b"".md"
    --mount=type=bind,source=/r/wt/task/docs/a.md,destination=/r/wt/task/docs/a.md
    --mount=type=bind,source=/r/wt/task/new,destination=/r/wt/task/new
    --mount=type=bind,source=/r/wt/task/package.json,destination=/r/wt/task/package.json
    --mount=type=bind,source=/r/wt/task/src,destination=/r/wt/task/src
    --mount=type=bind,source=/r/wt/task/target,destination=/r/wt/task/target
    --mount=type=bind,source=/r/wt/task/tests,destination=/r/wt/task/tests
    --mount=type=bind,source=/r/wt/task/src/gen,destination=/r/wt/task/src/gen,readonly
    --mount=type=bind,source=/r/main/.git/agentwt/worktrees/task/private/dotgit,destination=/r/wt/task/.git,readonly
    --env=TERM
    --workdir=/r/wt/task
    --entrypoint= node:20 sh -c true
    "##);
    policy.wishes.net = Net::Ports(vec![443]);
    assert_eq!(policy.unable(Fence::Container).len(), 1);
    // PATH has no place for the `git` of the fence
    policy.places.private = "/r/12:30/.git/private".into();
    assert_eq!(policy.unable(Fence::Landlock).len(), 1);
    assert_eq!(policy.unable(Fence::Mount), [""; 0]);
}

#[test]
fn seatbelt_has_each_pattern_as_a_regular_expression() {
    insta::assert_snapshot!(seatbelt::profile(&rich()), @r##"
    (version 1)
    (allow default)
    (deny signal (target others))
    (deny mach-lookup (global-name "com.apple.coreservices.launchservicesd"))
    (deny network*)
    (allow network-outbound (remote tcp "*:443"))
    (allow network-outbound (remote tcp "*:22"))
    (allow network-outbound (literal "/private/var/run/mDNSResponder"))
    (allow network-outbound (literal "/run/user/1000/bus"))
    (deny file-write*)
    (allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$") (literal "/dev/dtracehelper"))
    (allow file-write* (subpath "/home/u/.cargo/registry"))
    (deny file-write* (subpath "/r/main/.git"))
    (deny file-write* (subpath "/r/wt/task"))
    (deny file-write* (subpath "/home/u/.cargo/registry/config"))
    (allow file-write* (subpath "/r/main/.git/agentwt/worktrees/task/private/git"))
    (allow file-write* (subpath "/r/main/.git/agentwt/worktrees/task/private/tmp"))
    (allow file-write* (subpath "/r/main/.git/agentwt/worktrees/task/state/claude"))
    (allow file-write* (regex #"^/r/wt/task/target/"))
    (allow file-write* (regex #"^/r/wt/task/src/.*(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/package\.json(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/docs/[^/]*\.md(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/tests/(.*/)?[^/]*\.rs(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/(.*/)?[^/]*\.md(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/new/.*$"))
    (deny file-write* (regex #"^/r/wt/task/src/gen/.*(/.*)?$"))
    (deny file-write* (regex #"^/r/wt/task/(.*/)?[^/]*\.pem(/.*)?$"))
    (deny file-write* (subpath "/r/wt/task/.agentwt"))
    (deny file-write* (subpath "/r/wt/task/.git"))
    (deny file-read-data (subpath "/r/main"))
    (deny file-read-data (subpath "/r/wt/other"))
    (allow file-read-data (subpath "/r/main/.git"))
    (allow file-read-data (subpath "/r/main/target/git-agentwt"))
    (allow file-read-data (subpath "/r/main/Cargo.toml"))
    (allow file-read-data (subpath "/r/wt/task"))
    "##);
}

/// Whether a fence lets a path be written, and a mount lets it.
fn is_granted(policy: &Policy, path: &RepoPath) -> bool {
    let is_at = |grant: &Grant| {
        grant.path == *path || grant.kind == GrantKind::Tree && path.is_below(grant.path.as_bstr())
    };
    policy.is_whole || policy.grants.iter().any(is_at)
}

fn is_masked(policy: &Policy, path: &RepoPath) -> bool {
    let mut masks = policy.masks.iter();
    masks.any(|mask| mask == path || path.is_below(mask.as_bstr()))
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
        let wishes = Wishes {
            strict,
            ..Wishes::default()
        };
        let policy = policy_of(&scope(&[(Write, pattern)]), FILES, wishes);
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
    let policy = policy_of(&scope(&[(Write, "**")]), &files, Wishes::default());
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
        true,
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
    assert!(rules(&write_rules(&policy, true)).starts_with("tree .\ntree /r/main/.git/agentwt"));
    assert!(!rules(&write_rules(&policy, false)).contains("tree .\n"));
}

#[test]
fn a_pattern_is_not_widened_where_something_excluded_stands() {
    for exclude in ["docs/a.pem", "*.pem", "docs/*.pem"] {
        let scope = scope(&[(Write, "docs/*.md"), (Exclude, exclude)]);
        let policy = policy_of(&scope, FILES, Wishes::default());
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
        let policy = policy_of(&scope, FILES, Wishes::default());
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
        exists: &|_| Some(Standing::Directory),
        ignored: Vec::new(),
        places: places(),
        wishes: Wishes::default(),
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

/// Numbers that look like chance (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }

    fn some<'a>(&mut self, all: &[&'a str], most: usize) -> Vec<&'a str> {
        let number = self.below(most + 1);
        (0..number).map(|_| all[self.below(all.len())]).collect()
    }
}

const PATTERNS: &[&str] = &[
    "**",
    "*",
    "*.rs",
    "*.md",
    "a",
    "a/",
    "/a",
    "/a/",
    "a/**",
    "a/*",
    "a/*.rs",
    "a/**/*.rs",
    "a/b",
    "a/b/",
    "/b",
    "b/**",
    "**/b",
    "**/b/**",
    "b/*/c.rs",
    "/x.md",
    "a/new.rs",
    "/new/",
    "new/x.md",
    "[ab]/c.rs",
    "a/?",
    ".git/**",
    ".agentwt/**",
    "c.rs",
    "a/b/c.rs",
    "/a/x.md",
    "a.b/**",
    "/link",
];
const POOL: &[&str] = &[
    "a/b/c.rs",
    "a/b/d",
    "a/c.rs",
    "a/x.md",
    "a.b/c.rs",
    "b/a/c.rs",
    "b/b/x.md",
    "b/c.rs",
    "c.rs",
    "x.md",
    "link@",
    "b/link@",
    "d/a/b",
    "d/e/a/c.rs",
    ".agentwt/memory/m",
    ".agentwt/y",
];

#[test]
fn generated_scopes_are_granted_as_their_classes_say() {
    let mut chance = Chance(0x5eed);
    for round in 0..4000 {
        let write = chance.some(PATTERNS, 3);
        let exclude = chance.some(PATTERNS, 2);
        let mut files = chance.some(POOL, 12);
        files.sort_unstable();
        files.dedup();
        let rules = write.iter().map(|text| (Write, *text));
        let rules = rules.chain(exclude.iter().map(|text| (Exclude, *text)));
        let scope = scope(&rules.collect::<Vec<_>>());
        let strict = round % 2 == 1;
        let wishes = Wishes {
            strict,
            ..Wishes::default()
        };
        let policy = policy_of(&scope, &files, wishes);
        let said = format!("write {write:?} exclude {exclude:?} files {files:?}: {policy:#?}");
        let is_wide = policy
            .classes(Fence::Mount)
            .any(|class| class.class == Class::Over);
        for file in files
            .iter()
            .filter(|file| !file.ends_with('@'))
            .map(|file| path(file))
        {
            let verdict = scope.verdict(&file, EntryKind::File);
            let can = is_granted(&policy, &file) && !is_masked(&policy, &file);
            match verdict.access {
                Access::Write => assert!(can, "{file} is in the scope: {said}"),
                Access::Read => assert!(!can || is_wide, "{file} is not in the scope: {said}"),
                Access::Excluded => assert!(!can, "{file} is excluded: {said}"),
            }
        }
        for grant in &policy.grants {
            let text = grant.path.to_string();
            assert!(
                !text.starts_with(".git") && !text.starts_with(".agentwt"),
                "{said}"
            );
            assert!(!text.contains("link"), "{said}");
            let kind = match grant.kind {
                GrantKind::Tree => EntryKind::Directory,
                GrantKind::File => EntryKind::File,
            };
            let rule = scope.verdict(&grant.path, kind).rule;
            assert!(
                rule.is_none_or(|rule| rule.list != Exclude),
                "{text} is excluded: {said}"
            );
        }
        if strict {
            assert!(!is_wide, "{said}");
        }
    }
}

#[test]
fn odd_names_stay_whole() {
    let scope = scope(&[(Write, "/a \\\\\"(,)b/**"), (Write, "caf\u{e9}.[!a-c]*")]);
    let mut policy = policy_of(&scope, &["a \\\"(,)b/x"], Wishes::default());
    policy.places.root = Utf8PathBuf::from("/r/w,\"t");
    let profile = seatbelt::profile(&policy);
    let expected = [
        r#"(allow file-write* (regex "^/r/w,\"t/a \\\\\"\\(,\\)b/.*(/.*)?$"))"#,
        "(allow file-write* (regex \"^/r/w,\\\"t/(.*/)?caf\u{e9}\\\\.[^/a-c][^/]*(/.*)?$\"))",
    ];
    for line in expected {
        assert!(
            profile.lines().any(|one| one == line),
            "{line} in {profile}"
        );
    }
    let words = container_words(&policy);
    let mounts =
        r#"--mount=type=bind,"source=/r/w,""t/a \""(,)b","destination=/r/w,""t/a \""(,)b""#;
    assert!(words.contains(mounts), "{words}");
}
