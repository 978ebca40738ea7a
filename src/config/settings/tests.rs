//! Shows which layer counts, and what a person reads of a value that is wrong.

use insta::assert_snapshot;

use super::*;
use crate::config::tests::rendered;
use crate::config::value::Choice as _;

type Pairs = Vec<(String, String)>;

fn pairs(given: &[(&str, &str)]) -> Pairs {
    let owned = given.iter().map(|(k, v)| ((*k).into(), (*v).into()));
    owned.collect()
}

#[track_caller]
fn config(lines: &str) -> Config {
    let text = format!("schema_version = \"1.0\"\n{lines}");
    Config::parse(CONFIG_PATH, &text).expect("it is valid")
}

#[test]
fn with_nothing_set_the_defaults_count() {
    let settings = Settings::resolve(&[], &[], &[], &Config::default());
    let settings = settings.expect("nothing is wrong");
    assert_eq!((settings.base, settings.client), (None, None));
    assert_eq!(settings.branch_prefix.value, "agentwt/");
    assert_eq!(settings.strategy.value, Strategy::Worktree);
    assert_eq!(settings.on_violation.value, OnViolation::Report);
    assert_eq!(
        settings.scope,
        Setting {
            value: "default".to_owned(),
            set_by: SetBy::Default
        }
    );
}

#[test]
fn every_layer_beats_the_ones_below_it() {
    let config = config("[worktree]\nbranch_prefix = \"file/\"\nclient = \"codex\"");
    let mut flags: &SettingFlags<'_> = &[];
    let mut env = Pairs::new();
    let mut git = Pairs::new();
    let mut seen = Vec::new();
    for layer in 0..4 {
        match layer {
            0 => {}
            1 => {
                git = pairs(&[
                    ("agentwt.branchprefix", "git/"),
                    ("agentwt.client", "aider"),
                ]);
            }
            2 => {
                env = pairs(&[
                    ("AGENTWT_BRANCH_PREFIX", "env/"),
                    ("AGENTWT_CLIENT", "gemini"),
                ]);
            }
            _ => {
                flags = &[
                    ("--branch-prefix", Some("flag/")),
                    ("--client", Some("opencode")),
                ];
            }
        }
        let settings = Settings::resolve(flags, &env, &git, &config).expect("all are valid");
        let client = settings.client.expect("it is set");
        let prefix = settings.branch_prefix;
        seen.push(format!("{} by {}", prefix.value, prefix.set_by));
        seen.push(format!("{} by {}", client.value.as_str(), client.set_by));
    }
    let expected = [
        "file/ by .agentwt/config.toml:3",
        "codex by .agentwt/config.toml:4",
        "git/ by git config agentwt.branchPrefix",
        "aider by git config agentwt.client",
        "env/ by AGENTWT_BRANCH_PREFIX",
        "gemini by AGENTWT_CLIENT",
        "flag/ by --branch-prefix",
        "opencode by --client",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn every_setting_has_a_variable_in_every_layer() {
    let config = Config::default();
    let values = ["b", "p/", "clone", "codex", "block", "docs"];
    let names = [BASE, PREFIX, STRATEGY, CLIENT, VIOLATION, SCOPE];
    let env: Pairs = names
        .iter()
        .zip(values)
        .map(|(n, v)| (n[1].into(), v.into()))
        .collect();
    let git: Pairs = names
        .iter()
        .zip(values)
        .map(|(n, v)| (n[2].to_lowercase(), v.into()))
        .collect();
    for (env, git) in [(env.as_slice(), [].as_slice()), (&[], git.as_slice())] {
        let s = Settings::resolve(&[], env, git, &config).expect("all are valid");
        let client = s.client.map(|c| c.value);
        assert_eq!(
            (s.base.map(|b| b.value).as_deref(), client),
            (Some("b"), Client::parse("codex"))
        );
        assert_eq!(
            (s.branch_prefix.value.as_str(), s.scope.value.as_str()),
            ("p/", "docs")
        );
        assert_eq!(
            (s.strategy.value, s.on_violation.value),
            (Strategy::Clone, OnViolation::Block)
        );
    }
}

#[test]
fn an_empty_variable_is_not_set_and_the_last_git_value_counts() {
    let env = pairs(&[("AGENTWT_STRATEGY", ""), ("OTHER", "x")]);
    let git = pairs(&[
        ("agentwt.strategy", "nonsense"),
        ("AGENTWT.Strategy", "clone"),
        ("agentwt.unknown", "x"),
        ("agentwt.branchprefix", ""),
    ]);
    let settings = Settings::resolve(&[], &env, &git, &Config::default());
    let settings = settings.expect("what counts is valid");
    assert_eq!(settings.strategy.value, Strategy::Clone);
    assert_eq!(
        settings.branch_prefix.value, "",
        "git can say that there is none"
    );
}

#[test]
fn a_value_that_a_flag_overrides_does_not_matter() {
    let flags = [("--client", Some("codex"))];
    let env = pairs(&[("AGENTWT_CLIENT", "nonsense")]);
    assert!(Settings::resolve(&flags, &env, &[], &Config::default()).is_ok());
}

#[test]
fn invalid_values_name_their_variables_all_at_once() {
    let flags = [("--base", Some(""))];
    let env = pairs(&[("AGENTWT_STRATEGY", "clon"), ("AGENTWT_CLIENT", "\u{1b}x")]);
    let git = pairs(&[
        ("agentwt.branchprefix", "a..b"),
        ("agentwt.onviolation", ""),
    ]);
    let error = Settings::resolve(&flags, &env, &git, &Config::default());
    assert_snapshot!(rendered(&error.expect_err("all are invalid")), @r"
    cannot use the settings: 5 mistakes
    empty base in --base
    help: write a branch, tag or commit
    bad branch prefix `a..b` in git config agentwt.branchPrefix: git allows no such branch name
    help: write a prefix like `agentwt/`, or an empty one
    unknown strategy `clon` in AGENTWT_STRATEGY
    help: did you mean `clone`? write `worktree` or `clone`
    unknown client `\033x` in AGENTWT_CLIENT
    help: write `claude-code`, `codex`, `gemini`, `aider`, `opencode`, `cursor`, `copilot` or `none`
    unknown on_violation `` in git config agentwt.onViolation
    help: write `report` or `block`
    ");
    let env = pairs(&[("AGENTWT_STRATEGY", "clon")]);
    let error = Settings::resolve(&[], &env, &[], &Config::default());
    assert_snapshot!(rendered(&error.expect_err("it is invalid")), @r#"
    cannot use the settings: unknown strategy `clon` in AGENTWT_STRATEGY
    help: did you mean `clone`? write `worktree` or `clone`
    "#);
}

#[test]
fn a_profile_that_was_named_must_exist() {
    let config = config("[scope.docs]\nwrite = [\"docs/**\"]");
    let resolve = |flags: &SettingFlags<'_>| {
        Settings::resolve(flags, &[], &[], &config).expect("the settings are valid")
    };
    let unnamed = resolve(&[]).profile(&config).expect("nobody named one");
    assert_eq!(unnamed, None);
    let docs = resolve(&[("--scope", Some("docs"))])
        .profile(&config)
        .expect("it exists");
    assert_eq!(docs.map(|d| d.line), Some(2));
    let flags = [("--scope", Some("dosc"))];
    let error = resolve(&flags).profile(&config).expect_err("it does not");
    assert_snapshot!(rendered(&error), @r#"
    cannot use the settings: unknown scope profile `dosc` in --scope
    help: did you mean `docs`? write `docs`, or add a [scope.<profile>] of this name to .agentwt/config.toml
    "#);
    let error = resolve(&flags)
        .profile(&Config::default())
        .expect_err("it does not");
    assert_snapshot!(rendered(&error), @r#"
    cannot use the settings: unknown scope profile `dosc` in --scope
    help: add a [scope.<profile>] of this name to .agentwt/config.toml
    "#);
}
