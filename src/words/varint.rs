//! Writes numbers and paths densely, and reads them back: what the manifest and the list of
//! placed files are made of.
//!
//! Numbers are LEB128 (zigzag where they can be negative). A path is the length that it shares
//! with the one before it, and the rest.

use crate::words::path::RepoPath;

/// Says that bytes end early, or are none that this module writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is damaged")]
pub struct Damaged;

/// Writes a number.
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Writes a number that may be negative.
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    let zigzag = (number << 1) ^ (number >> 63);
    put(out, zigzag.cast_unsigned());
}

/// Writes bytes with their length.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a path after another, none before the first.
pub fn put_path(out: &mut Vec<u8>, before: Option<&RepoPath>, path: &RepoPath) {
    let bytes: &[u8] = path.as_bstr();
    let bytes_before: &[u8] = before.map_or(b"", |before| before.as_bstr());
    let pairs = bytes_before.iter().zip(bytes);
    let shared = pairs.take_while(|(a, b)| a == b).count();
    put(out, shared as u64);
    put_bytes(out, &bytes[shared..]);
}

/// How many bytes a number takes at most.
const LONGEST: usize = 10;

/// Reads what the functions above wrote, from the front.
#[derive(Clone, Debug)]
pub struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    /// Starts at the front of the bytes.
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// Returns what was not read yet.
    pub const fn rest(&self) -> &'b [u8] {
        self.0
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// Fails when there are fewer; so do all others.
    pub fn take(&mut self, length: usize) -> Result<&'b [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Takes one byte.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn byte(&mut self) -> Result<u8, Damaged> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// Reads a number.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn number(&mut self) -> Result<u64, Damaged> {
        match self.0.first_chunk::<LONGEST>() {
            // where all that it can take is there, nothing has to be looked at twice
            Some(first) => self.number_in(first),
            None => self.number_in(self.0),
        }
    }

    fn number_in(&mut self, first: &[u8]) -> Result<u64, Damaged> {
        let mut number = 0u64;
        for (at, byte) in first.iter().enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    /// Reads a number that counts something in memory.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn size(&mut self) -> Result<usize, Damaged> {
        usize::try_from(self.number()?).map_err(|_| Damaged)
    }

    /// Reads a number that may be negative.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn signed(&mut self) -> Result<i64, Damaged> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Reads bytes with their length.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn bytes(&mut self) -> Result<&'b [u8], Damaged> {
        let length = self.size()?;
        self.take(length)
    }

    /// Reads a path after another. Paths come in order, each once.
    ///
    /// # Errors
    /// As [`Input::take`]; also when it is no path, or not after the one before it.
    pub fn path(&mut self, before: Option<&RepoPath>) -> Result<RepoPath, Damaged> {
        let shared = self.size()?;
        let rest = self.bytes()?;
        let bytes_before: &[u8] = before.map_or(b"", |before| before.as_bstr());
        let start = bytes_before.get(..shared).ok_or(Damaged)?;
        let path = RepoPath::parse([start, rest].concat()).map_err(|_| Damaged)?;
        if before.is_some_and(|before| *before >= path) {
            return Err(Damaged);
        }
        Ok(path)
    }
}
