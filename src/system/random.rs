//! Makes random numbers, and words that no process has made before.

use std::hash::{BuildHasher as _, RandomState};

use rustix::time::clock_gettime;

use crate::system::kernel;

/// Makes a random number: for chance, not for secrets.
pub fn number() -> u64 {
    RandomState::new().hash_one(())
}

/// Makes a word of 32 letters that no process has made before: the standard library's random keys
/// (they are the system's, new for each process), with our number and the time.
pub fn nonce() -> String {
    let now = clock_gettime(kernel::CLOCK);
    let mark = (std::process::id(), now.tv_sec, now.tv_nsec);
    let first = RandomState::new().hash_one(mark);
    let second = RandomState::new().hash_one(mark);
    format!("{first:016x}{second:016x}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_word_is_made_twice() {
        let words: BTreeSet<String> = (0..1000).map(|_| nonce()).collect();
        assert_eq!(words.len(), 1000);
        assert!(words.iter().all(|word| word.len() == 32));
    }
}
