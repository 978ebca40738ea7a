//! Shares work between threads: a list ([`map_parallel`]), or work that brings more of it
//! ([`WorkQueue`]).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;

/// Returns how many threads share the work: more than eight wait for each other.
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
    let thread_count = threads();
    // several blocks a thread: one that is done early takes more
    let block_size = (items.len() / thread_count / 4).clamp(1, AT_ONCE);
    let blocks: Vec<&[T]> = items.chunks(block_size).collect();
    let next = AtomicUsize::new(0);
    let mut blocks_done = std::thread::scope(|scope| {
        let mut others = Vec::new();
        for _ in 1..thread_count.min(blocks.len()) {
            others.push(scope.spawn(|| map_blocks(&blocks, &next, &start, &each)));
        }
        let mut results = map_blocks(&blocks, &next, &start, &each);
        for other in others {
            results.extend(join(other));
        }
        results
    });
    blocks_done.sort_unstable_by_key(|block| block.position);
    let mut mapped = Vec::with_capacity(items.len());
    for block in blocks_done {
        mapped.extend(block.result?);
    }
    Ok(mapped)
}

/// Waits for a thread and takes what it returns. Panics as the thread did.
pub(super) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(returned) => returned,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// What became of one block of items.
struct MappedBlock<R, E> {
    position: usize,
    result: Result<Vec<R>, E>,
}

/// Takes one block after another until none is left.
fn map_blocks<T, S, R, E>(
    blocks: &[&[T]],
    next: &AtomicUsize,
    start: &impl Fn() -> Result<S, E>,
    each: &impl Fn(&mut S, &T) -> Result<R, E>,
) -> Vec<MappedBlock<R, E>> {
    let mut mapped = Vec::new();
    loop {
        let position = next.fetch_add(1, Ordering::Relaxed);
        let Some(block) = blocks.get(position) else {
            return mapped;
        };
        let result = map_block(block, start, each);
        mapped.push(MappedBlock { position, result });
    }
}

/// Does one block of items, until the first error.
fn map_block<T, S, R, E>(
    block: &[T],
    start: &impl Fn() -> Result<S, E>,
    each: &impl Fn(&mut S, &T) -> Result<R, E>,
) -> Result<Vec<R>, E> {
    let mut state = start()?;
    let mut results = Vec::with_capacity(block.len());
    for item in block {
        results.push(each(&mut state, item)?);
    }
    Ok(results)
}

/// Work that waits for a thread, and may bring more of it.
pub struct WorkQueue<T> {
    shared: Mutex<PoolQueue<T>>,
    wake: Condvar,
}

struct PoolQueue<T> {
    waiting: Vec<T>,
    /// How many threads are at a piece of work, which may bring more.
    busy: usize,
    /// How many threads wait for more work.
    asleep: usize,
    is_over: bool,
}

impl<T> WorkQueue<T> {
    /// Creates a queue with the first pieces of work.
    pub fn new(first: Vec<T>) -> Self {
        Self {
            shared: Mutex::new(PoolQueue {
                waiting: first,
                busy: 0,
                asleep: 0,
                is_over: false,
            }),
            wake: Condvar::new(),
        }
    }

    /// Ends the work of all threads after the piece that each is at.
    pub fn give_up(&self) {
        self.lock().is_over = true;
        self.wake.notify_all();
    }

    /// Works until nothing waits and no thread is busy, since a busy one may bring more work, or
    /// until the work is given up; several threads call it. `each` does one piece of work, and adds
    /// what that brings.
    pub fn work(&self, mut each: impl FnMut(T, &mut Vec<T>)) {
        let _guard = EndOnPanic(self);
        let mut more_work = Vec::new();
        let mut shared = self.lock();
        while !shared.is_over {
            if let Some(next) = shared.waiting.pop() {
                shared.busy += 1;
                drop(shared);
                each(next, &mut more_work);
                shared = self.lock();
                shared.busy -= 1;
                shared.waiting.append(&mut more_work);
                // this thread takes one piece itself
                if shared.asleep > 0 && shared.waiting.len() > 1 {
                    self.wake.notify_all();
                }
            } else if shared.busy == 0 {
                shared.is_over = true;
                self.wake.notify_all();
            } else {
                shared.asleep += 1;
                let woken = self.wake.wait(shared);
                shared = woken.unwrap_or_else(PoisonError::into_inner);
                shared.asleep -= 1;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolQueue<T>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
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
        let queue = WorkQueue::new(vec![1_u32]);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| queue.work(|_, _| {}));
            queue.give_up();
            waits.join().expect("it ends");
        });
        let queue = WorkQueue::new(vec![1_u32]);
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
        let queue = WorkQueue::new(vec![1_u32]);
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
