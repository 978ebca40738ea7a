//! Shows what was renewed, and what is claimed.

use serde_json::{Value, json};

use super::{Paint, Printed};
use crate::claim::Lease;
use crate::commands::renew::Renewed;
use crate::path::escape_for_terminal;
use crate::record::HeldClaim;

/// One line on stderr.
pub(super) fn human(done: &Renewed, paint: Paint) -> Printed {
    let would = if done.dry_run {
        "would renew"
    } else {
        "renewed"
    };
    let name = paint.name(&done.name);
    let escape = |text: &str| escape_for_terminal(text.as_bytes());
    let stderr = match (&done.claim, &done.owner) {
        (Some((held, who)), _) => {
            let lease = Lease::of_seconds(held.lease).unwrap_or(Lease::DEFAULT);
            let owner = escape(&who.owner);
            format!(
                "{would} the claim of `{owner}` on {name} at {} for {lease}\n",
                held.remote
            )
        }
        (None, Some(owner)) => format!("{would} `{}` as the owner of {name}\n", escape(&owner.id)),
        (None, None) => String::new(),
    };
    Printed {
        stdout: Vec::new(),
        stderr,
    }
}

/// The facts.
pub(super) fn json(done: &Renewed) -> Value {
    let mut body = json!({ "name": done.name, "dry_run": done.dry_run });
    let Some(object) = body.as_object_mut() else {
        return body;
    };
    if let Some((held, who)) = &done.claim {
        let mut claim = claim_json(held);
        if let Some(claim) = claim.as_object_mut() {
            claim.insert("owner".to_owned(), json!(who.owner));
            claim.insert("host".to_owned(), json!(who.host));
            claim.insert("pid".to_owned(), json!(who.pid));
        }
        object.insert("claim".to_owned(), claim);
    }
    if let Some(owner) = &done.owner {
        let owner = super::json::owner(owner, done.alive);
        object.insert("owner".to_owned(), owner);
    }
    body
}

/// What is held on a server; the lease in seconds.
pub(super) fn claim_json(held: &HeldClaim) -> Value {
    json!({ "remote": held.remote, "commit": held.commit, "lease": held.lease })
}
