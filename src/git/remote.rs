//! Asks a git server who holds a ref, and moves the ref by compare-and-swap; clones repositories
//! (git-clone(1)).
//!
//! Every push names the value that it expects (`--force-with-lease=<ref>:<expect>`, git-push(1)),
//! and the server itself compares again when it writes. Neither the user's hooks nor their
//! settings for pushes count; no ref of the local repository is written, whatever the remote's
//! refspecs say: a negative one (git-fetch(1)) keeps claims out.

use bstr::{BString, ByteSlice};
use camino::Utf8Path;
use gix::config::File;
use gix::config::file::Metadata;

use crate::git::error::GitError;
use crate::git::process::{Git, words};
use crate::git::refs::{Ref, one_id};
use crate::words::name::{BranchName, CommitId};

/// A remote that is asked for single refs: claims, and the heads of pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedRemote {
    /// Its name.
    pub name: String,
    /// The URL to which it pushes; its name, if it fetches from there too.
    place: String,
}

impl AskedRemote {
    /// Takes a known remote that is only read from, where its fetches go.
    pub fn to_read(name: String) -> Self {
        Self {
            place: name.clone(),
            name,
        }
    }

    /// Returns the words of a command, after what the user has set for their own pushes and
    /// fetches, and is not meant for ours.
    fn words(&self, command: &str, more: &[&str]) -> Vec<String> {
        let name = &self.name;
        let settings = [
            format!("remote.{name}.mirror=false"),
            format!("remote.{name}.fetch=^refs/agentwt/*"),
            "push.negotiate=false".to_owned(),
            "fetch.showForcedUpdates=true".to_owned(),
        ];
        let mut args = Vec::new();
        for setting in settings {
            args.push("-c".to_owned());
            args.push(setting);
        }
        for word in words(command, more) {
            args.push(word.to_owned());
        }
        args
    }
}

impl Git {
    /// Returns the names of the remotes.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn remotes(&self) -> Result<Vec<String>, GitError> {
        let output = self.perform("list the remotes", "remote", &[])?;
        Ok(lines_of(&output))
    }

    /// Lets a branch track a remote-tracking branch, given as a full ref.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn branch_set_upstream(&self, branch: &BranchName, full: &str) -> Result<(), GitError> {
        let upstream = format!("--set-upstream-to={full}");
        let args = [upstream.as_str(), "--", branch.as_str()];
        self.perform("set the upstream", "branch --quiet", &args)?;
        Ok(())
    }

    /// Returns the remote of this name, with the place where its claims are read and written. The
    /// inner error says why that remote cannot hold claims.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn claim_remote(
        &self,
        name: &str,
        remotes: &[String],
    ) -> Result<Result<AskedRemote, &'static str>, GitError> {
        if !remotes.iter().any(|remote| remote == name) {
            return Ok(Err("there is no such remote"));
        }
        if name.contains('=') {
            let why = "its name has a `=`, which no setting on the command line can have";
            return Ok(Err(why));
        }
        let what = "read where a remote is";
        let output = self.perform(what, "remote get-url --push --all --", &[name])?;
        let push_urls = lines_of(&output);
        let [push_url] = push_urls.as_slice() else {
            return Ok(Err("it pushes to several servers, and a claim is on one"));
        };
        // claims are read where they are written: a remote can fetch from a mirror that is behind
        let fetch_url = self.line(what, &["remote", "get-url", "--", name])?;
        let place = if fetch_url == *push_url {
            name.to_owned()
        } else {
            push_url.clone()
        };
        Ok(Ok(AskedRemote {
            name: name.to_owned(),
            place,
        }))
    }

    /// Makes a commit of nothing with this message, that no ref names.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn commit_nothing(&self, message: &str) -> Result<CommitId, GitError> {
        // the server must get the empty tree too, so it has to be written
        let tree = self.line("write a claim", &["mktree"])?;
        self.commit_tree(&tree, message, &[])
    }

    /// Moves a ref of a server, or deletes it, if it is where it is expected to be (none: not
    /// there). Where git does not say that the server did it, the inner error has git's words.
    ///
    /// # Errors
    /// Fails when git cannot be started.
    pub fn push_claim(
        &self,
        remote: &AskedRemote,
        name: &str,
        new: Option<&CommitId>,
        expected: Option<&CommitId>,
    ) -> Result<Result<(), String>, GitError> {
        let expected_id = expected.map_or("", CommitId::as_str);
        let new_id = new.map_or("", CommitId::as_str);
        let lease = format!("--force-with-lease={name}:{expected_id}");
        let refspec = format!("{new_id}:{name}");
        let command = "push --no-verify --no-signed --no-follow-tags --recurse-submodules=no";
        let args = remote.words(command, &[&lease, "--", &remote.name, &refspec]);
        match self.run(&borrowed(&args), None) {
            Ok(output) if output.status == Some(0) => Ok(Ok(())),
            Ok(output) => Ok(Err(reasons(&output.stderr))),
            Err(error @ GitError::TimedOut { .. }) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Returns what each of these refs of a server names; none when there is no such ref.
    ///
    /// # Errors
    /// Fails when the server cannot be asked.
    pub fn ls_remote(
        &self,
        remote: &AskedRemote,
        names: &[&str],
    ) -> Result<Vec<Option<CommitId>>, GitError> {
        let output = self.ask(remote, "ask the server", "ls-remote --quiet --", names)?;
        let mut commits = Vec::new();
        for name in names {
            commits.push(match listed_id(&output, name) {
                Some(id) => Some(one_id("ls-remote", id)?),
                None => None,
            });
        }
        Ok(commits)
    }

    /// Fetches what refs of a server name, without any trace here but the objects.
    ///
    /// # Errors
    /// Fails when the server does not give it.
    pub fn fetch_refs(&self, remote: &AskedRemote, names: &[&str]) -> Result<(), GitError> {
        let what = format!("fetch {} from {}", names.join(" and "), remote.name);
        let command = "fetch --quiet --no-tags --no-write-fetch-head --no-auto-maintenance \
             --no-recurse-submodules --no-prune --refmap= --";
        self.ask(remote, &what, command, names)?;
        Ok(())
    }

    /// Runs a command on a server and these refs of it.
    fn ask(
        &self,
        remote: &AskedRemote,
        what: &str,
        command: &str,
        names: &[&str],
    ) -> Result<Vec<u8>, GitError> {
        let mut more = vec![remote.place.as_str()];
        more.extend(names);
        let args = remote.words(command, &more);
        self.perform(what, "", &borrowed(&args))
    }

    /// Returns the raw bytes of a commit, if it is one and not longer than that.
    ///
    /// # Errors
    /// Fails when git cannot be started.
    pub fn short_commit(&self, id: &CommitId, limit: u64) -> Result<Option<Vec<u8>>, GitError> {
        let answer = self.run(&["cat-file", "-s", id.as_str()], None)?;
        match answer.stdout.trim().to_str_lossy().parse::<u64>() {
            Ok(size) if size <= limit => {}
            Ok(_) | Err(_) => return Ok(None),
        }
        let commit = self.run(&["cat-file", "commit", id.as_str()], None)?;
        Ok((commit.status == Some(0)).then_some(commit.stdout))
    }

    /// Clones without filling the worktree. Objects of a repository on the same file system are
    /// hard links: nothing that happens there later takes them away.
    ///
    /// # Errors
    /// Fails when git does; it has then removed what it made.
    pub fn clone_no_checkout(&self, from: &str, to: &Utf8Path) -> Result<(), GitError> {
        let command = "clone --quiet --no-checkout --no-tags --origin=origin --";
        let what = format!("clone {from}");
        self.perform(&what, command, &[from, to.as_str()])?;
        Ok(())
    }

    /// Removes refs, and then makes others, in one transaction each (git-update-ref(1)).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn replace_refs(&self, gone: &[Ref], new: &[Ref], reason: &str) -> Result<(), GitError> {
        let mut deletions = Vec::new();
        for deleted in gone {
            deletions.extend_from_slice(b"delete ");
            deletions.extend_from_slice(&deleted.name);
            deletions.push(b'\n');
        }
        self.update_refs(&deletions, reason)?;
        let mut creations = Vec::new();
        for created in new {
            creations.extend_from_slice(b"create ");
            creations.extend_from_slice(&created.name);
            creations.extend_from_slice(format!(" {}\n", created.id).as_bytes());
        }
        self.update_refs(&creations, reason)
    }

    /// Runs a transaction of these commands of git-update-ref(1), if there are any.
    fn update_refs(&self, commands: &[u8], reason: &str) -> Result<(), GitError> {
        if commands.is_empty() {
            return Ok(());
        }
        let what = "set the refs of the clone";
        let args = ["-m", reason, "--stdin"];
        self.perform_with(what, "update-ref --no-deref", &args, commands)?;
        Ok(())
    }

    /// Makes HEAD name a branch, and forgets where it was until then.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn begin_on(&self, branch: &str) -> Result<(), GitError> {
        self.set_head(&format!("ref: {branch}"))?;
        let command = "reflog expire --expire=all HEAD";
        self.perform("forget where the clone was", command, &[])?;
        Ok(())
    }
}

fn borrowed(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

fn lines_of(output: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    for line in output.lines() {
        lines.push(line.to_str_lossy().into_owned());
    }
    lines
}

/// Returns the id of a ref in the output of `git ls-remote`. What was asked for is a pattern there:
/// for `refs/agentwt/claims/task`, `x/refs/agentwt/claims/task` is listed as well.
fn listed_id<'o>(output: &'o [u8], name: &str) -> Option<&'o [u8]> {
    for line in output.lines() {
        if let Some((id, listed)) = line.split_once_str("\t")
            && listed == name.as_bytes()
        {
            return Some(id);
        }
    }
    None
}

/// What git writes around the reasons of a server.
const NOISE: [&str; 3] = ["hint:", "To ", "error: failed to push some refs"];

/// Returns what git and the server said, in one line.
fn reasons(stderr: &[u8]) -> String {
    let mut reasons = Vec::new();
    for line in stderr.to_str_lossy().lines() {
        let text = line.trim();
        if !text.is_empty() && !NOISE.iter().any(|start| text.starts_with(start)) {
            reasons.push(text.to_owned());
        }
    }
    reasons.join("; ").chars().take(600).collect()
}

/// Settings of `core` that decide what is in a file.
const CARRIED_CORE: [&str; 7] = [
    "autocrlf",
    "eol",
    "safecrlf",
    "attributesfile",
    "excludesfile",
    "checkroundtripencoding",
    "whitespace",
];

/// Settings of a remote that say where it is and what is fetched.
const CARRIED_REMOTE: [&str; 7] = [
    "url",
    "pushurl",
    "fetch",
    "push",
    "tagopt",
    "promisor",
    "partialclonefilter",
];

/// True for the settings of a repository that its clones have too: who commits, where its remotes
/// are, and what decides what is in a file. What may hold a secret (`http`, `credential`) stays.
fn is_carried(key: &str) -> bool {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or(rest);
    match section {
        "user" | "author" | "committer" | "filter" | "branch" => true,
        "merge" | "diff" => rest.contains('.'),
        "core" => CARRIED_CORE.contains(&last),
        "remote" => CARRIED_REMOTE.contains(&last),
        "commit" => last == "gpgsign",
        "gpg" => last == "format",
        "lfs" => rest == "url",
        _ => false,
    }
}

/// Writes the settings of a repository that its clones have too, as a configuration file spells
/// them. A relative URL is one of the repository's root.
pub fn carried(settings: &[(String, String, BString)], root: &Utf8Path) -> Vec<u8> {
    let mut file = File::new(Metadata::api());
    for (scope, key, value) in settings {
        if scope == "local" && is_carried(key) {
            carry(&mut file, key, value, root);
        }
    }
    file.to_bstring().into()
}

fn carry(file: &mut File, key: &str, value: &BString, root: &Utf8Path) {
    let Some((place, name)) = key.rsplit_once('.') else {
        return;
    };
    let is_url = place.starts_with("remote.") && matches!(name, "url" | "pushurl");
    let is_relative = is_url && (value.starts_with(b"./") || value.starts_with(b"../"));
    let carried = if is_relative {
        root.join(value.to_str_lossy().as_ref())
            .into_string()
            .into()
    } else {
        value.clone()
    };
    let (section, subsection) = match place.split_once('.') {
        Some((section, subsection)) => (section, Some(BString::from(subsection))),
        None => (place, None),
    };
    if let Ok(mut section) = file.new_section(section, subsection) {
        let _ = section.push(name, Some(carried.as_bstr()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_has_remotes_identity_and_filters_and_no_secrets() {
        let local = |key: &str, value: &str| ("local".to_owned(), key.to_owned(), value.into());
        let settings = [
            ("global".to_owned(), "user.name".to_owned(), "Eve".into()),
            local("user.name", "Ada \"A\" \\ L\n"),
            local(
                "http.https://a.b/.extraheader",
                "AUTHORIZATION: basic s3cret",
            ),
            local("credential.helper", "store"),
            local("core.hookspath", "hooks"),
            local("core.eol", "crlf"),
            local("remote.origin.url", "../up.git"),
            local("remote.origin.uploadpack", "evil"),
            local("filter.a\"b.clean", "cat #%f; "),
            local("merge.conflictstyle", "diff3"),
        ];
        let text = carried(&settings, Utf8Path::new("/r"));
        assert_eq!(
            text.to_str_lossy(),
            "[user]\n\tname = \"Ada \\\"A\\\" \\\\ L\\n\"\n[core]\n\teol = crlf\n\
             [remote \"origin\"]\n\turl = /r/../up.git\n[filter \"a\\\"b\"]\n\tclean = \"cat #%f; \"\n"
        );
    }
}
