//! Runs parser and deparser, with their checksums.

use super::running::Running;
use super::state::{State, set};
use crate::code::{keep, run};
use crate::layout::Slot;
use crate::packet::{Bits, Packet};
use crate::program::{ParserOp, Program};
use crate::table::matches;

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
    outgoing.clear();
    for &header in &program.deparser {
        let header = &program.layout.headers[header as usize];
        if packet.values.get(header.valid) != 0 {
            header.fields.iter().for_each(|field| outgoing.push_field(field, &packet.values));
        }
    }
    outgoing.push_bytes(&packet.bytes()[packet.parsed..]);
    outgoing.bytes.truncate(packet.cut_to);
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
        current.key.iter().for_each(|part| part.gather(&packet.values, &mut key));
        let found = current.transitions.iter().find(|(cells, _)| matches(&current.key, &key, cells));
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

/// Runs one operation of the parser. Returns `Some` if it ends the parser, with the error unless the program has set
/// one.
fn step(program: &Program, state: &mut State, packet: &mut Packet, op: &ParserOp) -> Option<Option<&'static str>> {
    const SHORT: Option<Option<&str>> = Some(Some("PacketTooShort"));
    match *op {
        ParserOp::Extract(header) => {
            let header = &program.layout.headers[header as usize];
            if packet.left() * 8 < header.fixed_bits as usize {
                return SHORT;
            }
            packet.extract(&header.fields, 0);
            packet.values.set(header.valid, 1);
        }
        ParserOp::ExtractVarying { header, bits } => {
            let header = &program.layout.headers[header as usize];
            let most =
                header.fields.iter().find(|field| matches!(field.slot, Slot::Var(_))).map_or(0, |field| field.bits);
            let bits = match u32::try_from(packet.values.get(bits)) {
                Ok(bits) if bits <= most => bits,
                _ => return Some(Some("HeaderTooShort")),
            };
            if bits % 8 != 0 {
                return Some(Some("ParserInvalidArgument"));
            }
            if packet.left() * 8 < (header.fixed_bits + bits) as usize {
                return SHORT;
            }
            packet.extract(&header.fields, bits);
            packet.values.set(header.valid, 1);
        }
        ParserOp::ExtractNext(stack) => {
            let stack = &program.layout.stacks[stack as usize];
            let next = packet.values.get(stack.next);
            let Some(&header) = stack.headers.get(next as usize) else { return Some(Some("StackOutOfBounds")) };
            let header = &program.layout.headers[header as usize];
            if packet.left() * 8 < header.fixed_bits as usize {
                return SHORT;
            }
            packet.extract(&header.fields, 0);
            packet.values.set(header.valid, 1);
            packet.values.set(stack.next, next + 1);
        }
        ParserOp::Lookahead { to, offset, bits } => {
            if packet.left() * 8 < (offset + bits) as usize {
                return SHORT;
            }
            let value = packet.read(offset as usize, bits);
            packet.values.set(to, value);
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
