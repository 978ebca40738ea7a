//! Makes repositories of their own out of others (git-clone(1)), and brings commits back from them.

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;

use super::error::GitError;
use super::objects::ObjectFormat;
use super::process::{Git, words};
use super::refs::{Ref, one_id};
use crate::name::CommitId;

impl Git {
    /// Clones without filling the worktree. Objects of a repository on the same file system are
    /// hard links: nothing that happens there later takes them away.
    ///
    /// # Errors
    /// Fails when git does; it has then removed what it made.
    pub fn clone_no_checkout(&self, from: &str, to: &Utf8Path) -> Result<(), GitError> {
        let command = "clone --quiet --no-checkout --no-tags --origin=origin --";
        self.perform(&format!("clone {from}"), command, &[from, to.as_str()])
    }

    /// Makes an empty repository that has no worktree.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn init_bare(&self, directory: &Utf8Path) -> Result<(), GitError> {
        let what = format!("make {directory}");
        self.perform(&what, "init --quiet --bare --", &[directory.as_str()])
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
        let command = match format {
            ObjectFormat::Sha1 => "init --quiet --object-format=sha1 --",
            ObjectFormat::Sha256 => "init --quiet --object-format=sha256 --",
        };
        self.perform(&format!("make {directory}"), command, &[directory.as_str()])
    }

    /// Removes refs, and then makes others, in one transaction each (git-update-ref(1)).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn replace_refs(&self, gone: &[Ref], new: &[Ref], reason: &str) -> Result<(), GitError> {
        let line = |verb: &str, one: &Ref, id: &str| {
            [
                verb.as_bytes(),
                b" ",
                one.name.as_slice(),
                id.as_bytes(),
                b"\n",
            ]
            .concat()
        };
        let delete = gone
            .iter()
            .flat_map(|one| line("delete", one, ""))
            .collect();
        let create = new
            .iter()
            .flat_map(|one| line("create", one, &format!(" {}", one.id)));
        for input in [delete, create.collect::<Vec<u8>>()] {
            if !input.is_empty() {
                let args = ["-m", reason, "--stdin"];
                let what = "set the refs of the clone";
                self.perform_with(what, "update-ref --no-deref", &args, &input)?;
            }
        }
        Ok(())
    }

    /// Fetches what these refspecs name from a repository on this machine, also from a shallow one.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn fetch_shallow(&self, from: &Utf8Path, refspecs: &[&str]) -> Result<(), GitError> {
        let command = "fetch --quiet --no-tags --no-write-fetch-head --update-shallow \
             --update-head-ok --refmap= --no-auto-maintenance --";
        let what = format!("fetch from {from}");
        self.perform(&what, command, &[&[from.as_str()], refspecs].concat())
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
        // with this protocol any commit can be asked for
        let command = format!(
            "-c protocol.version=2 -c fetch.fsckObjects={strict} fetch --quiet --no-tags \
             --no-write-fetch-head --atomic --refmap= --no-auto-maintenance \
             --no-recurse-submodules --"
        );
        let what = format!("fetch the commits of {from}");
        self.perform(&what, &command, &[&[from.as_str()], refspecs].concat())
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
        let args = words(
            "rev-list --parents --ignore-missing --all --reflog --stdin",
            &[],
        );
        let known = known.into_iter().map(|id| format!("^{id}\n"));
        let also = also.into_iter().map(|id| format!("{id}\n"));
        let input: String = also.chain(known).collect();
        let output = self.output_with_input(what, &args, Some(input.as_bytes()))?;
        let ids = |line: &[u8]| line.split_str(" ").map(|id| one_id(&args, id)).collect();
        output.lines().map(ids).collect()
    }

    /// Makes HEAD name a commit by itself, and touches no file.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn begin_at(&self, commit: &CommitId) -> Result<(), GitError> {
        let what = "set the HEAD of the clone";
        self.perform(what, "update-ref --no-deref HEAD", &[commit.as_str()])
    }

    /// Makes HEAD name a branch, and forgets where it was until then.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn begin_on(&self, branch: &str) -> Result<(), GitError> {
        self.perform(
            "set the branch of the clone",
            "symbolic-ref HEAD",
            &[branch],
        )?;
        let command = "reflog expire --expire=all HEAD";
        self.perform("forget where the clone was", command, &[])
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
        let args = [file.as_str(), "--remove-section", section];
        self.perform("change the clone's configuration", "config --file", &args)
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
