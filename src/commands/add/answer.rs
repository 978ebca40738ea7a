//! The answer of `add`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::shapes::{AccessCounts, CopyReport, Exclusion, ScopePatterns, WorktreeBase};
use crate::answer::text::Text;
use crate::answer::worktree::OwnerState;
use crate::client::layout::ContextFile;
use crate::config::value::{Choice, Client};
use crate::record::worktree::{HeldClaim, Owner, PullRequest, Record};
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path::escape_for_terminal;
use crate::words::path_text::PathText;
use crate::words::text::when;

/// The answer of `add`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AddAnswer {
    /// `made`, `kept` (the worktree existed as asked for) or `planned` (`-n`).
    pub done: Done,
    /// Whether nothing was done (`-n`).
    pub dry_run: bool,
    /// The name of the worktree.
    #[schemars(with = "String")]
    pub name: WorktreeName,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The branch.
    #[schemars(with = "String")]
    pub branch: BranchName,
    /// Whether the branch was created.
    pub branch_made: bool,
    /// Where the worktree started.
    pub base: WorktreeBase,
    /// The commit that is checked out; absent if that is the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
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
    pub scope: ScopePatterns,
    /// The number of tracked files by access.
    pub files: AccessCounts,
    /// With `-n`: what excludes files, with the number of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusions: Option<Vec<Exclusion>>,
    /// The owner; absent if none was named.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_owner"
    )]
    #[schemars(with = "Option<OwnerState>")]
    pub owner: Option<Owner>,
    /// What was copied from the main worktree; absent if the worktree existed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synced: Option<CopyReport>,
    /// The claim on a server; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<HeldClaim>,
    /// The agent program that the context is for; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<&'static str>,
    /// The files that tell the agent program its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<ListedContext>>,
    /// The set-up of the config; absent if there is nothing to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<SetupReport>,
}

#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn serialize_owner<S: Serializer>(owner: &Option<Owner>, serializer: S) -> Result<S::Ok, S::Error> {
    owner.as_ref().map(OwnerState::new).serialize(serializer)
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
pub struct ListedContext {
    /// The path.
    #[serde(flatten)]
    pub path: PathText,
    /// The size.
    pub size: usize,
}

impl AddAnswer {
    /// Creates the answer for a recorded worktree.
    pub fn new(done: Done, record: Record, files: AccessCounts) -> Self {
        let is_base = record.checked_out == record.base.commit;
        Self {
            done,
            dry_run: done == Done::Planned,
            base: WorktreeBase::named(&record.base.commit, &record.base.revision),
            scope: ScopePatterns::whole(record.profile.as_deref(), &record.scope),
            name: record.name,
            path: record.path,
            branch: record.branch,
            branch_made: record.branch_made,
            head: Some(record.checked_out).filter(|_| !is_base),
            request: record.request,
            strategy: record.strategy.as_str(),
            attempts: 1,
            on_violation: record.on_violation.as_str(),
            files,
            exclusions: None,
            owner: record.owner,
            synced: None,
            claim: record.claim,
            client: None,
            context: None,
            setup: None,
        }
    }

    /// The answer, with the context that was written for a client.
    pub fn with_context(mut self, client: Client, files: &[ContextFile]) -> Self {
        if client == Client::None {
            return self;
        }
        let mut context = Vec::new();
        for file in files {
            context.push(ListedContext {
                path: PathText::from(&file.path),
                size: file.content.len(),
            });
        }
        self.client = Some(client.as_str());
        self.context = Some(context);
        self
    }

    /// The branch for people: `new branch agentwt/task-5`.
    fn branch_text(&self, paint: Paint) -> String {
        let new = when(self.branch_made, "new ");
        let branch = paint.name(self.branch.as_str());
        format!("{new}branch {branch}")
    }

    /// The base for people.
    fn base_text(&self) -> String {
        let commit = self.base.commit.as_ref();
        let id = commit.map_or("", CommitId::short);
        // an existing branch counts from its own tip unless --base was given
        if self.branch_made || self.head.is_some() {
            let revision = self.base.revision.as_deref().unwrap_or_default();
            return format!("{id} ({revision})");
        }
        id.to_owned()
    }

    /// What `-n` prints.
    fn print_plan(&self, text: &mut Text) {
        let path = text.paint.name(self.path.as_str());
        text.line(format!("would make {path}"));
        if let Some(PullRequest { remote, ref_name }) = &self.request {
            let commit = self.head.as_ref().or(self.base.commit.as_ref());
            let head = commit.map_or("", CommitId::short);
            text.fact("fetch", format!("{ref_name} from {remote}, now at {head}"));
        }
        text.fact("branch", self.branch_text(text.paint));
        text.fact("base", self.base_text());
        text.fact("write", patterns_text(self.scope.write.as_deref()));
        text.fact("read", patterns_text(self.scope.read.as_deref()));
        text.fact("exclude", patterns_text(self.scope.exclude.as_deref()));
        text.fact("files", self.files.text());
        for exclusion in self.exclusions.iter().flatten() {
            text.fact("excluded", exclusion.text());
        }
        if let Some(synced) = &self.synced
            && synced.files > 0
        {
            text.fact("sync", synced.size());
        }
        if let (Some(client), Some(context)) = (self.client, &self.context) {
            let files: Vec<String> = context.iter().map(|file| file.path.shown()).collect();
            text.fact("context", format!("{} (for {client})", files.join("  ")));
        }
        self.print_setup(text);
    }

    /// What the set-up would run, and whether that is trusted.
    fn print_setup(&self, text: &mut Text) {
        let Some(setup) = &self.setup else {
            return;
        };
        if setup.submodules {
            text.fact("setup", "the submodules of the main worktree");
        }
        let not = when(!setup.trusted, "  (not trusted: git agentwt trust)");
        for command in &setup.commands {
            let command = escape_for_terminal(command.as_bytes());
            text.fact("setup", format!("{command}{not}"));
        }
    }

    fn print_copies(&self, text: &mut Text) {
        let Some(synced) = &self.synced else {
            return;
        };
        let name = self.name.as_str();
        if synced.files > 0 {
            text.tell(synced.summary(name, false, text.paint));
        }
        for line in synced.not_copied(name) {
            text.tell(line);
        }
    }
}

fn patterns_text(patterns: Option<&[String]>) -> String {
    match patterns {
        None | Some([]) => "nothing".to_owned(),
        Some(patterns) => patterns.join("  "),
    }
}

impl Answer for AddAnswer {
    const DOCUMENT: &'static str = "add";

    /// The path on stdout, and only that; the rest on stderr. `-n` prints the plan instead.
    fn print(&self, text: &mut Text) {
        let name = text.paint.name(self.name.as_str());
        match self.done {
            Done::Planned => self.print_plan(text),
            Done::Kept => {
                if self.dry_run {
                    self.print_setup(text);
                }
                text.line(self.path.as_str());
                text.tell(format!("{name} is there already"));
            }
            Done::Made => {
                let branch = self.branch_text(text.paint);
                let base = self.base_text();
                let files = self.files.text();
                text.line(self.path.as_str());
                text.tell(format!("{name}: {branch} at {base}; {files}"));
                self.print_copies(text);
            }
        }
    }
}

/// The set-up of the config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SetupReport {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// Whether the submodules of the main worktree are checked out too.
    pub submodules: bool,
    /// Whether you trust the commands as they are now.
    pub trusted: bool,
    /// `planned` (`-n`), `done`, or `skipped` (commands are not trusted, or would run in a new pull
    /// request).
    pub state: &'static str,
}
