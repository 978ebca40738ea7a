//! Shows what was made, put back or removed.

use super::count;
use crate::answer::Paint;
use crate::commands::add::{Added, Done};
use crate::commands::remove::Removed;
use crate::config::{Choice, Client};
use crate::output::{Printed, sync};
use crate::plan::add::PlannedBranch;
use crate::plan::remove::BranchFate;
use crate::scope::RuleList;
use crate::size::Size;

/// The path on stdout, and only that; the rest on stderr. `-n` prints the plan instead.
pub fn add(added: &Added, paint: Paint) -> Printed {
    let plan = &added.plan;
    let branch = match &plan.branch {
        PlannedBranch::Make(name) => format!("new branch {}", paint.name(name.as_str())),
        PlannedBranch::Existing(name, _) => format!("branch {}", paint.name(name.as_str())),
    };
    let base = match &plan.branch {
        // an existing branch counts from its own tip unless --base was given
        PlannedBranch::Existing(_, tip) if *tip == plan.base => plan.base.short().to_owned(),
        PlannedBranch::Existing(..) | PlannedBranch::Make(_) => {
            format!("{} ({})", plan.base.short(), plan.revision)
        }
    };
    let files = added.files;
    let files = format!(
        "{} to edit, {} to read, {} excluded",
        count(files.write, "file", "files"),
        files.read,
        files.excluded
    );
    let path = format!("{}\n", plan.path).into_bytes();
    match added.done {
        Done::Made => {
            let name = paint.name(plan.name.as_str());
            let mut stderr = format!("{name}: {branch} at {base}; {files}\n");
            if let Some(plan) = &added.synced {
                if plan.files().count() > 0 {
                    stderr.push_str(&sync::summary(added.plan.name.as_str(), plan, false, paint));
                }
                stderr.push_str(&sync::left_out(added.plan.name.as_str(), plan));
            }
            Printed {
                stdout: path,
                stderr,
            }
        }
        Done::Kept => {
            let stderr = format!("{} is there already\n", paint.name(plan.name.as_str()));
            Printed {
                stdout: path,
                stderr,
            }
        }
        Done::Planned => {
            let list = |list: RuleList| {
                let rules = plan.rules.iter().filter(|rule| rule.list == list);
                let patterns: Vec<&str> = rules.map(|rule| rule.pattern.as_str()).collect();
                if patterns.is_empty() {
                    "nothing".to_owned()
                } else {
                    patterns.join("  ")
                }
            };
            let mut stdout = format!(
                "would make {}\n  branch   {branch}\n  base     {base}\n  write    {}\n  read     {}\n  exclude  {}\n  files    {files}\n",
                paint.name(plan.path.as_str()),
                list(RuleList::Write),
                list(RuleList::Read),
                list(RuleList::Exclude),
            );
            if let Some(synced) = added
                .synced
                .as_ref()
                .filter(|plan| plan.files().count() > 0)
            {
                let files = count(synced.files().count(), "file", "files");
                let size = crate::size::Size(synced.bytes());
                stdout.push_str(&format!("  sync     {files} ({size})\n"));
            }
            if plan.client != Client::None {
                let files: Vec<_> = plan.context.iter().map(|f| f.path.to_string()).collect();
                let (files, client) = (files.join("  "), plan.client.as_str());
                stdout.push_str(&format!("  context  {files} (for {client})\n"));
            }
            Printed {
                stdout: stdout.into_bytes(),
                stderr: String::new(),
            }
        }
    }
}

/// The rescue ref on stdout, where there is one; what was done on stderr.
pub fn remove(all: &[Removed], paint: Paint) -> Printed {
    let mut printed = Printed::default();
    for one in all {
        let verb = if one.dry_run {
            "would remove"
        } else {
            "removed"
        };
        let branch = match &one.plan.branch {
            BranchFate::Stays => format!("branch {} stays", one.branch),
            BranchFate::Deleted(tip) => {
                let merged = one.plan.merged.as_ref();
                let merged = merged.map(|how| format!(", {how}")).unwrap_or_default();
                format!("branch {} (was {}{merged})", one.branch, tip.short())
            }
            BranchFate::Private => format!("branch {} went with its clone", one.branch),
            BranchFate::Gone => "its branch was gone".to_owned(),
        };
        let ignored = ignored(one);
        let name = paint.name(&one.name);
        printed
            .stderr
            .push_str(&format!("{verb} {name}: {}, {branch}{ignored}\n", one.path));
        if let Some(trash) = &one.trash {
            printed.stderr.push_str(&format!(
                "saved what was not committed or merged; to see it: git show --stat {}\n",
                trash.name
            ));
            printed
                .stdout
                .extend_from_slice(format!("{}\n", trash.name).as_bytes());
        } else if one.dry_run && !(one.plan.save.is_empty() && one.plan.keep.is_empty()) {
            let files = count(one.plan.save.len(), "file", "files");
            printed.stderr.push_str(&format!(
                "  would first save {files} under refs/agentwt/trash/{}/\n",
                one.name
            ));
        }
    }
    printed
}

/// How many ignored files went with a worktree, and where most of them were.
fn ignored(one: &Removed) -> String {
    const SHOWN: usize = 3;
    if one.ignored == 0 {
        return String::new();
    }
    let files = count(one.ignored, "ignored file", "ignored files");
    let places = one.ignored_places.iter().take(SHOWN);
    let mut places: Vec<String> = places
        .map(|(place, size)| format!("{place} {}", Size(*size)))
        .collect();
    if one.ignored_places.len() > SHOWN {
        places.push("…".to_owned());
    }
    format!(", {files} ({})", places.join(", "))
}
