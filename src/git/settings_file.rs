//! Reads what a configuration file says, however it is written (git-config(1), "Syntax").

use bstr::{BString, ByteVec};
use gix::config::{File, Source, file::Metadata, file::init::Options};

/// What a worktree's `config.worktree` says anyway where its sparse-checkout is as we set it:
/// git writes these in different orders and at different times.
const AS_WE_SET_IT: &[(&[u8], &[u8])] = &[
    (b"core.sparsecheckout", b"true"),
    (b"core.sparsecheckoutcone", b"false"),
    (b"index.sparse", b"false"),
];

/// Returns what a `config.worktree` says beyond that its sparse-checkout is on: one `key=value`
/// a line, in the order in which git reads them. A file that does not parse says itself.
#[must_use]
pub fn meaning(bytes: &[u8]) -> Vec<u8> {
    let metadata = Metadata::from(Source::Worktree);
    let Ok(file) = File::from_bytes_no_includes(bytes, metadata, Options::default()) else {
        return bytes.to_vec();
    };
    let mut lines: Vec<u8> = Vec::new();
    for section in file.sections() {
        let header = section.header();
        let mut prefix = BString::from(header.name().to_ascii_lowercase());
        if let Some(subsection) = header.subsection_name() {
            prefix.push_byte(b'.');
            prefix.push_str(subsection);
        }
        let body = section.body();
        let mut names: Vec<String> = Vec::new();
        for name in body.value_names() {
            if names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                continue;
            }
            let key = [&**prefix, b".", name.to_ascii_lowercase().as_bytes()].concat();
            let mut values = body.values(&name);
            if body.value_implicit(&name) == Some(None) {
                // `[core] bare`, without a value, means true
                values.pop();
                values.push("true".into());
            }
            names.push(name);
            for value in values {
                if !AS_WE_SET_IT
                    .iter()
                    .any(|(k, v)| **k == *key && **v == **value)
                {
                    lines.extend_from_slice(&key);
                    lines.push(b'=');
                    lines.extend_from_slice(&value);
                    lines.push(b'\n');
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_checkout_that_is_on_says_nothing_however_git_wrote_it() {
        let one = "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n";
        let two = "[index]\n\tsparse = false\n[core]\n\tsparsecheckoutcone = false\n\
                   [CORE]\n\tsparseCheckout = true\n";
        assert_eq!(meaning(one.as_bytes()), b"");
        assert_eq!(meaning(two.as_bytes()), b"");
    }

    #[test]
    fn whatever_else_it_says_is_told() {
        let text = "[core]\n\tsparseCheckout = false\n\tfsmonitor = evil\n\
                    [filter \"X\"]\n\tclean = a\n\tclean = b\n[core]\n\tbare\n";
        let expected = "core.sparsecheckout=false\ncore.fsmonitor=evil\n\
                        filter.X.clean=a\nfilter.X.clean=b\ncore.bare=true\n";
        assert_eq!(String::from_utf8_lossy(&meaning(text.as_bytes())), expected);
        assert_eq!(meaning(b"[core\nbroken"), b"[core\nbroken");
    }
}
