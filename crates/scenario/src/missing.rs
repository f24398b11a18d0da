//! Names all missing keys in one message: each missing key is replaced by a stand-in value, and the scenario is read
//! again.

use crate::error::{Error, SpecError};
use crate::spec::network_fields::NETWORK;
use crate::spec::one_link_fields::TOP;
use crate::spec::written::{Spec, is_network};
use pifolab_params::{Kind, Param, Place, Table, Value, join};

/// The most stand-ins that are tried.
const MOST: usize = 20;

/// The result of `read` for `spec`. The error of a missing key also names the other missing keys.
pub(crate) fn together<T>(spec: Spec, mut read: impl FnMut(Spec) -> Result<T, Error>) -> Result<T, Error> {
    let mut trial = spec.clone();
    let mut first = match read(spec) {
        Err(Error::Spec(error)) if is_missing(&error) => error,
        other => return other,
    };
    let mut told = vec![first.key.clone()];
    let mut last = first.key.clone();
    for _ in 0..MOST {
        if !stand_in(&mut trial, &last) {
            break;
        }
        let Err(Error::Spec(next)) = read(trial.clone()) else { break };
        if !is_missing(&next) || next.key == last {
            break;
        }
        last = next.key.clone();
        // Skips keys inside a table that is missing as a whole: the user's own table may have them.
        if told.iter().any(|key| last.starts_with(&format!("{key}."))) {
            continue;
        }
        let what = next.problem.expected.trim_start_matches("is missing: ");
        let what = what.split("; ").next().unwrap_or(what);
        let before = if told.len() == 1 { "; also missing: " } else { ", " };
        first.problem.expected = format!("{}{before}{last} ({what})", first.problem.expected).into();
        told.push(last.clone());
    }
    Err(first.into())
}

fn is_missing(error: &SpecError) -> bool {
    error.problem.value.is_none() && error.problem.expected.starts_with("is missing: ")
}

/// Writes a valid value at `path`, if that is a key of scenarios.
fn stand_in(spec: &mut Spec, path: &str) -> bool {
    let rows = if is_network(&spec.root) { NETWORK } else { TOP };
    write(&mut spec.root, rows, path)
}

fn write(table: &mut Table, rows: &[Param], path: &str) -> bool {
    let (name, inner) = path.split_once('.').map_or((path, None), |(name, inner)| (name, Some(inner)));
    let mut all = rows.iter().chain(rows.iter().flat_map(|row| row.cases()).flat_map(|(_, params)| params.iter()));
    let Some(row) = all.find(|row| row.keys().iter().any(|key| key == name)) else { return false };
    let Some(inner) = inner else {
        let place = join(&table.path, name);
        if !table.contains(name) {
            let value = example(row, &place);
            table.put(name, Place::File, value);
        }
        return true;
    };
    let (Kind::Table(rows) | Kind::Tables(rows)) = row.kind else { return false };
    match table.entry_mut(name).map(|entry| &mut entry.value) {
        Some(Value::Table(table)) => write(table, rows, inner),
        Some(Value::Tables(tables)) => tables.iter_mut().all(|table| write(table, rows, inner)),
        _ => false,
    }
}

/// A value that a row allows.
fn example(row: &Param, path: &str) -> Value {
    let text = |text: &str| Value::Text(text.to_owned());
    match row.kind {
        // Two hosts are a network, one is not.
        Kind::Integer { min, max }
        | Kind::IntegerOrIntegers { min, max }
        | Kind::IntegerOrDistribution { min, max } => Value::Integer(i128::from(min).max(i128::from(max.min(2)))),
        Kind::Time | Kind::Rate | Kind::Positive => Value::Integer(1),
        Kind::Fraction | Kind::Share => Value::Integer(0),
        Kind::Flag => Value::Flag(false),
        Kind::Choice(words) | Kind::OneOf(words, _) => text(words.first().map_or("", |(word, _)| word)),
        Kind::Distribution => text("uniform"),
        Kind::Table(_) | Kind::Tables(_) | Kind::Component(_) => Value::Table(Table::new(path, Place::File)),
        Kind::Components(_) => Value::Tables(vec![Table::of(path, Place::File, "name", text("fifo"))]),
        Kind::Text | Kind::Texts | Kind::Values | Kind::Integers { .. } => text(""),
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use pifolab_params::{TIME_UNITS, WRITTEN_RATES, WRITTEN_TIMES};
    use proptest::prelude::*;
    use serde_json::Value as Json;

    /// Every required key of a network, one on each line.
    const NETWORK: [(&str, &str); 10] = [
        ("duration_s", "duration_us = 20"),
        ("topology.kind", "topology.kind = \"leaf-spine\""),
        ("topology.leaves", "topology.leaves = 2"),
        ("topology.spines", "topology.spines = 2"),
        ("topology.hosts_per_leaf", "topology.hosts_per_leaf = 2"),
        ("topology.access_rate_gbps", "topology.access_rate = \"1G\""),
        ("topology.fabric_rate_gbps", "topology.fabric_rate_gbps = 4"),
        ("transport.name", "transport.name = \"newreno\""),
        ("workload.flows.sizes", "workload.flows.sizes = \"web-search\""),
        ("workload.flows.starts_per_s", "workload.flows.load = 0.5"),
    ];
    /// Their tables exist whatever key is left out.
    const TABLES: &str = "topology.delay_ns = 1\ntransport.mss_bytes = 1000\nworkload.flows.max_flows = 10\n";
    const SCHEDULER: &str = "scheduler = [{ name = \"fifo\" }]\n";

    fn run(text: &str) -> Result<Json, String> {
        let report = crate::testing::run(text, &[]);
        report.map(|report| report.manifest).map_err(|error: Error| error.to_string())
    }

    #[test]
    fn outside_of_profiles_arrivals_interpolation_and_pairs_have_defaults_that_the_manifest_shows() {
        let lines: String = NETWORK.iter().map(|(_, line)| format!("{line}\n")).collect();
        let whole = format!("{TABLES}{lines}");
        let flows = &run(&format!("{whole}{SCHEDULER}")).unwrap()["spec"]["workload"]["flows"][0];
        for (key, word) in [("arrivals", "poisson"), ("interpolation", "linear"), ("pairs", "uniform")] {
            assert_eq!(flows[key], word);
        }
        let error = run(&format!("profile = \"netbench-aifo\"\n{whole}{SCHEDULER}")).unwrap_err();
        for key in ["arrivals", "interpolation", "pairs"] {
            assert!(error.contains(&format!("workload.flows.{key}")), "{error}");
        }
        assert!(error.contains("with a profile it has no default"), "{error}");
    }

    #[test]
    fn a_table_that_is_missing_is_told_without_what_would_be_in_it() {
        let error = run("duration_us = 20\ntransport.name = \"newreno\"\n").unwrap_err();
        assert!(error.starts_with("x.toml: topology: is missing: expected a table; "), "{error}");
        assert!(
            error.ends_with(
                "; also missing: workload (expected a table), scheduler (expected [[scheduler]], one table for each scheduler)"
            ),
            "{error}"
        );
        let error = run("duration_us = 20\n").unwrap_err();
        assert!(error.contains("link: is missing"), "{error}");
        for key in ["workload (expected", "scheduler (expected"] {
            assert!(error.contains(key), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn all_keys_that_are_missing_are_told_at_once_and_no_others(left_out in proptest::sample::subsequence((0..NETWORK.len()).collect::<Vec<_>>(), 1..5)) {
            let kept = NETWORK.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
            let text: String = kept.map(|(_, (_, line))| format!("{line}\n")).collect();
            let error = run(&format!("{TABLES}{text}{SCHEDULER}")).unwrap_err();
            prop_assert_eq!(error.lines().count(), 1);
            // What goes with a kind of network is not known without the kind.
            let kindless = left_out.contains(&1);
            for (at, (key, _)) in NETWORK.iter().enumerate() {
                if kindless && key.starts_with("topology.") {
                    continue;
                }
                let told = error.contains(&format!("{key}: is missing")) || error.contains(&format!("{key} ("));
                prop_assert_eq!(told, left_out.contains(&at), "{}: {}", key, error);
            }
        }

        #[test]
        fn a_value_with_its_unit_is_the_value_under_the_key_with_that_unit(
            number in 1u64..900,
            digits in 0usize..3,
            rate in proptest::sample::select(WRITTEN_RATES),
            time in proptest::sample::select(WRITTEN_TIMES),
            space in proptest::bool::ANY,
        ) {
            let text = |scale: u32| format!("{}", number as f64 / f64::from(10u32.pow(scale)));
            let space = if space { " " } else { "" };
            let scenario = |rate: &str, time: &str| {
                let text = format!(
                    "packets = 1\nlink.{rate}\nmetrics.{time}\n{SCHEDULER}\
                     workload = {{ arrivals = \"constant\", rate_gbps = 1, size_bytes = 64, ranks = \"uniform\" }}\n",
                );
                run(&text).map(|manifest| (manifest["spec"]["link"].clone(), manifest["spec"]["metrics"].clone()))
            };
            let digits = u32::try_from(digits).unwrap();
            let named = format!("rate_bps = {}e{}", text(digits), rate.1);
            let power = TIME_UNITS[0].1 - time.1;
            let spelled = format!("throughput_interval_s = {}e-{power}", text(digits));
            let with_unit = scenario(
                &format!("rate = \"{}{space}{}\"", text(digits), rate.0),
                &format!("throughput_interval = \"{}{space}{}\"", text(digits), time.0),
            );
            match (with_unit, scenario(&named, &spelled)) {
                (Ok(first), Ok(second)) => prop_assert_eq!(first, second),
                (first, second) => prop_assert!(first.is_err() && second.is_err(), "{first:?} {second:?}"),
            }
        }
    }
}
