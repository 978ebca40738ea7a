//! Writes down that a worktree is sparse as `git sparse-checkout set --no-cone` does, where git
//! would do nothing else: the worktree was just registered, and nothing is shared by writing it
//! (git-sparse-checkout(1), "INTERNALS").

use camino::{Utf8Path, Utf8PathBuf};
use gix::config::{File, Source, file::Metadata, file::init::Options};

/// Holds a file that is to be written, where none is yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Where.
    pub file: Utf8PathBuf,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// What git writes into `config.worktree`.
const SPARSE: &[u8] = b"[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n";

/// Returns the files that git would write for these patterns into a private git directory that has
/// neither; none where the shared configuration, given as it is, does not say that every worktree
/// has one of its own: then git changes that too.
#[must_use]
pub fn sparse_files(
    admin_dir: &Utf8Path,
    shared_config: &[u8],
    patterns: &[u8],
) -> Option<[NewFile; 2]> {
    let metadata = Metadata::from(Source::Local);
    let options = Options::default();
    let config = File::from_bytes_no_includes(shared_config, metadata, options).ok()?;
    let is_on = config.boolean("extensions.worktreeConfig");
    // git takes the end of a line with a carriage return
    let is_plain = !patterns.contains(&b'\r') && patterns.ends_with(b"\n");
    let is_shared = config.string("core.sharedRepository").is_some();
    if !matches!(is_on, Ok(Some(true))) || !is_plain || is_shared {
        return None;
    }
    let file = |name: &str, bytes: &[u8]| NewFile {
        file: admin_dir.join(name),
        bytes: bytes.to_vec(),
    };
    Some([
        file("config.worktree", SPARSE),
        file("info/sparse-checkout", patterns),
    ])
}

/// Returns the private git directory that a `.git` file of git's own names, if it does so
/// absolutely (gitrepository-layout(5)).
#[must_use]
pub fn admin_dir_of(dot_git: &[u8]) -> Option<Utf8PathBuf> {
    let text = std::str::from_utf8(dot_git).ok()?;
    let path = text.strip_prefix("gitdir: ")?.strip_suffix('\n')?;
    let path = Utf8PathBuf::from(path);
    (path.is_absolute() && !path.as_str().contains('\n')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: &[u8] = b"[core]\n\tbare = false\n[Extensions]\n\tworktreeconfig\n";

    #[test]
    fn only_where_nothing_shared_would_change() {
        let admin = Utf8Path::new("/a");
        assert!(sparse_files(admin, ON, b"/*\n").is_some());
        assert!(sparse_files(admin, b"[core]\n", b"/*\n").is_none());
        assert!(sparse_files(admin, b"[extensions]\n\tworktreeConfig = no\n", b"/*\n").is_none());
        assert!(sparse_files(admin, b"[broken", b"/*\n").is_none());
        assert!(sparse_files(admin, ON, b"/*\n!a\\\r\n").is_none());
        let group = [ON, b"[core]\n\tsharedRepository = group\n"].concat();
        assert!(sparse_files(admin, &group, b"/*\n").is_none());
    }

    #[test]
    fn a_git_file_that_git_wrote_names_the_directory() {
        let of = |text: &str| admin_dir_of(text.as_bytes()).map(Utf8PathBuf::into_string);
        assert_eq!(
            of("gitdir: /r/.git/worktrees/a\n").as_deref(),
            Some("/r/.git/worktrees/a")
        );
        assert_eq!(of("gitdir: ../.git/worktrees/a\n"), None);
        assert_eq!(of("gitdir: /r/a\nb\n"), None);
        assert_eq!(of(""), None);
    }
}
