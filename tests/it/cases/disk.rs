//! Changes that only the disk shows.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn a_new_worktree_has_no_finding() {
    assert_snapshot!(after(""), @"");
}

#[test]
fn edits_in_scope_are_no_finding() {
    let case = Case::new();
    case.does("edit src/main.rs; echo n >src/new.rs; rm tests/t.rs; edit package.json");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"
    modified  disk  package.json
    modified  disk  src/main.rs
    created  untracked  src/new.rs
    deleted  disk  tests/t.rs
    ");
}

#[test]
fn an_edit_of_a_read_only_file_is_a_violation() {
    assert_snapshot!(after("edit README.md"), @"README.md modified read-only violation");
}

#[test]
fn a_new_file_outside_the_write_list_is_a_violation() {
    assert_snapshot!(after("echo n >notes.txt; mkdir -p docs/deep/er; echo n >docs/deep/er/f"), @"
    docs/deep/er/f created read-only violation
    notes.txt created read-only violation
    ");
}

#[test]
fn a_file_that_only_looks_like_one_in_scope_is_a_violation() {
    assert_snapshot!(after("mkdir srcs docs/src; echo n >srcs/a; echo n >docs/src/b; cp package.json docs/"), @"
    docs/package.json created read-only violation
    docs/src/b created read-only violation
    srcs/a created read-only violation
    ");
}

#[test]
fn a_deleted_read_only_file_is_a_violation() {
    assert_snapshot!(after("rm -f README.md; rm -rf docs"), @"
    README.md deleted read-only violation
    docs/api.md deleted read-only violation
    docs/guide.md deleted read-only violation
    ");
}

#[test]
fn a_rename_out_of_the_scope_is_a_creation_there_and_a_deletion_here() {
    let case = Case::new();
    case.does("mv src/main.rs docs/main.rs");
    assert_snapshot!(case.findings(), @"docs/main.rs created read-only violation");
    assert_snapshot!(case.changes(), @"
    created  untracked  docs/main.rs
    deleted  disk  src/main.rs
    ");
}

#[test]
fn a_rename_into_the_scope_is_a_deletion_there() {
    let case = Case::new();
    case.does("mv docs/guide.md src/guide.md");
    assert_snapshot!(case.findings(), @"docs/guide.md deleted read-only violation");
    assert_snapshot!(case.changes(), @"
    deleted  disk  docs/guide.md
    created  untracked  src/guide.md
    ");
}

#[test]
fn a_rename_within_the_scope_is_no_finding() {
    let case = Case::new();
    case.does("git mv src/main.rs src/start.rs; git commit -q -m rename");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"
    deleted  commit 6a457efd86,index,disk  src/main.rs
    created  commit 6a457efd86,index,disk  src/start.rs
    ");
}

#[test]
fn a_rename_within_what_is_read_only_is_two_violations() {
    assert_snapshot!(after("git mv docs/guide.md docs/manual.md; git commit -q -m rename"), @"
    docs/guide.md deleted read-only violation
    docs/manual.md created read-only violation
    ");
}

#[test]
fn a_renamed_directory_is_every_path_of_it() {
    assert_snapshot!(after("mv docs manual"), @"
    docs/api.md deleted read-only violation
    docs/guide.md deleted read-only violation
    manual/api.md created read-only violation
    manual/guide.md created read-only violation
    ");
}

#[test]
fn an_executable_bit_is_a_change_of_mode() {
    assert_snapshot!(after("chmod +x README.md; chmod a-x tools/run.sh; chmod +x src/main.rs"), @"
    README.md mode read-only violation
    tools/run.sh mode read-only violation
    ");
}

#[test]
fn the_execute_bit_of_others_is_nothing_to_git() {
    assert_snapshot!(after("chmod go+x README.md"), @"");
}

#[test]
fn a_write_bit_that_was_set_is_a_notice() {
    assert_snapshot!(after("chmod u+w README.md docs/guide.md; chmod a-w src/main.rs"), @"
    README.md perm read-only notice
    docs/guide.md perm read-only notice
    ");
}

#[test]
fn a_write_bit_that_was_set_is_a_violation_when_strict() {
    let case = Case::new();
    case.does("chmod u+w README.md");
    let arguments = ["verify", "--strict", "--format", "tsv"];
    let said = case.repo.agentwt_in(&case.worktree, &arguments);
    assert_snapshot!(said, @"
    README.md	perm	read-only	violation
    --- status 1
    ");
}

#[test]
fn a_touched_file_is_no_finding() {
    assert_snapshot!(after("touch README.md src/main.rs; touch -d 2001-01-01 docs/guide.md"), @"");
}

#[test]
fn a_file_that_was_edited_and_put_back_is_no_finding() {
    assert_snapshot!(after("edit docs/guide.md; git checkout -q -- docs/guide.md"), @"");
    assert_snapshot!(after("edit docs/guide.md; chmod u+w docs/guide.md; echo guide >docs/guide.md"), @"");
}

#[test]
fn a_file_that_was_replaced_by_its_own_copy_is_no_finding() {
    assert_snapshot!(after("cp README.md new; mv -f new README.md"), @"");
}

#[test]
fn an_edit_through_a_link_in_scope_is_a_change_of_what_it_points_to() {
    assert_snapshot!(after("ln -s ../README.md src/alias; chmod u+w README.md; echo x >>src/alias"), @"
    README.md modified read-only violation
    src/alias created outside notice
    ");
}

#[test]
fn an_edit_through_a_hard_link_in_scope_is_a_change_of_both() {
    assert_snapshot!(after("ln README.md src/alias; edit src/alias"), @"README.md modified read-only violation");
}

#[test]
fn a_link_that_points_elsewhere_is_modified() {
    assert_snapshot!(after("ln -sfn package.json link"), @"link modified read-only violation");
}

#[test]
fn a_file_that_became_a_link_is_a_change_of_type() {
    assert_snapshot!(after("rm -f README.md; ln -s package.json README.md"), @"README.md typechange read-only violation");
}

#[test]
fn a_link_that_became_a_file_is_a_change_of_type() {
    assert_snapshot!(after("rm link; printf README.md >link"), @"link typechange read-only violation");
}

#[test]
fn a_link_that_became_a_directory_is_a_change_of_type_and_what_is_in_it() {
    assert_snapshot!(after("rm link; mkdir link; echo f >link/f"), @"
    link deleted read-only violation
    link/f created read-only violation
    ");
}

#[test]
fn a_directory_that_became_a_file_is_a_change_of_type_and_deletes_what_was_in_it() {
    assert_snapshot!(after("rm -rf docs; echo f >docs"), @"
    docs typechange read-only violation
    docs/api.md deleted read-only violation
    docs/guide.md deleted read-only violation
    ");
}

#[test]
fn a_directory_that_became_a_link_to_its_copy_is_a_change_of_type() {
    assert_snapshot!(after("cp -r docs src/docs; rm -rf docs; ln -s src/docs docs"), @"
    docs typechange read-only violation
    docs/api.md deleted read-only violation
    docs/guide.md deleted read-only violation
    ");
}

#[test]
fn a_file_that_became_a_directory_is_deleted_and_what_is_in_it_created() {
    assert_snapshot!(after("rm -f README.md; mkdir README.md; echo f >README.md/f"), @"
    README.md deleted read-only violation
    README.md/f created read-only violation
    ");
}

#[test]
fn a_directory_in_scope_that_became_a_link_out_of_it_is_no_way_out() {
    assert_snapshot!(after("rm -rf src; ln -s docs src; chmod u+w docs/api.md; echo x >>src/api.md"), @"
    docs/api.md modified read-only violation
    src typechange read-only violation
    ");
}

#[test]
fn an_empty_directory_is_nothing_to_git_unless_a_file_stood_there() {
    assert_snapshot!(after("mkdir empty docs/empty src/empty"), @"");
    assert_snapshot!(after("rm -f README.md; mkdir README.md"), @"README.md typechange read-only violation");
}

#[test]
fn a_fifo_is_found_and_does_not_block() {
    assert_snapshot!(after("mkfifo pipe; rm -f README.md; mkfifo README.md; mkfifo src/pipe"), @"
    README.md typechange read-only violation
    pipe created read-only violation
    ");
}

#[test]
fn a_fifo_at_which_git_waits_is_a_violation_in_scope_too() {
    assert_snapshot!(after("mkfifo src/.gitignore src/.gitattributes"), @"
    src/.gitattributes integrity integrity violation
    src/.gitignore integrity integrity violation
    ");
}

#[test]
fn a_nested_repository_hides_nothing() {
    assert_snapshot!(after("git init -q docs/inner; echo f >docs/inner/f"), @"
    docs/inner/.git created read-only violation
    docs/inner/f created read-only violation
    ");
}

#[test]
fn a_directory_named_like_gits_own_hides_nothing() {
    assert_snapshot!(after("mkdir docs/.git; echo f >docs/.git/payload; mkdir src/.git; echo f >src/.git/f"), @"docs/.git/payload created read-only violation");
}

#[test]
fn a_repository_inside_the_scope_is_the_agents_business() {
    assert_snapshot!(after("git init -q src/inner; echo f >src/inner/f"), @"");
}
