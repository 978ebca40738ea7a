//! Tables of patterns: what is refused and why, what matches, and where a walk may go.

use globset::Candidate;

use super::pattern::build;
use super::*;
use crate::scope::Case;

#[track_caller]
fn parse(glob: &str) -> Result<Pattern, PatternFault> {
    Pattern::parse(glob, PatternOrigin::Flag("--sync"), Need::Required)
}

/// Whether a pattern selects a path, as a walk from the root would find out.
#[must_use]
#[track_caller]
fn selects_in(glob: &str, path: &str, case: Case) -> bool {
    let patterns = [parse(glob).unwrap_or_else(|fault| panic!("{glob}: {fault}"))];
    let search = Search::new(&patterns, case);
    let (path, kind) = match path.strip_suffix('/') {
        Some(path) => (path, Kind::Directory),
        None => (path, Kind::Other),
    };
    let mut state = search.start();
    let ends = path.match_indices('/').map(|(at, _)| at);
    for end in ends {
        let names = search.names(&state);
        let directory = RepoPath::parse(&path[..end]).expect("a path");
        if names.is_some_and(|names| !names.contains(&&**directory.file_name())) {
            return false;
        }
        state = search.step(&state, &directory, Kind::Directory).below;
    }
    let path = RepoPath::parse(path).expect("a path");
    if let Some(names) = search.names(&state)
        && !names.contains(&&**path.file_name())
    {
        return false;
    }
    !search.step(&state, &path, kind).matched.is_empty()
}

#[must_use]
#[track_caller]
fn selects(glob: &str, path: &str) -> bool {
    selects_in(glob, path, Case::Sensitive)
}

#[test]
fn what_could_leave_the_repository_is_refused() {
    use PatternFault as F;
    for (glob, fault) in [
        ("../x", F::Parent),
        ("..", F::Parent),
        ("a/..", F::Parent),
        ("a/../../x", F::Parent),
        ("a/../", F::Parent),
        ("{..,a}/x", F::Parent),
        ("{a,../b}", F::Parent),
        ("{a,.{.,x}}/y", F::Parent),
        ("a{/..,}/x", F::Parent),
        ("{.,a}{.,b}/x", F::Parent),
        ("{a/,}{{..}}", F::Parent),
        ("\\.\\./x", F::Parent),
        (".\\./x", F::Parent),
        ("[.][.]/x", F::Parent),
        (".[.-.]/x", F::Parent),
        ("[..].\\/x", F::Parent),
        ("**/../x", F::Parent),
        ("/etc/passwd", F::Absolute),
        ("\\/etc/passwd", F::Absolute),
        ("{/etc,a}/passwd", F::Absolute),
        ("{,a}/passwd", F::Absolute),
        ("//x", F::Absolute),
        ("/", F::Absolute),
        ("~/.ssh/id_rsa", F::Home),
        ("~", F::Home),
        ("~root/x", F::Home),
        ("\\~/x", F::Home),
        ("[~]/x", F::Home),
        ("{a,~}/x", F::Home),
        ("", F::Empty),
        ("{}", F::Empty),
        ("{a,}", F::Empty),
        ("a\0b", F::Nul),
        ("\0", F::Nul),
        ("[/]etc/x", F::SlashInClass),
        (".[!a/].", F::SlashInClass),
        ("./x", F::Current),
        (".", F::Current),
        ("a/./b", F::Current),
        ("a/.", F::Current),
        ("{.,a}/b", F::Current),
        ("[.]/x", F::Current),
        ("a//b", F::EmptyComponent),
        ("a//", F::EmptyComponent),
        ("a{/,}/b", F::EmptyComponent),
        ("!.env", F::Negation),
        (".git", F::Git),
        (".git/config", F::Git),
        (".git/", F::Git),
        (".GIT/config", F::Git),
        ("\\.git/**", F::Git),
        ("{.git,x}/**", F::Git),
        ("sub/.git/config", F::Git),
        (".agentwt/config.toml", F::Agentwt),
        (".agentwt/worktrees/**", F::Agentwt),
        ("[\u{e4}]", F::ClassBeyondAscii),
        (
            "{a,b,c,d,e,f,g,h,i,j}{a,b,c,d,e,f,g,h,i,j}{a,b,c,d,e,f,g,h,i,j}{a,b}",
            F::Alternatives,
        ),
    ] {
        assert_eq!(parse(glob).map(|_| ()), Err(fault), "{glob:?}");
    }
    let long = "a".repeat(4097);
    assert_eq!(parse(&long).map(|_| ()), Err(F::Long(4097)));
    assert!(parse(&long[..4096]).is_ok());
}

#[test]
fn what_is_no_glob_is_refused_in_the_words_of_globset() {
    for (glob, words) in [
        ("a[b", "unclosed character class"),
        ("a{b", "unclosed alternate group"),
        ("a}b", "unopened alternate group"),
        ("[z-a]", "invalid range"),
        ("a\\", "dangling"),
        ("a/b\\", "dangling"),
    ] {
        let fault = parse(glob).expect_err("it is no glob").to_string();
        assert!(
            fault.starts_with("it is no glob: ") && fault.contains(words),
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
        "{.,a}x",
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
fn each_fault_says_what_to_write() {
    let shown = |glob: &str| {
        let fault = parse(glob).expect_err("it is refused");
        let error = PatternError {
            text: glob.to_owned(),
            origin: PatternOrigin::File(7),
            fault,
        };
        let help = miette::Diagnostic::help(&error).expect("there is help");
        format!("{error}\n  help: {help}")
    };
    insta::assert_snapshot!(shown("./x"), @r"
    cannot use `./x` as a sync pattern (.agentwt/config.toml:7): it has a `.` component, which no path has
      help: write `x`
    ");
    insta::assert_snapshot!(shown("a//b/./c"), @r"
    cannot use `a//b/./c` as a sync pattern (.agentwt/config.toml:7): it has an empty component (`//`), which no path has
      help: write `a/b/c`
    ");
    insta::assert_snapshot!(shown("{.,a}/c"), @r"
    cannot use `{.,a}/c` as a sync pattern (.agentwt/config.toml:7): it has a `.` component, which no path has
      help: write the path from the repository's root
    ");
    insta::assert_snapshot!(shown("/.env"), @r"
    cannot use `/.env` as a sync pattern (.agentwt/config.toml:7): it begins with `/`, and files outside the repository are not synced
      help: write the path from the repository's root: `.env`
    ");
    insta::assert_snapshot!(shown("~/.ssh/*"), @r"
    cannot use `~/.ssh/*` as a sync pattern (.agentwt/config.toml:7): it begins with `~`, and files outside the repository are not synced
      help: write the path from the repository's root
    ");
    insta::assert_snapshot!(shown("../.env"), @r"
    cannot use `../.env` as a sync pattern (.agentwt/config.toml:7): it has a `..` component, with which it could leave the repository
      help: write the path from the repository's root; a name such as `a..b` is fine
    ");
    insta::assert_snapshot!(shown("!*.log"), @r"
    cannot use `!*.log` as a sync pattern (.agentwt/config.toml:7): it begins with `!`, and a sync pattern only selects
      help: to keep files out of a worktree, put `*.log` into `exclude` of the scope; `\!` is a `!` in a name
    ");
    insta::assert_snapshot!(shown(".git/hooks/*"), @r"
    cannot use `.git/hooks/*` as a sync pattern (.agentwt/config.toml:7): it names `.git`, which is git's own and never copied
      help: remove it: each worktree has git's files of its own
    ");
    insta::assert_snapshot!(shown("a[b"), @r"
    cannot use `a[b` as a sync pattern (.agentwt/config.toml:7): it is no glob: unclosed character class; missing ']'
      help: `\` before `*`, `?`, `[`, `{` or `\` makes it stand for itself
    ");
    insta::assert_snapshot!(shown("a\u{1b}[2J\0"), @r"
    cannot use `a\033[2J\000` as a sync pattern (.agentwt/config.toml:7): it has a NUL byte, which no path has
      help: write `?` for any one byte of a name
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
        ("{a/,b}", vec!["a/", "b", "b/"], vec!["a"]),
        ("a{/**,}", vec!["a", "a/b"], vec!["b"]),
        ("x{**}y", vec!["xy", "xay"], vec!["x/y", "xa/y"]),
        ("{a,**}/b", vec!["b", "a/b", "x/y/b"], vec!["a"]),
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

/// Pseudo-random numbers that are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }
}

#[test]
fn the_walk_loses_nothing_that_globset_matches() {
    let pieces = [
        "a", "b", "ab", "*", "**", "?", "/", "/", "/", "[ab]", "[!b]", ".", "{a,b}", "{a/b,}",
        "{*,b}/", "\\*", "a*", "**/", "/**",
    ];
    let names = ["a", "b", "ab", "aab", ".", "ba", ".a", "*", "c"];
    let mut numbers = Numbers(20_261_122);
    let (mut parsed, mut matched) = (0, 0);
    for _ in 0..2000 {
        let glob: String = (0..=numbers.below(5))
            .map(|_| numbers.pick(&pieces))
            .collect();
        let Ok(pattern) = parse(&glob) else { continue };
        parsed += 1;
        for case in [Case::Sensitive, Case::Insensitive] {
            let names: Vec<&str> = (0..=numbers.below(3))
                .map(|_| numbers.pick(&names))
                .filter(|name| *name != ".")
                .collect();
            if names.is_empty() {
                continue;
            }
            let path = names.join("/");
            let globs = pattern
                .alternatives()
                .iter()
                .filter(|one| !one.directories_only);
            let mut globs =
                globs.map(|one| build(&one.glob, case).expect("a glob").compile_matcher());
            // a class of globset's matches a slash too, which is not meant
            let meant = names.len() == 1 || !glob.contains('[');
            let ends = path
                .match_indices('/')
                .map(|(at, _)| at)
                .chain([path.len()]);
            let prefixes: Vec<&str> = ends.map(|end| &path[..end]).collect();
            let by_globset = globs.any(|glob| {
                prefixes
                    .iter()
                    .any(|path| glob.is_match_candidate(&Candidate::from_bytes(path)))
            });
            if pattern
                .alternatives()
                .iter()
                .all(|one| !one.directories_only)
                && meant
            {
                assert_eq!(
                    selects_in(&glob, &path, case),
                    by_globset,
                    "{glob} {path} {case:?}"
                );
                matched += usize::from(by_globset);
            }
        }
    }
    assert!(parsed > 500 && matched > 100, "{parsed} {matched}");
}

/// A regex in which several stars in a row are one.
fn one_star(regex: &str) -> String {
    let mut regex = regex.to_owned();
    while regex.contains("[^/]*[^/]*") {
        regex = regex.replace("[^/]*[^/]*", "[^/]*");
    }
    regex
}

#[test]
fn a_glob_without_braces_means_the_same_to_globset_once_it_is_taken_apart() {
    let mut numbers = Numbers(7);
    let pieces = [
        "a", "*", "**", "?", "/", "/", "[a-c]", "[!a]", "\\?", "\\\\", "\u{e9}", "]", "!", ",",
    ];
    for _ in 0..5000 {
        let glob: String = (0..=numbers.below(6))
            .map(|_| numbers.pick(&pieces))
            .collect();
        let Ok(pattern) = parse(&glob) else { continue };
        let own = &pattern.alternatives()[0].glob;
        let (own, as_written) = (
            build(own, Case::Sensitive),
            build(glob.trim_end_matches('/'), Case::Sensitive),
        );
        let (own, as_written) = (own.expect("a glob"), as_written.expect("a glob"));
        assert_eq!(
            one_star(own.regex()),
            one_star(as_written.regex()),
            "{glob}"
        );
    }
}

#[test]
fn a_walk_goes_only_where_something_can_match() {
    let names = |glob: &str, directory: &str| {
        let patterns = [parse(glob).expect("it is fine")];
        let search = Search::new(&patterns, Case::Sensitive);
        let mut state = search.start();
        let mut path: Option<RepoPath> = None;
        for name in directory.split('/').filter(|name| !name.is_empty()) {
            let next = RepoPath::child(path.as_ref(), name.as_bytes());
            state = search.step(&state, &next, Kind::Directory).below;
            path = Some(next);
        }
        let names = search.names(&state);
        match names {
            None => "all".to_owned(),
            Some(names) => names
                .iter()
                .map(|n| String::from_utf8_lossy(n))
                .collect::<Vec<_>>()
                .join(" "),
        }
    };
    for (glob, directory, looked_at) in [
        ("node_modules/**", "", "node_modules"),
        ("node_modules/**", "node_modules", "all"),
        ("node_modules/**", "src", ""),
        (".env*", "", "all"),
        (".env*", "src", ""),
        ("config/*.json", "", "config"),
        ("config/*.json", "config", "all"),
        ("config/*.json", "config/a", ""),
        ("{a,b/c}/x", "", "a b"),
        ("{a,b/c}/x", "b", "c"),
        ("{a,b/c}/x", "a", "x"),
        ("**/x", "any/thing", "all"),
        (".agentwt/memory/**", ".agentwt", "memory"),
    ] {
        assert_eq!(names(glob, directory), looked_at, "{glob} in {directory}");
    }
}

#[test]
fn the_memory_bank_is_a_pattern() {
    let pattern = Pattern::memory_bank();
    assert_eq!(pattern.text(), ".agentwt/memory/**");
    assert_eq!(pattern.origin(), &PatternOrigin::BuiltIn);
    assert_eq!(pattern.need(), Need::Optional);
}
