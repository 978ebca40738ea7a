//! Shows what a person reads for each mistake, and what a program reads from a good file.

use insta::assert_snapshot;
use miette::{GraphicalReportHandler, GraphicalTheme};

use super::*;

/// Renders an error as a terminal of 80 columns without colours shows it.
#[must_use]
#[track_caller]
pub(super) fn rendered(error: &ConfigError) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(80)
        .render_report(&mut out, error)
        .expect("every span lies in the text");
    let lines: Vec<_> = out.lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[track_caller]
fn error_of(text: &str) -> ConfigError {
    Config::parse(CONFIG_PATH, text).expect_err("the text has a mistake")
}

/// The error of a file that is good but for these lines.
#[track_caller]
fn shown(lines: &str) -> String {
    rendered(&error_of(&format!("schema_version = \"1.0\"\n{lines}\n")))
}

#[track_caller]
fn kinds(text: &str) -> Vec<(MistakeKind, u32)> {
    let error = error_of(text);
    let place = |m: &Mistake| m.place.as_ref().map_or(0, |place| place.line);
    error
        .mistakes()
        .iter()
        .map(|m| (m.kind, place(m)))
        .collect()
}

const PRODUCT_PAGE: &str = r#"
schema_version = "1.0"

[worktree]
base = "main"
branch_prefix = "agentwt/"
strategy = "worktree"
client = "claude-code"
on_violation = "report"

[worktree.file_sync]
enabled = true
patterns = [".env*", "config/local.json"]
optional_patterns = []
max_file_size_mb = 100
max_total_size_mb = 500

[scope.default]
read    = ["**"]
write   = ["src/**", "tests/**", "/package.json"]
exclude = ["**/secrets/**", "**/*.pem", ".git/**"]

[scope.docs]
write   = ["docs/**", "*.md"]
"#;

#[test]
fn the_config_of_the_product_page_is_read_with_its_lines() {
    let config = Config::parse(CONFIG_PATH, PRODUCT_PAGE).expect("it is valid");
    let base = config.worktree.base.expect("it is set");
    assert_eq!((base.value.as_str(), base.line), ("main", 5));
    assert_eq!(&PRODUCT_PAGE[base.span], "\"main\"");
    let client = config.worktree.client.map(|client| client.value);
    assert_eq!(client, Client::parse("claude-code"));
    assert_eq!(config.file_sync.max_file_bytes(), 104_857_600);
    assert_eq!(config.file_sync.patterns[1].value, "config/local.json");
    let docs = &config.scopes["docs"];
    assert_eq!((docs.line, &docs.read, &docs.exclude), (23, &None, &None));
    let default = &config.scopes["default"];
    let write = default.write.as_ref().expect("it is set");
    let values: Vec<_> = write.iter().map(|w| (w.value.as_str(), w.line)).collect();
    let expected = [("src/**", 20), ("tests/**", 20), ("/package.json", 20)];
    assert_eq!(values, expected);
}

#[test]
fn what_the_file_does_not_say_stays_unsaid() {
    let config = Config::parse(CONFIG_PATH, "schema_version = \"1.0\"").expect("it is valid");
    assert_eq!(config, Config::default());
    let text = "schema_version = \"1.0\"\n[scope.a]\nwrite = []";
    let config = Config::parse(CONFIG_PATH, text).expect("it is valid");
    assert_eq!(config.scopes["a"].write, Some(vec![]), "empty is said");
    assert_eq!(config.scopes["a"].read, None, "absent is not");
}

#[test]
fn every_bad_sync_pattern_is_shown_with_the_other_mistakes() {
    assert_snapshot!(shown(
        "[worktree.file_sync]
patterns = [\".env*\", \"../secrets\", \"**/{a,./b}\"]
optional_patterns = [
  \"~/.aws/*\",
  \"/etc/hosts\",
]
max_file_size_mb = -1
max_total_size_mb = 17592186044416"
    ), @r#"
    agentwt::config::several

      × cannot read .agentwt/config.toml: 6 mistakes

    Error: agentwt::config::sync_pattern

      × bad sync pattern `../secrets` in [worktree.file_sync]: it has a `..`
      │ component, with which it could leave the repository
       ╭─[.agentwt/config.toml:3:22]
     2 │ [worktree.file_sync]
     3 │ patterns = [".env*", "../secrets", "**/{a,./b}"]
       ·                      ──────┬─────
       ·                            ╰── not a sync pattern
     4 │ optional_patterns = [
       ╰────
      help: write the path from the repository's root; a name such as `a..b` is
            fine

    Error: agentwt::config::sync_pattern

      × bad sync pattern `**/{a,./b}` in [worktree.file_sync]: it has a `.`
      │ component, which no path has
       ╭─[.agentwt/config.toml:3:36]
     2 │ [worktree.file_sync]
     3 │ patterns = [".env*", "../secrets", "**/{a,./b}"]
       ·                                    ──────┬─────
       ·                                          ╰── not a sync pattern
     4 │ optional_patterns = [
       ╰────
      help: write the path from the repository's root

    Error: agentwt::config::sync_pattern

      × bad sync pattern `~/.aws/*` in [worktree.file_sync]: it begins with `~`,
      │ and files outside the repository are not synced
       ╭─[.agentwt/config.toml:5:3]
     4 │ optional_patterns = [
     5 │   "~/.aws/*",
       ·   ─────┬────
       ·        ╰── not a sync pattern
     6 │   "/etc/hosts",
       ╰────
      help: write the path from the repository's root

    Error: agentwt::config::sync_pattern

      × bad sync pattern `/etc/hosts` in [worktree.file_sync]: it begins with `/`,
      │ and files outside the repository are not synced
       ╭─[.agentwt/config.toml:6:3]
     5 │   "~/.aws/*",
     6 │   "/etc/hosts",
       ·   ──────┬─────
       ·         ╰── not a sync pattern
     7 │ ]
       ╰────
      help: write the path from the repository's root: `etc/hosts`

    Error: agentwt::config::limit

      × `max_file_size_mb` in [worktree.file_sync] is -1, not a positive number of
      │ megabytes
       ╭─[.agentwt/config.toml:8:20]
     7 │ ]
     8 │ max_file_size_mb = -1
       ·                    ─┬
       ·                     ╰── not a limit
     9 │ max_total_size_mb = 17592186044416
       ╰────
      help: write 1 to 17592186044415, for example `max_file_size_mb = 100`

    Error: agentwt::config::limit

      × `max_total_size_mb` in [worktree.file_sync] is 17592186044416, not a
      │ positive number of megabytes
       ╭─[.agentwt/config.toml:9:21]
     8 │ max_file_size_mb = -1
     9 │ max_total_size_mb = 17592186044416
       ·                     ───────┬──────
       ·                            ╰── not a limit
       ╰────
      help: write 1 to 17592186044415, for example `max_total_size_mb = 500`
    "#);
    assert_snapshot!(shown("[worktree.file_sync]\npatterns = [\"a[b\"]"), @r#"
    agentwt::config::sync_pattern

      × cannot read .agentwt/config.toml: bad sync pattern `a[b` in
      │ [worktree.file_sync]: it is no glob: unclosed character class; missing ']'
       ╭─[.agentwt/config.toml:3:13]
     2 │ [worktree.file_sync]
     3 │ patterns = ["a[b"]
       ·             ──┬──
       ·               ╰── not a sync pattern
       ╰────
      help: `\` before `*`, `?`, `[`, `{` or `\` makes it stand for itself
    "#);
    assert_snapshot!(shown("[worktree.file_sync]\npatterns = [\".git/hooks/*\"]"), @r#"
    agentwt::config::sync_pattern

      × cannot read .agentwt/config.toml: bad sync pattern `.git/hooks/*` in
      │ [worktree.file_sync]: it names `.git`, which is git's own and never copied
       ╭─[.agentwt/config.toml:3:13]
     2 │ [worktree.file_sync]
     3 │ patterns = [".git/hooks/*"]
       ·             ───────┬──────
       ·                    ╰── not a sync pattern
       ╰────
      help: remove it: each worktree has git's files of its own
    "#);
}

#[test]
fn each_sync_pattern_that_could_leave_the_repository_is_a_mistake() {
    for (written, reason) in [
        ("../x", "`..` component"),
        ("a/../../x", "`..` component"),
        ("{..,a}/x", "`..` component"),
        ("{a,../b}", "`..` component"),
        ("{a,.{.,x}}/y", "`..` component"),
        ("\\\\.\\\\./x", "`..` component"),
        ("[.][.]/x", "`..` component"),
        ("/etc/x", "begins with `/`"),
        ("{,a}/x", "begins with `/`"),
        ("~/x", "begins with `~`"),
        ("~root/x", "begins with `~`"),
        ("", "is empty"),
        ("a\\u0000b", "NUL"),
        ("./x", "`.` component"),
        ("a//b", "empty component"),
        ("!x", "begins with `!`"),
        (".git/config", "names `.git`"),
        (".agentwt/config.toml", "only `memory`"),
        ("[a/b]", "a `/` stands"),
        ("{a", "unclosed alternate group"),
    ] {
        for key in ["patterns", "optional_patterns"] {
            let text = format!(
                "schema_version = \"1.0\"\n[worktree.file_sync]\n{key} = [\"ok\", \"{written}\"]\n"
            );
            let error = error_of(&text);
            let [mistake] = error.mistakes() else {
                panic!("{written}: {error:?}");
            };
            assert_eq!(mistake.kind, MistakeKind::SyncPattern, "{written}");
            assert!(mistake.message.contains(reason), "{written}: {mistake}");
            let place = mistake.place.as_ref().expect("it has a place");
            let underlined = &text[place.span.offset()..place.span.offset() + place.span.len()];
            assert_eq!(underlined, format!("\"{written}\""));
        }
    }
    let long = format!(
        "schema_version = \"1.0\"\n[worktree.file_sync]\npatterns = [\"{}\"]",
        "a".repeat(4097)
    );
    assert!(error_of(&long).to_string().len() < 500, "it is shortened");
}

#[test]
fn a_limit_is_a_positive_number_that_can_be_counted_in_bytes() {
    for (written, ok) in [
        ("1", true),
        ("100", true),
        ("0x10", true),
        ("17592186044415", true),
        ("17592186044416", false),
        ("9223372036854775807", false),
        ("18446744073709551616", false),
        ("0", false),
        ("-1", false),
        ("-0", false),
    ] {
        for key in ["max_file_size_mb", "max_total_size_mb"] {
            let text =
                format!("schema_version = \"1.0\"\n[worktree.file_sync]\n{key} = {written}\n");
            let read = Config::parse(CONFIG_PATH, &text);
            assert_eq!(read.is_ok(), ok, "{key} = {written}: {read:?}");
        }
    }
}

#[test]
fn every_way_to_write_a_table_is_read() {
    for text in [
        "scope.default.write = [\"a\"]",
        "scope = { default = { write = [\"a\"] } }",
        "[scope]\ndefault.write = [\"a\"]",
        "[scope.\"default\"]\nwrite = ['a']",
    ] {
        let text = format!("schema_version = '1.0'\n{text}");
        let config = Config::parse(CONFIG_PATH, &text).expect("it is valid");
        let write = config.scopes["default"].write.as_ref();
        assert_eq!(write.map(|w| w[0].value.as_str()), Some("a"), "{text}");
    }
}

#[test]
fn a_missing_schema_version_is_shown_in_the_first_line() {
    assert_snapshot!(rendered(&error_of("[scope.default]\nwrite = []\n")), @r#"
    agentwt::config::missing_schema_version

      × cannot read .agentwt/config.toml: `schema_version` is missing
       ╭─[.agentwt/config.toml:1:1]
     1 │ [scope.default]
       · ▲
       · ╰── it belongs here
     2 │ write = []
       ╰────
      help: write `schema_version = "1.0"` in the first line
    "#);
    assert_snapshot!(rendered(&error_of("")), @r#"
    agentwt::config::missing_schema_version

      × cannot read .agentwt/config.toml: `schema_version` is missing
       ╭─[.agentwt/config.toml:1:1]
       ╰────
      help: write `schema_version = "1.0"` in the first line
    "#);
}

#[test]
fn another_schema_version_is_refused() {
    assert_snapshot!(rendered(&error_of("schema_version = \"2.0\"\n")), @r#"
    agentwt::config::schema_version

      × cannot read .agentwt/config.toml: `schema_version` is `2.0`, which this
      │ program does not read
       ╭─[.agentwt/config.toml:1:18]
     1 │ schema_version = "2.0"
       ·                  ──┬──
       ·                    ╰── not supported
       ╰────
      help: write `schema_version = "1.0"`
    "#);
    assert_snapshot!(rendered(&error_of("schema_version = 1.0\n")), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `schema_version` at the top level is a
      │ fraction, not a string
       ╭─[.agentwt/config.toml:1:18]
     1 │ schema_version = 1.0
       ·                  ─┬─
       ·                   ╰── a fraction
       ╰────
      help: write for example `schema_version = "1.0"`
    "#);
}

#[test]
fn a_misspelt_schema_version_is_one_mistake() {
    assert_snapshot!(rendered(&error_of("shema_version = \"1.0\"\n")), @r#"
    agentwt::config::unknown_key

      × cannot read .agentwt/config.toml: unknown key `shema_version` at the top
      │ level
       ╭─[.agentwt/config.toml:1:1]
     1 │ shema_version = "1.0"
       · ──────┬──────
       ·       ╰── no such key
       ╰────
      help: did you mean `schema_version`? the keys at the top level are
            `schema_version`, `worktree` and `scope`
    "#);
}

#[test]
fn an_unknown_key_is_shown_with_the_nearest_one() {
    assert_snapshot!(shown("[scope.docs]\nwirte = [\"docs/**\"]"), @r#"
    agentwt::config::unknown_key

      × cannot read .agentwt/config.toml: unknown key `wirte` in [scope.docs]
       ╭─[.agentwt/config.toml:3:1]
     2 │ [scope.docs]
     3 │ wirte = ["docs/**"]
       · ──┬──
       ·   ╰── no such key
       ╰────
      help: did you mean `write`? the keys in [scope.docs] are `read`, `write` and
            `exclude`
    "#);
}

#[test]
fn a_key_in_the_wrong_table_is_told_its_home() {
    assert_snapshot!(shown("[worktree]\npatterns = [\".env\"]"), @r#"
    agentwt::config::unknown_key

      × cannot read .agentwt/config.toml: unknown key `patterns` in [worktree]
       ╭─[.agentwt/config.toml:3:1]
     2 │ [worktree]
     3 │ patterns = [".env"]
       · ────┬───
       ·     ╰── no such key
       ╰────
      help: `patterns` belongs in [worktree.file_sync]; the keys in [worktree] are
            `base`, `branch_prefix`, `strategy`, `client`, `on_violation` and
            `file_sync`
    "#);
    assert_snapshot!(shown("[scope.default]\nclient = \"codex\""), @r#"
    agentwt::config::unknown_key

      × cannot read .agentwt/config.toml: unknown key `client` in [scope.default]
       ╭─[.agentwt/config.toml:3:1]
     2 │ [scope.default]
     3 │ client = "codex"
       · ───┬──
       ·    ╰── no such key
       ╰────
      help: `client` belongs in [worktree]; the keys in [scope.default] are
            `read`, `write` and `exclude`
    "#);
    assert_snapshot!(shown("[file_sync]\nenabled = true"), @r#"
    agentwt::config::unknown_key

      × cannot read .agentwt/config.toml: unknown key `file_sync` at the top level
       ╭─[.agentwt/config.toml:2:2]
     1 │ schema_version = "1.0"
     2 │ [file_sync]
       ·  ────┬────
       ·      ╰── no such key
     3 │ enabled = true
       ╰────
      help: write `[worktree.file_sync]`; the keys at the top level are
            `schema_version`, `worktree` and `scope`
    "#);
}

#[test]
fn a_key_like_no_other_is_told_the_keys_there_are() {
    assert_snapshot!(shown("[worktree.file_sync]\nfrobnicate = 1"), @r#"
    agentwt::config::unknown_key

      × cannot read .agentwt/config.toml: unknown key `frobnicate` in
      │ [worktree.file_sync]
       ╭─[.agentwt/config.toml:3:1]
     2 │ [worktree.file_sync]
     3 │ frobnicate = 1
       · ─────┬────
       ·      ╰── no such key
       ╰────
      help: the keys in [worktree.file_sync] are `enabled`, `patterns`,
            `optional_patterns`, `max_file_size_mb` and `max_total_size_mb`
    "#);
}

#[test]
fn a_wrong_type_is_shown_with_what_to_write() {
    assert_snapshot!(shown("[scope.default]\nwrite = \"src/**\""), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `write` in [scope.default] is a string,
      │ not a list of strings
       ╭─[.agentwt/config.toml:3:9]
     2 │ [scope.default]
     3 │ write = "src/**"
       ·         ────┬───
       ·             ╰── a string
       ╰────
      help: write `write = ["src/**"]`
    "#);
    assert_snapshot!(shown("[scope.default]\nread = [\"**\", 3]"), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: an entry of `read` in [scope.default] is
      │ a whole number, not a string
       ╭─[.agentwt/config.toml:3:15]
     2 │ [scope.default]
     3 │ read = ["**", 3]
       ·               ┬
       ·               ╰── a whole number
       ╰────
      help: write for example `read = ["**"]`
    "#);
    assert_snapshot!(shown("[worktree]\nbase = 1979-05-27"), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `base` in [worktree] is a date or time,
      │ not a string
       ╭─[.agentwt/config.toml:3:8]
     2 │ [worktree]
     3 │ base = 1979-05-27
       ·        ─────┬────
       ·             ╰── a date or time
       ╰────
      help: write for example `base = "main"`
    "#);
    assert_snapshot!(shown("[worktree.file_sync]\nenabled = \"yes\""), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `enabled` in [worktree.file_sync] is a
      │ string, not `true` or `false`
       ╭─[.agentwt/config.toml:3:11]
     2 │ [worktree.file_sync]
     3 │ enabled = "yes"
       ·           ──┬──
       ·             ╰── a string
       ╰────
      help: write for example `enabled = true`
    "#);
    assert_snapshot!(shown("[worktree.file_sync]\nmax_file_size_mb = 0.5"), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `max_file_size_mb` in
      │ [worktree.file_sync] is a fraction, not a whole number
       ╭─[.agentwt/config.toml:3:20]
     2 │ [worktree.file_sync]
     3 │ max_file_size_mb = 0.5
       ·                    ─┬─
       ·                     ╰── a fraction
       ╰────
      help: write for example `max_file_size_mb = 100`
    "#);
    assert_snapshot!(shown("worktree = []"), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `worktree` at the top level is a list,
      │ not a table
       ╭─[.agentwt/config.toml:2:12]
     1 │ schema_version = "1.0"
     2 │ worktree = []
       ·            ─┬
       ·             ╰── a list
       ╰────
      help: write for example `[worktree]`
    "#);
    assert_snapshot!(shown("[[scope.default]]\nwrite = []"), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `default` in [scope] is a list, not a
      │ table
       ╭─[.agentwt/config.toml:2:1]
     1 │ schema_version = "1.0"
     2 │ [[scope.default]]
       · ────────┬────────
       ·         ╰── a list
     3 │ write = []
       ╰────
      help: write `[scope.default]` and its lists below it
    "#);
    assert_snapshot!(shown("[scope]\nwrite = [\"src/**\"]"), @r#"
    agentwt::config::wrong_type

      × cannot read .agentwt/config.toml: `write` in [scope] is a list, not a
      │ table
       ╭─[.agentwt/config.toml:3:9]
     2 │ [scope]
     3 │ write = ["src/**"]
       ·         ─────┬────
       ·              ╰── a list
       ╰────
      help: `write` belongs in a profile: write `[scope.default]` above it
    "#);
}

#[test]
fn a_limit_that_is_not_positive_is_refused() {
    assert_snapshot!(shown("[worktree.file_sync]\nmax_file_size_mb = 0"), @r#"
    agentwt::config::limit

      × cannot read .agentwt/config.toml: `max_file_size_mb` in
      │ [worktree.file_sync] is 0, not a positive number of megabytes
       ╭─[.agentwt/config.toml:3:20]
     2 │ [worktree.file_sync]
     3 │ max_file_size_mb = 0
       ·                    ┬
       ·                    ╰── not a limit
       ╰────
      help: write 1 to 17592186044415, for example `max_file_size_mb = 100`
    "#);
    for (limit, good) in [
        ("1", true),
        ("+1_000", true),
        ("0x10", true),
        ("17592186044415", true),
        ("17592186044416", false),
        ("-5", false),
        ("99999999999999999999999", false),
    ] {
        let text =
            format!("schema_version = \"1.0\"\n[worktree.file_sync]\nmax_total_size_mb = {limit}");
        let config = Config::parse(CONFIG_PATH, &text);
        assert_eq!(config.is_ok(), good, "{limit}");
    }
}

#[test]
fn an_unknown_word_is_shown_with_the_words_there_are() {
    assert_snapshot!(shown("[worktree]\nstrategy = \"Clone\""), @r#"
    agentwt::config::unknown_value

      × cannot read .agentwt/config.toml: unknown strategy `Clone` in [worktree]
       ╭─[.agentwt/config.toml:3:12]
     2 │ [worktree]
     3 │ strategy = "Clone"
       ·            ───┬───
       ·               ╰── not one of the values
       ╰────
      help: did you mean `clone`? write `worktree` or `clone`
    "#);
    assert_snapshot!(shown("[worktree]\nclient = \"claude\""), @r#"
    agentwt::config::unknown_value

      × cannot read .agentwt/config.toml: unknown client `claude` in [worktree]
       ╭─[.agentwt/config.toml:3:10]
     2 │ [worktree]
     3 │ client = "claude"
       ·          ────┬───
       ·              ╰── not one of the values
       ╰────
      help: did you mean `claude-code`? write `claude-code`, `codex`, `gemini`,
            `aider`, `opencode` or `none`
    "#);
    assert_snapshot!(shown("[worktree]\non_violation = \"explode\""), @r#"
    agentwt::config::unknown_value

      × cannot read .agentwt/config.toml: unknown `on_violation` `explode` in
      │ [worktree]
       ╭─[.agentwt/config.toml:3:16]
     2 │ [worktree]
     3 │ on_violation = "explode"
       ·                ────┬────
       ·                    ╰── not one of the values
       ╰────
      help: write `report` or `block`
    "#);
}

#[test]
fn an_empty_base_is_refused() {
    assert_snapshot!(shown("[worktree]\nbase = \"\""), @r#"
    agentwt::config::empty_value

      × cannot read .agentwt/config.toml: empty base in [worktree]
       ╭─[.agentwt/config.toml:3:8]
     2 │ [worktree]
     3 │ base = ""
       ·        ─┬
       ·         ╰── empty
       ╰────
      help: write a branch, tag or commit
    "#);
}

#[test]
fn a_prefix_that_git_would_refuse_is_shown_with_the_rule() {
    assert_snapshot!(shown("[worktree]\nbranch_prefix = \"my agents/\""), @r#"
    agentwt::config::branch_prefix

      × cannot read .agentwt/config.toml: bad branch prefix `my agents/` in
      │ [worktree]: a branch name has no spaces or control characters
       ╭─[.agentwt/config.toml:3:17]
     2 │ [worktree]
     3 │ branch_prefix = "my agents/"
       ·                 ──────┬─────
       ·                       ╰── git would refuse the branch
       ╰────
      help: write a prefix like `agentwt/`, or an empty one
    "#);
    let text = "schema_version = \"1.0\"\n[worktree]\nbranch_prefix = \"\"";
    assert!(
        Config::parse(CONFIG_PATH, text).is_ok(),
        "no prefix is fine"
    );
}

#[test]
fn a_profile_without_a_name_is_refused() {
    assert_snapshot!(shown("[scope.\"\"]\nwrite = []"), @r#"
    agentwt::config::profile_name

      × cannot read .agentwt/config.toml: bad profile name `` in [scope]: a scope
      │ profile needs a name
       ╭─[.agentwt/config.toml:2:8]
     1 │ schema_version = "1.0"
     2 │ [scope.""]
       ·        ─┬
       ·         ╰── not a name
     3 │ write = []
       ╰────
      help: write for example `[scope.docs]`
    "#);
}

#[test]
fn a_syntax_error_is_shown_alone() {
    assert_snapshot!(shown("[scope.default]\nwrite = [src/**]\nnonsense = 1"), @r#"
    agentwt::config::syntax

      × cannot read .agentwt/config.toml: not TOML: string values must be quoted
       ╭─[.agentwt/config.toml:3:10]
     2 │ [scope.default]
     3 │ write = [src/**]
       ·          ───┬──
       ·             ╰── here
     4 │ nonsense = 1
       ╰────
      help: write "src/**" if it is a text
    "#);
    assert_snapshot!(shown("[worktree]\nbase = \"main\nstrategy = 3"), @r#"
    agentwt::config::syntax

      × cannot read .agentwt/config.toml: not TOML: invalid basic string
       ╭─[.agentwt/config.toml:3:13]
     2 │ [worktree]
     3 │ base = "main
       ·             ▲
       ·             ╰── here
     4 │ strategy = 3
       ╰────
      help: TOML expects here: `"`
    "#);
    assert_snapshot!(shown("[worktree"), @r#"
    agentwt::config::syntax

      × cannot read .agentwt/config.toml: not TOML: unclosed table
       ╭─[.agentwt/config.toml:2:10]
     1 │ schema_version = "1.0"
     2 │ [worktree
       ·          ▲
       ·          ╰── here
       ╰────
      help: TOML expects here: `]`
    "#);
}

#[test]
fn a_key_that_is_set_twice_does_not_hide_other_mistakes() {
    assert_snapshot!(shown("[worktree]\nbase = \"a\"\nbase = \"b\"\nbas = 1\n[worktree]"), @r#"
    agentwt::config::several

      × cannot read .agentwt/config.toml: 3 mistakes

    Error: agentwt::config::duplicate_key

      × `base` is set twice
       ╭─[.agentwt/config.toml:4:1]
     3 │ base = "a"
     4 │ base = "b"
       · ──┬─
       ·   ╰── again here
     5 │ bas = 1
       ╰────
      help: keep one of the two

    Error: agentwt::config::unknown_key

      × unknown key `bas` in [worktree]
       ╭─[.agentwt/config.toml:5:1]
     4 │ base = "b"
     5 │ bas = 1
       · ─┬─
       ·  ╰── no such key
     6 │ [worktree]
       ╰────
      help: did you mean `base`? the keys in [worktree] are `base`,
            `branch_prefix`, `strategy`, `client`, `on_violation` and `file_sync`

    Error: agentwt::config::duplicate_key

      × `worktree` is set twice
       ╭─[.agentwt/config.toml:6:2]
     5 │ bas = 1
     6 │ [worktree]
       ·  ────┬───
       ·      ╰── again here
       ╰────
      help: keep one of the two
    "#);
}

#[test]
fn all_mistakes_come_in_one_run_in_the_order_of_the_file() {
    let text = "[worktree]\nstrategy = \"clon\"\nbase = 1\n[scope.b]\nwrit = []\n[scope.a]\nread = 1\n[worktree.file_sync]\nmax_file_size_mb = -1\nenabled = 1\n[x]";
    let expected = [
        (MistakeKind::MissingSchemaVersion, 1),
        (MistakeKind::UnknownValue, 2),
        (MistakeKind::WrongType, 3),
        (MistakeKind::UnknownKey, 5),
        (MistakeKind::WrongType, 7),
        (MistakeKind::Limit, 9),
        (MistakeKind::WrongType, 10),
        (MistakeKind::UnknownKey, 11),
    ];
    assert_eq!(kinds(text), expected);
}

#[test]
fn several_mistakes_are_counted_and_each_is_shown() {
    assert_snapshot!(shown("[worktree]\nstrategy = \"clon\"\n\n[scope.default]\nwrit = []"), @r#"
    agentwt::config::several

      × cannot read .agentwt/config.toml: 2 mistakes

    Error: agentwt::config::unknown_value

      × unknown strategy `clon` in [worktree]
       ╭─[.agentwt/config.toml:3:12]
     2 │ [worktree]
     3 │ strategy = "clon"
       ·            ───┬──
       ·               ╰── not one of the values
     4 │
       ╰────
      help: did you mean `clone`? write `worktree` or `clone`

    Error: agentwt::config::unknown_key

      × unknown key `writ` in [scope.default]
       ╭─[.agentwt/config.toml:6:1]
     5 │ [scope.default]
     6 │ writ = []
       · ──┬─
       ·   ╰── no such key
       ╰────
      help: did you mean `write`? the keys in [scope.default] are `read`, `write`
            and `exclude`
    "#);
}

#[test]
fn line_ends_marks_and_tabs_do_not_move_the_underline() {
    let text = "\u{feff}schema_version = \"1.0\"\r\n# caf\u{e9} \u{4f60}\u{597d}\r\n[worktree]\r\n\tstrategy = \"cl\u{f6}ne\"\t# \u{4f60}\r\n";
    assert_snapshot!(rendered(&error_of(text)), @r#"
    agentwt::config::unknown_value

      × cannot read .agentwt/config.toml: unknown strategy `clöne` in [worktree]
       ╭─[.agentwt/config.toml:4:13]
     3 │ [worktree]
     4 │     strategy = "clöne"  # 你
       ·                ───┬───
       ·                   ╰── not one of the values
       ╰────
      help: did you mean `clone`? write `worktree` or `clone`
    "#);
    assert_eq!(kinds(text), [(MistakeKind::UnknownValue, 4)]);
    let text = "\u{feff}schema_version = \"1.0\"\r\n[scope.a]\r\nwrite = [\r\n  \"\u{4f60}\",\r\n  \"b\",\r\n]\r\n";
    let config = Config::parse(CONFIG_PATH, text).expect("it is valid");
    let write = config.scopes["a"].write.as_ref().expect("it is set");
    assert_eq!((write[0].line, write[1].line), (4, 5));
    assert_eq!(&text[3..][write[1].span.clone()], "\"b\"");
}

#[test]
fn nothing_in_the_file_can_act_on_the_terminal() {
    let text = "schema_version = \"1.0\"\n[worktree]\nstrategy = \"\\u001b[31m\u{9b}\u{202e}\" # \u{1b}]0;x\u{7}";
    let shown = rendered(&error_of(text));
    assert!(
        !shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}']),
        "{shown}"
    );
    let shown = self::shown("[scope.\"\u{202e}\"]\nwrite = \"\\u001b\u{9b}\u{202e}\"");
    assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown}");
    let text = "schema_version = \"1.0\"\n\"a\\u001b\\n\" = 1\n";
    assert_snapshot!(rendered(&error_of(text)), @r#"
    agentwt::config::unknown_key

      × cannot read .agentwt/config.toml: unknown key `a\033\012` at the top level
       ╭─[.agentwt/config.toml:2:1]
     1 │ schema_version = "1.0"
     2 │ "a\u001b\n" = 1
       · ─────┬─────
       ·      ╰── no such key
       ╰────
      help: the keys at the top level are `schema_version`, `worktree` and `scope`
    "#);
    assert!(!rendered(&Config::parse("\u{1b}", "").expect_err("empty")).contains('\u{1b}'));
}

#[test]
fn every_text_is_read_or_refused_with_a_report_that_can_be_shown() {
    let pieces = [
        "schema_version",
        "=",
        "\"1.0\"",
        "\r\n",
        "\n",
        "\r",
        "[",
        "]",
        "[[",
        "]]",
        "scope",
        ".",
        "write",
        "\u{e9}",
        "\"",
        "'''",
        "{",
        "}",
        ",",
        "#",
        "\0",
        "\t",
        "\u{feff}",
        "1",
        "-",
        "\\",
    ];
    let mut state = 7_u32;
    for _ in 0..3000 {
        let mut text = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(pieces[state as usize / 4096 % pieces.len()]);
        }
        if let Err(error) = Config::parse("config", &text) {
            assert!(!error.mistakes().is_empty(), "{text:?}");
            let _ = rendered(&error);
        }
    }
}

#[test]
fn every_code_is_different() {
    let codes: std::collections::BTreeSet<_> = MistakeKind::ALL.iter().map(|k| k.code()).collect();
    assert_eq!(codes.len(), MistakeKind::ALL.len());
}
