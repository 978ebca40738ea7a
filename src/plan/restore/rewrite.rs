//! Makes a commit anew with another tree and other parents; pure.

use bstr::ByteSlice;

use crate::name::CommitId;

/// Headers that say something of the very bytes of the commit, and are wrong of any other.
const SIGNATURES: [&[u8]; 2] = [b"gpgsig", b"gpgsig-sha256"];

/// Returns the raw bytes of a commit with this tree and these parents. Author, committer, dates,
/// encoding, message and unknown headers stay; signatures go. A tag that was merged (`mergetag`)
/// goes with the parents.
#[must_use]
pub fn with_tree_and_parents(raw: &[u8], tree: &str, parents: &[CommitId]) -> Vec<u8> {
    let (headers, message) = match raw.find(b"\n\n") {
        Some(at) => raw.split_at(at + 1),
        None => (raw, &b""[..]),
    };
    let mut new = format!("tree {tree}\n").into_bytes();
    for parent in parents {
        new.extend_from_slice(format!("parent {parent}\n").as_bytes());
    }
    let mut keep = true;
    for line in headers.split_inclusive(|byte| *byte == b'\n') {
        // a line that begins with a space goes on with the header before (gitformat-signature(5))
        if !line.starts_with(b" ") {
            let name = line.split(|byte| *byte == b' ').next().unwrap_or(line);
            let replaced = [&b"tree"[..], b"parent", b"mergetag"].contains(&name);
            keep = !replaced && !SIGNATURES.contains(&name);
        }
        if keep {
            new.extend_from_slice(line);
        }
    }
    new.extend_from_slice(message);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_tree_parents_and_signatures_stays() {
        let raw = b"tree 1\nparent 2\nparent 3\nauthor A <a> 1 +0000\ncommitter C <c> 2 +0100\n\
            mergetag object 3\n type commit\n \n body\ngpgsig -----BEGIN\n \n x\n -----END\n\
            encoding latin1\nHG:extra x\n\nsubject \xe9\n\ntree in the text\n";
        let id = CommitId::parse(&"a".repeat(40)).expect("40 digits");
        let new = with_tree_and_parents(raw, "9", std::slice::from_ref(&id));
        let expected = [
            format!("tree 9\nparent {id}\n").as_bytes(),
            b"author A <a> 1 +0000\ncommitter C <c> 2 +0100\nencoding latin1\nHG:extra x\n\n\
                subject \xe9\n\ntree in the text\n",
        ]
        .concat();
        assert_eq!(new.as_bstr(), expected.as_bstr());
    }
}
