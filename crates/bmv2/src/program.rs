//! Loads a program: reads the JSON and makes flat code of it.

mod actions;
mod parsers;
mod pipelines;

use crate::builder::{Builder, STACK_READ, StackRead};
use crate::checksum::{Algorithm, Calculation, Input};
use crate::code::{Op, Values, WideOp};
use crate::json::{Error, Node, Result};
use crate::layout::{Field, Layout, NARROW, Slot};
use crate::table::{KeyPart, Table};
use serde_json::Value;
use std::collections::HashMap;

/// What the format calls a program whose version this reads.
const MAJOR: u64 = 2;
/// The largest array of registers, counters or meters.
const LARGEST: u64 = 1 << 24;
/// An egress port that drops.
pub(crate) const DROP_PORT: i128 = 511;

/// One operation of a parser.
#[derive(Clone, Debug)]
pub(crate) enum ParserOp {
    Extract(u32),
    /// A header whose field of variable length has as many bits as the slot says.
    ExtractVarying {
        header: u32,
        bits: u32,
    },
    ExtractNext(u32),
    Lookahead {
        to: u32,
        offset: u32,
        bits: u32,
    },
    /// Code from there.
    Run(u32),
    /// Ends with the error of the second slot unless the first holds true.
    Verify {
        condition: u32,
        error: u32,
    },
    /// As many bits as the slot says.
    Advance(u32),
}

/// A value and a mask for each limb of the key, and the state that follows; none ends.
pub(crate) type Transition = (Box<[[u64; 2]]>, Option<u32>);

#[derive(Clone, Debug, Default)]
pub(crate) struct ParserState {
    pub ops: Vec<ParserOp>,
    pub key: Vec<KeyPart>,
    pub transitions: Vec<Transition>,
    /// Where it goes if no transition fits; the outer none is an error.
    pub otherwise: Option<Option<u32>>,
}

/// An array of cells.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub name: String,
    pub bits: u32,
    pub size: u64,
}

impl Register {
    pub fn limbs(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }
}

/// What an action can do besides computing.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    WideRegisterRead { array: u32, index: u32, at: u32 },
    WideRegisterWrite { array: u32, index: u32, at: u32 },
    Hash { to: u32, calculation: u32, base: u32, size: u32, bits: u8 },
    Random { to: u32, low: u32, high: u32, bits: u8 },
    Count { counter: u32, index: u32 },
    Meter { meter: u32, index: u32, to: u32 },
    CloneIngress { session: u32, list: u32 },
    CloneEgress { session: u32, list: u32 },
    Resubmit { list: u32 },
    Recirculate { list: u32 },
    Digest,
    Truncate { bytes: u32 },
    Push { stack: u32, count: u32 },
    Pop { stack: u32, count: u32 },
    CopyVarying { to: u32, from: u32 },
    CopyStack { to: u32, from: u32 },
    Assert { condition: u32 },
}

/// The slots of the metadata that the switch itself reads and writes, where the program has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intrinsic {
    pub ingress_port: Option<u32>,
    pub packet_length: Option<u32>,
    pub egress_spec: Option<u32>,
    pub egress_port: Option<u32>,
    pub instance_type: Option<u32>,
    pub checksum_error: Option<u32>,
    pub parser_error: Option<u32>,
    pub priority: Option<u32>,
    pub multicast: Option<u32>,
    pub replica: Option<u32>,
    pub ingress_time: Option<u32>,
    pub egress_time: Option<u32>,
    pub enqueue_time: Option<u32>,
    pub enqueue_depth: Option<u32>,
    pub waited: Option<u32>,
    pub dequeue_depth: Option<u32>,
    pub queue: Option<u32>,
}

/// What a table's code is, and what its actions' parameters are.
#[derive(Clone, Debug)]
pub(crate) struct TableCode {
    /// Where each action begins; one more for no action.
    pub starts: Vec<u32>,
    /// The actions' names.
    pub actions: Vec<String>,
    pub parameters: Vec<Vec<Field>>,
    /// Direct counters and meters.
    pub meter: Option<(u32, u32)>,
    pub is_const: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    pub calculation: u32,
    pub target: Field,
    /// Code of the condition, and its slot.
    pub condition: Option<(u32, u32)>,
    pub update: bool,
    pub verify: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct MeterArray {
    pub name: String,
    pub size: u64,
    pub in_bytes: bool,
}

/// A program that p4c compiled for BMv2 (`v1model`), ready to run in a [`Switch`](crate::Switch).
#[derive(Debug)]
pub struct Program {
    pub(crate) layout: Layout,
    pub(crate) initial: Values,
    pub(crate) code: Vec<Op>,
    pub(crate) wide_ops: Vec<WideOp>,
    pub(crate) stack_reads: Vec<StackRead>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) parser: Vec<ParserState>,
    pub(crate) parser_start: u32,
    pub(crate) ingress: u32,
    pub(crate) egress: u32,
    pub(crate) deparser: Vec<u32>,
    pub(crate) registers: Vec<Register>,
    pub(crate) counters: Vec<Register>,
    pub(crate) meters: Vec<MeterArray>,
    pub(crate) tables: Vec<Table>,
    pub(crate) table_code: Vec<TableCode>,
    /// The slot of whether the last table had a match.
    pub(crate) hit: u32,
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) calculations: Vec<Calculation>,
    /// The fields that copies keep, by the list's number.
    pub(crate) field_lists: HashMap<u32, Vec<Field>>,
    pub(crate) intrinsic: Intrinsic,
    pub(crate) errors: HashMap<String, u32>,
}

struct Action<'a> {
    name: String,
    parameters: Vec<Field>,
    primitives: Vec<Node<'a>>,
}

struct Loader<'a> {
    layout: Layout,
    builder: Builder,
    effects: Vec<Effect>,
    registers: Vec<Register>,
    register_names: HashMap<String, u32>,
    counters: Vec<Register>,
    meters: Vec<MeterArray>,
    meter_targets: HashMap<String, (u32, u32)>,
    direct_counters: Vec<String>,
    calculations: Vec<Calculation>,
    calculation_names: HashMap<String, u32>,
    actions: Vec<Action<'a>>,
    action_ids: HashMap<u64, usize>,
    tables: Vec<Table>,
    table_code: Vec<TableCode>,
    hit: u32,
    egress_spec: Option<u32>,
    multicast: Option<u32>,
}

impl Program {
    /// Reads what p4c wrote for BMv2.
    ///
    /// # Errors
    /// Text that is not JSON, a value that is not what the format says, and constructs that are not supported: one line with
    /// the place.
    pub fn load(text: &[u8]) -> std::result::Result<Self, Error> {
        let value: Value = serde_json::from_slice(text).map_err(|error| {
            let said = error.to_string();
            let reason = said.split(" at line ").next().unwrap_or(&said).to_owned();
            Error::new(format!("line {} column {}", error.line(), error.column()), reason)
        })?;
        let root = Node::root(&value);
        let version = root.get("__meta__")?.get("version")?.tuple::<2>()?;
        if version[0].int(u64::MAX)? != MAJOR {
            return version[0].expected("2, the format's major version");
        }
        let layout = Layout::load(&root)?;
        let (narrow, wide) = (layout.narrow, layout.wide);
        let mut builder = Builder::new(&layout);
        let hit = builder.slot();
        let intrinsic = intrinsic(&layout);
        let mut loader = Loader {
            builder,
            effects: Vec::new(),
            registers: Vec::new(),
            register_names: HashMap::new(),
            counters: Vec::new(),
            meters: Vec::new(),
            meter_targets: HashMap::new(),
            direct_counters: Vec::new(),
            calculations: Vec::new(),
            calculation_names: HashMap::new(),
            actions: Vec::new(),
            action_ids: HashMap::new(),
            tables: Vec::new(),
            table_code: Vec::new(),
            hit,
            egress_spec: intrinsic.egress_spec,
            multicast: intrinsic.multicast,
            layout,
        };
        loader.arrays(&root)?;
        loader.calculations(&root)?;
        loader.read_actions(&root)?;
        let mut errors = HashMap::new();
        for node in root.list("errors")? {
            let [name, number] = node.tuple()?;
            errors.insert(name.str()?.to_owned(), number.int(u64::from(u32::MAX))? as u32);
        }
        let (parser, parser_start) = loader.parser(&root)?;
        let mut starts = [None; 2];
        for node in root.get("pipelines")?.items()? {
            let index = match node.name()? {
                "ingress" => 0,
                "egress" => 1,
                _ => return node.get("name")?.expected("ingress or egress"),
            };
            starts[index] = Some(loader.pipeline(&node)?);
        }
        let [Some(ingress), Some(egress)] = starts else {
            return root.get("pipelines")?.fail("expected an ingress and an egress");
        };
        let checksums = loader.checksums(&root)?;
        let mut deparser = Vec::new();
        let deparsers = root.list("deparsers")?;
        if let Some(node) = deparsers.first() {
            if let Some(primitive) = node.list("primitives")?.first() {
                return primitive.fail("statements in a deparser are not supported");
            }
            for name in node.get("order")?.items()? {
                deparser.push(loader.layout.header(&name)?);
            }
        }
        let mut field_lists = HashMap::new();
        for node in root.list("field_lists")?.into_iter().chain(root.list("learn_lists")?) {
            let id = node.get("id")?.int(u64::from(u32::MAX))? as u32;
            let mut fields = Vec::new();
            for element in node.list("elements")? {
                if element.get("type")?.str()? == "field" {
                    fields.push(loader.layout.field(&element.get("value")?)?);
                }
            }
            field_lists.insert(id, fields);
        }
        let Loader { layout, builder, effects, registers, counters, meters, tables, table_code, calculations, .. } =
            loader;
        debug_assert!(narrow == layout.narrow && wide == layout.wide, "fields are placed first");
        Ok(Self {
            layout,
            initial: builder.initial,
            code: builder.code,
            wide_ops: builder.wide_ops,
            stack_reads: builder.stack_reads,
            effects,
            parser,
            parser_start,
            ingress,
            egress,
            deparser,
            registers,
            counters,
            meters,
            tables,
            table_code,
            hit,
            checksums,
            calculations,
            field_lists,
            intrinsic,
            errors,
        })
    }

    /// The names of its tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| table.name.as_str())
    }

    /// The names of its registers.
    pub fn registers(&self) -> impl Iterator<Item = &str> {
        self.registers.iter().map(|register| register.name.as_str())
    }

    pub(crate) fn error(&self, name: &str) -> i128 {
        i128::from(self.errors.get(name).copied().unwrap_or(0))
    }
}

fn intrinsic(layout: &Layout) -> Intrinsic {
    let standard = |name| layout.intrinsic("standard_metadata", name);
    let own = |name| layout.intrinsic("intrinsic_metadata", name);
    let queueing = |name| layout.intrinsic("queueing_metadata", name);
    Intrinsic {
        ingress_port: standard("ingress_port"),
        packet_length: standard("packet_length"),
        egress_spec: standard("egress_spec"),
        egress_port: standard("egress_port"),
        instance_type: standard("instance_type"),
        checksum_error: standard("checksum_error"),
        parser_error: standard("parser_error"),
        priority: own("priority"),
        multicast: own("mcast_grp"),
        replica: own("egress_rid"),
        ingress_time: own("ingress_global_timestamp"),
        egress_time: own("egress_global_timestamp"),
        enqueue_time: queueing("enq_timestamp"),
        enqueue_depth: queueing("enq_qdepth"),
        waited: queueing("deq_timedelta"),
        dequeue_depth: queueing("deq_qdepth"),
        queue: queueing("qid"),
    }
}

impl<'a> Loader<'a> {
    fn arrays(&mut self, root: &Node) -> Result<()> {
        for node in root.list("register_arrays")? {
            let bits = node.get("bitwidth")?.int(4096)? as u32;
            let size = node.get("size")?.int(LARGEST)?;
            if bits == 0 {
                return node.get("bitwidth")?.expected("at least 1");
            }
            let name = node.name()?.to_owned();
            self.register_names.insert(name.clone(), self.registers.len() as u32);
            self.registers.push(Register { name, bits, size });
        }
        for node in root.list("counter_arrays")? {
            if node.find("is_direct").map_or(Ok(false), |node| node.bool())? {
                self.direct_counters.push(node.get("binding")?.str()?.to_owned());
                continue;
            }
            let size = node.get("size")?.int(LARGEST)?;
            self.counters.push(Register { name: node.name()?.to_owned(), bits: 128, size });
        }
        for node in root.list("meter_arrays")? {
            let number = self.meters.len() as u32;
            let in_bytes = match node.get("type")?.str()? {
                "bytes" => true,
                "packets" => false,
                _ => return node.get("type")?.expected("bytes or packets"),
            };
            if node.find("is_direct").map_or(Ok(false), |node| node.bool())? {
                let target = self.layout.field(&node.get("result_target")?)?;
                let Slot::Narrow(slot) = target.slot else {
                    return node.get("result_target")?.expected(&format!("a field of at most {NARROW} bits"));
                };
                self.meter_targets.insert(node.get("binding")?.str()?.to_owned(), (number, slot));
            }
            let size = node.get("size")?.int(LARGEST)?;
            self.meters.push(MeterArray { name: node.name()?.to_owned(), size, in_bytes });
        }
        Ok(())
    }

    fn calculations(&mut self, root: &Node) -> Result<()> {
        for node in root.list("calculations")? {
            let named = node.get("algo")?;
            let Some(algorithm) = Algorithm::parse(named.str()?) else {
                return named.expected("csum16, xor16, crc16, crcCCITT, crc32 or identity");
            };
            let mut inputs = Vec::new();
            for input in node.get("input")?.items()? {
                let value = || input.get("value");
                inputs.push(match input.get("type")?.str()? {
                    "field" => Input::Field(self.layout.field(&value()?)?),
                    "hexstr" => {
                        let bits = input.get("bitwidth")?.int(4096)? as u32;
                        Input::Constant(value()?.hex()?.two_complement(bits.div_ceil(64).max(1) as usize), bits)
                    }
                    "header" => Input::Header(self.layout.header(&value()?)?),
                    "payload" => Input::Payload,
                    _ => return input.get("type")?.expected("field, hexstr, header or payload"),
                });
            }
            self.calculation_names.insert(node.name()?.to_owned(), self.calculations.len() as u32);
            self.calculations.push(Calculation { algorithm, inputs });
        }
        Ok(())
    }
}

/// Whether an effect is a read of a header stack, and which one.
pub(crate) fn stack_read(effect: u32) -> Option<usize> {
    (effect & STACK_READ != 0).then_some((effect & !STACK_READ) as usize)
}
