//! Holds the scope against real git.
mod baseline;
