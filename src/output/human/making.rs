//! Shows what was made, put back or removed.

use super::count;
use crate::answer::Paint;
use crate::commands::add::{Added, Done};
use crate::commands::hooks::{HooksAnswer, HooksDone};
use crate::commands::remove::Removed;
use crate::config::{Choice, Client};
use crate::git::hooks::{Binary, HooksStatus, Installed, Method, PreCommit};
use crate::output::{Printed, sync};
use crate::plan::add::PlannedBranch;
use crate::plan::remove::BranchFate;
use crate::scope::RuleList;
use crate::size::Size;
use crate::worktree::MadeBy;

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
                if plan.files() > 0 {
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
            if let Some(synced) = added.synced.as_ref().filter(|plan| plan.files() > 0) {
                let files = count(synced.files(), "file", "files");
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

/// What was done to hooks on stderr; how they are on stdout.
pub fn hooks(answer: &HooksAnswer, paint: Paint) -> Printed {
    let path = paint.name(answer.path.as_str());
    let by = |method: &Method| match method {
        Method::Configured => "as configured hooks",
        Method::HooksPath => "by core.hooksPath, chained to the user's own",
    };
    let said = |stderr: String| Printed {
        stdout: Vec::new(),
        stderr,
    };
    match &answer.done {
        HooksDone::Installed { method, recorded } => {
            let mut text = format!("installed hooks in {path}, {}\n", by(method));
            if *recorded {
                let name = answer.name.as_deref().unwrap_or("");
                text.push_str(&format!(
                    "recorded it as {}: see its scope with `git agentwt scope {name}`\n",
                    paint.name(name)
                ));
            }
            said(text)
        }
        HooksDone::WouldInstall(method) => {
            said(format!("would install hooks in {path}, {}\n", by(method)))
        }
        HooksDone::Uninstalled => said(format!("removed our hooks from {path}\n")),
        HooksDone::WouldUninstall => said(format!("would remove our hooks from {path}\n")),
        HooksDone::Status(status) => {
            let text = format!("{path}\n{}", status_lines(status, paint));
            Printed {
                stdout: text.into_bytes(),
                stderr: String::new(),
            }
        }
    }
}

/// How hooks are, in lines that `status` shows too.
pub fn status_lines(status: &HooksStatus, paint: Paint) -> String {
    let how = match &status.installed {
        Installed::No => paint.warning("not installed"),
        Installed::Complete(Method::Configured) => paint.good("installed, as configured hooks"),
        Installed::Complete(Method::HooksPath) => paint.good("installed, by core.hooksPath"),
        Installed::Partly { faults, .. } => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            paint.bad(&format!("damaged: {}", faults.join("; ")))
        }
        Installed::Overridden { scope, path } => {
            paint.bad(&format!("overridden by core.hooksPath = {path} ({scope})"))
        }
    };
    let mut text = format!("  hooks    {how}\n");
    match &status.binary {
        Some(Binary::Found(path)) => text.push_str(&format!("  program  {path}\n")),
        Some(Binary::Missing(path)) => {
            text.push_str(&format!(
                "  program  {}\n",
                paint.bad(&format!("{path} is missing"))
            ));
        }
        None => {}
    }
    if status.pre_commit == PreCommit::Blocks {
        text.push_str("  commits  are refused when there are violations\n");
    }
    text.push_str(&format!("  user's   {}\n", status.user_directory));
    text
}

/// Who made a worktree, where that matters to people.
pub const fn made_by(made_by: MadeBy) -> Option<&'static str> {
    match made_by {
        MadeBy::Add => None,
        MadeBy::Git => Some("made by plain git"),
    }
}
