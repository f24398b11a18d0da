//! The best fixed bounds for a rank distribution.

use crate::errors::{Fault, guard};
use pifolab_params::{Choice, closest};
use pifolab_sched::schedulers::{Combine, QueueCost, most_weights, optimal_bounds as optimal};
use pifolab_workload::Distribution;
use pyo3::prelude::*;

/// The scale of probabilities as integer weights, whose sum must be at most 2^48.
const SCALE: f64 = (1u64 << 47) as f64;

/// The lowest rank of each of `queues` queues, for ranks of these weights from rank 0 up.
#[pyfunction]
pub fn optimal_bounds(
    py: Python<'_>,
    weights: Vec<u64>,
    queues: usize,
    cost: &str,
    combine: &str,
) -> PyResult<Vec<u64>> {
    guard(py, || {
        let (cost, combine) = (word::<QueueCost>("cost", cost)?, word::<Combine>("combine", combine)?);
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        if queues == 0 || queues > 1024 {
            return Err(Fault::Input(format!("queues = {queues}: expected an integer from 1 to 1024")));
        }
        let most = most_weights(cost, combine);
        if weights.len() > most {
            return Err(Fault::Input(format!("{} ranks: expected at most {most} with these costs", weights.len())));
        }
        if total == 0 || total > 1 << 48 {
            return Err(Fault::Input(format!("weights that sum up to {total}: expected a sum from 1 to 2^48")));
        }
        Ok(optimal(&weights, queues, cost, combine).into_iter().map(|rank| rank.get()).collect())
    })
}

/// The weights of the ranks 0 to `ranks` - 1 in a distribution of the papers, as multiples of 2^-47; higher ranks are
/// left out.
#[pyfunction]
pub fn rank_weights(py: Python<'_>, distribution: &str, mean: Option<f64>, ranks: u64) -> PyResult<Vec<u64>> {
    guard(py, || {
        let made = match distribution {
            "uniform" => Distribution::uniform(0, ranks.saturating_sub(1)),
            "exponential" => Distribution::exponential(mean.unwrap_or(25.0), 100),
            "inverse-exponential" => Distribution::inverse_exponential(mean.unwrap_or(25.0), 100),
            "poisson" => Distribution::poisson(mean.unwrap_or(50.0)),
            "convex" => Distribution::convex(mean.unwrap_or(100.0), 100),
            other => {
                let names = ["uniform", "exponential", "inverse-exponential", "poisson", "convex"];
                let unknown = pifolab_scenario::registry::unknown("distribution", other, || names.into_iter(), None);
                return Err(Fault::Input(unknown));
            }
        };
        let made = made.map_err(|error| Fault::Input(error.to_string()))?;
        Ok((0..ranks).map(|rank| (made.probability(rank) * SCALE).round() as u64).collect())
    })
}

/// The choice with the word `text`.
fn word<C: Choice>(key: &str, text: &str) -> Result<C, Fault> {
    C::from_word(text).ok_or_else(|| {
        let words: Vec<&str> = C::WORDS.iter().map(|(word, _)| *word).collect();
        let meant =
            closest(text, words.iter().copied()).map_or(String::new(), |word| format!("; did you mean {word}?"));
        Fault::Input(format!("{key} = {text:?}: expected one of {}{meant}", words.join(", ")))
    })
}
