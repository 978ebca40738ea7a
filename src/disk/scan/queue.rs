//! Shares work between threads: each takes its own pile from the top, and hands half of it over
//! when another has nothing to do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Holds what waits for a thread.
pub(super) struct Queue<T> {
    shared: Mutex<Shared<T>>,
    wake: Condvar,
    /// How many threads wait; a hint, so that the others need no lock to know.
    hungry: AtomicUsize,
}

struct Shared<T> {
    waiting: Vec<T>,
    idle: usize,
    threads: usize,
}

impl<T> Queue<T> {
    /// Starts with one piece of work for so many threads, each of which calls [`Queue::work`].
    pub fn new(first: T, threads: usize) -> Self {
        Self {
            shared: Mutex::new(Shared {
                waiting: vec![first],
                idle: 0,
                threads,
            }),
            wake: Condvar::new(),
            hungry: AtomicUsize::new(0),
        }
    }

    /// Does work until there is none left, here or with any other thread. What a piece of work
    /// brings is pushed onto the pile.
    pub fn work(&self, mut each: impl FnMut(T, &mut Vec<T>)) {
        let mut pile = Vec::new();
        while self.more(&mut pile) {
            while let Some(next) = pile.pop() {
                each(next, &mut pile);
                if pile.len() > 1 && self.hungry.load(Ordering::Relaxed) > 0 {
                    self.hand_over(&mut pile);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<T>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work; `false` when there will be none.
    fn more(&self, pile: &mut Vec<T>) -> bool {
        let mut shared = self.lock();
        shared.idle += 1;
        loop {
            if !shared.waiting.is_empty() {
                shared.idle -= 1;
                let half = shared.waiting.len() / 2;
                pile.extend(shared.waiting.drain(half..));
                return true;
            }
            if shared.idle == shared.threads {
                self.wake.notify_all();
                return false;
            }
            self.hungry.fetch_add(1, Ordering::Relaxed);
            shared = self
                .wake
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
            self.hungry.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Gives away the older half: it lies higher in the tree, so there is more below it.
    fn hand_over(&self, pile: &mut Vec<T>) {
        let mut shared = self.lock();
        if shared.waiting.is_empty() {
            shared.waiting.extend(pile.drain(..pile.len() / 2));
            self.wake.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_of_work_is_done_once() {
        let queue = Queue::new(1_u32, 4);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    queue.work(|number, pile| {
                        done.lock().expect("no thread failed").push(number);
                        pile.extend([number * 2, number * 2 + 1].iter().filter(|n| **n < 5000));
                    });
                });
            }
        });
        let mut done = done.into_inner().expect("no thread failed");
        done.sort_unstable();
        assert_eq!(done, (1..5000).collect::<Vec<_>>());
    }
}
