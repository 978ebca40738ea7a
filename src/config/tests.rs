//! Shows what a person reads for each mistake, and what a program reads from a good file.

use insta::assert_snapshot;
use miette::Diagnostic;

use super::*;
use crate::words::snippet::snippet;

/// Returns the messages of an error, each with its place in the file and its help.
#[track_caller]
pub(super) fn rendered(error: &ConfigError) -> String {
    let mut all: Vec<&dyn Diagnostic> = vec![error];
    all.extend(
        error
            .mistakes
            .iter()
            .map(|mistake| mistake as &dyn Diagnostic),
    );
    let mut out = String::new();
    for mistake in all {
        out.push_str(&format!("{mistake}\n"));
        if let (Some(source), Some(labels)) = (error.source_code(), mistake.labels()) {
            for label in labels {
                let shown = snippet(source, &label, str::to_owned);
                out.push_str(&shown.expect("every span lies in the text"));
            }
        }
        if let Some(help) = mistake.help() {
            out.push_str(&format!("help: {help}\n"));
        }
    }
    out
}

#[track_caller]
fn error_of(text: &str) -> ConfigError {
    Config::parse(CONFIG_PATH, text).expect_err("the text has a mistake")
}

/// The mistakes of a text, each as the underlined bytes, the message and the help.
#[track_caller]
fn mistakes(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shown = |span: &Option<miette::SourceSpan>, message: &str, help: &str| {
        let span = span.expect("it has a place");
        let underlined = &text[span.offset()..span.offset() + span.len()];
        format!("{underlined} | {message} | {help}")
    };
    let error = error_of(text);
    if let Some(help) = &error.help {
        let attempt = format!("cannot read {CONFIG_PATH}: ");
        return vec![shown(
            &error.span,
            error.message.trim_start_matches(&attempt),
            help,
        )];
    }
    let all = error.mistakes.iter();
    all.map(|one| shown(&one.span, &one.message, &one.help))
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
    assert_eq!(client, Some(Client::ClaudeCode));
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
fn commands_are_read_in_their_order_and_checked() {
    let head = "schema_version = \"1.0\"\n";
    let text = format!(
        "{head}[setup]\ncommands = [\"npm ci\", \"make\"]\nsubmodules = true\n[teardown]\ncommands = [\"x\"]\n"
    );
    let config = Config::parse(CONFIG_PATH, &text).expect("it is valid");
    let commands = config.setup.commands.iter();
    let commands: Vec<_> = commands.map(|one| (&*one.value, one.line)).collect();
    assert_eq!(commands, [("npm ci", 3), ("make", 3)]);
    assert!(config.setup.submodules && config.teardown.commands[0].line == 6);
    let text = format!(
        "{head}[fence]\nkind = \"bwrap\"\nnet = \"lan\"\n[fence.container]\nuser = \"0:5\""
    );
    let said: Vec<String> = mistakes(&text);
    assert_eq!(said.len(), 3, "{said:?}");
    let text = format!("{head}[setup]\ncommands = [\" \", \"a\\u0000\"]\n[teardown]\ncommand = 1");
    let error = Config::parse(CONFIG_PATH, &text).expect_err("three mistakes");
    let said: Vec<_> = error.mistakes.iter().map(|one| &*one.message).collect();
    assert_eq!(
        said,
        [
            "empty command in [setup]",
            "bad command `a\\000` in [setup]",
            "unknown key `command` in [teardown]"
        ]
    );
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
fn each_mistake_is_underlined_and_says_what_to_write() {
    let worktree_keys = "the keys in [worktree] are `base`, `branch_prefix`, `strategy`, `client`, `on_violation` and `file_sync`";
    let top_keys = "the keys at the top level are `schema_version`, `worktree`, `setup`, `teardown`, `fence` and `scope`";
    for (lines, expected) in [
        ("[scope.docs]\nwirte = []", "wirte | unknown key `wirte` in [scope.docs] | did you mean `write`? the keys in [scope.docs] are `read`, `write` and `exclude`".to_owned()),
        ("[worktree]\npatterns = []", format!("patterns | unknown key `patterns` in [worktree] | {worktree_keys}")),
        ("[file_sync]\nenabled = true", format!("file_sync | unknown key `file_sync` at the top level | {top_keys}")),
        ("[worktree]\nfrobnicate = 1", format!("frobnicate | unknown key `frobnicate` in [worktree] | {worktree_keys}")),
        ("[scope.default]\nwrite = \"src/**\"", "\"src/**\" | `write` in [scope.default]: invalid type: string \"src/**\", expected a list of strings | see git-agentwt-config(5) for an example".into()),
        ("[scope.default]\nread = [\"**\", 3]", "3 | `read` in [scope.default]: invalid type: integer `3`, expected a string | see git-agentwt-config(5) for an example".into()),
        ("[worktree.file_sync]\nenabled = \"yes\"", "\"yes\" | `enabled` in [worktree.file_sync]: invalid type: string \"yes\", expected a boolean | see git-agentwt-config(5) for an example".into()),
        ("worktree = 1", "1 | `worktree` at the top level: invalid type: integer `1`, expected a table | see git-agentwt-config(5) for an example".into()),
        ("[scope]\nwrite = 1", "1 | `write` in [scope]: invalid type: integer `1`, expected a table | see git-agentwt-config(5) for an example".into()),
        ("[worktree.file_sync]\nmax_file_size_mb = 0", "0 | `max_file_size_mb` in [worktree.file_sync]: 0 is not a number of megabytes from 1 to 17592186044415 | see git-agentwt-config(5) for an example".into()),
        ("[worktree.file_sync]\nmax_file_size_mb = \"1\"", "\"1\" | `max_file_size_mb` in [worktree.file_sync]: invalid type: string \"1\", expected a whole number | see git-agentwt-config(5) for an example".into()),
        ("[worktree]\nstrategy = \"Clone\"", "\"Clone\" | unknown strategy `Clone` in [worktree] | did you mean `clone`? write `worktree` or `clone`".into()),
        ("[worktree]\non_violation = \"explode\"", "\"explode\" | unknown on_violation `explode` in [worktree] | write `report` or `block`".into()),
        ("[worktree]\nbase = \"\"", "\"\" | empty base in [worktree] | write a branch, tag or commit".into()),
        ("[worktree]\nbranch_prefix = \"my agents/\"", "\"my agents/\" | bad branch prefix `my agents/` in [worktree]: git allows no such branch name | write a prefix like `agentwt/`, or an empty one".into()),
        ("[scope.\"\"]\nwrite = []", "\"\" | bad profile name `` in [scope]: a scope profile needs a name | write for example `[scope.docs]`".into()),
        ("[worktree.file_sync]\npatterns = [\"a[b\"]", "\"a[b\" | bad sync pattern `a[b` in [worktree.file_sync]: it is not a glob: unclosed character class; missing ']' | `\\` before `*`, `?`, `[`, `{` or `\\` makes it stand for itself".into()),
        ("[scope.default]\nwrite = [src/**]\nnonsense = 1", "src/** | not TOML: string values must be quoted | write \"src/**\" for a string".into()),
        ("[worktree]\nbase = \"main\nstrategy = 3", " | not TOML: invalid basic string | TOML expects here: `\"`".into()),
        ("[worktree", " | not TOML: unclosed table | TOML expects here: `]`".into()),
    ] {
        let said = mistakes(&format!("schema_version = \"1.0\"\n{lines}\n"));
        assert_eq!(said, [expected], "{lines}");
    }
    let text = "schema_version = \"1.0\"\n[worktree]\nbranch_prefix = \"\"";
    assert!(
        Config::parse(CONFIG_PATH, text).is_ok(),
        "no prefix is fine"
    );
}

#[test]
fn the_schema_version_must_be_there_and_known() {
    for (text, expected) in [
        (
            "",
            " | `schema_version` is missing | write `schema_version = \"1.0\"` in the first line",
        ),
        (
            "schema_version = \"2.0\"\n",
            "\"2.0\" | `schema_version` is `2.0`, which is not supported | write `schema_version = \"1.0\"`",
        ),
        (
            "schema_version = 1.0\n",
            "1.0 | `schema_version` at the top level: invalid type: floating point `1.0`, expected a string | see git-agentwt-config(5) for an example",
        ),
        (
            "shema_version = \"1.0\"\n",
            "shema_version | unknown key `shema_version` at the top level | did you mean `schema_version`? the keys at the top level are `schema_version`, `worktree`, `setup`, `teardown`, `fence` and `scope`",
        ),
    ] {
        assert_eq!(mistakes(text), [expected], "{text}");
    }
}

#[test]
fn each_sync_pattern_that_could_leave_the_repository_is_a_mistake() {
    for (written, reason) in [
        ("../x", "`..` component"),
        ("a/../../x", "`..` component"),
        ("{..,a}/x", "`..` component"),
        ("{a,../b}", "`..` component"),
        ("\\\\.\\\\./x", "`..` component"),
        ("[.][.]/x", "`..` component"),
        ("/etc/x", "begins with `/`"),
        ("~/x", "begins with `~`"),
        ("~root/x", "begins with `~`"),
        ("", "is empty"),
        ("a\\u0000b", "NUL"),
        ("./x", "`.` component"),
        ("a//b", "empty component"),
        ("!x", "begins with `!`"),
        (".git/config", "names `.git`"),
        (".agentwt/config.toml", "only `memory`"),
        ("{a", "unclosed alternate group"),
    ] {
        for key in ["patterns", "optional_patterns"] {
            let text = format!(
                "schema_version = \"1.0\"\n[worktree.file_sync]\n{key} = [\"ok\", \"{written}\"]\n"
            );
            let [mistake] = mistakes(&text).try_into().expect("one mistake");
            let start = format!("\"{written}\" | bad sync pattern");
            assert!(mistake.starts_with(&start), "{written}: {mistake}");
            assert!(mistake.contains(reason), "{written}: {mistake}");
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
fn all_mistakes_come_in_one_run_in_the_order_of_the_file() {
    let text = "[worktree]\nstrategy = \"clon\"\nbase = 1\nbase = 2\n[scope.b]\nwrit = []\n[scope.a]\nread = 1\n[worktree.file_sync]\nmax_file_size_mb = -1\nenabled = 1\npatterns = [\"/a\", \"b\", \"~\"]\n[x]";
    let places: Vec<String> = mistakes(text)
        .iter()
        .map(|said| said.split(" | ").take(2).collect::<Vec<_>>().join(" | "))
        .collect();
    assert_snapshot!(places.join("\n"), @r#"
     | `schema_version` is missing
    "clon" | unknown strategy `clon` in [worktree]
    1 | `base` in [worktree]: invalid type: integer `1`, expected a string
    base | `base` is set twice
    writ | unknown key `writ` in [scope.b]
    1 | `read` in [scope.a]: invalid type: integer `1`, expected a list of strings
    -1 | `max_file_size_mb` in [worktree.file_sync]: -1 is not a number of megabytes from 1 to 17592186044415
    1 | `enabled` in [worktree.file_sync]: invalid type: integer `1`, expected a boolean
    "/a" | bad sync pattern `/a` in [worktree.file_sync]: it begins with `/`, and files outside the repository are not synced
    "~" | bad sync pattern `~` in [worktree.file_sync]: it begins with `~`, and files outside the repository are not synced
    x | unknown key `x` at the top level
    "#);
}

#[test]
fn a_mistake_is_shown_with_its_line() {
    let text =
        "schema_version = \"1.0\"\n[worktree]\nstrategy = \"clon\"\n\n[scope.default]\nwrit = []";
    assert_snapshot!(rendered(&error_of(text)), @r#"
    cannot read .agentwt/config.toml: 2 mistakes
    unknown strategy `clon` in [worktree]
     --> .agentwt/config.toml:3:12
      |
    2 | [worktree]
    3 | strategy = "clon"
      |            ^^^^^^
    help: did you mean `clone`? write `worktree` or `clone`
    unknown key `writ` in [scope.default]
     --> .agentwt/config.toml:6:1
      |
    5 | [scope.default]
    6 | writ = []
      | ^^^^
    help: did you mean `write`? the keys in [scope.default] are `read`, `write` and `exclude`
    "#);
}

#[test]
fn line_ends_marks_and_tabs_do_not_move_the_underline() {
    let text = "\u{feff}schema_version = \"1.0\"\r\n# caf\u{e9} \u{4f60}\u{597d}\r\n[worktree]\r\n\tstrategy = \"cl\u{f6}ne\"\t# \u{4f60}\r\n";
    assert_snapshot!(rendered(&error_of(text)), @r#"
    cannot read .agentwt/config.toml: unknown strategy `clöne` in [worktree]
     --> .agentwt/config.toml:4:13
      |
    3 | [worktree]
    4 |     strategy = "clöne"    # 你
      |                ^^^^^^^
    help: did you mean `clone`? write `worktree` or `clone`
    "#);
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
    let text = "schema_version = \"1.0\"\n[scope.\"\u{202e}\"]\nwrite = \"\\u001b\u{9b}\u{202e}\"";
    let shown = rendered(&error_of(text));
    assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown}");
    let said = mistakes("schema_version = \"1.0\"\n\"a\\u001b\\n\" = 1\n");
    assert!(
        said[0].contains("unknown key `a\\033\\012` at the top level"),
        "{said:?}"
    );
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
            let _ = rendered(&error);
        }
    }
}
