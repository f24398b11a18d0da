//! A sliding window over a byte stream: returns records as slices without copies.

use crate::input::{Input, unreadable};
use crate::{FileError, Place};
use std::io::{self, BufRead, Read};

/// The number of bytes read ahead.
const CHUNK: usize = 256 * 1024;

pub(crate) struct Window<'a> {
    file: String,
    content: Box<dyn BufRead + Send + 'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The stream position of `start`.
    offset: u64,
    /// Whether the stream ended within gzip data.
    cut: bool,
}

impl<'a> Window<'a> {
    pub(crate) fn new(input: Input<'a>) -> Self {
        Self {
            file: input.file,
            content: input.content,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            offset: 0,
            cut: false,
        }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The number of bytes taken so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the stream ended within gzip data; its end is then that of the readable bytes.
    pub(crate) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Returns the next `n` bytes, or the rest of the stream if it is shorter. The buffer grows with the bytes that
    /// arrive, so a wrong length costs no memory.
    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> io::Result<&[u8]> {
        if self.end - self.start < n {
            self.fill(n)?;
        }
        let taken = n.min(self.end - self.start);
        let from = self.start;
        self.start += taken;
        self.offset += taken as u64;
        Ok(&self.buffer[from..from + taken])
    }

    /// Returns the last `n` bytes taken (in one piece), and the file's name.
    #[inline]
    pub(crate) fn taken(&self, n: usize) -> (&[u8], &str) {
        (&self.buffer[self.start - n..self.start], &self.file)
    }

    #[cold]
    fn fill(&mut self, n: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < n && !self.cut {
            if self.end == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.content.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.cut = true,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Skips up to `n` bytes; returns the number of bytes skipped.
    pub(crate) fn skip(&mut self, n: u64) -> io::Result<u64> {
        let mut left = n;
        while left > 0 {
            let taken = self.take(left.min(CHUNK as u64) as usize)?.len() as u64;
            if taken == 0 {
                break;
            }
            left -= taken;
        }
        Ok(n - left)
    }

    pub(crate) fn error(&self, place: Place, problem: impl Into<String>) -> FileError {
        FileError::new(&self.file, place, problem)
    }

    pub(crate) fn io_error(&self, place: Place, error: &io::Error) -> FileError {
        unreadable(&self.file, place, error)
    }
}

/// The byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endian {
    pub(crate) big: bool,
}

impl Endian {
    #[inline]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let two = [bytes[at], bytes[at + 1]];
        if self.big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
    }

    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    }
}
