//! Parameters of a program of your own: ranges, defaults and words, and errors in one line.
//!
//! `cargo run -p pifolab-params --example own_parameters`

use pifolab_params::{Args, Param, Value, choices};

choices! {
    /// What leaves when the buffer is full.
    #[derive(Default)]
    pub enum Victim {
        /// The packet that arrives.
        #[default]
        Tail = "tail": "the packet that arrives is dropped",
        /// The packet that has waited longest.
        Head = "head": "the packet that has waited longest is dropped",
    }
}

const DROP: Param = Param::choice::<Victim>("drop").or_word(Victim::Tail.word()).doc("What leaves if full.");
const QUEUES: Param = Param::integer("queues", 1, 64).or_integer(8).unit("queues");

fn main() {
    let mut args = Args::new("mine");
    args.set("drop", Value::Text("head".into()));
    assert_eq!(args.given::<Victim>(&DROP), Ok(Victim::Head));
    assert_eq!(args.given::<u32>(&QUEUES), Ok(8));
    args.set("drop", Value::Text("heat".into()));
    let error = args.given::<Victim>(&DROP).expect_err("there is no such word").to_string();
    println!("{error}");
    assert_eq!(error, "mine: drop = \"heat\": expected one of tail, head; did you mean head?");
}
