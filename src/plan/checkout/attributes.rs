//! Finds attributes under which a file on disk may not be the blob (gitattributes(5)).

use bstr::ByteSlice;

/// Returns an attribute of a file of attributes that may change what a checkout writes, if there
/// is one. With no setting that says otherwise, `text` and `eol=lf` change nothing on this side:
/// line ends are only ever added for `eol=crlf`.
pub(super) fn converting(text: &[u8]) -> Option<&'static str> {
    text.lines().find_map(|line| {
        let line = line.trim_start_with(|c| matches!(c, ' ' | '\t' | '\r' | '\u{feff}'));
        let mut words = line
            .split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            .filter(|word| !word.is_empty());
        match line.first() {
            None | Some(b'#') => return None,
            // a pattern in quotes may have spaces: its words are looked at like the others
            Some(b'"') => {}
            Some(_) => drop(words.next()),
        }
        words.find_map(attribute)
    })
}

fn attribute(word: &[u8]) -> Option<&'static str> {
    if word.starts_with(b"-") || word.starts_with(b"!") {
        return None;
    }
    let (name, value) = match word.split_once_str("=") {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    match (name, value) {
        (b"filter", _) => Some("a filter"),
        (b"ident", _) => Some("`ident`"),
        (b"working-tree-encoding", _) => Some("`working-tree-encoding`"),
        (b"text", None | Some(b"auto")) | (b"eol", Some(b"lf")) => None,
        (b"text", Some(_)) => Some("`text`"),
        (b"eol", _) => Some("`eol`"),
        (b"crlf", _) => Some("`crlf`"),
        _ => None,
    }
}
