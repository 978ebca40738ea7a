use std::time::Duration;

use super::*;

fn claim() -> Claim {
    Claim {
        name: WorktreeName::parse("task-5").expect("a name"),
        who: Who {
            owner: "scheduler \u{e9}\n3: x\\".into(),
            host: "host-1".into(),
            pid: 17,
            started: String::new(),
        },
        since: "2026-11-21T10:00:00Z".into(),
        renewed: "2026-11-21T10:05:00Z".into(),
        expires: "2026-11-21T10:15:00Z".into(),
        lease: Lease::DEFAULT,
        holding: "a".repeat(32),
        nonce: "b".repeat(32),
    }
}

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).expect("40 digits")
}

fn reading(boot: &str, milliseconds: u64) -> Reading {
    Reading {
        boot: boot.into(),
        milliseconds,
    }
}

fn standing() -> Standing {
    Standing::Claimed {
        commit: commit("c"),
        claim: Ok(Box::new(claim())),
    }
}

fn seen(digit: &str, boot: &str, milliseconds: u64) -> Seen {
    Seen {
        remote: "origin".into(),
        commit: commit(digit),
        first: reading(boot, milliseconds),
    }
}

#[test]
fn a_claim_is_read_back_as_it_was_written_in_plain_ascii() {
    let text = claim().to_message();
    assert!(text.is_ascii(), "{text}");
    assert_eq!(Claim::from_message(text.as_bytes()), Ok(claim()));
    let raw = format!("tree x\nauthor y\n\n{text}");
    assert_eq!(Claim::from_commit(raw.as_bytes()), Ok(claim()));
}

#[test]
fn what_is_no_claim_of_this_version_is_refused_with_the_reason() {
    let good = claim().to_message();
    let of = |text: &str| match Claim::from_message(text.as_bytes()) {
        Ok(claim) => format!("{claim:?}"),
        Err(error) => error.to_string(),
    };
    for (text, why) in [
        (
            good.replace("version: 1", "version: 2\x1b[31m"),
            "`version` is not written as it should be",
        ),
        (
            good.replace("version: 1", "version: 2"),
            "it has version 2, and this program reads version 1",
        ),
        (good.replace("pid: 17", "pid: -1"), "pid is no number"),
        (
            good.replace("pid: 17", "pid: 99999999999"),
            "pid is too large",
        ),
        (
            good.replace("lease: 600", "lease: 0"),
            "its lease is no lease",
        ),
        (
            good.replace("lease: 600", "lease: 99999999"),
            "its lease is no lease",
        ),
        (good.replace("host: host-1\n", ""), "`host` is missing"),
        (
            good.replace("host-1", r"host\9"),
            "`host` is not written as it should be",
        ),
        (
            good.replace("host-1", &"h".repeat(3000)),
            "`host` is too long",
        ),
        (good.replace("task-5\nowner", "../x\nowner"), "a name"),
        (format!("{good}more: 1\n"), "unexpected line `more: 1`"),
        (String::new(), "it says nothing"),
    ] {
        assert!(of(&text).contains(why), "{why}: {}", of(&text));
    }
    let long = Claim::from_commit(&vec![b'x'; 20_000]);
    assert_eq!(long, Err(ClaimError::Damaged("it is too long".into())));
}

#[test]
fn what_nobody_has_is_taken_and_our_own_is_gone_on_with() {
    let now = reading("b", 0);
    assert_eq!(decide(Standing::Free, None, None, &now), Decision::Take);
    let own = |holding: &str, owner: &str| Own {
        remote: "origin".into(),
        who: Who {
            owner: owner.into(),
            ..claim().who
        },
        holding: holding.into(),
        since: String::new(),
        commit: None,
    };
    let (ours, theirs) = ("a".repeat(32), "e".repeat(32));
    let owner = claim().who.owner;
    let of = |own: &Own| decide(standing(), Some(own), None, &now);
    let goes_on = Decision::GoOn(commit("c"), Box::new(claim()));
    assert_eq!(of(&own(&ours, &owner)), goes_on);
    assert!(matches!(of(&own(&theirs, &owner)), Decision::Wait { .. }));
    assert!(matches!(of(&own(&ours, "another")), Decision::Wait { .. }));
}

#[test]
fn anothers_is_taken_over_only_after_a_full_lease_of_our_own_clock() {
    let left = |seen: Option<&Seen>, now: &Reading| match decide(standing(), None, seen, now) {
        Decision::Wait { left, .. } => Some(left),
        Decision::TakeOver(..) => None,
        other @ (Decision::Take | Decision::GoOn(..) | Decision::Leave(..)) => {
            panic!("{other:?}")
        }
    };
    let whole = Some(Duration::from_secs(600));
    let at = |milliseconds| reading("b", milliseconds);
    assert_eq!(left(None, &at(9_000_000)), whole, "never seen");
    let first = seen("c", "b", 1_000);
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(left(Some(&first), &at(600_999)), ms(1), "not before");
    assert_eq!(left(Some(&first), &at(601_000)), None, "a full lease");
    assert_eq!(
        left(Some(&first), &at(999)),
        whole,
        "a clock that went back"
    );
    let rebooted = reading("another", 9_000_000);
    assert_eq!(left(Some(&first), &rebooted), whole, "another run");
    let renewed = seen("d", "b", 1_000);
    assert_eq!(
        left(Some(&renewed), &at(9_000_000)),
        whole,
        "it has changed"
    );
}

#[test]
fn the_times_in_a_claim_decide_nothing() {
    for time in ["1970-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "no time"] {
        let mut odd = claim();
        (odd.since, odd.renewed, odd.expires) = (time.into(), time.into(), time.into());
        let standing = Standing::Claimed {
            commit: commit("c"),
            claim: Ok(Box::new(odd)),
        };
        let decision = decide(standing, None, None, &reading("b", 0));
        assert!(matches!(decision, Decision::Wait { left, .. } if left.as_secs() == 600));
    }
}

#[test]
fn what_cannot_be_read_is_never_taken_over() {
    let standing = Standing::Claimed {
        commit: commit("c"),
        claim: Err(ClaimError::Version("2".into())),
    };
    let old = seen("c", "b", 0);
    let decision = decide(standing, None, Some(&old), &reading("b", u64::MAX));
    assert!(matches!(decision, Decision::Leave(..)), "{decision:?}");
}

#[test]
fn a_lease_is_whole_seconds_up_to_thirty_days() {
    for (text, seconds) in [
        ("1", 1),
        ("90s", 90),
        ("10m", 600),
        ("2h", 7200),
        ("30d", 2_592_000),
    ] {
        assert_eq!(
            Lease::parse(text).map(Lease::seconds),
            Ok(seconds),
            "{text}"
        );
    }
    for text in [
        "",
        "0",
        "0s",
        "s",
        "-1",
        "1.5h",
        "31d",
        "1w",
        "1 m",
        "99999999999999999999d",
    ] {
        assert!(Lease::parse(text).is_err(), "{text}");
    }
    let shown = [90, 600, 7200, 86_400].map(|s| Lease::of_seconds(s).map(|l| l.to_string()));
    let wanted = ["90s", "10m", "2h", "1d"].map(|text| Some(text.to_owned()));
    assert_eq!(shown, wanted);
}

#[test]
fn a_state_is_read_back_as_it_was_written() {
    let state = ClaimState {
        own: Some(Own {
            remote: "origin".into(),
            who: claim().who,
            holding: "a".into(),
            since: "2026-11-21T10:00:00Z".into(),
            commit: Some(commit("c")),
        }),
        seen: Some(seen("d", "b", 5)),
        ..ClaimState::default()
    };
    let text = crate::versioned::to_text(&state);
    assert_eq!(crate::versioned::from_text(&text), Ok(state));
}
