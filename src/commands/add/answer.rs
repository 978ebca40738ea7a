//! The answer of `add`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::shapes::{
    AccessCounts, BaseField, CopiesField, ExclusionField, PathField, ScopeField,
};
use crate::answer::text::Text;
use crate::answer::worktree::OwnerField;
use crate::client::layout::ContextFile;
use crate::config::value::{Choice, Client};
use crate::record::worktree::{HeldClaim, PullRequest, Record};
use crate::words::path::escape_for_terminal;
use crate::words::text::when;

/// The answer of `add`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AddAnswer {
    /// `made`, `kept` (the worktree existed as asked for) or `planned` (`-n`).
    pub done: Done,
    /// Whether nothing was done (`-n`).
    pub dry_run: bool,
    /// The name of the worktree.
    pub name: String,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The branch.
    pub branch: String,
    /// Whether the branch was created.
    pub branch_made: bool,
    /// Where the worktree started.
    pub base: BaseField,
    /// The pull request that the branch was made from, or would be; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<PullRequest>,
    /// `worktree` or `clone`.
    pub strategy: &'static str,
    /// The number of attempts.
    pub attempts: u32,
    /// What the hooks do about a violation: `report` or `block`.
    pub on_violation: &'static str,
    /// The scope.
    pub scope: ScopeField,
    /// The number of tracked files by access.
    pub files: AccessCounts,
    /// With `-n`: what excludes files, with the number of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusions: Option<Vec<ExclusionField>>,
    /// The owner; absent if none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerField>,
    /// What was copied from the main worktree; absent if the worktree existed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synced: Option<CopiesField>,
    /// The claim on a server; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<HeldClaim>,
    /// The agent program that the context is for; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<&'static str>,
    /// The files that tell the agent program its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<ContextField>>,
    /// The set-up of the config; absent if there is nothing to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<SetupField>,
    /// What is recorded.
    #[serde(skip)]
    pub record: Record,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Done {
    /// The worktree was created.
    Made,
    /// The worktree existed.
    Kept,
    /// The worktree would be created (`-n`).
    Planned,
}

/// A file that tells the agent program its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextField {
    /// The path.
    #[serde(flatten)]
    pub path: PathField,
    /// The size.
    pub size: usize,
}

impl AddAnswer {
    /// Creates the answer for a recorded worktree.
    pub fn new(done: Done, record: Record, files: AccessCounts) -> Self {
        Self {
            done,
            dry_run: done == Done::Planned,
            name: record.name.to_string(),
            path: record.path.clone(),
            branch: record.branch.to_string(),
            branch_made: record.branch_made,
            base: BaseField::named(&record.base.commit, &record.base.revision),
            request: record.request.clone(),
            strategy: record.strategy.as_str(),
            attempts: 1,
            on_violation: record.on_violation.as_str(),
            scope: ScopeField::whole(record.profile.as_deref(), &record.scope),
            files,
            exclusions: None,
            owner: record.owner.as_ref().map(OwnerField::new),
            synced: None,
            claim: record.claim.clone(),
            client: None,
            context: None,
            setup: None,
            record,
        }
    }

    /// The answer, with the context that was written for a client.
    pub fn with_context(mut self, client: Client, context: &[ContextFile]) -> Self {
        if client != Client::None {
            let field = |file: &ContextFile| ContextField {
                path: PathField::from(&file.path),
                size: file.content.len(),
            };
            self.client = Some(client.as_str());
            self.context = Some(context.iter().map(field).collect());
        }
        self
    }

    fn print_plan(&self, text: &mut Text, branch: &str, base: &str, files: &str) {
        let path = text.paint.name(self.path.as_str());
        let list = |patterns: &Option<Vec<String>>| match patterns.as_deref() {
            None | Some([]) => "nothing".to_owned(),
            Some(patterns) => patterns.join("  "),
        };
        text.line(format!("would make {path}"));
        if let Some(PullRequest { remote, ref_name }) = &self.request {
            let head = self.record.checked_out.short();
            text.line(format!(
                "  fetch    {ref_name} from {remote}, now at {head}"
            ));
        }
        for (key, value) in [
            ("branch", branch),
            ("base", base),
            ("write", &list(&self.scope.write)),
            ("read", &list(&self.scope.read)),
            ("exclude", &list(&self.scope.exclude)),
            ("files", files),
        ] {
            text.line(format!("  {key:<8} {value}"));
        }
        for exclusion in self.exclusions.iter().flatten() {
            text.line(format!("  excluded {}", exclusion.text()));
        }
        if let Some(synced) = self.synced.as_ref().filter(|synced| synced.files > 0) {
            text.line(format!("  sync     {}", synced.size()));
        }
        if let (Some(client), Some(context)) = (self.client, &self.context) {
            let files: Vec<String> = context.iter().map(|file| file.path.shown()).collect();
            text.line(format!("  context  {} (for {client})", files.join("  ")));
        }
        self.print_setup(text);
    }
}

impl AddAnswer {
    /// What the set-up would run, and whether that is trusted.
    fn print_setup(&self, text: &mut Text) {
        let Some(setup) = &self.setup else {
            return;
        };
        if setup.submodules {
            text.line("  setup    the submodules of the main worktree");
        }
        let not = when(!setup.trusted, "  (not trusted: git agentwt trust)");
        for command in &setup.commands {
            let command = escape_for_terminal(command.as_bytes());
            text.line(format!("  setup    {command}{not}"));
        }
    }
}

impl Answer for AddAnswer {
    const DOCUMENT: &'static str = "add";

    /// The path on stdout, and only that; the rest on stderr. `-n` prints the plan instead.
    fn print(&self, text: &mut Text) {
        let name = text.paint.name(&self.name);
        if self.done == Done::Kept {
            if self.dry_run {
                self.print_setup(text);
            }
            text.line(self.path.as_str());
            return text.tell(format!("{name} is there already"));
        }
        let record = &self.record;
        let branch = text.paint.name(&self.branch);
        let new = when(self.branch_made, "new ");
        let branch = format!("{new}branch {branch}");
        let mut base = record.base.commit.short().to_owned();
        // an existing branch counts from its own tip unless --base was given
        if self.branch_made || record.checked_out != record.base.commit {
            base.push_str(&format!(" ({})", record.base.revision));
        }
        let files = self.files.text();
        if self.done == Done::Planned {
            return self.print_plan(text, &branch, &base, &files);
        }
        text.line(self.path.as_str());
        text.tell(format!("{name}: {branch} at {base}; {files}"));
        if let Some(synced) = &self.synced {
            if synced.files > 0 {
                text.tell(synced.summary(&self.name, false, text.paint));
            }
            for line in synced.left_out(&self.name) {
                text.tell(line);
            }
        }
    }
}

/// The set-up of the config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SetupField {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// Whether the submodules of the main worktree are checked out too.
    pub submodules: bool,
    /// Whether you trust the commands as they are now.
    pub trusted: bool,
    /// `planned` (`-n`), `done`, or `skipped` (commands are not trusted, or would run in a new pull request).
    pub state: &'static str,
}
