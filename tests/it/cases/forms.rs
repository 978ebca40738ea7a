//! The everyday cases in repositories of other forms: no executable bit, SHA-256, reftable, and
//! with every git that is there.

use insta::assert_snapshot;

use super::{Case, with_reftables};
use crate::support::{TestRepo, gits};

const EVERYDAY: &str = "edit README.md; echo n >docs/n; git mv docs/guide.md src/guide.md; commit
    rm -f tools/run.sh; edit src/main.rs; mkdir -p secrets; echo x >secrets/key.pem";

/// What [`EVERYDAY`] must be found to be, in any repository.
const FOUND: &str = "\
README.md modified read-only violation
docs/guide.md deleted read-only violation
docs/n created read-only violation
secrets/key.pem modified excluded violation
tools/run.sh deleted read-only violation
";

#[test]
fn sha_256_makes_no_difference() {
    let repo = TestRepo::empty_with(&["--object-format=sha256"]);
    repo.fill();
    let case = Case::of(repo);
    assert_eq!(case.findings(), "");
    case.does(EVERYDAY);
    assert_eq!(case.findings(), FOUND);
    case.does("git reset -q --hard HEAD~; git clean -q -f -d; rm -rf secrets; edit src/mod/util.rs; commit; upstream; git merge -q -m m main");
    assert_snapshot!(case.findings(), @"
    README.md modified history notice
    docs/guide.md modified history notice
    docs/n modified history notice
    ");
}

#[test]
fn reftable_makes_no_difference() {
    for (_, bin) in gits() {
        let Some(repo) = with_reftables(&bin) else {
            continue;
        };
        let case = Case::of(repo);
        assert_eq!(case.findings(), "");
        case.does(EVERYDAY);
        assert_eq!(case.findings(), FOUND);
    }
}

#[test]
fn every_git_gives_the_same_findings() {
    for (version, bin) in gits() {
        let repo = TestRepo::project().with_git(&bin);
        let case = Case::of(repo);
        assert_eq!(case.findings(), "", "{version}");
        case.does(EVERYDAY);
        assert_eq!(case.findings(), FOUND, "{version}");
    }
}

#[test]
fn without_an_executable_bit_only_the_index_says_what_is_executable() {
    let repo = TestRepo::project();
    repo.git(&["config", "core.fileMode", "false"]);
    let case = Case::of(repo);
    case.does("chmod +x README.md; chmod -x tools/run.sh; touch docs/api.md");
    assert_snapshot!(case.findings(), @"");
    case.does("git update-index --chmod=+x docs/api.md");
    assert_snapshot!(case.findings(), @"docs/api.md mode read-only violation");
}

#[test]
fn a_shallow_clone_makes_no_difference() {
    let origin = TestRepo::project();
    origin.write("docs/two.md", "two\n");
    origin.commit_all("two");
    let repo = TestRepo::empty();
    let url = format!("file://{}", origin.main().display());
    std::fs::remove_dir_all(repo.main()).expect("it is there");
    repo.git_in(repo.root(), &["clone", "-q", "--depth", "1", &url, "repo"]);
    let case = Case::of(repo);
    assert_eq!(case.findings(), "");
    case.does(EVERYDAY);
    assert_eq!(case.findings(), FOUND);
}

#[test]
fn where_case_does_not_count_it_does_not_count_for_the_scope() {
    let repo = TestRepo::project();
    repo.git(&["config", "core.ignoreCase", "true"]);
    let case = Case::of(repo);
    case.does("mkdir -p SRC docs/Secrets; echo x >SRC/a.rs; echo x >docs/Secrets/b");
    assert_snapshot!(case.findings(), @"docs/Secrets/b created excluded violation");
}
