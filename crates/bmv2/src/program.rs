//! Loads a program: reads the JSON and makes flat code of it.

use crate::builder::{Builder, STACK_READ, StackRead};
use crate::checksum::{Algorithm, Calculation, Input};
use crate::code::{ALL, Op, Values, WideOp};
use crate::expression::{Expression, Scope};
use crate::json::{Error, Node, Number, Result};
use crate::layout::{Field, Layout, NARROW, Slot};
use crate::table::{Chosen, KeyPart, Match, Table, Wanted};
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

    fn read_actions(&mut self, root: &Node<'a>) -> Result<()> {
        for node in root.get("actions")?.items()? {
            let mut parameters = Vec::new();
            for parameter in node.list("runtime_data")? {
                let bits = parameter.get("bitwidth")?.int(4096)? as u32;
                let slot = if bits <= NARROW {
                    Slot::Narrow(self.builder.slot())
                } else {
                    let limbs = bits.div_ceil(64);
                    Slot::Wide { at: self.builder.wide_slot(limbs), limbs }
                };
                parameters.push(Field { name: parameter.name()?.to_owned(), slot, bits: bits.max(1), signed: false });
            }
            let primitives = node.list("primitives")?;
            self.action_ids.insert(node.get("id")?.int(u64::MAX)?, self.actions.len());
            self.actions.push(Action { name: node.name()?.to_owned(), parameters, primitives });
        }
        Ok(())
    }

    fn expression(&self, node: &Node, locals: &[Field]) -> Result<Box<Expression>> {
        Scope { layout: &self.layout, locals }.read(node)
    }

    fn here(&self) -> u32 {
        self.builder.code.len() as u32
    }

    fn effect(&mut self, effect: Effect) {
        self.builder.code.push(Op::Effect(self.effects.len() as u32));
        self.effects.push(effect);
    }

    /// The slot of the parameter number `index` of a primitive.
    fn operand(&mut self, parameters: &[Node], index: usize, locals: &[Field], primitive: &Node) -> Result<u32> {
        let Some(node) = parameters.get(index) else {
            return primitive.fail(format!("expected at least {} parameters", index + 1));
        };
        let e = self.expression(node, locals)?;
        self.builder.value(&e, node)
    }

    fn copy(&mut self, to: u32, value: i128) {
        let a = self.builder.constant(value);
        self.builder.code.push(Op::Copy { to, a, bits: ALL });
    }

    /// Makes the code of one primitive. Jumps to other primitives are left open in `jumps`.
    fn primitive(
        &mut self,
        node: &Node,
        locals: &[Field],
        jumps: &mut Vec<(usize, usize)>,
        exits: &mut Vec<usize>,
    ) -> Result<()> {
        let op = node.get("op")?;
        let parameters = node.list("parameters")?;
        let parameter = |index: usize| -> Result<Node> {
            parameters
                .get(index)
                .cloned()
                .map_or_else(|| node.fail(format!("expected at least {} parameters", index + 1)), Ok)
        };
        let value = |index: usize| parameter(index)?.get("value");
        let jump_target = |index: usize| -> Result<usize> {
            match parameter(index)?.get("value")?.hex()?.small() {
                Some(target @ 0..=0xFFFF) => Ok(target as usize),
                _ => parameter(index)?.expected("the number of a primitive"),
            }
        };
        match op.str()? {
            "assign" | "modify_field" => {
                let to = parameter(0)?;
                if to.get("type")?.str()? != "field" {
                    return to.expected("a field: an element of a header stack at a computed index is not supported");
                }
                let field = self.layout.field(&value(0)?)?;
                let e = self.expression(&parameter(1)?, locals)?;
                self.builder.assign(&field, &e, node)?;
            }
            "assign_VL" => {
                let (to, from) = (self.layout.field(&value(0)?)?, self.layout.field(&value(1)?)?);
                let (Slot::Var(to), Slot::Var(from)) = (to.slot, from.slot) else {
                    return node.fail("expected two fields of variable length");
                };
                self.effect(Effect::CopyVarying { to, from });
            }
            "assign_header" | "copy_header" => {
                let (to, from) = (self.layout.header(&value(0)?)?, self.layout.header(&value(1)?)?);
                self.copy_header(to, from, node)?;
            }
            "assign_header_stack" => {
                let (to, from) = (self.layout.stack(&value(0)?)?, self.layout.stack(&value(1)?)?);
                self.effect(Effect::CopyStack { to, from });
            }
            "add_header" | "remove_header" => {
                let header = self.layout.header(&value(0)?)?;
                let valid = self.layout.headers[header as usize].valid;
                let added = op.str()? == "add_header";
                self.copy(valid, i128::from(added));
            }
            "push" | "pop" => {
                let stack = self.layout.stack(&value(0)?)?;
                let count = match value(1)?.hex()?.small() {
                    Some(count @ 0..=255) => count as u32,
                    _ => return value(1)?.expected("at most 0xff"),
                };
                self.effect(if op.str()? == "push" {
                    Effect::Push { stack, count }
                } else {
                    Effect::Pop { stack, count }
                });
            }
            "mark_to_drop" | "drop" => {
                if let Some(spec) = self.egress_spec {
                    self.copy(spec, DROP_PORT);
                }
                if let Some(group) = self.multicast {
                    self.copy(group, 0);
                }
            }
            "no_op" | "log_msg" => {}
            "exit" => {
                exits.push(self.builder.code.len());
                self.builder.code.push(Op::Jump(0));
            }
            "_jump" => {
                jumps.push((self.builder.code.len(), jump_target(0)?));
                self.builder.code.push(Op::Jump(0));
            }
            "_jump_if_zero" => {
                let target = jump_target(1)?;
                let condition = self.expression(&parameter(0)?, locals)?;
                jumps.push((self.builder.jump_unless(&condition, node)?, target));
            }
            "register_read" => {
                let field = self.layout.field(&value(0)?)?;
                let array = self.register(&value(1)?)?;
                let index = self.operand(&parameters, 2, locals, node)?;
                let bits = self.registers[array as usize].bits;
                match field.slot {
                    Slot::Narrow(to) if bits <= NARROW => {
                        self.builder.code.push(Op::RegisterRead { to, array, index });
                        if field.signed {
                            self.builder.code.push(Op::Sign { to, a: to, bits: field.bits as u8 });
                        } else if field.bits < bits {
                            self.builder.code.push(Op::Copy { to, a: to, bits: field.bits as u8 });
                        }
                    }
                    Slot::Wide { at, .. } if bits == field.bits => {
                        self.effect(Effect::WideRegisterRead { array, index, at });
                    }
                    _ => return node.fail(format!("a field of {} bits of a register of {bits}", field.bits)),
                }
            }
            "register_write" => {
                let array = self.register(&value(0)?)?;
                let bits = self.registers[array as usize].bits;
                let index = self.operand(&parameters, 1, locals, node)?;
                let e = self.expression(&parameter(2)?, locals)?;
                if bits <= NARROW {
                    let cut =
                        Field { name: String::new(), slot: Slot::Narrow(self.builder.slot()), bits, signed: false };
                    let a = if !e.negative && e.bits <= bits {
                        self.builder.value(&e, node)?
                    } else {
                        self.builder.assign(&cut, &e, node)?;
                        let Slot::Narrow(a) = cut.slot else { unreachable!("made just above") };
                        a
                    };
                    self.builder.code.push(Op::RegisterWrite { array, index, a });
                } else {
                    let limbs = bits.div_ceil(64);
                    let at = self.builder.wide_slot(limbs);
                    let cut = Field { name: String::new(), slot: Slot::Wide { at, limbs }, bits, signed: false };
                    self.builder.assign(&cut, &e, node)?;
                    self.effect(Effect::WideRegisterWrite { array, index, at });
                }
            }
            "modify_field_with_hash_based_offset" => {
                let (to, bits) = self.narrow_field(&value(0)?)?;
                let base = self.operand(&parameters, 1, locals, node)?;
                let named = value(2)?;
                let Some(&calculation) = self.calculation_names.get(named.str()?) else {
                    return named.expected("the name of a calculation");
                };
                let size = self.operand(&parameters, 3, locals, node)?;
                self.effect(Effect::Hash { to, calculation, base, size, bits });
            }
            "modify_field_rng_uniform" => {
                let (to, bits) = self.narrow_field(&value(0)?)?;
                let (low, high) =
                    (self.operand(&parameters, 1, locals, node)?, self.operand(&parameters, 2, locals, node)?);
                self.effect(Effect::Random { to, low, high, bits });
            }
            "count" => {
                let named = value(0)?;
                let Some(counter) =
                    self.counters.iter().position(|counter| Some(counter.name.as_str()) == named.value.as_str())
                else {
                    return named.expected("the name of an indirect counter");
                };
                let index = self.operand(&parameters, 1, locals, node)?;
                self.effect(Effect::Count { counter: counter as u32, index });
            }
            "execute_meter" => {
                let named = value(0)?;
                let Some(meter) =
                    self.meters.iter().position(|meter| Some(meter.name.as_str()) == named.value.as_str())
                else {
                    return named.expected("the name of a meter");
                };
                let index = self.operand(&parameters, 1, locals, node)?;
                let (to, _) = self.narrow_field(&value(2)?)?;
                self.effect(Effect::Meter { meter: meter as u32, index, to });
            }
            "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => {
                let session = self.operand(&parameters, 0, locals, node)?;
                let list = self.list(&parameter(1)?)?;
                let ingress = op.str()? == "clone_ingress_pkt_to_egress";
                self.effect(if ingress {
                    Effect::CloneIngress { session, list }
                } else {
                    Effect::CloneEgress { session, list }
                });
            }
            "resubmit" => {
                let list = self.list(&parameter(0)?)?;
                self.effect(Effect::Resubmit { list });
            }
            "recirculate" => {
                let list = self.list(&parameter(0)?)?;
                self.effect(Effect::Recirculate { list });
            }
            "generate_digest" => {
                self.list(&parameter(1)?)?;
                self.effect(Effect::Digest);
            }
            "truncate" => {
                let bytes = self.operand(&parameters, 0, locals, node)?;
                self.effect(Effect::Truncate { bytes });
            }
            "assert" | "assume" => {
                let condition = self.operand(&parameters, 0, locals, node)?;
                self.effect(Effect::Assert { condition });
            }
            _ => return op.expected("a primitive that is supported"),
        }
        self.builder.release();
        Ok(())
    }

    fn register(&self, node: &Node) -> Result<u32> {
        self.register_names.get(node.str()?).map_or_else(|| node.expected("the name of a register"), |&array| Ok(array))
    }

    fn list(&self, node: &Node) -> Result<u32> {
        match node.get("value")?.hex()?.small() {
            Some(list @ 0..=0xFFFF_FFFF) => Ok(list as u32),
            _ => node.expected("the number of a list of fields"),
        }
    }

    fn narrow_field(&self, node: &Node) -> Result<(u32, u8)> {
        let field = self.layout.field(node)?;
        match field.slot {
            Slot::Narrow(slot) if !field.signed => Ok((slot, field.bits as u8)),
            _ => node.expected(&format!("a field of at most {NARROW} bits without a sign")),
        }
    }

    fn copy_header(&mut self, to: u32, from: u32, node: &Node) -> Result<()> {
        let (to, from) = (self.layout.headers[to as usize].clone(), self.layout.headers[from as usize].clone());
        if to.of_type != from.of_type {
            return node.fail(format!("{} and {} are of different types", to.name, from.name));
        }
        for (to, from) in to.fields.iter().zip(&from.fields) {
            match (to.slot, from.slot) {
                (Slot::Var(to), Slot::Var(from)) => self.effect(Effect::CopyVarying { to, from }),
                _ => self.builder.assign(to, &Expression::of_field(from.clone()), node)?,
            }
        }
        self.builder.code.push(Op::Copy { to: to.valid, a: from.valid, bits: ALL });
        Ok(())
    }

    /// The code of an action's body, at whose end it falls through. Exits are left open.
    fn body(&mut self, action: usize, exits: &mut Vec<usize>) -> Result<()> {
        let locals = self.actions[action].parameters.clone();
        let primitives = self.actions[action].primitives.clone();
        let mut starts = Vec::new();
        let mut jumps = Vec::new();
        for primitive in &primitives {
            starts.push(self.here());
            self.primitive(primitive, &locals, &mut jumps, exits)?;
        }
        starts.push(self.here());
        for (place, primitive) in jumps {
            let Some(&target) = starts.get(primitive) else {
                return Err(Error::new(
                    self.actions[action].name.clone(),
                    format!("a jump to primitive {primitive}: expected at most {}", starts.len() - 1),
                ));
            };
            self.builder.land(place, target);
        }
        Ok(())
    }

    fn parser(&mut self, root: &Node<'a>) -> Result<(Vec<ParserState>, u32)> {
        let parsers = root.get("parsers")?;
        let list = parsers.items()?;
        let [node] = list.as_slice() else { return parsers.fail("expected exactly one parser") };
        let states = node.get("parse_states")?.items()?;
        let mut numbers = HashMap::new();
        for (number, state) in states.iter().enumerate() {
            numbers.insert(state.name()?, number as u32);
        }
        let find = |node: &Node| -> Result<u32> {
            numbers.get(node.str()?).map_or_else(|| node.expected("a state of the parser"), |&number| Ok(number))
        };
        let mut made = Vec::new();
        for state in &states {
            let mut to = ParserState::default();
            for operation in state.list("parser_ops")? {
                self.parser_operation(&operation, &mut to)?;
            }
            for node in state.list("transition_key")? {
                let part = match node.get("type")?.str()? {
                    "field" => {
                        let field = self.layout.field(&node.get("value")?)?;
                        KeyPart { name: field.name, slot: field.slot, bits: field.bits, how: Match::Exact, mask: None }
                    }
                    _ => {
                        let e = self.expression(&node, &[])?;
                        let slot = self.evaluated(&e, &node, &mut to)?;
                        KeyPart {
                            name: String::new(),
                            slot: Slot::Narrow(slot),
                            bits: e.bits,
                            how: Match::Exact,
                            mask: None,
                        }
                    }
                };
                if let Slot::Var(_) = part.slot {
                    return node.fail("a field of variable length has no value");
                }
                to.key.push(part);
            }
            for node in state.list("transitions")? {
                let next = node.find("next_state").map(|node| find(&node)).transpose()?;
                let kind = node.find("type").map_or(Ok("hexstr"), |node| node.str())?;
                if kind == "default" || node.find("value").is_some_and(|value| value.value == "default") {
                    to.otherwise = Some(next);
                    continue;
                }
                if kind != "hexstr" {
                    return node.get("type")?.expected("default or hexstr");
                }
                let value = cells(&to.key, &node.get("value")?)?;
                let mask = match node.find("mask") {
                    Some(mask) => cells(&to.key, &mask)?,
                    None => vec![u64::MAX; value.len()],
                };
                let cells = value.into_iter().zip(mask).map(|(value, mask)| [value & mask, mask]).collect();
                to.transitions.push((cells, next));
            }
            made.push(to);
        }
        let start = find(&node.get("init_state")?)?;
        Ok((made, start))
    }

    /// The slot of a value that a parser computes.
    fn evaluated(&mut self, e: &Expression, node: &Node, state: &mut ParserState) -> Result<u32> {
        let start = self.here();
        let slot = self.builder.value(e, node)?;
        self.run(start, state);
        Ok(slot)
    }

    /// Ends the code that began at `start`, if any was made, and lets a parser run it.
    fn run(&mut self, start: u32, state: &mut ParserState) {
        let lookaheads = self.builder.lookaheads.drain(..);
        state.ops.extend(lookaheads.map(|(to, offset, bits)| ParserOp::Lookahead { to, offset, bits }));
        if self.here() > start {
            self.builder.code.push(Op::End);
            state.ops.push(ParserOp::Run(start));
        }
    }

    fn parser_operation(&mut self, node: &Node, state: &mut ParserState) -> Result<()> {
        let op = node.get("op")?;
        let parameters = node.get("parameters")?.items()?;
        let Some(first) = parameters.first() else { return node.get("parameters")?.expected("a parameter") };
        match op.str()? {
            "extract" | "extract_VL" => {
                let kind = first.get("type")?;
                let varying = op.str()? == "extract_VL";
                match (kind.str()?, varying) {
                    ("stack", false) => state.ops.push(ParserOp::ExtractNext(self.layout.stack(&first.get("value")?)?)),
                    ("regular", _) => {
                        let header = self.layout.header(&first.get("value")?)?;
                        let has =
                            self.layout.headers[header as usize].fields.iter().any(|f| matches!(f.slot, Slot::Var(_)));
                        if has != varying {
                            return node
                                .fail("extract_VL is for a header with a field of variable length, and for no other");
                        }
                        if varying {
                            let [_, length] = node.get("parameters")?.tuple()?;
                            let e = self.expression(&length, &[])?;
                            let bits = self.evaluated(&e, &length, state)?;
                            state.ops.push(ParserOp::ExtractVarying { header, bits });
                        } else {
                            state.ops.push(ParserOp::Extract(header));
                        }
                    }
                    _ => return kind.expected("regular or stack"),
                }
            }
            "set" => {
                let [to, from] = node.get("parameters")?.tuple()?;
                let field = self.layout.field(&to.get("value")?)?;
                let e = self.expression(&from, &[])?;
                let start = self.here();
                self.builder.assign(&field, &e, node)?;
                self.run(start, state);
            }
            "verify" => {
                let [condition, error] = node.get("parameters")?.tuple()?;
                let (e, which) = (self.expression(&condition, &[])?, self.expression(&error, &[])?);
                let condition = self.evaluated(&e, &condition, state)?;
                let error = self.evaluated(&which, &error, state)?;
                state.ops.push(ParserOp::Verify { condition, error });
            }
            "advance" => {
                let e = self.expression(first, &[])?;
                let bits = self.evaluated(&e, first, state)?;
                state.ops.push(ParserOp::Advance(bits));
            }
            "shift" => {
                let bits = self.builder.constant(i128::from(first.int(1 << 16)? * 8));
                state.ops.push(ParserOp::Advance(bits));
            }
            "primitive" => {
                let start = self.here();
                let (mut jumps, mut exits) = (Vec::new(), Vec::new());
                self.primitive(first, &[], &mut jumps, &mut exits)?;
                if !jumps.is_empty() || !exits.is_empty() {
                    return first.fail("a parser neither jumps nor exits");
                }
                self.run(start, state);
            }
            _ => return op.expected("extract, extract_VL, set, verify, advance, shift or primitive"),
        }
        Ok(())
    }

    fn checksums(&mut self, root: &Node) -> Result<Vec<Checksum>> {
        let mut made = Vec::new();
        for node in root.list("checksums")? {
            let named = node.get("calculation")?;
            let Some(&calculation) = self.calculation_names.get(named.str()?) else {
                return named.expected("the name of a calculation");
            };
            let target = self.layout.field(&node.get("target")?)?;
            let condition = match node.find("if_cond") {
                Some(node) => {
                    let e = self.expression(&node, &[])?;
                    let start = self.here();
                    let slot = self.builder.value(&e, &node)?;
                    self.builder.code.push(Op::End);
                    Some((start, slot))
                }
                None => None,
            };
            let flag = |key| node.find(key).map_or(Ok(true), |node| node.bool());
            made.push(Checksum { calculation, target, condition, update: flag("update")?, verify: flag("verify")? });
        }
        Ok(made)
    }

    /// Makes the code of a pipeline and returns where it begins.
    fn pipeline(&mut self, node: &Node<'a>) -> Result<u32> {
        let mut nodes: HashMap<&str, (bool, Node<'a>)> = HashMap::new();
        for table in node.list("tables")? {
            nodes.insert(table.name()?, (true, table));
        }
        for condition in node.list("conditionals")? {
            nodes.insert(condition.name()?, (false, condition));
        }
        if let Some(call) = node.list("action_calls")?.first() {
            return call.fail("action_calls are not supported: p4c writes none");
        }
        if let Some(profile) = node.list("action_profiles")?.first() {
            return profile.fail("action profiles are not supported");
        }
        let start = self.here();
        let mut open = Open { ends: Vec::new(), jumps: Vec::new(), waiting: Vec::new() };
        let mut places: HashMap<&'a str, u32> = HashMap::new();
        let mut next = node.find("init_table");
        loop {
            // A chain of nodes, each of which falls through to the next one.
            while let Some(link) = next.take() {
                let name = link.str()?;
                if let Some(&place) = places.get(name) {
                    self.builder.code.push(Op::Jump(place));
                    break;
                }
                let Some((is_table, at)) = nodes.get(name) else { return link.expected("a table or a condition") };
                places.insert(name, self.here());
                next =
                    if *is_table { self.table(at, &mut open)? } else { Some(self.condition(at, &mut open)?).flatten() };
                if next.is_none() {
                    open.ends.push(self.builder.code.len());
                    self.builder.code.push(Op::Jump(0));
                }
            }
            match open.waiting.pop() {
                Some(link) if places.contains_key(link.str()?) => {}
                Some(link) => next = Some(link),
                None => break,
            }
        }
        let end = self.here();
        self.builder.code.push(Op::End);
        for place in open.ends {
            self.builder.land(place, end);
        }
        for (place, name) in open.jumps {
            self.builder.land(place, places[name]);
        }
        Ok(if node.find("init_table").is_some() { start } else { end })
    }

    fn condition(&mut self, node: &Node<'a>, open: &mut Open<'a>) -> Result<Option<Node<'a>>> {
        let at = node.get("expression")?;
        let e = self.expression(&at, &[])?;
        let place = self.builder.jump_unless(&e, &at)?;
        open.leave(place, node.find("false_next"))?;
        Ok(node.find("true_next"))
    }

    /// Makes the code of a table, and returns what follows it in place.
    fn table(&mut self, node: &Node<'a>, open: &mut Open<'a>) -> Result<Option<Node<'a>>> {
        let name = node.name()?;
        let kind = node.find("type").map_or(Ok("simple"), |node| node.str())?;
        if kind != "simple" {
            return node.get("type")?.expected("simple: action profiles are not supported");
        }
        let mut actions = Vec::new();
        for id in node.get("action_ids")?.items()? {
            let Some(&action) = self.action_ids.get(&id.int(u64::MAX)?) else {
                return id.expected("the id of an action");
            };
            actions.push(action);
        }
        let next = node.get("next_tables")?;
        let by_hit = next.value.get("__HIT__").is_some() || next.value.get("__MISS__").is_some();
        let key = self.key(node)?;
        let (default, is_const) = match node.find("default_entry") {
            Some(entry) => {
                let chosen = self.chosen(&entry, &actions)?;
                (chosen, entry.find("action_const").map_or(Ok(false), |node| node.bool())?)
            }
            None => (Chosen { action: actions.len() as u32, arguments: Vec::new() }, false),
        };
        let names: Vec<String> = actions.iter().map(|&action| self.actions[action].name.clone()).collect();
        let after = |ordinal: usize, hit: bool| -> Option<Node<'a>> {
            if by_hit {
                return next.find(if hit { "__HIT__" } else { "__MISS__" });
            }
            names.get(ordinal).and_then(|name| next.find(name))
        };
        if key.is_empty() && is_const && (default.action as usize) < actions.len() {
            // Code that the compiler made a table of.
            let ordinal = default.action as usize;
            let parameters = self.actions[actions[ordinal]].parameters.clone();
            let mut at = 0;
            for parameter in &parameters {
                let limbs = parameter.bits.div_ceil(64) as usize;
                let number = Number { negative: false, limbs: default.arguments[at..at + limbs].to_vec() };
                at += limbs;
                self.builder.assign(parameter, &Expression::constant(number), node)?;
            }
            self.body(actions[ordinal], &mut open.ends)?;
            return Ok(after(ordinal, false));
        }
        let number = self.tables.len() as u32;
        self.builder.code.push(Op::Apply(number));
        let size = node.find("max_size").map_or(Ok(1024), |node| node.int(u64::MAX))?;
        let mut table = Table::new(name.to_owned(), key, size.max(1), default);
        table.counted = self.direct_counters.iter().any(|bound| bound == name);
        let entries = node.list("entries")?;
        table.size = table.size.max(entries.len() as u64);
        for entry in entries {
            let mut wanted = Vec::new();
            let parts = entry.get("match_key")?;
            let given = parts.items()?;
            if given.len() != table.key.len() {
                return parts.expected(&format!("{} parts", table.key.len()));
            }
            for (part, node) in table.key.iter().zip(&given) {
                wanted.push(read_wanted(part, node)?);
            }
            let chosen = self.chosen(&entry.get("action_entry")?, &actions)?;
            let priority = entry.find("priority").map_or(Ok(0), |node| node.int(u64::MAX))?;
            table.add(&wanted, priority, chosen).or_else(|problem| entry.fail(problem))?;
        }
        let immutable = node.find("entries").is_some();
        self.tables.push(table);
        let mut starts = Vec::new();
        for (ordinal, &action) in actions.iter().enumerate() {
            starts.push(self.here());
            self.body(action, &mut open.ends)?;
            if by_hit {
                let place = self.builder.code.len();
                self.builder.code.push(Op::JumpIfZero { a: self.hit, to: 0 });
                open.leave(place, after(ordinal, false))?;
            }
            let place = self.builder.code.len();
            self.builder.code.push(Op::Jump(0));
            open.leave(place, after(ordinal, true))?;
        }
        starts.push(self.here());
        let parameters = actions.iter().map(|&action| self.actions[action].parameters.clone()).collect();
        let meter = self.meter_targets.get(name).copied();
        self.table_code.push(TableCode { starts, actions: names.clone(), parameters, meter, is_const: immutable });
        Ok(if by_hit { next.find("__MISS__") } else { node.find("base_default_next") })
    }

    fn key(&self, node: &Node) -> Result<Vec<KeyPart>> {
        let mut key = Vec::new();
        for part in node.list("key")? {
            let kind = part.get("match_type")?;
            let Some(how) = Match::parse(kind.str()?) else {
                return kind.expected("exact, lpm, ternary or range: action selectors are not supported");
            };
            let target = part.get("target")?;
            let field = if target.value.is_string() {
                let header = &self.layout.headers[self.layout.header(&target)? as usize];
                Field { name: header.name.clone(), slot: Slot::Narrow(header.valid), bits: 1, signed: false }
            } else {
                self.layout.field(&target)?
            };
            if let Slot::Var(_) = field.slot {
                return target.fail("a field of variable length has no value");
            }
            let limbs = field.bits.div_ceil(64) as usize;
            let mask = part.find("mask").map(|mask| Ok(mask.hex()?.two_complement(limbs))).transpose()?;
            let name = match part.find("name") {
                Some(name) => name.str()?.to_owned(),
                None => field.name.clone(),
            };
            key.push(KeyPart { name, slot: field.slot, bits: field.bits, how, mask });
        }
        Ok(key)
    }

    /// An action and its arguments.
    fn chosen(&self, node: &Node, actions: &[usize]) -> Result<Chosen> {
        let id = node.get("action_id")?;
        let number = self.action_ids.get(&id.int(u64::MAX)?);
        let Some(ordinal) = actions.iter().position(|action| Some(action) == number) else {
            return id.expected("the id of one of the table's actions");
        };
        let parameters = &self.actions[actions[ordinal]].parameters;
        let data = node.list("action_data")?;
        if data.len() != parameters.len() {
            return node.fail(format!("{} arguments: expected {}", data.len(), parameters.len()));
        }
        let mut arguments = Vec::new();
        for (parameter, value) in parameters.iter().zip(&data) {
            arguments.extend(value.hex()?.two_complement(parameter.bits.div_ceil(64) as usize));
        }
        Ok(Chosen { action: ordinal as u32, arguments })
    }
}

/// Jumps of a pipeline whose ends are not known yet.
struct Open<'a> {
    ends: Vec<usize>,
    jumps: Vec<(usize, &'a str)>,
    waiting: Vec<Node<'a>>,
}

impl<'a> Open<'a> {
    fn leave(&mut self, place: usize, next: Option<Node<'a>>) -> Result<()> {
        match next {
            None => self.ends.push(place),
            Some(link) => {
                self.jumps.push((place, link.str()?));
                self.waiting.push(link);
            }
        }
        Ok(())
    }
}

/// The limbs of a value of a parser's key: its fields one after the other, each padded to whole bytes.
fn cells(key: &[KeyPart], node: &Node) -> Result<Vec<u64>> {
    let number = node.hex()?;
    let bytes: u32 = key.iter().map(|part| part.bits.div_ceil(8)).sum();
    if number.negative || number.bits() > bytes * 8 {
        return node.expected(&format!("a number of {bytes} bytes"));
    }
    let limbs = number.two_complement((bytes as usize).div_ceil(8).max(1));
    let byte = |index: u32| (limbs[(index / 8) as usize] >> (index % 8 * 8)) as u8;
    let mut left = bytes;
    let mut cells = Vec::new();
    for part in key {
        let own = part.bits.div_ceil(8);
        let field: Vec<u8> = (left - own..left).rev().map(byte).collect();
        left -= own;
        cells.extend(Number::from_bytes(&field).two_complement(part.limbs()));
    }
    Ok(cells)
}

/// What an entry of the file says of one part of a key.
fn read_wanted(part: &KeyPart, node: &Node) -> Result<Wanted> {
    let value = |key| -> Result<Number> {
        let at = node.get(key)?;
        let number = if at.value.is_boolean() { Number::of(u64::from(at.bool()?)) } else { at.hex()? };
        if number.bits() > part.bits.div_ceil(8) * 8 {
            return at.expected(&format!("at most {} bits", part.bits));
        }
        Ok(number)
    };
    Ok(match part.how {
        Match::Exact => Wanted::Exact(value("key")?),
        Match::Lpm => Wanted::Prefix(value("key")?, node.get("prefix_length")?.int(u64::from(part.bits))? as u32),
        Match::Ternary => Wanted::Masked(value("key")?, value("mask")?),
        Match::Range => Wanted::Between(value("start")?, value("end")?),
    })
}

/// Whether an effect is a read of a header stack, and which one.
pub(crate) fn stack_read(effect: u32) -> Option<usize> {
    (effect & STACK_READ != 0).then_some((effect & !STACK_READ) as usize)
}
