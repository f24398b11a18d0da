//! The text format of Prometheus, for the textfile collector of a node exporter.

use serde_json::Value;
use std::fmt::Write;

/// One metric with its samples.
struct Metric {
    name: String,
    help: &'static str,
    samples: Vec<(String, f64)>,
}

/// Metrics, in the order in which they were added.
#[derive(Default)]
pub struct Metrics(Vec<Metric>);

/// The counters of a data plane: key in `status --json`, metric, further label, and help text.
const TOTALS: [(&str, &str, &str, &str); 13] = [
    ("received_packets", "received_packets_total", "", "Packets taken from the device."),
    ("sent_packets", "sent_packets_total", "", "Packets that the device accepted."),
    ("dropped_full", "dropped_packets_total", "reason=\"full\"", DROPPED),
    ("dropped_aqm", "dropped_packets_total", "reason=\"aqm\"", DROPPED),
    ("dropped_rank_out_of_range", "dropped_packets_total", "reason=\"rank\"", DROPPED),
    ("dropped_admission", "dropped_packets_total", "reason=\"admission\"", DROPPED),
    ("dropped_packets", "dropped_packets_total", "reason=\"refused\"", DROPPED),
    ("evicted_packets", "dropped_packets_total", "reason=\"pushed_out\"", DROPPED),
    ("admitted_packets", "admitted_packets_total", "", "Packets admitted."),
    ("unranked", "unranked_packets_total", "", "IP packets that carried no rank."),
    ("neighbour", "neighbour_frames_total", "", "Frames of ARP and IPv6 neighbour discovery."),
    ("not_ip", "not_ip_frames_total", "", "Other frames that were not IP."),
    ("resyncs", "resyncs_total", "", "Corrections of the occupancy."),
];
const DROPPED: &str = "Packets dropped, those that met a full queue of a data plane in the kernel aside.";
const QUEUE_DROPPED: &str = "Packets dropped because their queue was full, by the program or by the queue.";
/// The metrics of each queue.
const QUEUE: [(&str, &str, &str, &str); 7] = [
    ("capacity", "queue_capacity", "", "The capacity of the queue, in packets or bytes."),
    ("occupancy", "queue_occupancy", "", "The occupancy of the queue, in packets or bytes."),
    ("bound", "queue_bound", "", "The smallest rank that the queue takes (SP-PIFO) or the largest."),
    ("admitted_packets", "queue_admitted_packets_total", "", "Packets admitted to the queue."),
    ("admitted_bytes", "queue_admitted_bytes_total", "", "Their bytes."),
    ("dropped_full", "queue_dropped_packets_total", "reason=\"full\"", QUEUE_DROPPED),
    ("dropped_by_leaf", "queue_dropped_packets_total", "reason=\"leaf\"", QUEUE_DROPPED),
];
/// The metrics of a qdisc that holds the packets itself.
const HELD: [(&str, &str, &str, &str); 2] = [
    ("occupancy_packets", "occupancy_packets", "", "Packets held."),
    ("occupancy_bytes", "occupancy_bytes", "", "Bytes held."),
];

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Metrics {
    fn add(&mut self, name: &str, help: &'static str, labels: String, value: f64) {
        let name = format!("pifolab_{name}");
        match self.0.iter_mut().find(|metric| metric.name == name) {
            Some(metric) => metric.samples.push((labels, value)),
            None => self.0.push(Metric { name, help, samples: vec![(labels, value)] }),
        }
    }

    /// Adds the number of data planes.
    pub fn count(&mut self, planes: usize) {
        self.add("data_planes", "Data planes in this network namespace.", String::new(), planes as f64);
    }

    /// Adds a data plane: whether its process is alive, and its `status --json`.
    pub fn plane(&mut self, interface: &str, scheduler: &str, snapshot: Option<&Value>) {
        let labels = format!("interface=\"{}\",scheduler=\"{}\"", escaped(interface), escaped(scheduler));
        let up = f64::from(u8::from(snapshot.is_some()));
        self.add("up", "Whether the data plane's process is alive.", labels.clone(), up);
        let Some(snapshot) = snapshot else { return };
        self.counters(snapshot, &labels);
        for (number, queue) in snapshot["transmit_queues"].as_array().into_iter().flatten().enumerate() {
            self.counters(queue, &format!("{labels},transmit_queue=\"{number}\""));
        }
    }

    fn counters(&mut self, snapshot: &Value, labels: &str) {
        self.rows(&[TOTALS.as_slice(), &HELD].concat(), snapshot, labels);
        for (number, queue) in snapshot["queues"].as_array().into_iter().flatten().enumerate() {
            self.rows(&QUEUE, queue, &format!("{labels},queue=\"{number}\""));
        }
    }

    fn rows(&mut self, rows: &[(&str, &str, &str, &'static str)], values: &Value, labels: &str) {
        for (key, name, label, help) in rows {
            if let Some(value) = values[*key].as_f64() {
                let comma = if label.is_empty() { "" } else { "," };
                self.add(name, help, format!("{labels}{comma}{label}"), value);
            }
        }
    }

    /// The metrics as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for Metric { name, help, samples } in &self.0 {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n").expect("writing to a String succeeds");
            for (labels, value) in samples {
                let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
                writeln!(text, "{name}{labels} {value}").expect("writing to a String succeeds");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_metric_stand_together_and_labels_are_escaped() {
        let mut metrics = Metrics::default();
        metrics.count(2);
        let value = serde_json::json!({ "queues": [{ "bound": null, "capacity": 3 }], "dropped_admission": 5 });
        metrics.plane("a\"\\b", "aifo", Some(&value));
        metrics.plane("c", "fifo", None);
        let expected = "# HELP pifolab_data_planes Data planes in this network namespace.\n\
                        # TYPE pifolab_data_planes gauge\n\
                        pifolab_data_planes 2\n\
                        # HELP pifolab_up Whether the data plane's process is alive.\n\
                        # TYPE pifolab_up gauge\n\
                        pifolab_up{interface=\"a\\\"\\\\b\",scheduler=\"aifo\"} 1\n\
                        pifolab_up{interface=\"c\",scheduler=\"fifo\"} 0\n\
                        # HELP pifolab_dropped_packets_total Packets dropped, those that met a full queue of a data plane in the kernel aside.\n\
                        # TYPE pifolab_dropped_packets_total counter\n\
                        pifolab_dropped_packets_total{interface=\"a\\\"\\\\b\",scheduler=\"aifo\",reason=\"admission\"} 5\n\
                        # HELP pifolab_queue_capacity The capacity of the queue, in packets or bytes.\n\
                        # TYPE pifolab_queue_capacity gauge\n\
                        pifolab_queue_capacity{interface=\"a\\\"\\\\b\",scheduler=\"aifo\",queue=\"0\"} 3\n";
        assert_eq!(metrics.text(), expected);
    }
}
