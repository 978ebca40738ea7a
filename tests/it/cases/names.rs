//! Names that are hard to print, to parse or to pass on.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn a_name_with_a_newline_is_one_path() {
    assert_snapshot!(after("mkdir -p \"$(printf 'docs/a\\nsrc')\"; echo x >\"$(printf 'docs/a\\nsrc/b')\""), @r"docs/a\012src/b created read-only violation");
}

#[test]
fn a_name_with_a_tab_a_quote_or_a_backslash_is_escaped() {
    assert_snapshot!(after("echo x >\"$(printf 'docs/a\\tb')\"; echo x >'docs/\"q\"'; echo x >'docs/b\\s'"), @r#"
    docs/"q" created read-only violation
    docs/a\011b created read-only violation
    docs/b\134s created read-only violation
    "#);
}

#[test]
fn a_name_that_is_not_utf_8_is_found() {
    assert_snapshot!(after("echo x >\"$(printf 'docs/caf\\351')\"; git add -A; git commit -q -m x"), @r"docs/caf\351 created read-only violation");
}

#[test]
fn a_name_with_a_leading_dash_is_found() {
    assert_snapshot!(after("echo x >./-rf; echo x >./--; echo x >./src/-n"), @"
    -- created read-only violation
    -rf created read-only violation
    ");
}

#[test]
fn a_name_that_begins_like_a_special_place_is_told_apart() {
    assert_snapshot!(after("echo x >@head; mkdir @git; echo x >@git/config"), @r"
    \100git/config created read-only violation
    \100head created read-only violation
    ");
}

#[test]
fn composed_and_decomposed_letters_are_two_names() {
    let script =
        "echo x >\"$(printf 'docs/caf\\303\\251')\"; echo x >\"$(printf 'docs/cafe\\314\\201')\"";
    assert_snapshot!(after(script), @r"
    docs/cafe\314\201 created read-only violation
    docs/caf\303\251 created read-only violation
    ");
}

#[test]
fn letters_beyond_ascii_in_scope_are_no_finding() {
    assert_snapshot!(after("echo x >src/ключ.rs; mkdir 'src/a b'; echo x >'src/a b/c'; commit"), @"");
}

#[test]
fn names_that_git_takes_as_pathspecs_or_patterns_are_names() {
    assert_snapshot!(after("echo x >':(top)src'; echo x >'docs/[a]*?'; echo x >'!x'; echo x >'#x'"), @"
    !x created read-only violation
    #x created read-only violation
    :(top)src created read-only violation
    docs/[a]*? created read-only violation
    ");
}

#[test]
fn every_name_is_given_byte_for_byte_with_nul() {
    let case = Case::new();
    case.does("echo x >\"$(printf 'docs/a\\n\\tb\\351\\\\')\"; edit README.md");
    let output = case
        .repo
        .command(crate::support::binary(), &case.worktree)
        .args(["verify", "-z"])
        .output()
        .expect("it starts");
    let records: Vec<&[u8]> = output.stdout.split_inclusive(|byte| *byte == 0).collect();
    let last = |record: &[u8]| {
        record
            .splitn(9, |byte| *byte == b'\t')
            .last()
            .map(<[u8]>::to_vec)
    };
    let paths: Vec<_> = records.iter().filter_map(|record| last(record)).collect();
    assert_eq!(
        paths,
        [b"README.md\0".to_vec(), b"docs/a\n\tb\xe9\\\0".to_vec()]
    );
}

#[test]
fn case_only_differences_are_two_names_where_the_disk_has_two() {
    assert_snapshot!(after("echo x >readme.md 2>/dev/null; echo x >DOCS 2>/dev/null"), @"
    DOCS created read-only violation
    readme.md created read-only violation
    ");
}
