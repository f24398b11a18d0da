//! The library behind the playground: schedulers side by side on the same packets, step by step, in a browser.
//!
//! The page asks in JSON and is answered in JSON ([`request`] lists the requests); schedulers, parameters, distributions,
//! readers of traces and counters are those of the library. There are four functions at the border to JavaScript, and a
//! panic there is a trap: the page says so and starts anew.
//!
//! - `pifolab_room(bytes)`: where the page writes a request, or a file;
//! - `pifolab_file()`: what was written is a file that the next request speaks of;
//! - `pifolab_ask()`: what was written is a request; returns where the answer lies;
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

/// Makes room for `bytes` bytes and returns where.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_room(bytes: usize) -> *mut u8 {
    BORDER.with_borrow_mut(|border| {
        border.room = vec![0; bytes];
        border.room.as_mut_ptr()
    })
}

/// Keeps what was written as the file of the next request.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_file() {
    BORDER.with_borrow_mut(|border| border.file = std::mem::take(&mut border.room));
}

/// Answers the request that was written.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_ask() -> *const u8 {
    BORDER.with_borrow_mut(|border| {
        let file = std::mem::take(&mut border.file);
        border.answer = border.playground.ask(&border.room, file);
        border.answer.as_ptr()
    })
}

/// The bytes of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_answer_bytes() -> usize {
    BORDER.with_borrow(|border| border.answer.len())
}
