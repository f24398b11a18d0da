//! Loads a program: reads the JSON and compiles it to flat code.

mod actions;
mod parsers;
mod parts;
mod pipelines;

use crate::builder::{Builder, READ, Read};
use crate::checksum::{Algorithm, Calculation, Input};
use crate::code::{Op, Values, WideOp, quicken};
use crate::json::{Error, Node, Result};
use crate::layout::{Field, Layout, NARROW, Slot};
use crate::table::Table;
use parts::{Intrinsic, Loader};
use serde_json::Value;
use std::collections::HashMap;

pub(crate) use parts::{
    Checksum, DROP_PORT, Effect, MeterArray, ParserOp, ParserState, Profile, Register, SetUse, TableCode, Taken,
};

/// The supported major version of the format.
const MAJOR: u64 = 2;
/// The largest array of registers, counters or meters.
const LARGEST: u64 = 1 << 24;

/// A program that p4c compiled for BMv2 (`v1model`), ready to run in a [`Switch`](crate::Switch).
#[derive(Debug)]
pub struct Program {
    pub(crate) layout: Layout,
    pub(crate) initial: Values,
    pub(crate) code: Vec<Op>,
    pub(crate) wide_ops: Vec<WideOp>,
    pub(crate) reads: Vec<Read>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) parser: Vec<ParserState>,
    pub(crate) parser_start: u32,
    pub(crate) ingress: u32,
    pub(crate) egress: u32,
    /// The start of the code that runs before headers are written.
    pub(crate) deparsing: Option<u32>,
    pub(crate) deparser: Vec<u32>,
    pub(crate) registers: Vec<Register>,
    pub(crate) counters: Vec<Register>,
    pub(crate) meters: Vec<MeterArray>,
    pub(crate) tables: Vec<Table>,
    pub(crate) table_code: Vec<TableCode>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) set_uses: Vec<SetUse>,
    /// The slot that holds whether the last table had a match.
    pub(crate) hit: u32,
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) calculations: Vec<Calculation>,
    /// The fields that copies keep, by the number of their field list.
    pub(crate) field_lists: HashMap<u32, Vec<Field>>,
    pub(crate) intrinsic: Intrinsic,
    pub(crate) errors: HashMap<String, u32>,
}

impl Program {
    /// Whether it can recirculate packets.
    pub fn recirculates(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Recirculate { .. }))
    }

    /// Reads the output of p4c for BMv2.
    ///
    /// # Errors
    /// Text that is not JSON, a value that does not fit the format, and constructs that are not supported: one line
    /// with the place.
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
            profiles: Vec::new(),
            set_uses: Vec::new(),
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
        loader.no_lookahead(&root)?;
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
        let (mut deparser, mut deparsing) = (Vec::new(), None);
        let deparsers = root.list("deparsers")?;
        if let Some(node) = deparsers.first() {
            let start = loader.here();
            let (mut jumps, mut exits) = (Vec::new(), Vec::new());
            for primitive in node.list("primitives")? {
                loader.primitive(&primitive, &[], &mut jumps, &mut exits)?;
                if !jumps.is_empty() || !exits.is_empty() {
                    return primitive.fail("a deparser neither jumps nor exits");
                }
            }
            loader.builder.code.push(Op::End);
            deparsing = Some(start);
            for name in node.get("order")?.items()? {
                deparser.push(loader.layout.header(&name)?);
            }
        }
        loader.no_lookahead(&root)?;
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
        let Loader { layout, builder, effects, registers, counters, meters, .. } = loader;
        let Loader { tables, table_code, profiles, set_uses, calculations, .. } = loader;
        let mut builder = builder;
        let small = small_slots(&layout, &builder, &registers, &table_code, &parser);
        let mut code = std::mem::take(&mut builder.code);
        let cell = |array: u32, index| {
            let register = &registers[array as usize];
            let cell = register.cell(builder.known(index)?).filter(|_| register.bits <= 64)?;
            u32::try_from(cell.start).ok()
        };
        quicken(&mut code, small, cell);
        if loops(&code, &table_code) {
            return root.fail("a table, a condition or a primitive that comes back to itself: expected no loop");
        }
        debug_assert!(narrow == layout.narrow && wide == layout.wide, "fields are placed first");
        Ok(Self {
            layout,
            initial: builder.initial,
            code,
            wide_ops: builder.wide_ops,
            reads: builder.reads,
            effects,
            parser,
            parser_start,
            ingress,
            egress,
            deparsing,
            deparser,
            registers,
            counters,
            meters,
            tables,
            table_code,
            profiles,
            set_uses,
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

    /// The number of an action profile.
    pub(crate) fn profile(&self, name: &str) -> std::result::Result<u32, String> {
        let found = self.profiles.iter().position(|profile| profile.name == name);
        found.map(|number| number as u32).ok_or_else(|| {
            let names: Vec<&str> = self.profiles.iter().map(|profile| profile.name.as_str()).collect();
            format!("{name}: expected the name of an action profile: {}", names.join(", "))
        })
    }

    pub(crate) fn error(&self, name: &str) -> i128 {
        i128::from(self.errors.get(name).copied().unwrap_or(0))
    }
}

/// The slots that every writer except code leaves within 64 bits, without a sign.
fn small_slots(
    layout: &Layout,
    builder: &Builder,
    registers: &[Register],
    tables: &[TableCode],
    parser: &[ParserState],
) -> Vec<bool> {
    let fits = |[_, high]: &[u64; 2]| *high == 0;
    let mut small: Vec<bool> = builder.initial.narrow.iter().map(fits).collect();
    let fields = layout.headers.iter().flat_map(|header| &header.fields);
    let parameters = tables.iter().flat_map(|table| table.parameters.iter().flatten());
    for field in fields.chain(parameters).filter(|field| field.bits > 64 || field.signed) {
        if let Slot::Narrow(slot) = field.slot {
            small[slot as usize] = false;
        }
    }
    let read = builder.reads.iter().map(|read| read.to);
    let seen = parser.iter().flat_map(|state| &state.ops).filter_map(|op| match op {
        ParserOp::Lookahead { to, bits: 65.., .. } => Some(*to),
        _ => None,
    });
    for place in read.chain(seen) {
        if let Slot::Narrow(slot) = place {
            small[slot as usize] = false;
        }
    }
    for op in &builder.code {
        match *op {
            Op::RegisterRead { to, array, .. } if registers[array as usize].bits > 64 => small[to as usize] = false,
            Op::Wide(number) => {
                if let WideOp::Narrow { to, bits: 65.., .. } = builder.wide_ops[number as usize] {
                    small[to as usize] = false;
                }
            }
            _ => {}
        }
    }
    small
}

/// Whether control flow can return to a place.
fn loops(code: &[Op], tables: &[TableCode]) -> bool {
    let ways = |at: usize| -> Vec<usize> {
        match code[at] {
            // Loops of an action have a bound of their own.
            Op::End | Op::Back(_) => Vec::new(),
            Op::Jump(to) => vec![to as usize],
            Op::JumpIfZero { to, .. }
            | Op::JumpUnless { to, .. }
            | Op::JumpUnlessEqual { to, .. }
            | Op::JumpUnlessNotEqual { to, .. }
            | Op::JumpUnlessLess { to, .. }
            | Op::JumpUnlessLessOrEqual { to, .. } => vec![at + 1, to as usize],
            Op::Apply(table) => tables[table as usize].starts.iter().map(|&start| start as usize).collect(),
            _ => vec![at + 1],
        }
    };
    // On the current path, or finished.
    let mut seen: Vec<Option<bool>> = vec![None; code.len()];
    for start in 0..code.len() {
        let mut way = vec![(start, false)];
        while let Some((at, done)) = way.pop() {
            if done {
                seen[at] = Some(true);
            } else if seen[at].is_none() {
                seen[at] = Some(false);
                way.push((at, true));
                for next in ways(at).into_iter().filter(|&next| next < code.len()) {
                    match seen[next] {
                        Some(false) => return true,
                        Some(true) => {}
                        None => way.push((next, false)),
                    }
                }
            }
        }
    }
    false
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
            let start = self.registers.last().map_or(0, |last| last.start + last.size as usize * last.limbs());
            self.registers.push(Register { name, bits, size, start });
        }
        for node in root.list("counter_arrays")? {
            if node.find("is_direct").map_or(Ok(false), |node| node.bool())? {
                self.direct_counters.push(node.get("binding")?.str()?.to_owned());
                continue;
            }
            let size = node.get("size")?.int(LARGEST)?;
            self.counters.push(Register { name: node.name()?.to_owned(), bits: 128, size, start: 0 });
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

    /// Refuses code that looks ahead although no packet is parsed there.
    fn no_lookahead(&self, root: &Node) -> Result<()> {
        if self.builder.lookaheads.is_empty() { Ok(()) } else { root.fail("a lookahead outside of the parser") }
    }

    fn calculations(&mut self, root: &Node) -> Result<()> {
        for node in root.list("calculations")? {
            let number = self.calculation(&node)?;
            self.calculation_names.insert(node.name()?.to_owned(), number);
        }
        Ok(())
    }

    /// Reads a calculation, or the selector of an action profile, and returns its number.
    fn calculation(&mut self, node: &Node) -> Result<u32> {
        let named = node.get("algo")?;
        let Some(algorithm) = Algorithm::parse(named.str()?) else {
            return named.expected("csum16, xor16, crc16, crcCCITT, crc32, crc16_custom, crc32_custom or identity");
        };
        let mut inputs = Vec::new();
        for input in node.get("input")?.items()? {
            let value = || input.get("value");
            inputs.push(match input.get("type")?.str()? {
                "field" => Input::Field(self.layout.field(&value()?)?),
                "hexstr" => {
                    let bits = input.get("bitwidth")?.int(4096)? as u32;
                    if bits == 0 {
                        return input.get("bitwidth")?.expected("at least 1");
                    }
                    Input::Constant(value()?.hex()?.two_complement(bits.div_ceil(64) as usize), bits)
                }
                "header" => Input::Header(self.layout.header(&value()?)?),
                "payload" => Input::Payload,
                _ => return input.get("type")?.expected("field, hexstr, header or payload"),
            });
        }
        self.calculations.push(Calculation { algorithm, inputs });
        Ok(self.calculations.len() as u32 - 1)
    }
}

/// The number of the read, if the effect is one.
pub(crate) fn read(effect: u32) -> Option<usize> {
    (effect & READ != 0).then_some((effect & !READ) as usize)
}
