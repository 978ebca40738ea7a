use std::time::Duration;

use super::*;
use crate::words::toml_file;

fn claim() -> Claim {
    Claim {
        name: WorktreeName::parse("task-5").expect("a name"),
        since: "2026-11-21T10:00:00Z".into(),
        renewed: "2026-11-21T10:05:00Z".into(),
        expires: "2026-11-21T10:15:00Z".into(),
        lease: Lease::DEFAULT,
        holding: "a".repeat(32),
        nonce: "b".repeat(32),
        who: Who {
            owner: "scheduler \u{e9}\n3: x\\".into(),
            host: "host-1".into(),
            pid: 17,
            started: String::new(),
        },
    }
}

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).expect("40 digits")
}

fn reading(boot: &str, milliseconds: u64) -> ClockReading {
    ClockReading {
        boot: boot.into(),
        milliseconds,
    }
}

fn standing(asked: &ClockReading) -> CurrentClaim {
    CurrentClaim {
        asked: asked.clone(),
        claim: Some((commit("c"), claim())),
    }
}

fn seen(digit: &str, boot: &str, milliseconds: u64) -> SeenClaim {
    SeenClaim {
        remote: "origin".into(),
        commit: commit(digit),
        first: reading(boot, milliseconds),
    }
}

fn read(message: &str) -> Result<Claim, TomlFileError> {
    Claim::from_commit(format!("tree x\nauthor y\n\n{message}").as_bytes())
}

#[test]
fn a_claim_is_read_back_as_it_was_written() {
    assert_eq!(read(&claim().to_message()), Ok(claim()));
}

#[test]
fn what_is_no_claim_of_this_version_is_refused_with_the_reason() {
    let good = claim().to_message();
    for (text, why) in [
        (
            good.replace("version = 4", "version = 1"),
            "it has version 1",
        ),
        (good.replace("version = 4", "version = '2'"), "no version"),
        (good.replace("pid = 17", "pid = -1"), "u32"),
        (good.replace("pid = 17", "pid = 99999999999"), "u32"),
        (good.replace("lease = 600", "lease = 0"), "not a lease"),
        (
            good.replace("lease = 600", "lease = 99999999"),
            "not a lease",
        ),
        (
            good.replace("host = \"host-1\"\n", ""),
            "missing field `host`",
        ),
        (good.replace("\"task-5\"", "\"../x\""), "a name"),
        (format!("{good}more = 1\n"), "unknown field `more`"),
        (String::new(), "no message"),
    ] {
        let said = read(&text).expect_err(why).to_string();
        assert!(said.contains(why), "{why}: {said}");
    }
    assert!(Claim::from_commit(b"tree x\n\nsubject\n\n\xff").is_err());
}

#[test]
fn the_values_of_others_are_shown_escaped() {
    let shown = claim().to_string();
    assert!(shown.contains("`scheduler \u{e9}\\0123: x"), "{shown}");
}

#[test]
fn what_nobody_has_is_taken_and_our_own_is_gone_on_with() {
    let now = reading("b", 0);
    let free = CurrentClaim {
        asked: now.clone(),
        claim: None,
    };
    assert_eq!(decide(free, None, None), Decision::Free);
    let decided = |holding: &str, owner: &str| {
        let own = Own {
            remote: "origin".into(),
            owner: owner.into(),
            holding: holding.into(),
        };
        decide(standing(&now), Some(&own), None)
    };
    let (ours, theirs) = ("a".repeat(32), "e".repeat(32));
    let owner = claim().who.owner;
    assert_eq!(decided(&ours, &owner), Decision::Ours(claim()));
    assert!(matches!(decided(&theirs, &owner), Decision::Held(..)));
    assert!(matches!(decided(&ours, "another"), Decision::Held(..)));
}

#[test]
fn anothers_is_taken_over_only_after_a_full_lease_of_our_own_clock() {
    let left =
        |seen: Option<&SeenClaim>, now: &ClockReading| match decide(standing(now), None, seen) {
            Decision::Held(_, left) => Some(left),
            Decision::Lapsed(..) => None,
            other @ (Decision::Free | Decision::Ours(..)) => panic!("{other:?}"),
        };
    let whole = Some(Duration::from_secs(600));
    let at = |milliseconds| reading("b", milliseconds);
    assert_eq!(left(None, &at(9_000_000)), whole, "never seen");
    let first = seen("c", "b", 1_000);
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(left(Some(&first), &at(600_999)), ms(1), "not before");
    assert_eq!(left(Some(&first), &at(601_000)), None, "a full lease");
    let back = left(Some(&first), &at(999));
    assert_eq!(back, whole, "a clock that went back");
    let rebooted = reading("another", 9_000_000);
    assert_eq!(left(Some(&first), &rebooted), whole, "another run");
    let renewed = seen("d", "b", 1_000);
    let changed = left(Some(&renewed), &at(9_000_000));
    assert_eq!(changed, whole, "it has changed");
}

#[test]
fn the_times_in_a_claim_decide_nothing() {
    for time in ["1970-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "no time"] {
        let mut odd = claim();
        (odd.since, odd.renewed, odd.expires) = (time.into(), time.into(), time.into());
        let standing = CurrentClaim {
            asked: reading("b", 0),
            claim: Some((commit("c"), odd)),
        };
        let decision = decide(standing, None, None);
        assert!(matches!(decision, Decision::Held(_, left) if left.as_secs() == 600));
    }
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
            owner: "me".into(),
            holding: "a".into(),
        }),
        seen: Some(seen("d", "b", 5)),
    };
    let text = toml_file::to_text(&state);
    assert_eq!(toml_file::from_text(&text), Ok(state));
}
