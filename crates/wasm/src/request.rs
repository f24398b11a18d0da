//! Requests in JSON, and their answers.

use crate::lane::Choice;
use crate::session::{Session, Step};
use crate::show::{chosen, rank, state};
use crate::tables;
use crate::trace::Wanted;
use crate::why::why;
use serde::Deserialize;
use serde_json::{Value, json};
use std::rc::Rc;

/// The largest number of schedulers in one session.
const MOST_LANES: usize = 8;
/// A trace of at most this many packets is run to its end when opened, to count its steps.
const SHORT: usize = 20_000;

/// A request of the page.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// The registry's tables.
    Tables,
    /// Checks whether a scheduler accepts these parameters.
    Try { scheduler: String, params: String },
    /// Starts a session with a trace and schedulers. A vector defines its own scheduler if none is given.
    Open { trace: Wanted, lanes: Vec<Wished> },
    /// Returns to the beginning.
    Rewind,
    /// Runs this number of steps, or fewer at the end.
    Forward { steps: u64 },
    /// Returns the state to draw.
    State,
    /// Explains the fate of a packet.
    Why { lane: usize, packet: usize },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wished {
    scheduler: String,
    params: String,
}

/// The state between requests.
#[derive(Default)]
pub struct Playground {
    session: Option<Session>,
    /// The number of steps of the whole trace, if known.
    steps: Option<u64>,
}

impl Playground {
    /// Handles a request. Returns `{"ok": ...}`, or `{"error": "the problem, and the expected value"}`. `file` is the
    /// file sent before.
    pub fn ask(&mut self, request: &[u8], file: Vec<u8>) -> String {
        let request = serde_json::from_slice(request).map_err(|error| error.to_string());
        match request.and_then(|request| self.answer(request, file)) {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": error }),
        }
        .to_string()
    }

    fn answer(&mut self, request: Request, file: Vec<u8>) -> Result<Value, String> {
        match request {
            Request::Tables => Ok(json!({"version": env!("CARGO_PKG_VERSION"), "schedulers": tables::schedulers()})),
            Request::Try { scheduler, params } => Choice::new(&scheduler, &params).map(|_| Value::Null),
            Request::Open { trace, lanes } => self.open(trace, lanes, file),
            Request::Rewind => {
                let session = self.session()?.anew();
                self.session = Some(session);
                Ok(Value::Null)
            }
            Request::Forward { steps } => {
                let session = self.session()?;
                let more = session.forward(steps) && session.next_step() != Step::End;
                let position = session.position;
                if !more {
                    self.steps = Some(position);
                }
                Ok(json!({"position": position, "more": more}))
            }
            Request::State => {
                let steps = self.steps;
                Ok(state(self.session()?, steps))
            }
            Request::Why { lane, packet } => why(self.session()?, lane, packet),
        }
    }

    fn session(&mut self) -> Result<&mut Session, String> {
        self.session.as_mut().ok_or_else(|| "nothing is open yet".to_owned())
    }

    fn open(&mut self, wanted: Wanted, lanes: Vec<Wished>, file: Vec<u8>) -> Result<Value, String> {
        let trace = wanted.make(file)?;
        let mut choices = Vec::new();
        for wished in &lanes {
            choices.push(Choice::new(&wished.scheduler, &wished.params)?);
        }
        if let (Some((name, params)), true) = (&trace.scheduler, lanes.is_empty()) {
            choices.push(Choice::new(name, params)?);
        }
        if choices.is_empty() || choices.len() > MOST_LANES {
            return Err(format!("{} schedulers: expected from 1 to {MOST_LANES}", choices.len()));
        }
        let session = Session::new(Rc::new(trace), choices);
        self.steps = None;
        if session.trace.packets.len() <= SHORT {
            let mut whole = session.anew();
            while whole.step() {}
            self.steps = Some(whole.position);
        }
        let lanes: Value = session.lanes.iter().map(|lane| chosen(&lane.choice)).collect();
        let answer = json!({
            "packets": session.trace.packets.len(),
            "note": session.trace.note,
            "highest": session.trace.packets.iter().map(|packet| packet.rank).max().map(rank),
            "steps": self.steps,
            "lanes": lanes,
        });
        self.session = Some(session);
        Ok(answer)
    }
}
