use super::*;
use alloc::string::ToString;
use alloc::vec;
use pifolab_units::Ratio;

choices! {
    enum Mode {
        Exact = "exact": "as written",
        Approx = "approx": "as in hardware",
    }
}

const WORDS: Param = Param::choice::<Mode>("mode").or_word(Mode::Exact.word());
const SHARE: Param = Param::new("k", Kind::Fraction).or(Literal::Fraction(1, 10));

fn args(entries: &[(&str, Value)]) -> Args {
    let mut args = Args::new("test");
    for (name, value) in entries {
        args.set(*name, value.clone());
    }
    args
}

#[test]
fn errors_name_key_value_and_range() {
    let error = args(&[("queues", Value::Integer(0))]).get::<u64>(&QUEUES).unwrap_err();
    assert_eq!(error.to_string(), "test: queues = 0: expected an integer from 1 to 1024 (queues)");
    let error = args(&[("k", Value::Integer(1))]).given::<Ratio>(&SHARE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "test: k = 1: expected a fraction from 0 up to but not including 1, such as 0.1 or 1/10"
    );
    let error = args(&[("mode", Value::Text("aprox".into()))]).given::<Mode>(&WORDS).unwrap_err();
    assert_eq!(error.to_string(), "test: mode = \"aprox\": expected one of exact, approx; did you mean approx?");
}

#[test]
fn a_rate_may_be_a_fraction_if_it_is_whole_in_bits_per_second() {
    const RATE: Param = Param::new("rate_gbps", Kind::Positive);
    let read = |text: &str| read_gbps(&mut args(&[("rate_gbps", Value::Text(text.into()))]), &RATE);
    for (text, bps) in [("8/5", 1_600_000_000), ("1.6", 1_600_000_000), ("1/1000000000", 1), ("16/2", 8_000_000_000)] {
        assert_eq!(read(text).unwrap().map(pifolab_units::Rate::as_bps), Some(bps), "{text}");
    }
    for text in ["1/3000", "0/5", "1/0", "1/", "/2", "-1/2", "8001/1", "18446744073709551615/1"] {
        let error = read(text).unwrap_err().to_string();
        assert!(
            error.starts_with(&alloc::format!("test: rate_gbps = \"{text}\": expected a rate in whole bits")),
            "{error}"
        );
    }
}

#[test]
fn unknown_and_unused_keys_are_errors() {
    let error = args(&[("queue", Value::Integer(8))]).finish(&[QUEUES]).unwrap_err();
    assert_eq!(error.to_string(), "test: queue = 8: unknown key; did you mean queues?");
    let error = args(&[("zzz", Value::Integer(8))]).finish(&[QUEUES, SHARE]).unwrap_err();
    assert_eq!(error.to_string(), "test: zzz = 8: unknown key; the keys are queues, k");

    let mut both = args(&[("capacity_packets", Value::Integer(8)), ("capacity_bytes", Value::Integer(9_000))]);
    assert_eq!(read_capacity(&mut both), Ok(Capacity::Bytes(9_000)));
    let error = both.finish(&[CAPACITY_PACKETS, CAPACITY_BYTES]).unwrap_err();
    assert_eq!(error.to_string(), "test: capacity_packets = 8: this key has no effect with the other keys: remove it");
}

#[test]
fn capacities_come_as_one_number_or_one_for_each_queue() {
    assert_eq!(read_queue_capacities(&mut args(&[])), Ok(vec![Capacity::Packets(10); 8]));
    let list = Value::List(vec![Value::Integer(2), Value::Integer(6)]);
    assert_eq!(
        read_queue_capacities(&mut args(&[("queue_capacity_bytes", list.clone())])),
        Ok(vec![Capacity::Bytes(2), Capacity::Bytes(6)])
    );
    let error = read_queue_capacities(&mut args(&[("queues", Value::Integer(3)), ("queue_capacity_packets", list)]));
    assert_eq!(
        error.unwrap_err().to_string(),
        "test: queue_capacity_packets = [2, 6]: expected 3 capacities, since queues = 3"
    );
}

#[test]
fn fractions_are_exact_however_they_are_written() {
    let tenth = Ratio::new(1, 10).unwrap();
    let pair = Value::List(vec![Value::Integer(1), Value::Integer(10)]);
    for value in [Value::Decimal("0.1".into()), Value::Text("1/10".into()), pair] {
        assert_eq!(args(&[("k", value)]).given::<Ratio>(&SHARE), Ok(tenth));
    }
    assert_eq!(args(&[]).given::<Ratio>(&SHARE), Ok(tenth));
}

#[test]
fn a_default_that_a_table_tells_in_words_is_what_holds_without_the_key() {
    use crate::ranks::{Pias, PiasParams};
    use crate::schedulers::{SlackSpParams, SpPifoGreedyParams, SpPifoOptimalParams, StepScale, StrictPriorityParams};
    fn usual<P: FromArgs>() -> P {
        P::build(Args::new(P::INFO.name)).unwrap()
    }
    let said = |info: &Info, key| info.row(key).absent.meaning().unwrap();

    let packets = PiasParams::default().thresholds.into_iter().map(|bytes| (bytes / 1460, bytes % 1460));
    let packets: Vec<_> =
        packets.inspect(|(_, rest)| assert_eq!(*rest, 0)).map(|(packets, _)| packets.to_string()).collect();
    let (last, first) = packets.split_last().unwrap();
    let list = alloc::format!("{} and {last} packets of 1460 bytes", first.join(", "));
    assert!(said(&Pias::INFO, "thresholds_bytes").ends_with(&list), "{list}");

    let weights = usual::<SpPifoOptimalParams>().weights;
    assert!(weights.iter().all(|weight| *weight == weights[0]));
    let list = alloc::format!("ranks 0 to {} are equally frequent", weights.len() - 1);
    assert_eq!(said(&SpPifoOptimalParams::INFO, "weights"), list);

    let greedy = usual::<SpPifoGreedyParams>();
    let uniform = StrictPriorityParams::uniform(greedy.capacities.len(), 1, 100);
    assert_eq!((greedy.ranks, greedy.initial_bounds), (None, uniform.bounds));
    assert!(said(&SpPifoGreedyParams::INFO, "ranks").ends_with("spread over 0..99"));

    let step = |words: &[(&str, Value)]| {
        let mut args = Args::new("slack-sp");
        for (key, value) in words {
            args.set(*key, value.clone());
        }
        SlackSpParams::build(args).unwrap().step
    };
    let proportional = step(&[("steps", Value::Text(StepScale::Proportional.word().into()))]);
    let list = alloc::format!("{} rank; with steps = proportional {proportional} of the bound", step(&[]));
    assert_eq!(said(&SlackSpParams::INFO, "step"), list);
}
