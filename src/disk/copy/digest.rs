//! Takes the digest of buffers one after another, on the thread that fills them or beside it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::content::CHUNK;
use super::error::CopyError;
use crate::placed::Digest;

/// How many buffers go round between two threads; all of them fit into a cache.
const BUFFERS: usize = 4;

/// Takes what was read, in order.
pub(super) trait Sums {
    /// A buffer of [`CHUNK`] bytes to fill.
    fn buffer(&mut self) -> Vec<u8>;

    /// Takes the front of a buffer that was filled.
    fn take(&mut self, buffer: Vec<u8>, length: usize);

    /// Takes so many zeros, and asks between chunks of them whether to go on.
    fn zeros(
        &mut self,
        mut count: u64,
        go_on: impl Fn() -> Result<(), CopyError>,
    ) -> Result<(), CopyError> {
        while count > 0 {
            let mut buffer = self.buffer();
            let length = usize::try_from(count).map_or(CHUNK, |count| count.min(CHUNK));
            buffer[..length].fill(0);
            self.take(buffer, length);
            count -= length as u64;
            go_on()?;
        }
        Ok(())
    }
}

/// Represents a digest that is taken at once.
pub(super) struct InLine<'b> {
    hasher: blake3::Hasher,
    buffer: &'b mut Vec<u8>,
}

impl<'b> InLine<'b> {
    pub fn new(buffer: &'b mut Vec<u8>) -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            buffer,
        }
    }

    pub fn digest(&self) -> Digest {
        Digest(self.hasher.finalize().into())
    }
}

impl Sums for InLine<'_> {
    fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = std::mem::take(self.buffer);
        buffer.resize(CHUNK, 0);
        buffer
    }

    fn take(&mut self, buffer: Vec<u8>, length: usize) {
        self.hasher.update(&buffer[..length]);
        *self.buffer = buffer;
    }
}

/// Represents the end of a digest where buffers are filled.
pub(super) struct Beside {
    filled: SyncSender<(Vec<u8>, usize)>,
    free: Receiver<Vec<u8>>,
}

impl Sums for Beside {
    fn buffer(&mut self) -> Vec<u8> {
        self.free.recv().expect("the other thread ends last")
    }

    fn take(&mut self, buffer: Vec<u8>, length: usize) {
        let sent = self.filled.send((buffer, length));
        sent.expect("the other thread ends last");
    }
}

/// Takes the digest on a thread beside the one that fills the buffers.
pub(super) fn beside(
    fill: impl FnOnce(&mut Beside) -> Result<(), CopyError>,
) -> Result<Digest, CopyError> {
    std::thread::scope(|scope| {
        let (filled, to_hash) = sync_channel::<(Vec<u8>, usize)>(BUFFERS);
        let (back, free) = sync_channel(BUFFERS);
        for _ in 0..BUFFERS {
            let sent = back.send(vec![0; CHUNK]);
            sent.expect("there is room for all of them");
        }
        let thread = scope.spawn(move || {
            let mut hasher = blake3::Hasher::new();
            for (buffer, length) in to_hash {
                hasher.update(&buffer[..length]);
                // at the end nobody wants it
                let _ = back.send(buffer);
            }
            Digest(hasher.finalize().into())
        });
        let mut sums = Beside { filled, free };
        let filled = fill(&mut sums);
        drop(sums);
        let digest = thread.join();
        let digest = digest.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        filled.map(|()| digest)
    })
}
