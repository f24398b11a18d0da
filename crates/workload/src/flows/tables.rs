//! The published flow-size distributions, with their sources.
//!
//! - Web search: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, with the points of the pFabric
//!   simulations, which SP-PIFO, AIFO, PACKS and RIFO use. Their lower and upper step tables are the two step
//!   interpolations of these points.
//! - Data mining: A. Greenberg et al., "VL2", SIGCOMM 2009, with the points of the same artefacts.
//! - Hadoop: A. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, and Alibaba storage, both
//!   with the points published with Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.

use super::{FlowSizes, Interpolation};

const WEB_SEARCH: [(u64, f64); 12] = [
    (1, 0.0),
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
];

const DATA_MINING: [(u64, f64); 13] = [
    (1, 0.0),
    (180, 0.1),
    (216, 0.2),
    (560, 0.3),
    (900, 0.4),
    (1_100, 0.5),
    (1_870, 0.6),
    (3_160, 0.7),
    (10_000, 0.8),
    (400_000, 0.9),
    (3_160_000, 0.95),
    (100_000_000, 0.98),
    (1_000_000_000, 1.0),
];

const HADOOP: [(u64, f64); 20] = [
    (0, 0.0),
    (100, 0.01),
    (200, 0.02),
    (300, 0.05),
    (350, 0.15),
    (400, 0.2),
    (500, 0.3),
    (600, 0.4),
    (700, 0.5),
    (1_000, 0.6),
    (2_000, 0.67),
    (7_000, 0.7),
    (30_000, 0.72),
    (50_000, 0.82),
    (80_000, 0.87),
    (120_000, 0.9),
    (300_000, 0.95),
    (1_000_000, 0.975),
    (2_000_000, 0.99),
    (10_000_000, 1.0),
];

const STORAGE: [(u64, f64); 9] = [
    (0, 0.0),
    (4_000, 0.2293),
    (8_000, 0.6921),
    (16_000, 0.8061),
    (32_000, 0.9047),
    (64_000, 0.9353),
    (128_000, 0.9677),
    (256_000, 0.9753),
    (2_000_000, 1.0),
];

impl FlowSizes {
    /// Web search (DCTCP paper): mean 0.99, 1.71 or 2.43 MB for lower step, linear or upper step.
    pub fn web_search(interpolation: Interpolation) -> Self {
        table(&WEB_SEARCH, interpolation)
    }

    /// Data mining (VL2): mean 2.1, 12.7 or 23.2 MB for lower step, linear or upper step.
    pub fn data_mining(interpolation: Interpolation) -> Self {
        table(&DATA_MINING, interpolation)
    }

    /// Facebook's Hadoop cluster; published for linear interpolation.
    pub fn hadoop(interpolation: Interpolation) -> Self {
        table(&HADOOP, interpolation)
    }

    /// Alibaba's storage cluster; published for linear interpolation.
    pub fn storage(interpolation: Interpolation) -> Self {
        table(&STORAGE, interpolation)
    }
}

fn table(points: &[(u64, f64)], interpolation: Interpolation) -> FlowSizes {
    FlowSizes::cdf(points, interpolation).expect("the tables of this file ascend and end with the share 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_the_published_ones() {
        use Interpolation::{Linear, StepLower, StepUpper};
        let near = |sizes: FlowSizes, mean: f64, tolerance: f64| {
            assert!((sizes.mean() - mean).abs() < tolerance, "{} instead of {mean}", sizes.mean());
        };
        near(FlowSizes::web_search(StepLower), 987_600.15, 1e-3);
        near(FlowSizes::web_search(StepUpper), 2_434_900.0, 1e-3);
        near(FlowSizes::web_search(Linear), 1_711_250.0, 1.0);
        near(FlowSizes::data_mining(StepLower), 2_116_599.0, 1.0);
        near(FlowSizes::data_mining(StepUpper), 23.2e6, 0.1e6);
        near(FlowSizes::data_mining(Linear), 12.7e6, 0.05e6);
    }

    #[test]
    fn the_lower_web_search_step_has_the_artefacts_inverse() {
        let sizes = FlowSizes::web_search(Interpolation::StepLower);
        let upto = [
            (0.15, 1),
            (0.20, 10_000),
            (0.30, 20_000),
            (0.40, 30_000),
            (0.53, 50_000),
            (0.60, 80_000),
            (0.70, 200_000),
            (0.80, 1_000_000),
            (0.90, 2_000_000),
            (0.97, 5_000_000),
            (1.0, 10_000_000),
        ];
        for (u, bytes) in upto {
            assert_eq!(sizes.quantile(u), bytes, "at {u}");
            assert_eq!(sizes.quantile(u - 1e-9), bytes, "below {u}");
        }
    }
}
