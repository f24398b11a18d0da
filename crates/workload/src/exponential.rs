//! Exponential variates by the ziggurat method: one table look-up and one multiplication in 99 of 100 draws.
//!
//! 256 layers of equal area cover the density exp(-x). A point in a layer's inner part always lies under the density.
//! Other points need an exponential or, beyond the lowest layer's edge, a logarithm. The tables come from the pure-Rust
//! `libm`, so the variates have the same bits on every machine.
//!
//! Cost: one random number, 4 kB of tables. Reference: G. Marsaglia, W. W. Tsang, "The Ziggurat Method for Generating
//! Random Variables", Journal of Statistical Software 5(8), 2000, section 2, also for the edge and the area of 256
//! layers.

use crate::{Stream, Uniform};

const LAYERS: usize = 256;
/// Right edge of the lowest layer that is a rectangle.
const EDGE: f64 = 7.697_117_470_131_05;
/// Area of each layer.
const AREA: f64 = 0.003_949_659_822_581_557;

/// The tables of edges and densities.
#[derive(Clone, Debug)]
pub(crate) struct Exponential {
    /// Right edges, descending. The first is the edge of a rectangle with the area of the lowest layer and its tail.
    x: [f64; LAYERS + 1],
    /// The density at the edges.
    y: [f64; LAYERS + 1],
}

impl Exponential {
    pub(crate) fn new() -> Self {
        let mut x = [0.0; LAYERS + 1];
        x[0] = AREA / libm::exp(-EDGE);
        x[1] = EDGE;
        for i in 2..LAYERS {
            x[i] = -libm::log(AREA / x[i - 1] + libm::exp(-x[i - 1]));
        }
        let y = x.map(|x| libm::exp(-x));
        Self { x, y }
    }

    /// Draws a variate of mean 1.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> f64 {
        loop {
            // The lowest 8 bits select the layer, the highest 53 the position in it.
            let bits = stream.next_u64();
            let layer = (bits & 0xff) as usize;
            let x = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * self.x[layer];
            if x < self.x[layer + 1] {
                return x;
            }
            if let Some(x) = self.at_the_rim(layer, x, stream) {
                return x;
            }
        }
    }

    /// Handles a point outside its layer's inner part: returns a variate, or `None` to draw again.
    #[cold]
    fn at_the_rim(&self, layer: usize, x: f64, stream: &mut Stream) -> Option<f64> {
        if layer == 0 {
            // The tail beyond the edge is again exponential.
            return Some(EDGE + stream.exponential());
        }
        let y = self.y[layer] + (self.y[layer + 1] - self.y[layer]) * stream.uniform();
        (y < libm::exp(-x)).then_some(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layers_have_equal_areas_and_end_at_zero() {
        let Exponential { x, y } = Exponential::new();
        for i in 1..LAYERS {
            let area = x[i] * (y[i + 1] - y[i]);
            assert!((area / AREA - 1.0).abs() < 1e-6, "layer {i}: {area}");
        }
        assert_eq!((x[LAYERS], y[LAYERS]), (0.0, 1.0));
    }

    #[test]
    fn variates_follow_the_exponential_law_into_its_tail() {
        let exponential = Exponential::new();
        let mut stream = Stream::named(4, "test");
        let n = 2_000_000;
        // Classes of width 1/4 up to 10, and one class above.
        let mut counts = [0u32; 41];
        for _ in 0..n {
            counts[((exponential.draw(&mut stream) * 4.0) as usize).min(40)] += 1;
        }
        let above = |class: usize| (-(class as f64) / 4.0).exp();
        let chi_square: f64 = (0..41)
            .map(|class| {
                let expected = f64::from(n) * (above(class) - if class == 40 { 0.0 } else { above(class + 1) });
                (f64::from(counts[class]) - expected).powi(2) / expected
            })
            .sum();
        // 40 degrees of freedom: mean 40, standard deviation 9. The limit is five standard deviations above.
        assert!(chi_square < 85.0, "{chi_square}");
    }
}
