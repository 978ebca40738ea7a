//! Names the file systems that are mounted below a directory.

use camino::Utf8Path;

use super::error::DiskError;

/// Names what is mounted below a directory, relative to it and sorted, also from the same file
/// system.
///
/// # Errors
/// Fails when the system does not tell (`proc_pid_mountinfo(5)`).
#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "the system's word on what is mounted"
)]
pub fn below(directory: &Utf8Path) -> Result<Vec<String>, DiskError> {
    let file = "/proc/self/mountinfo";
    let bytes = match std::fs::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| DiskError::new(format!("read {file}"), error))?,
    };
    let mut found: Vec<String> = bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .filter_map(|point| relative(&unescaped(point), directory))
        .collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Names what is mounted below a directory; nothing where the system does not tell.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn below(_directory: &Utf8Path) -> Result<Vec<String>, DiskError> {
    Ok(Vec::new())
}

#[cfg(target_os = "linux")]
fn relative(point: &[u8], directory: &Utf8Path) -> Option<String> {
    let rest = point.strip_prefix(directory.as_str().as_bytes())?;
    let rest = rest.strip_prefix(b"/")?;
    Some(crate::path::escape_for_terminal(rest))
}

/// A path there has blanks, newlines and backslashes as `\` and three octal digits.
#[cfg(target_os = "linux")]
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|three| std::str::from_utf8(three).ok());
        let value = digits.and_then(|three| u8::from_str_radix(three, 8).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_below_is_named_and_the_directory_itself_is_not() {
        let root = below(Utf8Path::new("")).expect("this system tells");
        assert!(root.iter().any(|point| point == "proc"), "{root:?}");
        assert_eq!(
            below(Utf8Path::new("/proc/self")).expect("it tells"),
            [""; 0]
        );
        let named = |point: &[u8]| relative(&unescaped(point), Utf8Path::new("/w t"));
        assert_eq!(named(br"/w\040t/a\011b").as_deref(), Some(r"a\011b"));
        assert_eq!(named(br"/w\040t"), None);
        assert_eq!(named(br"/w\040tx/a"), None);
    }
}
