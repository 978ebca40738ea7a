//! Hands tasks to threads; a task may bring more of them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Represents tasks that wait, the newest first, so that threads go down before they go on.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    busy: usize,
    idle: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub fn new(first: T) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: vec![first],
                busy: 0,
                idle: 0,
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Does tasks until none waits and nobody could bring one; or until it is closed.
    pub fn work(&self, mut task: impl FnMut(T)) {
        while let Some(next) = self.next() {
            // also when the task panics: the others must not wait for ever
            let _done = Done(self);
            task(next);
        }
    }

    /// Adds tasks.
    pub fn add(&self, tasks: impl IntoIterator<Item = T>) {
        let mut state = self.lock();
        state.waiting.extend(tasks);
        // to wake nobody is a system call as well
        let wake = state.idle.min(state.waiting.len());
        drop(state);
        (0..wake).for_each(|_| self.changed.notify_one());
    }

    /// Throws away what waits.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(task) = state.waiting.pop() {
                state.busy += 1;
                return Some(task);
            }
            if state.busy == 0 {
                return None;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Done<'a, T>(&'a Queue<T>);

impl<T> Drop for Done<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        if state.busy == 0 && state.idle > 0 {
            self.0.changed.notify_all();
        }
    }
}
