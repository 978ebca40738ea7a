//! `restore`: puts what is out of scope back, touches nothing else, and can be undone.

mod branch;
mod killed;
mod kinds;
mod meanwhile;
mod permissions;
mod stopped;
mod undo;
mod world;
