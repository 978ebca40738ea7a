//! Reads the text of one configuration file, letter by letter as git does (git-config(1), "SYNTAX").
//!
//! It follows `git_parse_source` of git's `config.c`. Where versions of git read a text differently,
//! or git would stop with an error, there is no answer, and git is asked. `gix` has a parser too;
//! it keeps a text as it can be written again, takes some texts that git refuses, and does not say
//! where versions differ.
//!
//! ```text
//! [core "Sub"]            core.Sub.name=a b
//!     Name = "a"\         key: section and name in lower case, the subsection as it stands
//!  b ; comment
//! ```

use bstr::{BString, ByteSlice};

/// Holds one line of a file: the key as git lists it, and its value, none for a key alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::git) struct Entry {
    pub key: String,
    pub value: Option<BString>,
}

/// Reads a whole file; none where it is not certain what every git reads.
pub(super) fn entries(bytes: &[u8]) -> Option<Vec<Entry>> {
    // git keeps keys and values as C strings
    if bytes.contains(&0) {
        return None;
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = Text { bytes };
    let mut section = None;
    let mut all = Vec::new();
    while let Some(letter) = text.next() {
        match letter {
            b'#' | b';' => text.skip_line(),
            b'[' => section = Some(text.section()?),
            letter if is_space(letter) => {}
            letter if letter.is_ascii_alphabetic() => {
                all.push(text.entry(section.as_deref()?, letter)?);
            }
            _ => return None,
        }
    }
    Some(all)
}

/// What git takes for a space (`GIT_SPACE`, ctype.c).
const fn is_space(letter: u8) -> bool {
    matches!(letter, b' ' | b'\t' | b'\n' | b'\r')
}

/// What a section and a name may consist of.
pub(super) const fn is_key_letter(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'-'
}

/// Represents what has not been read yet.
struct Text<'a> {
    bytes: &'a [u8],
}

impl Iterator for Text<'_> {
    type Item = u8;

    /// The next letter; the two that end a line elsewhere are one.
    fn next(&mut self) -> Option<u8> {
        let (letter, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        if *letter == b'\r' && rest.first() == Some(&b'\n') {
            self.bytes = &rest[1..];
            return Some(b'\n');
        }
        Some(*letter)
    }
}

impl Text<'_> {
    /// The next letter, where the end of the file ends a line as well.
    fn letter(&mut self) -> u8 {
        self.next().unwrap_or(b'\n')
    }

    fn skip_line(&mut self) {
        while self.letter() != b'\n' {}
    }

    /// A section after its `[`, up to and with the dot that its keys begin with.
    fn section(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.next()? {
                b']' => break,
                letter if is_space(letter) => {
                    let subsection = self.subsection(letter)?;
                    name.push('.');
                    name.push_str(&subsection);
                    break;
                }
                letter if is_key_letter(letter) || letter == b'.' => {
                    name.push(char::from(letter.to_ascii_lowercase()));
                }
                _ => return None,
            }
        }
        // without one a key has no section, which git lists and cannot be asked for
        if name.is_empty() || name.starts_with('.') {
            return None;
        }
        name.push('.');
        Some(name)
    }

    /// A subsection after the first space, up to the closing bracket.
    fn subsection(&mut self, first: u8) -> Option<String> {
        let mut letter = first;
        while is_space(letter) {
            if letter == b'\n' {
                return None;
            }
            letter = self.next()?;
        }
        if letter != b'"' {
            return None;
        }
        let mut name = Vec::new();
        loop {
            match self.letter() {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.letter() {
                    b'\n' => return None,
                    letter => name.push(letter),
                },
                letter => name.push(letter),
            }
        }
        let closed = self.next() == Some(b']');
        String::from_utf8(name).ok().filter(|_| closed)
    }

    /// A key after its first letter, and its value.
    fn entry(&mut self, section: &str, first: u8) -> Option<Entry> {
        let mut key = section.to_owned();
        key.push(char::from(first.to_ascii_lowercase()));
        let mut letter = self.letter();
        while is_key_letter(letter) {
            key.push(char::from(letter.to_ascii_lowercase()));
            letter = self.letter();
        }
        while letter == b' ' || letter == b'\t' {
            letter = self.letter();
        }
        let value = match letter {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return None,
        };
        Some(Entry { key, value })
    }

    /// A value after its equals sign.
    fn value(&mut self) -> Option<BString> {
        let mut value = Vec::new();
        let mut spaces = Vec::new();
        let mut quoted = false;
        loop {
            let letter = self.letter();
            match letter {
                b'\n' if quoted => return None,
                b'\n' => return Some(value.into()),
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    return Some(value.into());
                }
                letter if is_space(letter) && !quoted => {
                    if !value.is_empty() {
                        spaces.push(letter);
                    }
                    continue;
                }
                _ => {}
            }
            // a tab between two words is a space to git before 2.45
            if spaces.iter().any(|space| *space != b' ') {
                return None;
            }
            value.append(&mut spaces);
            match letter {
                b'"' => quoted = !quoted,
                b'\\' => match self.letter() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    letter @ (b'\\' | b'"') => value.push(letter),
                    _ => return None,
                },
                letter => value.push(letter),
            }
        }
    }
}

/// A key as git compares it: section and name in lower case, the subsection as it stands. None for
/// one that git would refuse.
pub(super) fn canonical_key(key: &str) -> Option<String> {
    let (section, _) = key.split_once('.')?;
    let (before, name) = key.rsplit_once('.')?;
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_key_letter);
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if !is_word(section) || !is_word(name) || !begins || key.as_bytes().contains_str("\n") {
        return None;
    }
    let subsection = &before[section.len()..];
    let (section, name) = (section.to_ascii_lowercase(), name.to_ascii_lowercase());
    Some(format!("{section}{subsection}.{name}"))
}
