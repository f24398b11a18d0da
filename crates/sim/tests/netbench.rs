//! Identity with the published simulations: every flow completion time to the nanosecond, and every counter.
//!
//! The reference (see `reference/README.md`) comes from the two Netbench forks behind the SP-PIFO and AIFO papers.
//! `cargo test -p pifolab-sim --release --test netbench -- --include-ignored` runs all of it.

mod reference;

use pifolab_replay::{Aifo, AifoVariant, Arithmetic, Compare, LiveTest, Packs, Rifo};
use pifolab_sched::ranks::{Stfq, StfqParams, VirtualTime};
use pifolab_sched::schedulers::{
    Afq, AfqCounters, AfqParams, AifoParams, Horizon, Occupancy, PacksParams, Pifo, PifoParams, RifoParams, SpPifo,
    SpPifoParams, Ties, Update,
};
use pifolab_sched::{Capacity, Queued, Ranked};
use pifolab_sim::network::{
    Config, Flow, IdlePort, LeafSpine, NetbenchLiveWindow, NetbenchTransport, Network, PortConfig, Profile, RunResult,
};
use pifolab_units::{Ratio, Time};
use reference::{Counters, Reference};

/// The ports of a scheme in the settings of the reference runs.
fn ports(profile: Profile, run: &str, scheme: &str) -> PortConfig {
    let pifo = |packets: u32| {
        // The forks push one packet out as soon as the published capacity is reached.
        let capacity = Capacity::Packets(packets - 1);
        <Pifo>::new(PifoParams { capacity, ties: Ties::Heap, ..PifoParams::packets(1) }).unwrap()
    };
    let stfq = move || {
        let give_back = profile != Profile::NetbenchSpPifo;
        Stfq::new(StfqParams { scale: 1, virtual_time: VirtualTime::Follow, give_back, ..StfqParams::default() })
            .unwrap()
    };
    match scheme {
        "tcp" if profile == Profile::NetbenchAifo => PortConfig::drop_tail(Capacity::Packets(100)),
        "tcp" => PortConfig::drop_tail(Capacity::Bytes(146_000)),
        "dctcp" => PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600),
        "pifo" if profile == Profile::NetbenchPacks => PortConfig::scheduler(|_| {
            let capacity = Capacity::Packets(80);
            <Pifo>::new(PifoParams { capacity, ..PifoParams::packets(1) }).unwrap()
        }),
        "packs" => PortConfig::scheduler(move |_| {
            let params = PacksParams { sample: 100, ..published_packs(8, 80, Ratio::ZERO) };
            let (packs, capacities) = Packs::new(params).unwrap();
            Queued::<_>::with_decider(packs, &capacities)
        }),
        "packswfq-32" => {
            let test = LiveTest::Packs { queues: 32, queue_packets: 10 };
            let ports = NetbenchLiveWindow { test, window: 20, sample: 1, k: 0.1, hosts: 144 }.ports();
            PortConfig { ecn_threshold_packets: Some(32), ..ports }
        }
        "rifo" | "rifowfq" => {
            let packets = if scheme == "rifo" { 20 } else { 100 };
            let params = RifoParams { tracking_range: 50, ..RifoParams::packets(packets) };
            let rifo = move || {
                let (rifo, capacities) = Rifo::new(&params).unwrap();
                Queued::<_>::with_decider(rifo, &capacities)
            };
            let ports = match scheme {
                "rifo" => PortConfig::scheduler(move |_| rifo()),
                _ => PortConfig::scheduler(move |_| Ranked::new(stfq(), rifo())).with_ecn(48_000),
            };
            PortConfig { idle: IdlePort::Admission, ..ports }
        }
        "aifo" if profile == Profile::NetbenchPacks => {
            let params = AifoParams { window: 80, sample: 100, k: Ratio::ZERO, ..AifoParams::packets(80) };
            let ports = PortConfig::scheduler(move |_| published_aifo(&params, false));
            PortConfig { idle: IdlePort::Admission, ..ports }
        }
        "pifo" => PortConfig::scheduler(move |_| pifo(80)),
        "sppifo" => PortConfig::scheduler(|_| <SpPifo>::new(SpPifoParams::uniform(8, 10)).unwrap()),
        "pifowfq-32" => PortConfig::scheduler(move |_| Ranked::new(stfq(), pifo(320))).with_ecn(48_000),
        "sppifowfq-32" => {
            PortConfig::scheduler(move |_| Ranked::new(stfq(), <SpPifo>::new(SpPifoParams::uniform(32, 10)).unwrap()))
                .with_ecn(48_000)
        }
        "afq-32" => {
            // The AIFO fork overwrites the published capacity of 10 packets per queue with 320.
            let packets = if profile == Profile::NetbenchAifo { 320 } else { 10 };
            let params = AfqParams {
                capacities: vec![Capacity::Packets(packets); 32],
                bytes_per_round: 80,
                horizon: Horizon::Gt,
                counters: AfqCounters::Exact,
            };
            PortConfig::scheduler(move |_| <Afq>::new(params.clone()).unwrap()).with_ecn(48_000)
        }
        "aifo" => {
            let params = AifoParams { sample: 15, update: Update::After, ..AifoParams::packets(20) };
            let ports = PortConfig::scheduler(move |_| published_aifo(&params, true));
            PortConfig { idle: IdlePort::Admission, ..ports }
        }
        _ => panic!("{run}: no scheme is called {scheme}"),
    }
}

/// AIFO as in the forks.
fn published_aifo(params: &AifoParams, headroom: bool) -> Queued<Aifo> {
    let variant = AifoVariant { compare: Compare::Below, arithmetic: Arithmetic::Netbench, headroom };
    let (aifo, capacities) = Aifo::new(params, variant).unwrap();
    Queued::with_decider(aifo, &capacities)
}

/// PACKS as in its public code: `queues` queues of 10 packets.
fn published_packs(queues: usize, window: u32, k: Ratio) -> PacksParams {
    PacksParams { k, occupancy: Occupancy::Global, below: true, ..PacksParams::uniform(queues, 10, window) }
}

/// Simulates a run until its own end, or until `end_ns`.
fn simulate(run: &str, scheme: &str, reference: &Reference, end_ns: Option<u64>) -> RunResult {
    let aifo = run.starts_with("fig7") || run.starts_with("fig13") || run.contains("aifo");
    let profile = match run {
        _ if run.starts_with("packs") => Profile::NetbenchPacks,
        _ if run.starts_with("rifo") => Profile::NetbenchRifo,
        _ if aifo => Profile::NetbenchAifo,
        _ => Profile::NetbenchSpPifo,
    };
    let (access_gbps, full_ns) = match run {
        _ if run.starts_with("fig7") || run == "rifo-36000" => (10, 200_000_000),
        _ if run.starts_with("exact-aifo") => (10, 2_000_000_000),
        _ if run.starts_with("exact") => (1, 2_000_000_000),
        _ => (1, 1_000_000_000),
    };
    let transport = match scheme {
        "tcp" => NetbenchTransport::Tcp,
        "pifo" | "sppifo" | "aifo" | "packs" | "rifo" => NetbenchTransport::Pfabric,
        _ => NetbenchTransport::Dctcp,
    };
    let topology = LeafSpine::papers(access_gbps).topology().unwrap();
    let ports = ports(profile, run, scheme);
    let mut config =
        Config::new(topology, profile.transport(transport), ports, Time::from_ns(end_ns.unwrap_or(full_ns)));
    profile.apply(&mut config);
    Network::new(config).unwrap().run(&reference.flows, &mut ()).unwrap()
}

/// Runs one scheme of one reference run and compares everything.
fn check(run: &str, scheme: &str) {
    let reference = Reference::read(run, scheme);
    let result = simulate(run, scheme, &reference, None);
    let mut different = Vec::new();
    for ((flow, expected), found) in reference.flows.iter().zip(&reference.fct_ns).zip(&result.flows) {
        let found = found.fct.map(|fct| {
            assert_eq!(fct.as_ps() % 1_000, 0, "the profile keeps whole nanoseconds");
            fct.as_ns()
        });
        if found != *expected {
            different.push(format!("{flow:?}: {expected:?} expected, {found:?} found"));
        }
    }
    let counters = &result.counters;
    let found = Counters {
        dropped: counters.dropped,
        dropped_at_source: counters.dropped_at_source,
        fast_retransmissions: counters.fast_retransmissions,
        timeouts: counters.timeouts,
    };
    println!(
        "{run} {scheme}: {} of {} flows differ; {found:?}, expected {:?}; {} hops",
        different.len(),
        reference.flows.len(),
        reference.counters,
        counters.hops,
    );
    assert!(different.is_empty(), "{run} {scheme}: {} flows differ, first {}", different.len(), different[0]);
    assert_eq!(found, reference.counters, "{run} {scheme}");
}

/// The beginning of a run. Later events change nothing before them, so exactly the flows that the reference completes
/// by then are complete, each at the same nanosecond.
fn check_beginning(run: &str, scheme: &str, end_ns: u64) {
    let mut reference = Reference::read(run, scheme);
    let started = reference.flows.partition_point(|flow| flow.start < Time::from_ns(end_ns));
    reference.flows.truncate(started);
    let result = simulate(run, scheme, &reference, Some(end_ns));
    let mut complete = 0;
    for ((flow, expected), found) in reference.flows.iter().zip(&reference.fct_ns).zip(&result.flows) {
        let expected = expected.filter(|fct| flow.start.as_ps() / 1_000 + fct <= end_ns);
        assert_eq!(found.fct.map(|fct| fct.as_ns()), expected, "{run} {scheme}: {flow:?}");
        complete += usize::from(expected.is_some());
    }
    assert!(complete > 20, "{run} {scheme}: {complete} flows are too few to tell anything");
}

#[test]
fn the_beginning_of_every_run_of_the_forks_behind_packs_and_rifo() {
    for scheme in ["packs", "pifo", "aifo", "packswfq-32"] {
        check_beginning("packs-3600", scheme, 40_000_000);
    }
    check_beginning("rifo-3600", "rifowfq", 40_000_000);
    check_beginning("rifo-36000", "rifo", 6_000_000);
}

/// The fork's AIFO under STFQ has no reference run here. This test compares its ports with the library's AIFO joined to
/// STFQ in a case without the fork's window quirk: flows never share a port, so all ranks of a port belong to one flow.
#[test]
fn aifo_under_stfq_differs_from_the_library_by_its_quirk_alone() {
    let profile = Profile::NetbenchAifo;
    let library = PortConfig::scheduler(|_| {
        let params = AifoParams { update: Update::After, ..AifoParams::packets(100) };
        let stfq = StfqParams { scale: 1, virtual_time: VirtualTime::Follow, ..StfqParams::default() };
        Ranked::new(Stfq::new(stfq).unwrap(), published_aifo(&params, true))
    });
    let library = PortConfig { idle: IdlePort::Admission, ..library };
    let fork =
        NetbenchLiveWindow { test: LiveTest::Aifo { packets: 100 }, window: 20, sample: 1, k: 0.1, hosts: 144 }.ports();
    let run = |ports: PortConfig, flows: &[Flow]| {
        let topology = LeafSpine::papers(1).topology().unwrap();
        let transport = profile.transport(NetbenchTransport::Dctcp);
        let mut config = Config::new(topology, transport, ports.with_ecn(48_000), Time::from_ns(1_000_000_000));
        profile.apply(&mut config);
        Network::new(config).unwrap().run(flows, &mut ()).unwrap()
    };
    let flow = |id, src, dst| Flow { id, src, dst, bytes: 1_000_000, start: Time::from_ns(id * 100_000_000) };
    let alone = [flow(0, 0, 143), flow(1, 1, 2), flow(2, 20, 40)];
    assert_eq!(run(fork.clone(), &alone), run(library.clone(), &alone));
    let reference = Reference::read("exact-aifo-inc4", "dctcp");
    let (fork, library) = (run(fork, &reference.flows), run(library, &reference.flows));
    assert_eq!(fork.completed(&reference.flows).count(), 6);
    assert_ne!(fork.trace_hash, library.trace_hash, "in a crowd the quirk shows");
}

macro_rules! identical {
    ($($(#[$attribute:meta])* $name:ident: $run:literal $scheme:literal;)+) => {
        $($(#[$attribute])* #[test] fn $name() { check($run, $scheme); })+
    };
}

identical! {
    isolated_flows_with_tcp_in_the_sp_pifo_fork: "exact-sp-pifo-iso" "tcp";
    isolated_flows_with_dctcp_in_the_sp_pifo_fork: "exact-sp-pifo-iso" "dctcp";
    isolated_flows_with_pifo_in_the_sp_pifo_fork: "exact-sp-pifo-iso" "pifo";
    isolated_flows_with_sppifo_in_the_sp_pifo_fork: "exact-sp-pifo-iso" "sppifo";
    isolated_flows_with_stfq_over_pifo_in_the_sp_pifo_fork: "exact-sp-pifo-iso" "pifowfq-32";
    isolated_flows_with_stfq_over_sppifo_in_the_sp_pifo_fork: "exact-sp-pifo-iso" "sppifowfq-32";
    isolated_flows_with_afq_in_the_sp_pifo_fork: "exact-sp-pifo-iso" "afq-32";
    incast_with_afq_in_the_sp_pifo_fork: "exact-sp-pifo-inc4" "afq-32";
    isolated_flows_with_afq_in_the_aifo_fork: "exact-aifo-iso" "afq-32";
    incast_with_afq_in_the_aifo_fork: "exact-aifo-inc4" "afq-32";
    isolated_flows_with_aifo_in_the_aifo_fork: "exact-aifo-iso" "aifo";
    incast_with_aifo_in_the_aifo_fork: "exact-aifo-inc4" "aifo";
    #[ignore = "37 million packet-hops: run with --release"]
    figure_7_with_aifo: "fig7-36000" "aifo";
    #[ignore = "18 million packet-hops: run with --release"]
    figure_13_with_afq: "fig13-3600" "afq-32";
    incast_with_tcp_in_the_sp_pifo_fork: "exact-sp-pifo-inc4" "tcp";
    incast_with_dctcp_in_the_sp_pifo_fork: "exact-sp-pifo-inc4" "dctcp";
    incast_with_pifo_in_the_sp_pifo_fork: "exact-sp-pifo-inc4" "pifo";
    incast_with_sppifo_in_the_sp_pifo_fork: "exact-sp-pifo-inc4" "sppifo";
    incast_with_stfq_over_pifo_in_the_sp_pifo_fork: "exact-sp-pifo-inc4" "pifowfq-32";
    incast_with_stfq_over_sppifo_in_the_sp_pifo_fork: "exact-sp-pifo-inc4" "sppifowfq-32";
    isolated_flows_with_tcp_in_the_aifo_fork: "exact-aifo-iso" "tcp";
    isolated_flows_with_dctcp_in_the_aifo_fork: "exact-aifo-iso" "dctcp";
    isolated_flows_with_pifo_in_the_aifo_fork: "exact-aifo-iso" "pifo";
    isolated_flows_with_sppifo_in_the_aifo_fork: "exact-aifo-iso" "sppifo";
    isolated_flows_with_stfq_over_pifo_in_the_aifo_fork: "exact-aifo-iso" "pifowfq-32";
    isolated_flows_with_stfq_over_sppifo_in_the_aifo_fork: "exact-aifo-iso" "sppifowfq-32";
    incast_with_tcp_in_the_aifo_fork: "exact-aifo-inc4" "tcp";
    incast_with_dctcp_in_the_aifo_fork: "exact-aifo-inc4" "dctcp";
    incast_with_pifo_in_the_aifo_fork: "exact-aifo-inc4" "pifo";
    incast_with_sppifo_in_the_aifo_fork: "exact-aifo-inc4" "sppifo";
    incast_with_stfq_over_pifo_in_the_aifo_fork: "exact-aifo-inc4" "pifowfq-32";
    incast_with_stfq_over_sppifo_in_the_aifo_fork: "exact-aifo-inc4" "sppifowfq-32";
    #[ignore = "18 million packet-hops: run with --release"]
    figure_8_with_tcp: "fig8-3600" "tcp";
    #[ignore = "18 million packet-hops: run with --release"]
    figure_8_with_dctcp: "fig8-3600" "dctcp";
    #[ignore = "19 million packet-hops: run with --release"]
    figure_8_with_pifo: "fig8-3600" "pifo";
    #[ignore = "18 million packet-hops: run with --release"]
    figure_8_with_sppifo: "fig8-3600" "sppifo";
    #[ignore = "61 million packet-hops: run with --release"]
    figure_8_with_sppifo_at_high_load: "fig8-14150" "sppifo";
    #[ignore = "37 million packet-hops: run with --release"]
    figure_7_with_tcp: "fig7-36000" "tcp";
    #[ignore = "37 million packet-hops: run with --release"]
    figure_7_with_dctcp: "fig7-36000" "dctcp";
    #[ignore = "40 million packet-hops: run with --release"]
    figure_7_with_pifo: "fig7-36000" "pifo";
    #[ignore = "39 million packet-hops: run with --release"]
    figure_7_with_sppifo: "fig7-36000" "sppifo";
    #[ignore = "18 million packet-hops: run with --release"]
    the_packs_forks_packs: "packs-3600" "packs";
    #[ignore = "18 million packet-hops: run with --release"]
    the_packs_forks_stfq_over_packs: "packs-3600" "packswfq-32";
    #[ignore = "18 million packet-hops: run with --release"]
    the_packs_forks_pifo: "packs-3600" "pifo";
    #[ignore = "a million packet-hops: run with --release"]
    the_packs_forks_aifo: "packs-3600" "aifo";
    #[ignore = "37 million packet-hops: run with --release"]
    the_rifo_forks_rifo: "rifo-36000" "rifo";
    #[ignore = "18 million packet-hops: run with --release"]
    the_rifo_forks_stfq_over_rifo: "rifo-3600" "rifowfq";
    #[ignore = "18 million packet-hops: run with --release"]
    figure_13_with_stfq_over_pifo: "fig13-3600" "pifowfq-32";
}
