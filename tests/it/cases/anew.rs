//! Files of the base that git writes to the repository in another way than the base has them: line
//! endings and filters that the base's own attributes name.

use insta::assert_snapshot;

use super::{Case, with_crlf};
use crate::support::TestRepo;

/// The base has a file with CRLF, and attributes by which git stores LF.
fn unnormalized() -> Case {
    let repo = with_crlf();
    let script =
        "echo '*.txt text' >.gitattributes; git add .gitattributes; git commit -qm attributes";
    repo.sh(repo.main(), script).ok();
    Case::of(repo)
}

#[test]
fn a_commit_that_converts_a_file_of_the_base_is_a_notice() {
    let case = unnormalized();
    case.does("touch docs/crlf.txt; edit src/main.rs; git commit -qam x; git show --stat | grep -q crlf.txt");
    assert_snapshot!(case.findings(), @"docs/crlf.txt modified read-only notice");
    assert!(
        case.changes().contains("docs/crlf.txt"),
        "{}",
        case.changes()
    );
    case.does("rm -f docs/crlf.txt; git checkout -q docs/crlf.txt");
    assert_snapshot!(case.findings(), @"docs/crlf.txt modified read-only notice");
}

#[test]
fn an_edit_of_such_a_file_is_a_violation() {
    let case = unnormalized();
    case.does("chmod u+w docs/crlf.txt; printf 'a\\nc\\n' >docs/crlf.txt; git commit -qam x");
    assert_snapshot!(case.findings(), @"docs/crlf.txt modified read-only violation");
}

#[test]
fn such_a_file_that_is_made_executable_too_is_a_violation() {
    let case = unnormalized();
    case.does("chmod +x docs/crlf.txt; touch docs/crlf.txt; git commit -qam x");
    assert_snapshot!(case.findings(), @"docs/crlf.txt modified read-only violation");
    case.does("rm -f docs/crlf.txt; git checkout -q docs/crlf.txt");
    assert_snapshot!(case.findings(), @"docs/crlf.txt modified read-only violation");
}

#[test]
fn attributes_of_the_worktree_convert_nothing() {
    let case = Case::of(with_crlf());
    case.does(
        "echo '*.txt text' >.gitattributes; git add --renormalize .; git add -A; git commit -qm x",
    );
    assert_snapshot!(case.findings(), @"
    .gitattributes created read-only violation
    docs/crlf.txt modified read-only violation
    ");
}

/// `*.bin` is stored as a pointer to a file in a store below `.git`.
fn with_store(pointer: &str) -> Case {
    let repo = TestRepo::project();
    let filters = repo.root().join("filters");
    std::fs::create_dir(&filters).expect("it is new");
    let write = |name: &str, text: String| {
        std::fs::write(filters.join(name), text).expect("it can be written");
    };
    let store = repo.main().join(".git/store");
    let store = store.display();
    write(
        "clean",
        format!(
            "f=$(mktemp); cat >$f; h=$(sha256sum <$f | cut -d' ' -f1); mkdir -p {store}; cp $f {store}/$h; {pointer}\n"
        ),
    );
    write(
        "smudge",
        format!("h=$(sed -n 's/^oid sha256://p'); cat {store}/$h\n"),
    );
    let filters = filters.display();
    let config = format!(
        "\n[filter \"store\"]\n\tclean = sh {filters}/clean\n\tsmudge = sh {filters}/smudge\n"
    );
    let file = repo.home().join(".gitconfig");
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(file, text + &config).expect("it can be written");
    repo.write(".gitattributes", "*.bin filter=store\n");
    repo.write("docs/x.bin", "large\n");
    repo.commit_all("stored");
    Case::of(repo)
}

const LFS: &str = "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' $h $(wc -c <$f)";
const FORGED: &str = "chmod -R u+w docs/x.bin $MAIN/.git/store; for f in $MAIN/.git/store/*; do echo forged >$f; done; echo forged >docs/x.bin";

#[test]
fn a_store_of_a_filter_that_was_edited_with_the_file_is_found() {
    for pointer in [LFS, "echo oid sha256:$h"] {
        let case = with_store(pointer);
        case.does("grep -q large docs/x.bin; rm -f docs/x.bin; git checkout -q docs/x.bin");
        assert_eq!(case.findings().trim_end(), "", "{pointer}");
        case.does(FORGED);
        assert_eq!(
            case.findings().trim_end(),
            "docs/x.bin modified read-only violation\n@git/store config shared notice",
            "{pointer}"
        );
    }
}

#[test]
fn what_a_pointer_of_upstream_leads_to_has_its_digest() {
    let case = with_store(LFS);
    case.main_does("echo newer >docs/x.bin; git commit -qam newer");
    case.does("git merge -q main; grep -q newer docs/x.bin");
    assert_snapshot!(case.findings(), @"@git/store config shared notice");
    case.does(FORGED);
    assert_snapshot!(case.findings(), @r"
    docs/x.bin modified read-only violation
    @git/store config shared notice
    ");
}
