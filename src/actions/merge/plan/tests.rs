use super::*;

fn commit(digit: char) -> CommitId {
    let digits: String = std::iter::repeat_n(digit, 40).collect();
    CommitId::parse(&digits).expect("an id")
}

fn tree(digit: u8) -> ObjectId {
    let digits: Vec<u8> = std::iter::repeat_n(digit, 40).collect();
    ObjectId::from_hex(&digits).expect("an id")
}

fn main_branch() -> BranchName {
    BranchName::from_git("main")
}

fn base() -> BaseTip {
    BaseTip {
        name: main_branch(),
        at: commit('a'),
    }
}

fn checkout_at(path: &str, changed: &[&str]) -> BaseCheckout {
    BaseCheckout {
        path: path.into(),
        changed: changed.iter().map(ToString::to_string).collect(),
        operation: None,
    }
}

/// Work that is committed, with a base branch that is checked out and clean.
fn facts() -> PlaceFacts {
    PlaceFacts {
        has_running_command: false,
        operation: None,
        operation_of_run: None,
        verified: Some(commit('b')),
        uncommitted: Vec::new(),
        base: BaseBranchState::At(base()),
        checkouts: vec![checkout_at("/r", &[])],
        busy: None,
    }
}

fn place_in(checkout: Option<&str>) -> MergePlace {
    MergePlace {
        base: base(),
        verified: commit('b'),
        checkout: checkout.map(Utf8PathBuf::from),
    }
}

fn busy_at(at: &str) -> MergeObstacle {
    MergeObstacle::BaseBusy {
        into: main_branch(),
        at: at.into(),
    }
}

#[test]
fn a_merge_is_made_where_nothing_is_in_the_way() {
    assert_eq!(choose_place(&facts()), Ok(place_in(Some("/r"))));
    let nowhere = PlaceFacts {
        checkouts: Vec::new(),
        ..facts()
    };
    assert_eq!(choose_place(&nowhere), Ok(place_in(None)));
}

#[test]
fn what_is_in_the_way_of_a_merge_is_named() {
    let gone = MergeObstacle::NoBaseBranch {
        gone: Some(main_branch()),
    };
    let changed = MergeObstacle::BaseChanged {
        into: main_branch(),
        checkout: "/r".into(),
        changed: vec!["a".to_owned()],
    };
    let merging = BaseCheckout {
        operation: Some("merge"),
        ..checkout_at("/r", &["a"])
    };
    // what differs from `facts`, and what is in the way then
    let table = [
        (
            PlaceFacts {
                checkouts: vec![merging],
                ..facts()
            },
            MergeObstacle::BaseOperation {
                into: main_branch(),
                checkout: "/r".into(),
                operation: "merge",
            },
        ),
        (
            PlaceFacts {
                operation: Some("rebase"),
                verified: None,
                ..facts()
            },
            MergeObstacle::Operation("rebase"),
        ),
        (
            PlaceFacts {
                has_running_command: true,
                uncommitted: vec!["a".to_owned()],
                ..facts()
            },
            MergeObstacle::CommandRuns,
        ),
        (
            PlaceFacts {
                operation_of_run: Some("cherry-pick"),
                uncommitted: vec!["a".to_owned()],
                ..facts()
            },
            MergeObstacle::OperationOfRun("cherry-pick"),
        ),
        (
            PlaceFacts {
                verified: None,
                ..facts()
            },
            MergeObstacle::NotOnBranch,
        ),
        (
            PlaceFacts {
                uncommitted: vec!["a".to_owned()],
                base: BaseBranchState::Unknown,
                ..facts()
            },
            MergeObstacle::Uncommitted(vec!["a".to_owned()]),
        ),
        (
            PlaceFacts {
                base: BaseBranchState::Unknown,
                ..facts()
            },
            MergeObstacle::NoBaseBranch { gone: None },
        ),
        (
            PlaceFacts {
                base: BaseBranchState::Gone(main_branch()),
                ..facts()
            },
            gone,
        ),
        (
            PlaceFacts {
                checkouts: vec![checkout_at("/r", &["a"])],
                busy: Some("/r/.git".into()),
                ..facts()
            },
            changed,
        ),
        (
            PlaceFacts {
                busy: Some("/r/.git".into()),
                ..facts()
            },
            busy_at("/r/.git"),
        ),
        (
            PlaceFacts {
                checkouts: vec![checkout_at("/r", &[]), checkout_at("/s", &[])],
                ..facts()
            },
            busy_at("/s"),
        ),
    ];
    for (facts, obstacle) in table {
        assert_eq!(choose_place(&facts), Err(obstacle), "{facts:?}");
    }
}

/// A row of the table of methods; what stands for the facts of the history, the wish, and the
/// method, or why there is none.
struct Row {
    relation: Relation,
    setting: FastForwardSetting,
    wish: MergeWish,
    method: Result<MergeMethod, MergeObstacle>,
}

const fn row(
    relation: Relation,
    setting: FastForwardSetting,
    wish: MergeWish,
    method: MergeMethod,
) -> Row {
    Row {
        relation,
        setting,
        wish,
        method: Ok(method),
    }
}

fn diverged(setting: FastForwardSetting, wish: MergeWish) -> Row {
    Row {
        relation: Relation::Diverged,
        setting,
        wish,
        method: Err(MergeObstacle::Diverged(main_branch())),
    }
}

#[test]
fn the_method_follows_from_the_history_and_the_wish() {
    use FastForwardSetting::{Allowed, Never, Only};
    use MergeWish::{AsConfigured, FastForwardOnly, Rebase, Squash};
    use Relation::{Ahead, Contained, Diverged};
    let table = [
        row(Contained, Allowed, Squash, MergeMethod::Already),
        row(Contained, Only, AsConfigured, MergeMethod::Already),
        row(Ahead, Allowed, AsConfigured, MergeMethod::FastForward),
        row(Ahead, Only, AsConfigured, MergeMethod::FastForward),
        row(Ahead, Never, AsConfigured, MergeMethod::Merge),
        row(Ahead, Never, FastForwardOnly, MergeMethod::FastForward),
        row(Ahead, Never, Rebase, MergeMethod::FastForward),
        row(Ahead, Only, Squash, MergeMethod::Squash),
        row(Diverged, Allowed, AsConfigured, MergeMethod::Merge),
        row(Diverged, Never, AsConfigured, MergeMethod::Merge),
        diverged(Only, AsConfigured),
        diverged(Allowed, FastForwardOnly),
        row(Diverged, Only, Squash, MergeMethod::Squash),
        row(Diverged, Only, Rebase, MergeMethod::Rebase),
    ];
    for row in table {
        let facts = HistoryFacts {
            relation: row.relation,
            start: StartOfWork::InBaseBranch,
            setting: row.setting,
        };
        let method = choose_method(&facts, row.wish, &main_branch());
        assert_eq!(method, row.method, "{facts:?} {:?}", row.wish);
    }
}

#[test]
fn no_more_is_merged_than_was_verified() {
    for relation in [Relation::Ahead, Relation::Diverged] {
        let facts = HistoryFacts {
            relation,
            start: StartOfWork::OnlyInWork,
            setting: FastForwardSetting::Allowed,
        };
        for wish in [MergeWish::AsConfigured, MergeWish::FastForwardOnly] {
            let refused = choose_method(&facts, wish, &main_branch());
            assert_eq!(refused, Err(MergeObstacle::NotVerified(main_branch())));
        }
    }
}

fn new_commit() -> NewCommit {
    NewCommit {
        source: commit('b'),
        tree: tree(b'c'),
    }
}

#[test]
fn the_commit_is_known_where_none_is_created() {
    let new = vec![new_commit()];
    // method, commits to create; how the work is landed, and at which commit
    let table = [
        (
            MergeMethod::Already,
            &[][..],
            MergeMethod::Already,
            Some('a'),
        ),
        (
            MergeMethod::FastForward,
            &[],
            MergeMethod::FastForward,
            Some('b'),
        ),
        (MergeMethod::Merge, &new, MergeMethod::Merge, None),
        (MergeMethod::Squash, &new, MergeMethod::Squash, None),
        (MergeMethod::Rebase, &new, MergeMethod::Rebase, None),
        // the base branch has the content
        (MergeMethod::Merge, &[], MergeMethod::Already, Some('a')),
        (MergeMethod::Rebase, &[], MergeMethod::Already, Some('a')),
    ];
    for (method, new, how, at) in table {
        let trial = Trial::Commits(new.to_vec());
        let plan = plan(place_in(Some("/r")), method, trial).expect("a plan");
        assert_eq!(plan.landed.how, how, "{method:?}");
        assert_eq!(plan.landed.commit, at.map(commit), "{method:?}");
        assert_eq!(plan.landed.before, commit('a'));
        assert_eq!(plan.landed.verified, commit('b'));
        assert_eq!(plan.new, new);
        assert_eq!(plan.checkout, Some("/r".into()));
    }
}

#[test]
fn a_trial_that_failed_is_no_plan() {
    let paths = vec!["a".to_owned()];
    let conflict = plan(
        place_in(None),
        MergeMethod::Merge,
        Trial::Conflict(paths.clone()),
    );
    let into = main_branch();
    assert_eq!(conflict, Err(MergeObstacle::Conflict { into, paths }));
    let merge = commit('d');
    let dropped = plan(
        place_in(None),
        MergeMethod::Rebase,
        Trial::MergeAmongCommits(merge.clone()),
    );
    assert_eq!(dropped, Err(MergeObstacle::MergeAmongCommits(merge)));
}
