//! Tables: which settings, attributes and names leave the checkout to git.

use super::*;
use crate::entry::ObjectId;

fn facts(settings: &[(&str, &str)], attributes: &str) -> CheckoutFacts<'static> {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), BString::from(*value));
    CheckoutFacts {
        asked: Asked::Own,
        strategy: Strategy::Worktree,
        is_local: true,
        settings: settings.iter().map(pair).collect(),
        attributes: vec![(".gitattributes".to_owned(), attributes.into())],
        attribute_source: false,
        entries: &[],
        hook: None,
        replaced: false,
        folds_case: false,
    }
}

fn said(facts: &CheckoutFacts<'_>) -> String {
    match plan(facts) {
        Checkout::Own => "own".to_owned(),
        Checkout::Git(reason) => reason.to_string(),
    }
}

#[test]
fn attributes_that_convert_on_checkout_leave_it_to_git() {
    for (line, wanted) in [
        ("* text=auto", "own"),
        ("* text=auto eol=lf\n*.png binary\n", "own"),
        ("*.sh text eol=lf", "own"),
        ("*.c -text diff=cpp linguist-vendored export-ignore", "own"),
        ("# *.x filter=lfs", "own"),
        ("filter -filter !ident -crlf", "own"),
        (
            "*.x filter=lfs diff=lfs merge=lfs -text",
            "`.gitattributes` names a filter",
        ),
        ("[attr]big filter=lfs", "`.gitattributes` names a filter"),
        ("  *.x\tident\r", "`.gitattributes` names `ident`"),
        (
            "*.x\n*.y working-tree-encoding=UTF-16",
            "`.gitattributes` names `working-tree-encoding`",
        ),
        ("*.bat eol=crlf", "`.gitattributes` names `eol`"),
        ("*.bat crlf", "`.gitattributes` names `crlf`"),
        ("*.bat text=input", "`.gitattributes` names `text`"),
        ("\"a b\" ident", "`.gitattributes` names `ident`"),
    ] {
        assert_eq!(said(&facts(&[], line)), wanted, "{line}");
    }
}

#[test]
fn what_a_checkout_may_write_otherwise_is_told_by_settings_and_attributes() {
    for (key, value, attributes, wanted) in [
        ("core.autocrlf", "true", "", true),
        ("core.autocrlf", "input", "", false),
        ("core.eol", "crlf", "", true),
        ("core.eol", "lf", "", false),
        ("attr.tree", "refs/heads/zz", "", true),
        // says nothing of content
        ("core.fsmonitor", "true", "", false),
        ("core.filemode", "true", "* text=auto", false),
        ("core.filemode", "true", "*.txt eol=crlf", true),
        ("core.filemode", "true", "*.bat crlf", true),
    ] {
        let facts = facts(&[(key, value)], attributes);
        let found = converts(&facts.settings, &facts.attributes, false);
        assert_eq!(found, wanted, "{key} {value} {attributes}");
        assert!(converts(&facts.settings, &facts.attributes, true));
    }
}

#[test]
fn settings_that_change_content_or_index_leave_it_to_git() {
    for (key, value, wanted) in [
        ("core.autocrlf", "false", true),
        ("core.autocrlf", "input", false),
        ("core.autocrlf", "", false),
        ("core.eol", "lf", true),
        ("core.eol", "crlf", false),
        ("core.filemode", "1", true),
        ("core.filemode", "false", false),
        ("core.sharedrepository", "0", true),
        ("core.sharedrepository", "group", false),
        ("core.symlinks", "no", false),
        ("index.version", "4", false),
        ("index.threads", "2", false),
        ("index.sparse", "false", true),
        ("feature.manyfiles", "true", false),
        ("extensions.objectformat", "sha256", true),
        ("extensions.partialclone", "origin", false),
        ("extensions.unheardof", "true", false),
        ("remote.origin.url", "x", true),
        ("remote.a.b.promisor", "true", false),
        ("user.name", "x", true),
    ] {
        let said = said(&facts(&[(key, value)], ""));
        let expected = if wanted {
            "own".to_owned()
        } else {
            format!("`{key}` is set")
        };
        assert_eq!(said, expected, "{key}={value}");
    }
    // the last one counts
    let twice = [("core.eol", "crlf"), ("core.eol", "lf")];
    assert_eq!(said(&facts(&twice, "")), "own");
}

#[test]
fn names_that_git_may_refuse_leave_it_to_git() {
    let of = |name: &str, mode: Mode| {
        let path = RepoPath::parse(name).expect("a path");
        let entries = vec![(
            path,
            Entry {
                mode,
                id: ObjectId::none(),
            },
        )];
        said(&CheckoutFacts {
            entries: &entries,
            ..facts(&[], "")
        }) == "own"
    };
    for name in [
        ".gitignore",
        "a/.gitattributes",
        "gitk",
        ".github/x",
        ".git-blame-ignore-revs",
        "café/ü",
        "a~b",
        "x.git",
    ] {
        assert!(of(name, Mode::File), "{name}");
    }
    for name in [
        "a/.GIT",
        "GIT~1/x",
        ".git /x",
        ".git. .",
        "a/.git:x/b",
        "a\\b",
        ".g\u{200c}it/x",
    ] {
        assert!(!of(name, Mode::File), "{name}");
    }
    assert!(of("link", Mode::Link));
    assert!(!of("a/.gitmodules", Mode::Link));
    assert!(!of("GITMOD~1", Mode::Link));
}

#[test]
fn a_tree_that_is_out_of_order_leaves_it_to_git() {
    let path = |name: &str| RepoPath::parse(name).expect("a path");
    let entry = Entry {
        mode: Mode::File,
        id: ObjectId::none(),
    };
    let entries = vec![(path("a/b"), entry), (path("a.b"), entry)];
    let said = said(&CheckoutFacts {
        entries: &entries,
        ..facts(&[], "")
    });
    assert_eq!(said, "the tree is out of order at a.b");
}
