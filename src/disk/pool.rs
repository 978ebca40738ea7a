//! Shares work between threads: a list ([`map_parallel`]), or work that brings more of it
//! ([`WorkQueue`]).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many threads share the work: more than eight wait for each other.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8))
}

/// The most items that a thread takes at once in [`map_parallel`].
const AT_ONCE: usize = 256;

/// Returns what `each` makes of every item, in order. Each block of items is done with a state of
/// its own, which `start` creates.
///
/// # Errors
/// Fails with the first error, in the order of the items.
pub fn map_parallel<T: Sync, S, R: Send, E: Send>(
    items: &[T],
    start: impl Fn() -> Result<S, E> + Sync,
    each: impl Fn(&mut S, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = threads();
    let blocks = items.chunks((items.len() / threads / 4).clamp(1, AT_ONCE));
    let blocks: Vec<&[T]> = blocks.collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let do_next = || {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let block = blocks.get(at)?.iter();
            let done =
                start().and_then(|mut state| block.map(|item| each(&mut state, item)).collect());
            Some((at, done))
        };
        std::iter::from_fn(do_next).collect::<Vec<(usize, Result<Vec<R>, E>)>>()
    };
    let mut all = std::thread::scope(|scope| {
        let others = (1..threads.min(blocks.len())).map(|_| scope.spawn(work));
        let others: Vec<_> = others.collect();
        let mut all = work();
        for other in others {
            let other = other.join();
            all.extend(other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    let mut done = Vec::with_capacity(items.len());
    for (_, block) in all {
        done.extend(block?);
    }
    Ok(done)
}

/// Represents work that waits for a thread: each thread takes its own pile from the top, and hands
/// half of it over when another has nothing to do.
pub struct WorkQueue<T> {
    shared: Mutex<Shared<T>>,
    wake: Condvar,
    /// How many threads wait; a hint, so that the others need no lock to know.
    hungry: AtomicUsize,
    /// Whether nobody wants the rest any more.
    given_up: AtomicBool,
}

struct Shared<T> {
    waiting: Vec<T>,
    idle: usize,
    threads: usize,
}

impl<T> WorkQueue<T> {
    /// Starts with some work for so many threads, each of which calls [`WorkQueue::work`], some of them
    /// perhaps later than others.
    pub fn new(first: Vec<T>, threads: usize) -> Self {
        Self {
            shared: Mutex::new(Shared {
                waiting: first,
                idle: 0,
                threads,
            }),
            wake: Condvar::new(),
            hungry: AtomicUsize::new(0),
            given_up: AtomicBool::new(false),
        }
    }

    /// Expects one more thread. There is still one that was expected and did not come.
    pub fn expect_one_more(&self) {
        self.lock().threads += 1;
    }

    /// Lets every thread stop after what it is at, also those that wait for one that never comes.
    pub fn give_up(&self) {
        // under the lock, so that nobody begins to wait between the two
        let _shared = self.lock();
        self.given_up.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }

    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Does work until there is none left, here or with any other thread. What a piece of work
    /// brings is pushed onto the pile. A panic ends it for all of them.
    pub fn work(&self, mut each: impl FnMut(T, &mut Vec<T>)) {
        let _guard = EndOnPanic(self);
        let mut pile = Vec::new();
        while self.more(&mut pile) {
            while let Some(next) = pile.pop() {
                each(next, &mut pile);
                if self.is_given_up() {
                    return;
                }
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
            if self.is_given_up() {
                return false;
            }
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

/// Ends the work of all threads when one panics: the others would wait for it.
struct EndOnPanic<'a, T>(&'a WorkQueue<T>);

impl<T> Drop for EndOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_thread_that_never_comes_or_fails() {
        let queue = WorkQueue::new(vec![1_u32], 2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| queue.work(|_, _| {}));
            queue.give_up();
            waits.join().expect("it ends");
        });
        let queue = WorkQueue::new(vec![1_u32], 2);
        std::thread::scope(|scope| {
            let both = [(); 2].map(|()| {
                scope.spawn(|| queue.work(|_, _| std::panic::resume_unwind(Box::new("as meant"))))
            });
            let ends = both.map(|one| usize::from(one.join().is_ok()));
            assert_eq!(ends.iter().sum::<usize>(), 1, "one of them took it");
        });
    }

    #[test]
    fn blocks_come_in_order() {
        let items: Vec<u32> = (0..1000).collect();
        let same = |items: &[u32]| map_parallel(items, || Ok(()), |(), one| Ok::<_, ()>(*one));
        assert_eq!(same(&items), Ok(items.clone()));
        assert_eq!(same(&[]), Ok(Vec::new()));
        let odd = map_parallel(
            &items,
            || Ok(()),
            |(), one| if one % 300 == 299 { Err(*one) } else { Ok(()) },
        );
        assert_eq!(odd, Err(299), "the first error");
    }

    #[test]
    fn every_piece_of_work_is_done_once() {
        let queue = WorkQueue::new(vec![1_u32], 4);
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
