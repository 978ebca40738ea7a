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

/// Represents a remote that is asked for single refs: claims, and the heads of pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedRemote {
    /// Its name.
    pub name: String,
    /// Where pushes go, or the name, where fetches come from there too: reading elsewhere may give an
    /// older state.
    place: String,
}

impl AskedRemote {
    /// Takes a known remote that is only read from, where its fetches go.
    pub fn to_read(name: String) -> Self {
        let place = name.clone();
        Self { name, place }
    }

    /// The words of a command, after what the user has set for their own pushes and fetches, and is
    /// not meant for ours.
    fn words(&self, command: &str, more: &[&str]) -> Vec<String> {
        let name = &self.name;
        let settings = [
            &format!("remote.{name}.mirror=false"),
            &format!("remote.{name}.fetch=^refs/agentwt/*"),
            "push.negotiate=false",
            "fetch.showForcedUpdates=true",
        ];
        let settings = settings.into_iter().flat_map(|one| ["-c", one]);
        let all = settings.chain(words(command, more));
        all.map(ToOwned::to_owned).collect()
    }
}

impl Git {
    /// The names of the remotes.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn remotes(&self) -> Result<Vec<String>, GitError> {
        let names = self.perform("list the remotes", "remote", &[])?;
        Ok(names.lines().map(|n| n.to_str_lossy().into()).collect())
    }

    /// Lets a branch track a remote-tracking branch, given as a full ref.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn branch_set_upstream(&self, branch: &BranchName, full: &str) -> Result<(), GitError> {
        let upstream = format!("--set-upstream-to={full}");
        let args = [&*upstream, "--", branch.as_str()];
        self.perform("set the upstream", "branch --quiet", &args)
            .map(drop)
    }

    /// Takes one of the known remotes by its name.
    ///
    /// # Errors
    /// Fails when git does; the inner error says why the remote cannot hold claims.
    pub fn claim_remote(
        &self,
        name: &str,
        known: &[String],
    ) -> Result<Result<AskedRemote, &'static str>, GitError> {
        if !known.iter().any(|known| known == name) {
            return Ok(Err("there is no such remote"));
        }
        if name.contains('=') {
            let why = "its name has a `=`, which no setting on the command line can have";
            return Ok(Err(why));
        }
        let what = "read where a remote is";
        let push = self.perform(what, "remote get-url --push --all --", &[name])?;
        let places: Vec<_> = push.lines().map(|line| line.to_str_lossy()).collect();
        let [place] = places.as_slice() else {
            return Ok(Err("it pushes to several servers, and a claim is on one"));
        };
        let fetch = self.line(what, &["remote", "get-url", "--", name])?;
        let place = if fetch == *place { name } else { place };
        Ok(Ok(AskedRemote {
            name: name.to_owned(),
            place: place.to_owned(),
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

    /// Moves a ref of a server, or deletes it, if it is where it is expected to be (none: not there).
    /// Where git does not say that the server did it, the inner error has git's words.
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
        let id = |id: Option<&CommitId>| id.map(ToString::to_string).unwrap_or_default();
        let lease = format!("--force-with-lease={name}:{}", id(expected));
        let change = format!("{}:{name}", id(new));
        let command = "push --no-verify --no-signed --no-follow-tags --recurse-submodules=no";
        let args = remote.words(command, &[&lease, "--", &remote.name, &change]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match self.run(&args, None) {
            Ok(answer) if answer.status == Some(0) => Ok(Ok(())),
            Ok(answer) => Ok(Err(reasons(&answer.stderr))),
            Err(error @ GitError::TimedOut { .. }) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// What each of these refs of a server names; none when there is no such ref.
    ///
    /// # Errors
    /// Fails when the server cannot be asked.
    pub fn ls_remote(
        &self,
        remote: &AskedRemote,
        names: &[&str],
    ) -> Result<Vec<Option<CommitId>>, GitError> {
        let output = self.ask(remote, "ask the server", "ls-remote --quiet --", names)?;
        let all = names.iter().map(|name| {
            // the name is a pattern: `x/refs/agentwt/claims/task` would match as well
            let mut exact = output.lines().filter_map(|line| {
                let (id, found) = line.split_once_str("\t")?;
                (found == name.as_bytes()).then_some(id)
            });
            exact.next().map(|id| one_id("ls-remote", id)).transpose()
        });
        all.collect()
    }

    /// Fetches what refs of a server name, without any trace here but the objects.
    ///
    /// # Errors
    /// Fails when the server does not give it.
    pub fn fetch_refs(&self, remote: &AskedRemote, names: &[&str]) -> Result<(), GitError> {
        let what = format!("fetch {} from {}", names.join(" and "), remote.name);
        let command = "fetch --quiet --no-tags --no-write-fetch-head --no-auto-maintenance \
             --no-recurse-submodules --no-prune --refmap= --";
        self.ask(remote, &what, command, names).map(drop)
    }

    fn ask(
        &self,
        remote: &AskedRemote,
        what: &str,
        command: &str,
        names: &[&str],
    ) -> Result<Vec<u8>, GitError> {
        let args = remote.words(command, &[&[&*remote.place], names].concat());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.perform(what, "", &args)
    }

    /// The raw bytes of a commit, if it is one and not longer than that.
    ///
    /// # Errors
    /// Fails when git cannot be started.
    pub fn short_commit(&self, id: &CommitId, most: u64) -> Result<Option<Vec<u8>>, GitError> {
        let size = self.run(&["cat-file", "-s", id.as_str()], None)?;
        let size = size.stdout.trim().to_str_lossy().parse::<u64>().ok();
        if size.is_none_or(|size| size > most) {
            return Ok(None);
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
        self.perform(&what, command, &[from, to.as_str()]).map(drop)
    }

    /// Removes refs, and then makes others, in one transaction each (git-update-ref(1)).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn replace_refs(&self, gone: &[Ref], new: &[Ref], reason: &str) -> Result<(), GitError> {
        let line = |one: &Ref, verb: &str, id: &str| {
            let verb = verb.as_bytes();
            [verb, b" ", one.name.as_slice(), id.as_bytes(), b"\n"].concat()
        };
        let delete = gone.iter().flat_map(|one| line(one, "delete", ""));
        let create = new.iter();
        let create = create.flat_map(|one| line(one, "create", &format!(" {}", one.id)));
        for input in [delete.collect(), create.collect::<Vec<u8>>()] {
            if !input.is_empty() {
                let (what, args) = ("set the refs of the clone", ["-m", reason, "--stdin"]);
                self.perform_with(what, "update-ref --no-deref", &args, &input)?;
            }
        }
        Ok(())
    }

    /// Makes HEAD name a branch, and forgets where it was until then.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn begin_on(&self, branch: &str) -> Result<(), GitError> {
        self.set_head(&format!("ref: {branch}"))?;
        let what = "forget where the clone was";
        let command = "reflog expire --expire=all HEAD";
        self.perform(what, command, &[]).map(drop)
    }
}

/// What git and the server said, in one line.
fn reasons(stderr: &[u8]) -> String {
    let said = stderr.to_str_lossy();
    let noise = ["hint:", "To ", "error: failed to push some refs"];
    let lines = said.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !noise.iter().any(|n| line.starts_with(n)));
    let all: Vec<&str> = lines.collect();
    all.join("; ").chars().take(600).collect()
}

/// Says which settings of a repository its clones have too: who commits, where its remotes are,
/// and what decides what is in a file. What may hold a secret (`http`, `credential`) stays.
fn is_carried(key: &str) -> bool {
    const CORE: &str =
        "autocrlf eol safecrlf attributesfile excludesfile checkroundtripencoding whitespace";
    const REMOTE: &str = "url pushurl fetch push tagopt promisor partialclonefilter";
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or(rest);
    match section {
        "user" | "author" | "committer" | "filter" | "branch" => true,
        "merge" | "diff" => rest.contains('.'),
        "core" => CORE.split(' ').any(|one| one == last),
        "remote" => REMOTE.split(' ').any(|one| one == last),
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
    let own = settings.iter().filter(|(scope, ..)| scope == "local");
    for (_, key, value) in own.filter(|(_, key, _)| is_carried(key)) {
        let Some((section, last)) = key.rsplit_once('.') else {
            continue;
        };
        let is_url = section.starts_with("remote.") && matches!(last, "url" | "pushurl");
        let is_relative = is_url && (value.starts_with(b"./") || value.starts_with(b"../"));
        let absolute = is_relative.then(|| root.join(value.to_str_lossy().as_ref()));
        let absolute = absolute.as_ref();
        let value = absolute.map_or(value.as_bstr(), |path| path.as_str().into());
        let (section, sub) = match section.split_once('.') {
            Some((section, sub)) => (section, Some(BString::from(sub))),
            None => (section, None),
        };
        if let Ok(mut section) = file.new_section(section, sub) {
            let _ = section.push(last, Some(value));
        }
    }
    file.to_bstring().into()
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
