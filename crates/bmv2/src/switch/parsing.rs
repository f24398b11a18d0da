//! Runs parser and deparser, with their checksums.

use super::running::Running;
use super::state::{State, make_valid, set};
use crate::code::{keep, run};
use crate::layout::Slot;
use crate::packet::{Bits, Packet};
use crate::program::{ParserOp, Program, Taken};

/// The most states of a parser for one packet.
const STATES: u32 = 4096;

/// Runs the parser over a packet's bytes.
pub(super) fn parse(program: &Program, state: &mut State, packet: &mut Packet, now_ns: u64) {
    let intrinsic = &program.intrinsic;
    let values = &mut packet.values;
    set(values, intrinsic.ingress_port, keep(packet.ingress_port.into(), 9));
    set(values, intrinsic.packet_length, packet.stated_length);
    set(values, intrinsic.instance_type, packet.instance_type);
    set(values, intrinsic.ingress_time, keep(i128::from(now_ns / 1000), 48));
    state.start(now_ns, packet, !program.calculations.is_empty());
    if let Some(error) = pass_states(program, state, packet) {
        set(&mut packet.values, intrinsic.parser_error, program.error(error));
    }
    for checksum in program.checksums.iter().filter(|checksum| checksum.verify) {
        if state.holds(program, packet, checksum.condition) {
            let Slot::Narrow(slot) = checksum.target.slot else { continue };
            let computed = state.calculate(program, packet, checksum.calculation);
            if keep(i128::from(computed), checksum.target.bits as u8) != packet.values.get(slot) {
                set(&mut packet.values, intrinsic.checksum_error, 1);
            }
        }
    }
}

/// Writes the bytes of a departing packet to `outgoing`.
pub(super) fn deparse(program: &Program, state: &mut State, packet: &mut Packet, outgoing: &mut Bits) {
    for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
        if state.holds(program, packet, checksum.condition) {
            let Slot::Narrow(slot) = checksum.target.slot else { continue };
            let computed = state.calculate(program, packet, checksum.calculation);
            packet.values.set(slot, keep(i128::from(computed), checksum.target.bits as u8));
        }
    }
    if let Some(start) = program.deparsing {
        run(&program.code, &program.wide_ops, start, &mut packet.values, &mut Running { program, state });
    }
    outgoing.clear();
    for &header in &program.deparser {
        let header = &program.layout.headers[header as usize];
        if packet.values.get(header.valid) != 0 {
            header.fields.iter().for_each(|field| outgoing.push_field(field, &packet.values));
        }
    }
    outgoing.push_bytes(&packet.bytes()[packet.parsed..]);
    outgoing.finish().truncate(packet.cut_to);
}

impl State {
    /// Prepares for a packet's code. Calculations may need its payload.
    pub(super) fn start(&mut self, now_ns: u64, packet: &Packet, payload: bool) {
        self.now_ns = now_ns;
        self.length = u64::from(packet.stated_length);
        self.cut_to = usize::MAX;
        if payload {
            self.packet_bytes.clear();
            self.packet_bytes.extend_from_slice(packet.bytes());
            self.payload = packet.parsed;
        }
    }

    fn holds(&mut self, program: &Program, packet: &mut Packet, condition: Option<(u32, u32)>) -> bool {
        let Some((start, slot)) = condition else { return true };
        run(&program.code, &program.wide_ops, start, &mut packet.values, &mut Running { program, state: self });
        packet.values.get(slot) != 0
    }

    fn calculate(&mut self, program: &Program, packet: &Packet, calculation: u32) -> u64 {
        let payload = &packet.bytes()[packet.parsed..];
        program.calculations[calculation as usize].of(&program.layout.headers, &packet.values, payload, &mut self.bits)
    }
}

/// Runs the parser; returns the error that ended it, if any.
fn pass_states(program: &Program, state: &mut State, packet: &mut Packet) -> Option<&'static str> {
    let mut at = program.parser_start;
    let mut key = std::mem::take(&mut state.bits.words);
    let mut error = None;
    'states: for _ in 0..STATES {
        let current = &program.parser[at as usize];
        for op in &current.ops {
            if let Some(found) = step(program, state, packet, op) {
                error = found;
                break 'states;
            }
        }
        key.clear();
        current.key.gather(&packet.values, &mut key);
        let found = current.transitions.iter().find(|(taken, _)| match taken {
            Taken::Cells(cells) => current.key.matches(&key, cells),
            Taken::Set(set) => state.sets[*set as usize].iter().any(|cells| current.key.matches(&key, cells)),
        });
        match found.map(|(_, next)| *next).or(current.otherwise) {
            Some(Some(next)) => at = next,
            Some(None) => break,
            None => {
                error = Some("NoMatch");
                break;
            }
        }
    }
    state.bits.words = key;
    error
}

/// The outcome of an operation of the parser; see [`step`].
type Ended = Option<Option<&'static str>>;

const SHORT: Ended = Some(Some("PacketTooShort"));

/// Extracts a header; the slot `bits` has the number of bits of its field of variable length, if it has one.
fn extract(program: &Program, packet: &mut Packet, header: u32, bits: Option<u32>) -> Ended {
    let header = &program.layout.headers[header as usize];
    let mut varying = 0;
    if let Some(bits) = bits {
        let asked = packet.values.get(bits);
        if asked % 8 != 0 {
            return Some(Some("ParserInvalidArgument"));
        }
        let most = header.fields.iter().find(|field| matches!(field.slot, Slot::Var(_))).map_or(0, |field| field.bits);
        let left = (packet.left() * 8) as i128 - i128::from(header.fixed_bits);
        varying = match u32::try_from(asked) {
            Ok(bits) if asked <= left && bits <= most => bits,
            _ if asked > left => return SHORT,
            _ => return Some(Some("HeaderTooShort")),
        };
    }
    if packet.left() * 8 < (header.fixed_bits + varying) as usize {
        return SHORT;
    }
    packet.extract(&header.fields, varying);
    make_valid(header, &mut packet.values);
    None
}

/// Extracts the next element of a stack.
fn extract_next(program: &Program, packet: &mut Packet, stack: u32, bits: Option<u32>) -> Ended {
    let stack = &program.layout.stacks[stack as usize];
    let next = packet.values.get(stack.next);
    let Some(&header) = stack.headers.get(next as usize) else { return Some(Some("StackOutOfBounds")) };
    let ended = extract(program, packet, header, bits);
    if ended.is_none() {
        packet.values.set(stack.next, next + 1);
    }
    ended
}

/// Runs one operation of the parser. Returns `Some` if it ends the parser, with the error unless the program has set
/// one.
fn step(program: &Program, state: &mut State, packet: &mut Packet, op: &ParserOp) -> Ended {
    match *op {
        ParserOp::Extract(header) => return extract(program, packet, header, None),
        ParserOp::ExtractVarying { header, bits } => return extract(program, packet, header, Some(bits)),
        ParserOp::ExtractNext(stack) => return extract_next(program, packet, stack, None),
        ParserOp::ExtractNextVarying { stack, bits } => return extract_next(program, packet, stack, Some(bits)),
        ParserOp::Lookahead { to, offset, bits } => {
            if packet.left() * 8 < (offset + bits) as usize {
                return SHORT;
            }
            packet.read_to(to, offset as usize, bits);
        }
        ParserOp::Run(start) => {
            run(&program.code, &program.wide_ops, start, &mut packet.values, &mut Running { program, state });
        }
        ParserOp::Verify { condition, error } => {
            if packet.values.get(condition) == 0 {
                let error = packet.values.get(error);
                set(&mut packet.values, program.intrinsic.parser_error, error);
                return Some(None);
            }
        }
        ParserOp::Advance(bits) => {
            let bits = packet.values.get(bits);
            if bits % 8 != 0 {
                return Some(Some("ParserInvalidArgument"));
            }
            match usize::try_from(bits / 8) {
                Ok(bytes) if bytes <= packet.left() => packet.parsed += bytes,
                _ => return SHORT,
            }
        }
    }
    None
}
