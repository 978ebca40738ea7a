//! Makes repositories of their own out of others (git-clone(1)), and brings commits back from them.

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;

use super::error::GitError;
use super::objects::ObjectFormat;
use super::process::Git;
use super::refs::{Ref, one_id};
use crate::name::CommitId;

impl Git {
    /// Clones without filling the worktree. Objects of a repository on the same file system are
    /// hard links: nothing that happens there later takes them away.
    ///
    /// # Errors
    /// Fails when git does; it has then removed what it made.
    pub fn clone_no_checkout(&self, from: &str, to: &Utf8Path) -> Result<(), GitError> {
        let args = [
            "clone",
            "--quiet",
            "--no-checkout",
            "--no-tags",
            "--origin=origin",
            "--",
            from,
            to.as_str(),
        ];
        self.output(&format!("clone {from}"), &args).map(drop)
    }

    /// Makes an empty repository that has no worktree.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn init_bare(&self, directory: &Utf8Path) -> Result<(), GitError> {
        let args = ["init", "--quiet", "--bare", "--", directory.as_str()];
        self.output(&format!("make {directory}"), &args).map(drop)
    }

    /// Makes an empty repository with a worktree.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn init_worktree(
        &self,
        directory: &Utf8Path,
        format: ObjectFormat,
    ) -> Result<(), GitError> {
        let format = match format {
            ObjectFormat::Sha1 => "--object-format=sha1",
            ObjectFormat::Sha256 => "--object-format=sha256",
        };
        let args = ["init", "--quiet", format, "--", directory.as_str()];
        self.output(&format!("make {directory}"), &args).map(drop)
    }

    /// Removes refs, and then makes others, in one transaction each (git-update-ref(1)).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn replace_refs(&self, gone: &[Ref], new: &[Ref], reason: &str) -> Result<(), GitError> {
        let mut delete = Vec::new();
        for one in gone {
            delete.extend_from_slice(b"delete ");
            delete.extend_from_slice(&one.name);
            delete.push(b'\n');
        }
        let mut create = Vec::new();
        for one in new {
            create.extend_from_slice(b"create ");
            create.extend_from_slice(&one.name);
            create.extend_from_slice(format!(" {}\n", one.id).as_bytes());
        }
        for input in [delete, create] {
            if !input.is_empty() {
                let args = ["update-ref", "--no-deref", "-m", reason, "--stdin"];
                self.output_with_input("set the refs of the clone", &args, Some(&input))?;
            }
        }
        Ok(())
    }

    /// Fetches what these refspecs name from a repository on this machine, also from a shallow one.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn fetch_shallow(&self, from: &Utf8Path, refspecs: &[&str]) -> Result<(), GitError> {
        let mut args = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        args.extend(["--update-shallow", "--update-head-ok", "--refmap="]);
        args.extend(["--no-auto-maintenance", "--", from.as_str()]);
        args.extend(refspecs);
        self.output(&format!("fetch from {from}"), &args).map(drop)
    }

    /// Fetches exactly these commits from a repository on this machine, whose configuration may be
    /// anybody's: nothing is run for it here. Strictly, every object is looked at too
    /// (`fetch.fsckObjects`).
    ///
    /// # Errors
    /// Fails when git does; then no ref is written.
    pub fn fetch_commits(
        &self,
        from: &Utf8Path,
        refspecs: &[&str],
        strict: bool,
    ) -> Result<(), GitError> {
        let fsck = format!("fetch.fsckObjects={strict}");
        // with this protocol any commit can be asked for
        let settings = ["protocol.version=2", fsck.as_str()];
        let mut args: Vec<&str> = settings.iter().flat_map(|one| ["-c", one]).collect();
        args.extend(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        args.extend(["--atomic", "--refmap=", "--no-auto-maintenance"]);
        args.extend(["--no-recurse-submodules", "--", from.as_str()]);
        args.extend(refspecs);
        self.output(&format!("fetch the commits of {from}"), &args)
            .map(drop)
    }

    /// Returns every commit that a ref, a HEAD, a reflog or one of `also` reaches and what is known
    /// does not, each with its parents.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn rev_list_everything<'c>(
        &self,
        known: impl IntoIterator<Item = &'c CommitId>,
        also: impl IntoIterator<Item = &'c CommitId>,
    ) -> Result<Vec<Vec<CommitId>>, GitError> {
        let what = "list the commits of the clone";
        let args = [
            "rev-list",
            "--parents",
            "--ignore-missing",
            "--all",
            "--reflog",
            "--stdin",
        ];
        let known = known.into_iter().map(|id| format!("^{id}\n"));
        let also = also.into_iter().map(|id| format!("{id}\n"));
        let input: String = also.chain(known).collect();
        let output = self.output_with_input(what, &args, Some(input.as_bytes()))?;
        let ids = |line: &[u8]| {
            line.split_str(" ")
                .map(|id| one_id(what, &args, id))
                .collect()
        };
        output.lines().map(ids).collect()
    }

    /// Makes HEAD name a commit by itself, and touches no file.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn begin_at(&self, commit: &CommitId) -> Result<(), GitError> {
        let args = ["update-ref", "--no-deref", "HEAD", commit.as_str()];
        self.output("set the HEAD of the clone", &args).map(drop)
    }

    /// Makes HEAD name a branch, and forgets where it was until then.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn begin_on(&self, branch: &str) -> Result<(), GitError> {
        let args = ["symbolic-ref", "HEAD", branch];
        self.output("set the branch of the clone", &args)?;
        let args = ["reflog", "expire", "--expire=all", "HEAD"];
        self.output("forget where the clone was", &args).map(drop)
    }

    /// Removes a section of a configuration file.
    ///
    /// # Errors
    /// Fails when there is none, or git fails.
    pub fn config_file_remove_section(
        &self,
        file: &Utf8Path,
        section: &str,
    ) -> Result<(), GitError> {
        let args = [
            "config",
            "--file",
            file.as_str(),
            "--remove-section",
            section,
        ];
        self.output("change the clone's configuration", &args)
            .map(drop)
    }
}

/// Says which settings of a repository its clones have too: who commits, where its remotes are,
/// and what decides what is in a file. What may hold a secret (`http`, `credential`) stays.
fn is_carried(key: &str) -> bool {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or(rest);
    match section {
        "user" | "author" | "committer" | "filter" | "branch" => true,
        "merge" | "diff" => rest.contains('.'),
        "core" => matches!(
            last,
            "autocrlf"
                | "eol"
                | "safecrlf"
                | "attributesfile"
                | "excludesfile"
                | "checkroundtripencoding"
                | "whitespace"
        ),
        "remote" => matches!(
            last,
            "url" | "pushurl" | "fetch" | "push" | "tagopt" | "promisor" | "partialclonefilter"
        ),
        "commit" => last == "gpgsign",
        "gpg" => last == "format",
        "lfs" => rest == "url",
        _ => false,
    }
}

/// Writes the settings of a repository that its clones have too, as a configuration file spells
/// them. A relative URL is one of the repository's root.
#[must_use]
pub fn carried(settings: &[(String, String, BString)], root: &Utf8Path) -> Vec<u8> {
    let mut text = Vec::new();
    let own = settings.iter().filter(|(scope, ..)| scope == "local");
    for (_, key, value) in own.filter(|(_, key, _)| is_carried(key)) {
        let Some((section, last)) = key.rsplit_once('.') else {
            continue;
        };
        match section.split_once('.') {
            Some((section, sub)) => {
                text.extend_from_slice(format!("[{section} \"").as_bytes());
                text.extend(escaped(sub.as_bytes().as_bstr(), b""));
                text.extend_from_slice(b"\"]\n");
            }
            None => text.extend_from_slice(format!("[{section}]\n").as_bytes()),
        }
        text.extend_from_slice(format!("\t{last} = \"").as_bytes());
        let is_url = section.starts_with("remote.") && matches!(last, "url" | "pushurl");
        if is_url && (value.starts_with(b"./") || value.starts_with(b"../")) {
            let value = root.join(value.to_str_lossy().as_ref());
            text.extend(escaped(value.as_str().as_bytes().as_bstr(), b"\n\t"));
        } else {
            text.extend(escaped(value.as_bstr(), b"\n\t"));
        }
        text.extend_from_slice(b"\"\n");
    }
    text
}

/// Text between quotes (git-config(1), "Syntax"); in a subsection only `"` and `\` are escaped.
fn escaped(value: &BStr, more: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' if more.contains(&byte) => out.extend_from_slice(b"\\n"),
            b'\t' if more.contains(&byte) => out.extend_from_slice(b"\\t"),
            _ => out.push(byte),
        }
    }
    out
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
            local("filter.a\"b.clean", "cat"),
            local("merge.conflictstyle", "diff3"),
        ];
        let text = carried(&settings, Utf8Path::new("/r"));
        assert_eq!(
            text.to_str_lossy(),
            "[user]\n\tname = \"Ada \\\"A\\\" \\\\ L\\n\"\n[core]\n\teol = \"crlf\"\n\
             [remote \"origin\"]\n\turl = \"/r/../up.git\"\n[filter \"a\\\"b\"]\n\tclean = \"cat\"\n"
        );
    }
}
