//! Holds [`Size`]: a number of bytes, as people read it.

use std::fmt;

/// Shows bytes in the largest unit of which there is at least one: 1 KB is 1,024 bytes, 1 MB
/// 1,048,576, as everywhere in this program.
///
/// ```
/// use git_agentwt::size::Size;
/// assert_eq!(Size(1).to_string(), "1 byte");
/// assert_eq!(Size(2_621_440).to_string(), "2.5 MB");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
        match self.0 {
            1 => return f.write_str("1 byte"),
            bytes if bytes < 1 << 10 => return write!(f, "{bytes} bytes"),
            _ => {}
        }
        // what would round to 1,024 of a unit is one of the next
        let mut units = UNITS.iter().zip((1..=4).map(|power| 1u64 << (10 * power)));
        let fits = |(_, unit): &(&&str, u64)| self.0 < (unit << 10) - unit / 20;
        let (name, unit) = units.find(fits).unwrap_or((&"TB", 1 << 40));
        let tenths = (u128::from(self.0) * 10 + u128::from(unit / 2)) / u128::from(unit);
        if tenths % 10 == 0 {
            write!(f, "{} {name}", tenths / 10)
        } else {
            write!(f, "{}.{} {name}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_shown_in_the_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KB"),
            (1536, "1.5 KB"),
            (1_048_575, "1 MB"),
            (1 << 20, "1 MB"),
            (105_000_000, "100.1 MB"),
            (1 << 40, "1 TB"),
            (u64::MAX, "16777216 TB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text, "{bytes}");
        }
    }
}
