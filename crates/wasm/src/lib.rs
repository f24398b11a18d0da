//! The library behind the playground: schedulers side by side on the same packets, step by step, in a browser.
//!
//! The page sends requests in JSON and receives answers in JSON ([`request`] lists the requests). Schedulers,
//! parameters, distributions, trace readers and counters are those of the library. Four functions form the border to
//! JavaScript. A panic there is a trap: the page shows a message and restarts.
//!
//! - `pifolab_room(bytes)`: allocates the buffer for a request or a file;
//! - `pifolab_file()`: stores the buffer as the file of the next request;
//! - `pifolab_ask()`: handles the request in the buffer; returns the address of the answer;
//! - `pifolab_answer_bytes()`: the length of the answer.

pub mod lane;
pub mod request;
pub mod session;
mod show;
pub mod tables;
pub mod trace;
pub mod why;

use request::Playground;
use std::cell::RefCell;

#[derive(Default)]
struct Border {
    room: Vec<u8>,
    file: Vec<u8>,
    answer: String,
    playground: Playground,
}

thread_local! {
    static BORDER: RefCell<Border> = RefCell::default();
}

/// Allocates a buffer of `bytes` bytes and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_room(bytes: usize) -> *mut u8 {
    BORDER.with_borrow_mut(|border| {
        border.room = vec![0; bytes];
        border.room.as_mut_ptr()
    })
}

/// Stores the buffer as the file of the next request.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_file() {
    BORDER.with_borrow_mut(|border| border.file = std::mem::take(&mut border.room));
}

/// Handles the request in the buffer and returns the address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_ask() -> *const u8 {
    BORDER.with_borrow_mut(|border| {
        let file = std::mem::take(&mut border.file);
        border.answer = border.playground.ask(&border.room, file);
        border.answer.as_ptr()
    })
}

/// The length of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_answer_bytes() -> usize {
    BORDER.with_borrow(|border| border.answer.len())
}
