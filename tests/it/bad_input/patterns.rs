//! Patterns that are refused.

use super::refused;
use crate::support::TestRepo;

#[test]
fn a_pattern_that_would_silently_match_nothing_is_refused() {
    let repo = TestRepo::project();
    for pattern in [
        "!src",
        "./src",
        "src/../x",
        "a//b",
        "/",
        " ",
        "#x",
        "a\nb",
        "a\\",
        "[a",
        "[[:nope:]]",
        "[/]",
    ] {
        let said = refused(&repo, &["add", "t", &format!("--write={pattern}")]);
        assert_eq!(said.status, 3, "{pattern:?}: {said}");
        let said = refused(
            &repo,
            &["add", "t", "--write=", &format!("--exclude={pattern}")],
        );
        assert_eq!(said.status, 3, "{pattern:?}: {said}");
    }
}

#[test]
fn the_error_names_the_rule_and_what_to_write() {
    let repo = TestRepo::project();
    insta::assert_snapshot!(refused(&repo, &["add", "t", "--write", "./src"]), @"
    --- stderr
    error: cannot use `./src` as a write pattern (--write): it has a `.`, `..` or empty component, which no path in git has
    help: write the path from the repository's root, with one `/` between directories
    --- status 3
    ");
}

#[test]
fn the_error_names_the_line_of_the_config() {
    let repo = TestRepo::project();
    let text =
        "schema_version = \"1.0\"\n[scope.default]\nwrite = [\n  \"src/**\",\n  \"!lib\",\n]\n";
    repo.write(".agentwt/config.toml", text);
    insta::assert_snapshot!(refused(&repo, &["add", "t"]), @r"
    --- stderr
    error: cannot use `!lib` as a write pattern (.agentwt/config.toml:5): it begins with `!`, but the list decides, not the order
    help: put it without the `!` into the list that says what you mean (exclude beats write beats read), or write `\!` if the name begins with `!`
    --- status 3
    ");
}
