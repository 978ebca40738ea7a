//! Holds [`Size`].

/// Shows a number of bytes as people read it: in the largest unit of 1,024, 1,048,576, … bytes of
/// which there is at least one, as the bar of a long copy does.
///
/// ```
/// use git_agentwt::words::size::Size;
/// assert_eq!(Size(1).to_string(), "1 B");
/// assert_eq!(Size(2_621_440).to_string(), "2.50 MiB");
/// ```
pub use indicatif::HumanBytes as Size;
