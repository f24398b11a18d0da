"use strict";
/* Examples of the papers: ranks in the order in which they arrive, and schedulers as the papers set them up. */

const EXAMPLES = {
  "packs-fig2": {
    title: "PACKS, Fig. 2: six packets, room for four",
    ranks: "1 4 5 2 1 2",
    lanes: [
      ["pifo", "capacity_packets = 4"],
      ["fifo", "capacity_packets = 4"],
      ["sp-pifo", "queues = 2, queue_capacity_packets = 2"],
      ["aifo", "capacity_packets = 4, window = 6, k = 0"],
      ["packs", "queues = 2, queue_capacity_packets = 2, window = 6, k = 0"],
    ],
    step: 6,
  },
  "sp-pifo-fig3": {
    title: "SP-PIFO, Fig. 3: two queues that adapt",
    ranks: "3 4 1 4 5 2 1",
    lanes: [["sp-pifo", "queues = 2"], ["pifo", ""]],
    step: 7,
  },
  "sp-pifo-fig1": {
    title: "SP-PIFO, Fig. 1: two mappings to two queues",
    ranks: "3 4 1 4 5 2",
    lanes: [
      ["strict-priority", "queues = 2, bounds = [1, 4]"],
      ["strict-priority", "queues = 2, bounds = [1, 3]"],
      ["pifo", ""],
    ],
    step: 6,
  },
  "packs-departure": {
    title: "PACKS and AIFO with a departure between arrivals",
    ranks: "0 0 - 1",
    lanes: [
      ["packs", "queues = 2, queue_capacity_packets = 1, window = 2, k = 0"],
      ["aifo", "capacity_packets = 2, window = 2, k = 0"],
      ["pifo", "capacity_packets = 2"],
    ],
    step: 4,
  },
};

/* The distributions of the papers and their parameters. */
const SHAPES = {
  "uniform": { low: 0, high: 99 },
  "exponential": { mean: 25, bound: 100 },
  "inverse-exponential": { mean: 25, bound: 100 },
  "poisson": { mean: 50 },
  "convex": { mean: 100, modulus: 100 },
  "minmax": { mean: 50, offset: 10, modulus: 50 },
};
