//! Schedulers and rank functions from the command line. The options are the library's own parameters, from its tables:
//! `capacity_packets` is `--capacity-packets`.

use super::chosen::Chosen;
use crate::rank::{RANK_FORMS, RankSource};
use crate::{Error, Result};
use clap::{Arg, ArgMatches, Command};
use pifolab_params::Role;
use pifolab_registry::text::value_of_json;
use pifolab_registry::{BoxedScheduler, Form, RANKS, SCHEDULERS, find_rank, find_scheduler};
use pifolab_sched::params::{Args as Params, Info, Kind, Param, Value};
use pifolab_sched::{Fact, Facts, RankFn, Ranked};

/// A scheduler's parameters as they were written on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerOptions {
    written: Vec<(String, String)>,
}

/// Every parameter of any scheduler, each once.
fn every_param() -> Vec<&'static Param> {
    let mut params: Vec<&Param> = Vec::new();
    for param in SCHEDULERS.iter().flat_map(|entry| entry.info.params) {
        if params.iter().all(|known| known.name != param.name) {
            params.push(param);
        }
    }
    params
}

/// Names the argument apart from those of the command itself.
fn id(param: &Param) -> String {
    format!("scheduler.{}", param.name)
}

/// A command has a rank and a scheduler of its own; those inside a scheduler are called otherwise.
fn option(param: &Param) -> String {
    let name = param.name.replace('_', "-");
    match param.kind {
        Kind::Component(Role::RankFunction) => format!("{name}-function"),
        Kind::Component(Role::Scheduler) => format!("{name}-inside"),
        // Where a compiled P4 program reads it.
        _ if name == "rank" => "rank-place".to_owned(),
        _ => name,
    }
}

impl clap::Args for SchedulerOptions {
    fn augment_args(mut command: Command) -> Command {
        for param in every_param() {
            let users: Vec<_> = SCHEDULERS
                .iter()
                .filter(|entry| entry.info.param(param.name).is_some())
                .map(|entry| entry.info.name)
                .collect();
            let argument = Arg::new(id(param))
                .long(option(param))
                .value_name("VALUE")
                .help_heading("Scheduler parameters")
                .help(format!("{} [{}]", param.doc, users.join(", ")))
                .hide_short_help(true);
            command = command.arg(argument);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for SchedulerOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for param in every_param() {
            if let Some(text) = matches.get_one::<String>(&id(param)) {
                self.set(param.name, text);
            }
        }
        Ok(())
    }
}

impl SchedulerOptions {
    /// Sets one parameter, replacing what was written before.
    pub fn set(&mut self, name: &str, text: impl ToString) {
        self.written.retain(|(known, _)| known != name);
        self.written.push((name.to_owned(), text.to_string()));
    }

    /// Whether a parameter was written.
    pub fn contains(&self, name: &str) -> bool {
        self.written.iter().any(|(known, _)| known == name)
    }

    /// The parameters as they were written.
    pub fn written(&self) -> &[(String, String)] {
        &self.written
    }

    /// Only those that the scheduler `name` has: for one command line that serves several schedulers.
    pub fn kept_by(&self, name: &str) -> Result<Self> {
        let info = find_scheduler(name).map_err(Error::Usage)?.info;
        Ok(Self { written: self.written.iter().filter(|(key, _)| info.param(key).is_some()).cloned().collect() })
    }
}

/// A value as the table's row wants it; what is inside a scheduler is JSON, such as the children of a tree:
/// `[{"name": "fifo", "takes": "0-9"}]`.
fn value(row: Option<&Param>, text: &str) -> Value {
    let as_text = || Value::Text(text.to_owned());
    match row.map(|row| row.kind) {
        Some(Kind::Component(_) | Kind::Components(_)) => {
            serde_json::from_str(text).ok().and_then(|json| value_of_json(&json)).unwrap_or_else(as_text)
        }
        Some(kind) => Value::from_text(&kind, text),
        None => as_text(),
    }
}

/// The parameters of a component as they were written.
pub fn params(info: &Info, written: &[(String, String)]) -> Params {
    let mut params = Params::new(info.name);
    for (name, text) in written {
        params.set(name.clone(), value(info.param(name), text));
    }
    params
}

/// Builds the scheduler `name`.
pub fn build_scheduler(name: &str, options: &SchedulerOptions) -> Result<BoxedScheduler> {
    let entry = find_scheduler(name).map_err(Error::Usage)?;
    // The plain text: packets that wait are taken over without a decision, which the accounts of a twin would miss.
    let built = match (entry.read)(params(entry.info, &options.written)) {
        Ok(made) => made.scheduler(Form::Plain),
        Err(error) => return Err(Error::Usage(error.to_string())),
    };
    match (built.wants().needs - FRAME_FACTS).first() {
        Some(fact) => Err(Error::Usage(format!(
            "{name} needs the fact {} of each packet, which the switch does not read from frames (it reads dscp, hosts and ports)",
            fact.word()
        ))),
        None => Ok(built),
    }
}

/// What frames say about themselves.
const FRAME_FACTS: Facts = Facts::one(Fact::CarriedRank).with(Fact::Dscp).with(Fact::Hosts).with(Fact::Ports);

/// Joins a scheduler to what `--rank` says: a place in the frame, or a rank function, perhaps with parameters as in
/// `stfq,virtual_time=follow`.
///
/// # Errors
/// Neither a place nor a rank function; a parameter that the function refuses; a function that needs to know more than
/// frames tell (flow sizes, deadlines).
pub fn join_rank(scheduler: BoxedScheduler, rank: &str) -> Result<(Chosen, Option<RankSource>)> {
    let (name, arguments) = rank.split_once(',').unwrap_or((rank, ""));
    match rank.parse() {
        // The library's own functions, with their parameters.
        Ok(RankSource::Las | RankSource::Stfq) => {}
        Ok(RankSource::Mark) => {
            return Err(Error::Usage(
                "--rank mark: frames do not carry the kernel's mark; the eBPF data plane reads it (pifolab dataplane up)"
                    .to_owned(),
            ));
        }
        Ok(source) => return Ok((Chosen::Plain(scheduler), Some(source))),
        Err(error) if name.starts_with("payload") => return Err(Error::Usage(format!("--rank {error}"))),
        Err(_) => {}
    }
    let entry = find_rank(name).map_err(|_| {
        let names: Vec<_> = RANKS.iter().map(|entry| entry.info.name).collect();
        Error::Usage(format!("--rank {rank:?}: expected {RANK_FORMS}; the rank functions are {}", names.join(", ")))
    })?;
    let mut written = Vec::new();
    for argument in arguments.split(',').filter(|argument| !argument.is_empty()) {
        let (key, text) = argument
            .split_once('=')
            .ok_or_else(|| Error::Usage(format!("--rank {rank:?}: {argument:?} expected key=value")))?;
        written.push((key.to_owned(), text.replace('/', ",")));
    }
    let rank_fn =
        entry.build(params(entry.info, &written)).map_err(|error| Error::Usage(format!("--rank: {error}")))?;
    if !rank_fn.needs().is_empty() {
        return Err(Error::Usage(format!(
            "--rank {name}: frames do not carry what it needs; let the sender compute the rank and carry it: {RANK_FORMS}"
        )));
    }
    Ok((Chosen::Ranked(Ranked::new(rank_fn, scheduler)), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, FromArgMatches as _};
    use pifolab_sched::Capacity;

    fn parse(line: &[&str]) -> SchedulerOptions {
        let command = SchedulerOptions::augment_args(Command::new("test").no_binary_name(true));
        let matches = command.try_get_matches_from(line).expect("known options");
        SchedulerOptions::from_arg_matches(&matches).expect("options")
    }

    #[test]
    fn every_parameter_of_the_library_is_an_option() {
        let options = parse(&["--capacity-packets", "12"]);
        let fifo = build_scheduler("fifo", &options).expect("a FIFO");
        assert_eq!(fifo.capacity(), Capacity::Packets(12));
        let options = parse(&["--queue-capacity-packets", "1,2,3"]);
        let sp_pifo = build_scheduler("sp-pifo", &options).expect("SP-PIFO");
        assert_eq!((sp_pifo.queues(), sp_pifo.capacity()), (3, Capacity::Packets(6)));
    }

    #[test]
    fn wrong_parameters_are_refused_by_name_value_and_range() {
        for (scheduler, line, words) in [
            ("fifo", ["--capacity-packets", "0"], vec!["capacity_packets", "0", "from 1"]),
            ("fifo", ["--capacity-packets", "many"], vec!["capacity_packets", "many"]),
            ("fifo", ["--queues", "4"], vec!["queues", "capacity_packets"]),
            ("sp-pifi", ["--queues", "4"], vec!["sp-pifi", "sp-pifo"]),
        ] {
            let error = build_scheduler(scheduler, &parse(&line)).err().expect("an error").to_string();
            for word in words {
                assert!(error.contains(word), "{word:?} is not in {error:?}");
            }
        }
    }

    #[test]
    fn a_tree_is_a_policy_or_its_children_as_json() {
        use pifolab_sched::{Dequeued, Packet};
        use pifolab_units::{Rank, Time};
        let children = r#"[{"name": "fifo", "takes": "2-9", "priority": 1},
            {"name": "tree", "discipline": "stfq", "child": [{"name": "fifo", "takes": 0, "weight": 0.5},
                {"name": "pifo", "takes": [1], "weight": 1}]}]"#;
        let lines: [&[&str]; 2] = [
            &[
                "--policy",
                "strict[(wfq[(fifo[0], 0.5), (fifo[b], 1)], 1), (fifo[2-9], 2)]",
                "--rate-gbps",
                "0.1",
                "--classes",
                "b = 1",
            ],
            &["--child", children],
        ];
        for line in lines {
            let mut tree = build_scheduler("tree", &parse(line)).expect("a tree");
            for (id, flow) in [(0, 5), (1, 0), (2, 0), (3, 1), (4, 1)] {
                let packet = Packet { id, flow, size: 1_000, rank: Rank::ZERO, arrival: Time::ZERO };
                assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
            }
            let mut order = Vec::new();
            while let Dequeued::Packet { packet, .. } = tree.dequeue(Time::ZERO) {
                order.push(packet.id);
            }
            assert_eq!(order, [1, 3, 4, 2, 0], "{line:?}");
        }
        let by_class = parse(&["--policy", "fifo[1]", "--classify", "class"]);
        let error = build_scheduler("tree", &by_class).err().expect("frames have no class").to_string();
        assert!(error.contains("needs the fact class of each packet, which the switch does not read"), "{error}");
        let error = build_scheduler("tree", &parse(&["--child", "[{"])).err().expect("not JSON").to_string();
        assert!(error.contains("child = \"[{\": expected a list of tables"), "{error}");
    }

    #[test]
    fn marks_are_refused_since_the_switch_reads_no_codepoints() {
        let inside = ["--scheduler-inside", r#"{"name": "fifo"}"#];
        assert!(build_scheduler("managed", &parse(&inside)).is_ok(), "without marks it is there");
        let marks = [inside, ["--ecn", "true"]].concat();
        let error = build_scheduler("managed", &parse(&marks)).err().expect("codepoints").to_string();
        assert!(error.contains("managed needs the fact ecn of each packet, which the switch does not read"), "{error}");
    }

    #[test]
    fn a_tree_sorts_frames_by_their_headers() {
        use crate::rank::WHOLE;
        use crate::switch::port::{Frame, Port, PortConfig};
        use pifolab_frames::frame::udp_frame;
        use pifolab_frames::reader::RankReader;
        use pifolab_sched::Dequeued;
        use pifolab_units::{Bytes, Rank, Rate, Span, Time};
        let order = |classify: &str, policy: &str| {
            let tree = build_scheduler("tree", &parse(&["--classify", classify, "--policy", policy])).expect("a tree");
            let config = PortConfig {
                rank: RankReader::new(None, Rank::ZERO),
                not_ip_share: WHOLE / 20,
                rate: Rate::from_bps(1_000).expect("a rate"),
                overhead: Bytes(0),
                delay: Span::ZERO,
                frame_bytes: 2048,
                flows: 16,
                flow_timeout: Span::ZERO,
            };
            let mut port = Port::new(Chosen::Plain(tree), config);
            for (dscp, source_port) in [(0, 1_000), (46, 2_000), (0, 2_000), (10, 3_000)] {
                let outcome = port.offer(Frame::whole(&udp_frame(dscp, source_port, &[0; 100])), Time::ZERO);
                port.settle(&outcome.expect("an IP frame"));
            }
            let mut order = Vec::new();
            while let Dequeued::Packet { packet, .. } = port.take(Time::ZERO) {
                order.push(packet.id);
            }
            order
        };
        let first = order("dscp", "strict[(fifo[46], 1), (fifo[0-45], 2)]");
        let sorted =
            |ids: &[u64]| ids.iter().map(|id| ids.iter().filter(|other| *other < id).count()).collect::<Vec<_>>();
        assert_eq!(sorted(&first), [1, 0, 2, 3]);
        assert_eq!(
            sorted(&order("source-port", "strict[(fifo[2000], 1), (fifo[0-1999], 2), (fifo[3000], 3)]")),
            [1, 2, 0, 3]
        );
    }

    #[test]
    fn one_command_line_serves_schedulers_with_different_parameters() {
        let options = parse(&["--capacity-packets", "80", "--queues", "4"]);
        assert_eq!(options.kept_by("fifo").expect("known").written(), [("capacity_packets".into(), "80".into())]);
        assert_eq!(options.kept_by("sp-pifo").expect("known").written(), [("queues".into(), "4".into())]);
    }

    #[test]
    fn rank_functions_that_need_more_than_the_frame_are_refused() {
        let join = |rank: &str| {
            let fifo = build_scheduler("fifo", &SchedulerOptions::default()).expect("a FIFO");
            join_rank(fifo, rank).map(|(_, source)| source).map_err(|error| error.to_string())
        };
        assert_eq!(join("dscp"), Ok(Some(RankSource::Dscp)));
        assert_eq!(join("payload:4:4"), Ok(Some(RankSource::Payload { offset: 4, width: 4 })));
        assert_eq!(join("las"), Ok(None));
        assert_eq!(join("stfq,weights=1/2/1"), Ok(None));
        assert!(join("mark").expect_err("not in a frame").contains("dataplane up"));
        assert!(join("flow-size").expect_err("no hints").contains("frames do not carry"));
        assert!(join("lsa").expect_err("unknown").contains("las"));
        assert!(join("stfq,weights").expect_err("no value").contains("key=value"));
        assert!(join("stfq,scale=0").expect_err("out of range").contains("scale"));
    }
}
