//! The user beside: writes into the main worktree and into the worktrees of all workers.

use std::time::Duration;

use super::ledger::{Held, blob_id_of};
use super::worker::NAMES;
use super::world::World;
use crate::support::Choices;

/// Represents the user with what they have written.
pub struct User<'w> {
    world: &'w World,
    workers: usize,
    choices: Choices,
    texts: usize,
}

impl<'w> User<'w> {
    /// Begins with the choices of this seed.
    pub fn new(world: &'w World, workers: usize) -> Self {
        let choices = Choices(world.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Self {
            world,
            workers,
            choices,
            texts: 0,
        }
    }

    /// Acts until the time is over; a user takes a moment between two acts.
    pub fn live(mut self) {
        while !self.world.is_over() {
            match self.choices.below(6) {
                0 => self.edit_main(),
                1 => self.write_new_in_main(),
                _ => self.write_into_a_worktree(),
            }
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("user {} {}\n", self.world.seed, self.texts)
    }

    /// Edits a tracked file and commits it; what is not committed stops every landing.
    fn edit_main(&mut self) {
        let path = "docs/user.md";
        let main = self.world.repo.main();
        let before = std::fs::read(main.join(path)).unwrap_or_default();
        let text = self.text();
        if self.world.put(main, path, &text) {
            self.world
                .enter("main", path, text.clone(), "the user", Held::Loose);
            let before = blob_id_of(&before);
            self.world.ledger.give_up(&before, "the user overwrote it");
        }
        let commit = ["commit", "-q", "-m", "user", "--", path];
        if self.world.git("main", main, &commit).is_some() {
            self.world.ledger.commit(&[blob_id_of(text.as_bytes())]);
        }
    }

    fn write_new_in_main(&mut self) {
        let text = self.text();
        let path = format!("docs/user-{}.md", self.texts);
        if self.world.put(self.world.repo.main(), &path, &text) {
            self.world
                .enter("main", &path, text, "the user", Held::Loose);
        }
    }

    fn write_into_a_worktree(&mut self) {
        let worker = self.choices.below(self.workers);
        let name = format!("life-{worker}-{}", self.choices.below(NAMES));
        let text = self.text();
        let path = format!("src/user-{}.txt", self.texts);
        let directory = self.world.repo.worktree(&name);
        if self.world.put(&directory, &path, &text) {
            self.world
                .enter(&name, &path, text, "the user", Held::Loose);
        }
    }
}
