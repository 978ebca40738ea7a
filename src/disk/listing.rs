//! Lists the names in an open directory, in one piece of memory that is used again.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::FileType;
use rustix::io::Errno;

/// How much of a directory the system hands over at once.
#[cfg(any(target_os = "linux", target_os = "android"))]
const AT_ONCE: usize = 32 * 1024;

/// Holds the names of one directory after another.
#[derive(Debug, Default)]
pub(super) struct Listing {
    names: Vec<u8>,
    entries: Vec<(usize, FileType)>,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    buffer: Vec<u8>,
}

impl Listing {
    /// Reads a directory from its beginning, without `.` and `..`; forgets the one before it.
    pub fn read(&mut self, directory: &OwnedFd) -> Result<(), Errno> {
        self.clear();
        self.fill(directory)
    }

    /// Forgets all names.
    pub fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
    }

    /// Adds a name without NUL that is known from elsewhere.
    pub fn push_name(&mut self, name: &[u8], kind: FileType) {
        self.entries.push((self.names.len(), kind));
        self.names.extend_from_slice(name);
        self.names.push(0);
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn fill(&mut self, directory: &OwnedFd) -> Result<(), Errno> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.reserve(AT_ONCE);
        let mut entries = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
        let mut read = Ok(());
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => self.push(entry.file_name(), entry.file_type()),
                Err(error) => {
                    read = Err(error);
                    break;
                }
            }
        }
        self.buffer = buffer;
        read
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn fill(&mut self, directory: &OwnedFd) -> Result<(), Errno> {
        for entry in rustix::fs::Dir::read_from(directory)? {
            let entry = entry?;
            self.push(entry.file_name(), entry.file_type());
        }
        Ok(())
    }

    fn push(&mut self, name: &CStr, kind: FileType) {
        if matches!(name.to_bytes(), b"." | b"..") {
            return;
        }
        self.push_name(name.to_bytes(), kind);
    }

    /// How many names there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Each name, and of what kind the directory says that it is: [`FileType::Unknown`] where the
    /// file system does not say.
    pub fn entries(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        self.entries.iter().map(|(start, kind)| {
            let name = CStr::from_bytes_until_nul(&self.names[*start..]);
            (name.expect("because each ends with NUL"), *kind)
        })
    }

    /// Whether it has a name.
    pub fn has(&self, name: &CStr) -> bool {
        let name = name.to_bytes_with_nul();
        let mut rests = self.entries.iter().map(|(start, _)| &self.names[*start..]);
        // most names differ in the first byte
        rests.any(|rest| rest.first() == name.first() && rest.starts_with(name))
    }
}
