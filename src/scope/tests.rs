use RuleList::{Exclude, Read, Write};

use crate::scope::compiled::Scope;
use crate::scope::glob::parse_class;
use crate::scope::reach::{Reach, quote_for_regex};
use crate::scope::rule::{Access, Case, EntryKind, RuleList, RuleOrigin, RuleText, ScopeRule};
use crate::words::entry::Mode;
use crate::words::path::RepoPath;

fn rules(rules: &[(RuleList, &str)]) -> Vec<ScopeRule> {
    rules
        .iter()
        .zip(1..)
        .map(|((list, pattern), line)| {
            let path = "config".to_owned();
            ScopeRule::new(*list, *pattern, RuleOrigin::File { path, line })
        })
        .collect()
}

fn scope(list: &[(RuleList, &str)]) -> Scope {
    Scope::compile(rules(list), Case::Sensitive).expect("the rules are valid")
}

/// Asks for each path, one by one and by one classifier; a path that ends with `/` is a directory.
/// The decider is the origin of the rule, `-` if none.
#[track_caller]
fn assert_verdicts(scope: &Scope, expected: &[(&str, Access, &str)]) {
    let mut classifier = scope.classifier();
    for (path, access, decider) in expected {
        let kind = if path.ends_with('/') {
            EntryKind::Directory
        } else {
            EntryKind::File
        };
        let parsed = RepoPath::parse(path.trim_end_matches('/')).expect("the path is normal");
        let verdict = scope.verdict(&parsed, kind);
        let rule = verdict
            .rule
            .map_or("-".into(), |rule| rule.origin.to_string());
        assert_eq!(
            (verdict.access, rule.as_str()),
            (*access, *decider),
            "{path}"
        );
        assert_eq!(
            classifier.verdict(&parsed, kind),
            verdict,
            "{path} in a stream"
        );
    }
}

#[test]
fn exclude_beats_write_beats_read_whatever_the_order() {
    let list = [
        (Exclude, "*.pem"),
        (Write, "src/**"),
        (Read, "docs/"),
        (Read, "src/"),
    ];
    let expected = [
        ("src/a/key.pem", Access::Excluded, "config:1"),
        ("src/a/lib.rs", Access::Write, "config:2"),
        ("docs/a/b", Access::Read, "config:3"),
        ("docs", Access::Excluded, "-"),
        ("docs/", Access::Read, "config:3"),
        ("src/", Access::Read, "config:4"),
        ("other", Access::Excluded, "-"),
    ];
    assert_verdicts(&scope(&list), &expected);
}

#[test]
fn the_nearest_level_decides_and_in_it_the_last_rule() {
    let list = [
        (Write, "/a"),
        (Write, "*.rs"),
        (Write, "x.rs"),
        (Write, "/a/b"),
        (Write, "/a"),
    ];
    let expected = [
        ("a/b/x.rs", Access::Write, "config:3"),
        ("a/b/y.rs", Access::Write, "config:2"),
        ("a/b/y", Access::Write, "config:4"),
        ("a/y", Access::Write, "config:5"),
    ];
    assert_verdicts(&scope(&list), &expected);
}

#[test]
fn the_memory_bank_is_above_all_lists() {
    let list = [(Write, "**"), (Exclude, "*.md"), (Write, ".agentwt/**")];
    let expected = [
        (".agentwt/memory/a.md", Access::Read, "built-in"),
        (".agentwt/memory/a/b", Access::Read, "built-in"),
        (".agentwt/memory", Access::Excluded, "built-in"),
        (".agentwt/config.toml", Access::Excluded, "built-in"),
        (".agentwt/worktrees/x/a", Access::Excluded, "built-in"),
        (".agentwt", Access::Excluded, "built-in"),
        (".agentwt/", Access::Excluded, "built-in"),
        ("a/.agentwt/x", Access::Write, "config:1"),
        (".agentwt2", Access::Write, "config:1"),
    ];
    assert_verdicts(&scope(&list), &expected);
}

#[test]
fn case_folds_only_where_the_repository_says_so() {
    let list = [(Write, "/Src/"), (Exclude, "*.PEM")];
    let folded = Scope::compile(rules(&list), Case::Insensitive).expect("the rules are valid");
    let expected = [
        ("SRC/a", Access::Write, "config:1"),
        ("src/A.pem", Access::Excluded, "config:2"),
        (".AGENTWT/memory/a", Access::Read, "built-in"),
    ];
    assert_verdicts(&folded, &expected);
    let expected = [
        ("SRC/a", Access::Excluded, "-"),
        ("Src/a", Access::Write, "config:1"),
    ];
    assert_verdicts(&scope(&list), &expected);
}

#[test]
fn a_pattern_is_found_in_every_directory_where_it_can_match() {
    let list = [
        (Write, "a*b"),
        (Write, "*/c/*.rs"),
        (Write, "**/test/*.py"),
        (Write, "/d/e*/f"),
    ];
    let expected = [
        ("x/y/a1b", Access::Write, "config:1"),
        ("x/c/y.rs", Access::Write, "config:2"),
        ("c/y.rs", Access::Excluded, "-"),
        ("test/x.py", Access::Write, "config:3"),
        ("x/test/y.py", Access::Write, "config:3"),
        ("x/test/y/z.py", Access::Excluded, "-"),
        ("d/e1/f", Access::Write, "config:4"),
        ("x/d/e1/f", Access::Excluded, "-"),
    ];
    assert_verdicts(&scope(&list), &expected);
}

#[test]
fn all_mistakes_are_reported_at_once_with_help() {
    let list = [
        (Write, "./src"),
        (Read, "ok"),
        (Exclude, "!a\u{1b}"),
        (Read, "a//b"),
    ];
    let errors = Scope::compile(rules(&list), Case::Sensitive).expect_err("three are invalid");
    let help = miette::Diagnostic::help(&errors).map(|help| help.to_string());
    let help_of_first = miette::Diagnostic::help(&*errors.first).map(|help| help.to_string());
    assert_eq!(help, help_of_first);
    let said: Vec<_> = std::iter::once(&*errors.first)
        .chain(&errors.others)
        .map(|error| {
            use miette::Diagnostic as _;
            let help = error
                .help()
                .map(|help| help.to_string())
                .unwrap_or_default();
            let code = error
                .code()
                .map(|code| code.to_string())
                .unwrap_or_default();
            format!("{code}\n{error}\n{help}")
        })
        .collect();
    assert_eq!(
        said,
        [
            "agentwt::scope::dots\ncannot use `./src` as a write pattern (config:1): it has a `.`, \
             `..` or empty component, which no path in git has\nwrite the path from the \
             repository's root, with one `/` between directories",
            "agentwt::scope::negation\ncannot use `!a\\033` as an exclude pattern (config:3): it \
             begins with `!`, but the list decides, not the order\nput it without the `!` \
             into the list that says what you mean (exclude beats write beats read), or write \
             `\\!` if the name begins with `!`",
            "agentwt::scope::dots\ncannot use `a//b` as a read pattern (config:4): it has a `.`, \
             `..` or empty component, which no path in git has\nwrite the path from the \
             repository's root, with one `/` between directories",
        ]
    );
}

#[test]
fn a_rule_survives_the_record() {
    let origins = [
        RuleOrigin::File {
            path: ".agentwt/config.toml".into(),
            line: 12,
        },
        RuleOrigin::Flag("--write".into()),
        RuleOrigin::Default,
        RuleOrigin::BuiltIn,
    ];
    for origin in origins {
        let rule = ScopeRule::new(RuleList::Write, "a \"b\"\\ ", origin);
        let text = toml::to_string(&rule).expect("a rule is plain data");
        assert_eq!(toml::from_str::<ScopeRule>(&text), Ok(rule), "{text}");
    }
}

#[test]
fn an_excluded_file_is_absent_on_purpose_and_a_read_only_one_is_not() {
    let scope = scope(&[(Exclude, "*.pem"), (Write, "src/**"), (Read, "docs/")]);
    for (path, is_excluded) in [
        ("src/key.pem", true),
        ("src/a", false),
        ("docs/a", false),
        // where something is to be read, all else is not
        ("a", true),
    ] {
        let path = RepoPath::parse(path).expect("the path is normal");
        assert_eq!(scope.excludes_file(&path), is_excluded, "{path}");
    }
}

#[test]
fn a_pattern_reaches_the_directory_that_it_names_or_anywhere() {
    let path = |text: &str| RepoPath::parse(text).expect("the path is normal");
    for (pattern, reach) in [
        ("**", Reach::Everything),
        ("src/**", Reach::Below(path("src"))),
        ("a/b/*", Reach::Below(path("a/b"))),
        ("/src", Reach::Path(path("src"))),
        ("docs/a.md", Reach::Path(path("docs/a.md"))),
        ("/src/", Reach::Directory(path("src"))),
        ("/src /", Reach::Directory(path("src "))),
        ("a/b /", Reach::Directory(path("a/b "))),
        ("docs/*.md", Reach::SomeBelow(path("docs"))),
        ("docs/*/", Reach::SomeBelow(path("docs"))),
        ("*.md", Reach::Anywhere),
        ("Makefile", Reach::Anywhere),
        ("src/", Reach::Anywhere),
        ("/*.md", Reach::Anywhere),
    ] {
        let scope = scope(&[(Write, pattern)]);
        let reaches: Vec<Reach> = scope.reaches(Write).map(|(_, reach)| reach).collect();
        assert_eq!(reaches, [reach], "{pattern}");
    }
}

#[test]
fn a_scope_shows_all_where_everything_is_to_be_read_and_nothing_is_excluded() {
    for (list, shows_all) in [
        (&[(Write, "src/**")][..], false),
        (&[(Read, "docs/")], false),
        (&[(Read, "**")], true),
        (&[(Read, "docs/"), (Read, "**"), (Write, "src/**")], true),
        (&[(Read, "**"), (Exclude, "*.pem")], false),
    ] {
        assert_eq!(scope(list).shows_all(), shows_all, "{list:?}");
    }
}

/// Each level must take the same time, however deep it is: an index can name such a path.
#[test]
fn a_path_of_very_many_directories_is_judged_as_any_other() {
    let list = [
        (Read, "**"),
        (Exclude, "**/secrets/*.pem"),
        (Write, "src/**"),
    ];
    let scope = scope(&list);
    let deep = "d/".repeat(20_000);
    for (path, access) in [
        (format!("{deep}key.pem"), Access::Read),
        (format!("secrets/{deep}key.pem"), Access::Read),
        (format!("{deep}secrets/key.pem"), Access::Excluded),
        (format!("src/{deep}key.rs"), Access::Write),
    ] {
        let parsed = RepoPath::parse(path).expect("the path is normal");
        assert_eq!(scope.verdict(&parsed, EntryKind::File).access, access);
    }
}

/// The bytes of these texts, in order.
fn sorted(texts: &[&str]) -> Vec<u8> {
    let mut bytes = texts.concat().into_bytes();
    bytes.sort_unstable();
    bytes
}

#[test]
fn a_named_class_has_the_bytes_that_git_gives_it() {
    let digit = "0123456789";
    let lower = "abcdefghijklmnopqrstuvwxyz";
    let upper = lower.to_ascii_uppercase();
    // without `/`, which no class has
    let punct = r##"!"#$%&'()*+,-.:;<=>?@[\]^_`{|}~"##;
    for (name, expected) in [
        ("alnum", sorted(&[digit, lower, &upper])),
        ("alpha", sorted(&[lower, &upper])),
        ("blank", sorted(&["\t "])),
        ("cntrl", (1..0x20).chain([0x7f]).collect()),
        ("digit", sorted(&[digit])),
        ("graph", sorted(&[digit, lower, &upper, punct])),
        ("lower", sorted(&[lower])),
        ("print", sorted(&[" ", digit, lower, &upper, punct])),
        ("punct", sorted(&[punct])),
        // neither a vertical tab nor a form feed
        ("space", sorted(&["\t\n\r "])),
        ("upper", sorted(&[&upper])),
        ("xdigit", sorted(&[digit, "ABCDEFabcdef"])),
    ] {
        let text = format!("[:{name}:]]");
        let (set, _) = parse_class(text.as_bytes(), Case::Sensitive).expect("it is known");
        let members: Vec<u8> = (0..=u8::MAX).filter(|b| set[usize::from(*b)]).collect();
        assert_eq!(members, expected, "{name}");
    }
}

#[test]
fn a_pattern_is_a_regular_expression_of_what_it_covers() {
    for (pattern, case, expected) in [
        ("**", Case::Sensitive, "(.*/)?.*(/.*)?"),
        ("src/**", Case::Sensitive, "src/.*(/.*)?"),
        ("*.md", Case::Sensitive, r"(.*/)?[^/]*\.md(/.*)?"),
        ("a/**/b?", Case::Sensitive, "a/(.*/)?b[^/](/.*)?"),
        ("/src/", Case::Sensitive, "src/.*"),
        ("/aB1", Case::Insensitive, "[aA][bB]1(/.*)?"),
        (r"/a\*$", Case::Insensitive, r"[aA]\*\$(/.*)?"),
        ("/[ab]", Case::Sensitive, "[ab](/.*)?"),
        ("/[a-ce]", Case::Sensitive, "[a-ce](/.*)?"),
        ("/[a-c]", Case::Insensitive, "[A-Ca-c](/.*)?"),
        ("/[!a]", Case::Sensitive, "[^/a](/.*)?"),
        // `]` first, `-` and `^` where they stand for themselves
        ("/[]a]", Case::Sensitive, "[]a](/.*)?"),
        ("/[a^]", Case::Sensitive, "[a^](/.*)?"),
        ("/[a-]", Case::Sensitive, "[a-](/.*)?"),
        (r"/[\^-]", Case::Sensitive, "[-^](/.*)?"),
        (r"/[a\^-]", Case::Sensitive, "[a^-](/.*)?"),
        (r"/[\^]", Case::Sensitive, r"\^(/.*)?"),
        ("/[!^]", Case::Sensitive, "[^/^](/.*)?"),
    ] {
        let scope = Scope::compile(rules(&[(Write, pattern)]), case).expect("it is valid");
        let regexes: Vec<String> = scope.regexes(Write).collect();
        assert_eq!(regexes, [expected], "{pattern}");
    }
    // git holds `[é]` against single bytes: no UTF-8 path has these, and `[!é]` matches ASCII alone
    let scope = Scope::compile(rules(&[(Write, "/[é]"), (Write, "/[!é]")]), Case::Sensitive);
    let regexes: Vec<String> = scope.expect("it is valid").regexes(Write).collect();
    let [regex] = regexes.as_slice() else {
        panic!("one is expected: {regexes:?}");
    };
    assert!(
        regex.starts_with("[]\u{1}-,") && !regex.contains('é'),
        "{regex}"
    );
    // where letters do not count, git folds the path alone, so that these match nothing
    for pattern in ["/[A]", "/x[AB]y", r"/\A"] {
        let scope = Scope::compile(rules(&[(Write, pattern)]), Case::Insensitive);
        let regexes: Vec<String> = scope.expect("it is valid").regexes(Write).collect();
        assert!(regexes.is_empty(), "{pattern}: {regexes:?}");
    }
    assert_eq!(quote_for_regex("a.b(C)"), r"a\.b\(C\)");
}

#[test]
fn the_words_of_a_scope_are_those_of_a_record() {
    for (list, access, word) in [
        (Exclude, Access::Excluded, "excluded"),
        (Read, Access::Read, "read"),
        (Write, Access::Write, "write"),
    ] {
        assert_eq!(Access::from(list), access);
        assert_eq!(access.to_string(), word);
    }
    for (mode, kind) in [
        (Mode::File, EntryKind::File),
        (Mode::Link, EntryKind::File),
        (Mode::Gitlink, EntryKind::Directory),
    ] {
        assert_eq!(EntryKind::of(mode), kind);
    }
    assert_eq!(Case::of(true), Case::Insensitive);
    assert_eq!(Case::of(false), Case::Sensitive);
    let rule = ScopeRule::new(Read, "a\u{1b}", RuleOrigin::Default);
    assert_eq!(RuleText::from(&rule).text(), r"read a\033 (default)");
}
