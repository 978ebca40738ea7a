//! Tables of patterns: what is refused and why, what matches, and where a walk may go.

use super::*;
use crate::scope::rule::{Case, EntryKind};
use crate::sync::matcher::Matcher;
use crate::sync::pattern::{Pattern, PatternError};

#[track_caller]
fn parse(glob: &str) -> Result<Pattern, PatternError> {
    Pattern::parse(glob, PatternOrigin::Flag("--sync"))
}

#[track_caller]
fn matcher(glob: &str, case: Case) -> Matcher {
    let pattern = parse(glob).unwrap_or_else(|fault| panic!("{glob}: {fault}"));
    Matcher::new(&[pattern], None, case).expect("it is a pattern")
}

/// Whether a pattern selects a path, as a walk from the root finds out.
#[track_caller]
fn selects_in(glob: &str, path: &str, case: Case) -> bool {
    let matcher = matcher(glob, case);
    let kind = if path.ends_with('/') {
        EntryKind::Directory
    } else {
        EntryKind::File
    };
    let path = RepoPath::parse(path.trim_end_matches('/')).expect("a path");
    let parents = path
        .parents()
        .map(|parent| RepoPath::parse(parent).expect("a path"));
    let is_entered = parents.into_iter().all(|parent| matcher.enters(&parent));
    let is_selected = matcher.selected(&path, kind).any();
    // a class of globset's matches a slash too, which leads nowhere
    let is_known = glob.contains('[') || !is_selected || is_entered;
    assert!(is_known, "{glob}: {path} is on the way");
    is_selected && is_entered
}

#[track_caller]
fn selects(glob: &str, path: &str) -> bool {
    selects_in(glob, path, Case::Sensitive)
}

#[test]
fn what_could_leave_the_repository_is_refused() {
    for (fault, globs) in [
        (
            "`..` component",
            &[
                "../x",
                "..",
                "a/..",
                "a/../../x",
                "a/../",
                "{..,a}/x",
                "{a,../b}",
            ][..],
        ),
        (
            "`..` component",
            &["a/{b,..}/c", "\\.\\./x", "[.][.]/x", "**/../x"],
        ),
        (
            "begins with `/`",
            &[
                "/etc/passwd",
                "\\/etc/passwd",
                "{/etc,a}/passwd",
                "//x",
                "/",
                "[/]etc/x",
            ],
        ),
        (
            "begins with `~`",
            &["~/.ssh/id_rsa", "~", "~root/x", "\\~/x", "[~]/x", "{a,~}/x"],
        ),
        ("is empty", &["", "{"]),
        ("NUL", &["a\0b", "\0"]),
        (
            "`.` component",
            &["./x", ".", "a/./b", "a/.", "{.,a}/b", "[.]/x"],
        ),
        ("empty component", &["a//b", "a//"]),
        ("begins with `!`", &["!.env"]),
        (
            "names `.git`",
            &[
                ".git",
                ".git/config",
                ".git/",
                ".GIT/config",
                "\\.git/**",
                "{.git,x}/**",
            ],
        ),
        ("names `.git`", &["sub/.git/config"]),
        (
            "only `memory`",
            &[".agentwt/config.toml", ".agentwt/worktrees/**"],
        ),
    ] {
        for glob in globs {
            let found = parse(glob).expect_err(glob).what;
            assert!(found.contains(fault), "{glob:?}: {found}");
        }
    }
    assert!(parse(&"a".repeat(4097)).is_err());
    assert!(parse(&"a".repeat(4096)).is_ok());
}

#[test]
fn what_is_not_a_glob_is_refused_in_the_words_of_globset() {
    for (glob, words) in [
        ("a[b", "unclosed character class"),
        ("a{b", "unclosed alternate group"),
        ("a}b", "unopened alternate group"),
        ("[z-a]", "invalid range"),
        ("a\\", "dangling"),
        ("a/b\\", "dangling"),
    ] {
        let fault = parse(glob).expect_err("it is no glob").what;
        assert!(
            fault.starts_with("it is not a glob: ") && fault.contains(words),
            "{glob}: {fault}"
        );
    }
}

#[test]
fn names_with_dots_and_strange_slashes_are_names() {
    for glob in [
        "a..b",
        "..a",
        "a..",
        "...",
        "a/..b/c",
        ".env",
        "..*",
        "a\u{2215}b",
        "\u{2044}etc\u{2044}passwd",
        "\u{ff0f}etc",
        "..\u{ff0f}x",
        "..\u{2215}..\u{2215}x",
        "x~",
        "a/~",
        "a!b",
        "{!a,b}",
        "\\!a",
        ".gitignore",
        ".github/**",
        "a.git",
        "$HOME/x",
        "%2e%2e/x",
        "a\nb",
        " ",
        ".agentwt/memory/**",
        ".agentwt",
    ] {
        assert!(parse(glob).is_ok(), "{glob:?}: {:?}", parse(glob));
    }
    // a look-alike of a slash separates nothing
    assert!(selects("a\u{2215}b", "a\u{2215}b"));
    assert!(!selects("a\u{2215}b", "a/b"));
    assert!(!selects("a\u{2215}*", "a/b"));
}

#[test]
fn a_fault_says_what_to_write() {
    let shown = |glob: &str| {
        let error = Pattern::parse(glob, PatternOrigin::File(7)).expect_err("it is refused");
        let help = miette::Diagnostic::help(&error).expect("there is help");
        format!("{error}\n  help: {help}")
    };
    insta::assert_snapshot!(shown("./x"), @r"
    cannot use `./x` as a sync pattern (.agentwt/config.toml:7): it has a `.` component, which no path has
      help: write the path from the repository's root, such as `.env`
    ");
    insta::assert_snapshot!(shown("a[b\u{1b}[2J"), @r"
    cannot use `a[b\033[2J` as a sync pattern (.agentwt/config.toml:7): it is not a glob: unclosed character class; missing ']'
      help: `\` before `*`, `?`, `[`, `{` or `\` makes it stand for itself
    ");
}

#[test]
fn a_pattern_selects_by_globset_and_all_in_a_directory() {
    for (glob, yes, no) in [
        (
            ".env*",
            vec![".env", ".env.local", ".envrc", ".env/x", ".env/a/b"],
            vec!["a/.env", "env"],
        ),
        (
            "**/.env",
            vec![".env", "a/.env", "a/b/.env", "a/.env/x"],
            vec![".env.x", "a/x.env"],
        ),
        ("*", vec!["a", ".a", "a/b", ".a/b/c"], vec![]),
        ("**", vec!["a", ".a", "a/b"], vec![]),
        (
            "a/**",
            vec!["a/b", "a/.b", "a/b/c", "a/d/"],
            vec!["a", "a/", "b/a/c"],
        ),
        ("a/*", vec!["a/b", "a/b/c"], vec!["a", "a/"]),
        ("a", vec!["a", "a/", "a/b"], vec!["b/a", "aa"]),
        ("a/", vec!["a/", "a/b", "a/b/c"], vec!["a", "b/a/"]),
        ("**/a/", vec!["a/", "b/a/", "b/a/c"], vec!["a", "b/a"]),
        (
            "a/**/b",
            vec!["a/b", "a/x/b", "a/x/y/b", "a/b/c"],
            vec!["b", "a/c", "a"],
        ),
        ("**/**/b", vec!["b", "x/b", "x/y/b"], vec!["c"]),
        ("a/**/**", vec!["a/b", "a/b/c"], vec!["a/", "a"]),
        ("a**", vec!["a", "ab", "ab/c"], vec!["b", "b/a"]),
        ("a/**b", vec!["a/b", "a/xb"], vec!["a/x/b"]),
        ("a/***", vec!["a/b"], vec!["a"]),
        (
            "c/{a,b}.json",
            vec!["c/a.json", "c/b.json"],
            vec!["c/c.json", "a.json"],
        ),
        (
            "{a,b/{c,d}}/x",
            vec!["a/x", "b/c/x", "b/d/x"],
            vec!["b/x", "c/x"],
        ),
        ("a{,.local}", vec!["a", "a.local"], vec!["ab"]),
        ("x{**}y", vec!["xy", "xay"], vec!["x/y", "xa/y"]),
        ("[ab]c", vec!["ac", "bc"], vec!["cc", "c"]),
        ("[!a]c", vec!["bc"], vec!["ac", "c", "x/c"]),
        ("[^a]c", vec!["bc"], vec!["ac"]),
        ("x[+-9]y", vec!["x+y", "x0y"], vec!["x/y", "xay"]),
        ("x[!a]y", vec!["xby"], vec!["x/y", "xay"]),
        ("[]a]", vec!["]", "a"], vec!["b"]),
        ("[a-]", vec!["a", "-"], vec!["b"]),
        ("[-a]", vec!["a", "-"], vec!["b"]),
        ("[!]a]", vec!["b"], vec!["a", "]"]),
        ("[\\]]", vec!["\\]"], vec!["]"]),
        ("[a,b]", vec!["a", ",", "b"], vec!["[a"]),
        ("{[a,],x}", vec!["a", ",", "x"], vec!["]"]),
        ("\\*", vec!["*"], vec!["a"]),
        ("\\*\\*", vec!["**"], vec!["a", "a/b"]),
        ("\\{a,b\\}", vec!["{a,b}"], vec!["a"]),
        ("a,b", vec!["a,b"], vec!["a"]),
        ("a\\/b", vec!["a/b"], vec!["a"]),
        ("?", vec!["a", "-"], vec!["ab", ""]),
        ("*.env", vec![".env", "a.env"], vec!["env"]),
        ("caf\u{e9}/*", vec!["caf\u{e9}/x"], vec!["cafe/x"]),
        ("a\nb*", vec!["a\nb", "a\nbc"], vec!["a"]),
    ] {
        for path in yes {
            assert!(selects(glob, path), "{glob} selects {path}");
        }
        for path in no.into_iter().filter(|path| !path.is_empty()) {
            assert!(!selects(glob, path), "{glob} does not select {path}");
        }
    }
}

#[test]
fn case_is_honoured() {
    for (glob, path) in [
        (".ENV*", ".env.local"),
        ("Config/*.json", "config/A.JSON"),
        ("[a-c]x", "Bx"),
        ("**/A/b", "x/a/B"),
    ] {
        assert!(!selects(glob, path), "{glob} {path}");
        assert!(selects_in(glob, path, Case::Insensitive), "{glob} {path}");
    }
    assert!(!selects_in("[!a]x", "Ax", Case::Insensitive));
}

#[test]
fn the_walk_enters_wherever_something_matches() {
    let pieces = [
        "a", "b", "ab", "*", "**", "?", "/", "/", "/", "[ab]", "[!b]", ".", "{a,b}", "{a/b,}",
        "{*,b}/", "\\*", "a*", "**/", "/**",
    ];
    let names = ["a", "b", "ab", "aab", "ba", ".a", "*", "c"];
    // pseudo-random numbers that are the same every time
    let mut state = 20_261_122_u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % end
    };
    let mut selected = 0;
    for _ in 0..2000 {
        let glob: String = (0..=below(5))
            .map(|_| pieces[below(pieces.len())])
            .collect();
        let path: Vec<&str> = (0..=below(3)).map(|_| names[below(names.len())]).collect();
        let path = path.join("/");
        if parse(&glob).is_ok() {
            selected += usize::from(selects(&glob, &path));
        }
    }
    assert!(selected > 100, "{selected}");
}

#[test]
fn a_walk_goes_only_where_something_can_match() {
    let path = |text: &str| RepoPath::parse(text).expect("a path");
    for (glob, entered, left_out) in [
        (
            "node_modules/**",
            vec!["node_modules", "node_modules/a"],
            vec!["src", "a/node_modules"],
        ),
        (".env*", vec![], vec!["src"]),
        ("config/*.json", vec!["config"], vec!["config/a", "src"]),
        ("{a,b/c}/x", vec!["a", "b", "b/c"], vec![]),
        ("**/x", vec!["any/thing"], vec![]),
        (
            ".agentwt/memory/**",
            vec![".agentwt", ".agentwt/memory"],
            vec![".agentwt/worktrees"],
        ),
    ] {
        let matcher = matcher(glob, Case::Sensitive);
        for directory in entered {
            assert!(matcher.enters(&path(directory)), "{glob} in {directory}");
        }
        for directory in left_out {
            assert!(!matcher.enters(&path(directory)), "{glob} in {directory}");
        }
    }
}

#[test]
fn a_worktreeinclude_is_followed_only_where_a_rule_can_match() {
    let path = |text: &str| RepoPath::parse(text).expect("a path");
    for (rules, entered, left_out) in [
        (".env", vec!["a", "a/b/c"], vec![]),
        ("/.env", vec![], vec!["a", "a/b"]),
        (
            "config/*.json\n# x\n\n!/y/z",
            vec!["config"],
            vec!["src", "config/a", "y"],
        ),
        (
            "/node_modules/",
            vec!["node_modules", "node_modules/a"],
            vec!["a"],
        ),
        ("a/**/x", vec!["a", "a/b/c"], vec!["b"]),
    ] {
        let matcher = Matcher::new(&[], Some(rules.as_bytes()), Case::Sensitive);
        let matcher = matcher.expect("there is no pattern");
        for directory in entered {
            assert!(matcher.enters(&path(directory)), "{rules} in {directory}");
        }
        for directory in left_out {
            assert!(!matcher.enters(&path(directory)), "{rules} in {directory}");
        }
    }
}

#[test]
fn the_memory_bank_is_a_pattern() {
    let pattern = Pattern::memory_bank();
    assert_eq!(pattern.text(), ".agentwt/memory/**");
    assert_eq!(pattern.origin(), &PatternOrigin::BuiltIn);
    assert!(pattern.is_optional());
}
