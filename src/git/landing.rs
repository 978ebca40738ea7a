//! Merges and commits without a checkout, and brings a branch and its worktree forward: what `land`
//! asks of git.

use bstr::{BString, ByteSlice};
use camino::Utf8Path;

use crate::git::error::GitError;
use crate::git::process::{Git, words};
use crate::words::entry::ObjectId;
use crate::words::name::{BranchName, CommitId};
use crate::words::path::escape_for_terminal;

/// What a commit says of its author, and its message. By default the author is the user, now.
#[derive(Default)]
pub struct Authorship {
    variables: Vec<(&'static str, String)>,
    encoding: Option<String>,
    /// The message.
    pub message: Vec<u8>,
}

impl Authorship {
    /// Takes the user as the author, now.
    pub fn of_user(message: Vec<u8>) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    /// Reads the author and the message of a raw commit.
    pub fn parse(raw: &[u8]) -> Self {
        let (headers, message) = raw.split_once_str("\n\n").unwrap_or((raw, b""));
        let mut authorship = Self::of_user(message.to_vec());
        authorship.encoding = header(headers, b"encoding ");
        // `<name> <<email>> <seconds> <zone>`
        let author = header(headers, b"author ").unwrap_or_default();
        if let Some((name, rest)) = author.split_once(" <")
            && let Some((email, date)) = rest.split_once("> ")
        {
            authorship.variables = vec![
                ("GIT_AUTHOR_NAME", name.to_owned()),
                ("GIT_AUTHOR_EMAIL", email.to_owned()),
                ("GIT_AUTHOR_DATE", format!("@{date}")),
            ];
        }
        authorship
    }
}

/// Returns the first header of a raw commit that begins so.
fn header(headers: &[u8], name: &[u8]) -> Option<String> {
    let value = headers.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.to_str_lossy().into_owned())
}

/// What the user allows of repositories of others (git-config(1), `protocol.<name>.allow`) is not
/// meant for ours.
const OUR_FILES: &str = "-c protocol.file.allow=always";

/// Whether git checks the objects that it fetches (`fetch.fsckObjects`, git-config(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchCheck {
    /// Each object, as `git fsck` does.
    Fsck,
    /// Only that all are there.
    Connectivity,
}

impl Git {
    /// Merges two commits as `git merge` would, with the user's merge drivers and settings, and
    /// writes the tree; the paths in conflict where there are any (git-merge-tree(1)).
    ///
    /// # Errors
    /// Fails when git does, also where the histories have nothing in common.
    pub fn merge_commits(
        &self,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<Result<ObjectId, Vec<String>>, GitError> {
        let command = "--no-replace-objects merge-tree --write-tree --name-only --no-messages -z";
        let args = words(command, &[ours.as_str(), theirs.as_str()]);
        let output = self.run(&args, None)?;
        let mut lines = output.stdout.split(|byte| matches!(byte, 0 | b'\n'));
        let tree = lines.next().and_then(ObjectId::from_hex);
        match (output.status, tree) {
            (Some(0), Some(tree)) => Ok(Ok(tree)),
            (Some(1), Some(_)) => {
                let conflicts = lines.filter(|path| !path.is_empty());
                Ok(Err(conflicts.map(escape_for_terminal).collect()))
            }
            (_, _) => Err(self.failed("try the merge", &args, &output)),
        }
    }

    /// Returns the message that `git merge` would propose, or the given one, with the list of
    /// commits that `merge.log` asks for.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn fmt_merge_msg(
        &self,
        branch: &BranchName,
        tip: &CommitId,
        into: &BranchName,
        message: Option<&str>,
    ) -> Result<Vec<u8>, GitError> {
        let mut args = vec!["--into-name", into.as_str()];
        if let Some(message) = message {
            args.extend(["-m", message]);
        }
        // a line of FETCH_HEAD, of this repository
        let line = format!("{tip}\t\tbranch '{branch}' of .\n");
        let what = "write the message of the merge";
        self.perform_with(what, "fmt-merge-msg", &args, line.as_bytes())
    }

    /// Creates a commit, that no ref names yet, as the user's `git commit` would: signed where
    /// `commit.gpgSign` says so.
    ///
    /// # Errors
    /// Fails when git does: the user has no name, or the signature fails.
    pub fn commit_as_user(
        &self,
        tree: &ObjectId,
        parents: &[&CommitId],
        authorship: &Authorship,
    ) -> Result<CommitId, GitError> {
        let mut args = Vec::new();
        let encoding;
        if let Some(name) = &authorship.encoding {
            encoding = format!("i18n.commitEncoding={name}");
            args.extend(["-c", encoding.as_str()]);
        }
        args.push("commit-tree");
        if self.config_get_bool("commit.gpgSign")? == Some(true) {
            args.push("-S");
        }
        let git = self.with(authorship.variables.clone());
        let what = "create the commit";
        git.commit_by(what, &args, &tree.to_string(), parents, &authorship.message)
    }

    /// Runs a hook of the user's, if there is one (git-hook(1)).
    ///
    /// # Errors
    /// Fails when the hook does.
    pub fn hook_run(&self, hook: &str, arguments: &[&str]) -> Result<(), GitError> {
        let what = format!("run the {hook} hook");
        let args = [&[hook, "--"], arguments].concat();
        self.perform(&what, "hook run --ignore-missing", &args)?;
        Ok(())
    }

    /// Lists the tracked files that differ from HEAD, in the index or on disk.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn changed_files(&self) -> Result<Vec<String>, GitError> {
        let args = [
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            "--ignore-submodules=dirty",
        ];
        let output = self.perform("look for uncommitted changes", "status", &args)?;
        let mut paths = Vec::new();
        for line in output.split_str("\0") {
            // `XY <path>`
            paths.extend(line.get(3..).map(escape_for_terminal));
        }
        Ok(paths)
    }

    /// Brings the branch that is checked out forward to a commit that has it, with index and files.
    ///
    /// # Errors
    /// Fails when git does: the branch moved meanwhile, or an untracked file is in the way.
    pub fn merge_ff_only(&self, commit: &CommitId) -> Result<(), GitError> {
        let what = format!("bring {} forward", self.dir);
        let args = [
            "merge",
            "--quiet",
            "--ff-only",
            "--no-squash",
            "--no-autostash",
            // git would write over ignored files
            "--no-overwrite-ignore",
            commit.as_str(),
        ];
        self.perform(&what, "--no-replace-objects", &args)?;
        Ok(())
    }

    /// Tries whether the branch that is checked out at one commit can be brought to another one,
    /// and changes nothing but `index`, a copy of the worktree's (git-read-tree(1)).
    ///
    /// # Errors
    /// Fails when git does: a file is in the way.
    pub fn try_fast_forward(
        &self,
        index: &Utf8Path,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<(), GitError> {
        let git = self.with_index(index);
        git.update_index_refresh()?;
        let what = format!("bring {} forward", self.dir);
        let command = "--no-replace-objects read-tree -n -m -u";
        git.perform(&what, command, &[from.as_str(), to.as_str()])?;
        Ok(())
    }

    /// Lists the paths that one commit has and an older one has not; paths that are not UTF-8 are
    /// left out.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn added_paths(&self, from: &CommitId, to: &CommitId) -> Result<Vec<String>, GitError> {
        let command =
            "--no-replace-objects diff-tree -r -z --name-only --no-renames --diff-filter=A";
        let args = [from.as_str(), to.as_str()];
        let output = self.perform("list what is new", command, &args)?;
        let mut paths = Vec::new();
        for path in output.split_str("\0") {
            if let Ok(text) = path.to_str()
                && !text.is_empty()
            {
                paths.push(text.to_owned());
            }
        }
        Ok(paths)
    }

    /// Returns the full name of the branch of a remote that a branch is pushed to: the one that it
    /// tracks there, else the one of the same name.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn push_target(&self, remote: &str, branch: &BranchName) -> Result<String, GitError> {
        let tracked_remote = self.config_get(&format!("branch.{branch}.remote"))?;
        let tracked_branch = self.config_get(&format!("branch.{branch}.merge"))?;
        match tracked_branch {
            Some(name) if tracked_remote.as_deref() == Some(remote) => Ok(name),
            Some(_) | None => Ok(branch.full_ref()),
        }
    }

    /// Pushes a commit to a branch of a remote.
    ///
    /// # Errors
    /// Fails when git does: the remote rejects it, or cannot be reached.
    pub fn push_commit(
        &self,
        remote: &str,
        commit: &CommitId,
        target: &str,
    ) -> Result<(), GitError> {
        let what = format!("push to {remote}");
        let refspec = format!("{commit}:{target}");
        self.perform(&what, "push --quiet --", &[remote, &refspec])?;
        Ok(())
    }

    /// Fetches the last commits of a history from another git directory, to this depth (git-fetch(1),
    /// `--depth`), without the blobs that the sparse patterns of a blob there leave out
    /// (`--filter=sparse:oid`, git-rev-list(1)).
    ///
    /// `remote` is a remote of this git directory whose URL is `/nonexistent`, so that git fetches
    /// nothing from it by itself; for this call the URL stands for `from`.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn fetch_filtered(
        &self,
        from: &Utf8Path,
        remote: &str,
        filter: &ObjectId,
        commit: &CommitId,
        depth: usize,
    ) -> Result<(), GitError> {
        // the value is in the environment: after `-c`, a `=` in the path would end the name
        let git = self.with([("AGENTWT_WITHHELD_URL", "/nonexistent".to_owned())]);
        let place_setting = format!("--config-env=url.{from}.insteadOf=AGENTWT_WITHHELD_URL");
        let filter_option = format!("--filter=sparse:oid={filter}");
        let depth_option = format!("--depth={depth}");
        let upload_pack_option = "--upload-pack=git -c uploadpack.allowFilter=true \
             -c uploadpack.allowAnySHA1InWant=true upload-pack";
        let args = [
            &place_setting,
            "fetch",
            "--quiet",
            &depth_option,
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            &filter_option,
            upload_pack_option,
            "--",
            remote,
            commit.as_str(),
        ];
        let what = format!("fetch what the scope shows of {commit}");
        git.perform(&what, OUR_FILES, &args)?;
        Ok(())
    }

    /// Lists the refs of another git directory through the server side of a fetch, none of whose
    /// settings is run, and which ref its HEAD names (git-ls-remote(1)).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn list_refs_of(&self, from: &str) -> Result<ListedRefs, GitError> {
        let what = format!("list the refs of {from}");
        let args = ["ls-remote", "--quiet", "--symref", "--", from];
        let output = self.perform(&what, OUR_FILES, &args)?;
        let mut listed = ListedRefs::default();
        for line in output.lines() {
            if let Some((object, name)) = line.split_once_str("\t") {
                listed.add(object, name);
            }
        }
        Ok(listed)
    }

    /// Fetches commits, with their history, from another git directory on this machine: that of a
    /// clone, or the private one of a run. A refspec is `<id>`, or `<id>:<ref>` to write that ref.
    /// Where this git has a quarantine, the objects go there. No program is run that the settings of
    /// the other one name.
    ///
    /// # Errors
    /// Fails when git does: then none of these refs was written.
    pub fn fetch_objects(
        &self,
        from: &str,
        check: FetchCheck,
        refspecs: &[String],
    ) -> Result<(), GitError> {
        let check_setting = match check {
            FetchCheck::Fsck => "fetch.fsckObjects=true",
            FetchCheck::Connectivity => "fetch.fsckObjects=false",
        };
        let mut args = vec![
            "-c",
            // with this protocol any commit can be asked for
            "protocol.version=2",
            "-c",
            check_setting,
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--atomic",
            "--refmap=",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--",
            from,
        ];
        for refspec in refspecs {
            args.push(refspec);
        }
        let what = format!("fetch the commits of {from}");
        self.perform(&what, OUR_FILES, &args)?;
        Ok(())
    }
}

/// The refs of another git directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedRefs {
    /// The ref that HEAD names; none if HEAD is detached.
    pub head: Option<String>,
    /// HEAD and the refs, each with its object.
    pub refs: Vec<(BString, CommitId)>,
}

impl ListedRefs {
    /// Adds a line of `git ls-remote --symref`: `ref: <target>` or an id, and the name of the ref.
    fn add(&mut self, object: &[u8], name: &[u8]) {
        if let Some(target) = object.strip_prefix(b"ref: ") {
            if name == b"HEAD" {
                self.head = Some(target.to_str_lossy().into_owned());
            }
        } else if let Ok(id) = CommitId::parse(&object.to_str_lossy())
            && !name.ends_with(b"^{}")
        {
            self.refs.push((name.into(), id));
        }
    }
}
