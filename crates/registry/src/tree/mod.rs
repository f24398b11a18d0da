//! Trees from text: `[[scheduler.child]]` tables inside one another, or a policy.

mod classes;
mod rows;
#[cfg(test)]
mod tests;

use crate::library::{Library, inside, unknown_name};
use classes::{Classes, Taken};
use pifolab_params::{Component, Value, join};
use pifolab_sched::entry::BoxedRankFn;
use pifolab_sched::params::{self, Args, Param, ParamError};
use pifolab_sched::{Capacity, Parts, Ranked, Scheduler};
use pifolab_tree::{
    Charge, Classify, Discipline, DisciplineKind, Field, LeafScheduler, Node, Policy, TokenBucket, Tree,
    WALL_CLOCK_TICKS,
};
use pifolab_units::{Bytes, Ratio};
use rows::{
    ALPHA, CAPACITY_BYTES, CAPACITY_PACKETS, CHARGE, CHILD, CLASSES, CLASSIFY, DISCIPLINE, HIERARCHY, INNER, LABEL,
    LEAF_RANK, ORDER, POLICY, PRIORITY, QUANTUM, RANK, RATE, SHAPE, SHAPE_BURST, TAKES, WEIGHT,
};

pub use rows::CHILD_KEYS;
pub(crate) use rows::{INFO, LOOK, TRAITS};

/// Builds a tree.
pub(crate) fn build(mut args: Args, library: Library) -> Result<Tree, ParamError> {
    let field: Field = args.given(&CLASSIFY)?;
    let (node, owner) = read(args, library, Some(field))?;
    node.build_by(field).map_err(|error| owned(error, &owner))
}

/// Builds a tree in which `classify` names the leaf of each packet.
pub(crate) fn build_with(args: Args, classify: Box<Classify>, library: Library) -> Result<Tree, ParamError> {
    let (node, owner) = read(args, library, None)?;
    node.build_with(classify).map_err(|error| owned(error, &owner))
}

/// Which of the values below `end` each leaf takes, by its path: those of a tree of plain queues in the same places.
pub(crate) fn leaves(child: Value, classes: Value, end: u64) -> Result<Vec<(String, Vec<u64>)>, ParamError> {
    let mut args = Args::new(INFO.name);
    args.set(CHILD.name, child);
    args.set(CLASSES.name, classes);
    let mut classes = Classes::read(&mut args, false)?;
    let tree = plain(Node::inner(Discipline::Strict), &mut args, &mut classes)?.build_by(Field::Flow)?;
    let mut leaves: Vec<_> = (0..tree.leaves()).map(|leaf| (tree.leaf_path(leaf), Vec::new())).collect();
    for value in 0..end {
        if let Some(leaf) = tree.leaf_that_takes(value) {
            leaves[leaf].1.push(value);
        }
    }
    Ok(leaves)
}

/// The node with its children, of which only the names and what they take are read.
fn plain(mut node: Node, args: &mut Args, classes: &mut Classes) -> Result<Node, ParamError> {
    for Component { name, mut args } in args.components(&CHILD)? {
        let mut child = if name == INFO.name {
            plain(Node::inner(Discipline::Strict), &mut args, classes)?
        } else {
            let takes = args.value(&TAKES)?.map(|value| classes.taken(&name, &value)).transpose()?;
            taking(Node::fifo(), takes)
        };
        if let Some(label) = args.get::<String>(&LABEL)? {
            child = child.label(label);
        }
        node = node.child(child);
    }
    Ok(node)
}

/// The library calls the root "tree"; a text may call it otherwise.
fn owned(error: ParamError, owner: &str) -> ParamError {
    let inside = error.owner.strip_prefix(INFO.name).unwrap_or(&error.owner);
    ParamError { owner: format!("{owner}{inside}"), ..error }
}

/// What the reading of every node needs.
struct Reading {
    classes: Classes,
    /// Whether a function sorts packets, so that no leaf says what it takes.
    by_function: bool,
    library: Library,
}

/// The nodes, and what errors call the tree. Without a field a function sorts packets.
fn read(mut args: Args, library: Library, field: Option<Field>) -> Result<(Node, String), ParamError> {
    let owner = args.owner().to_owned();
    let classes = Classes::read(&mut args, field.is_some_and(Field::is_host))?;
    let mut reading = Reading { classes, by_function: field.is_none(), library };
    for param in CHILD_KEYS.iter().filter(|param| INFO.param(param.name).is_none()) {
        refuse_given(&mut args, param, "this key belongs to a child: the root has no parent")?;
    }
    let charge: Charge = args.given(&CHARGE)?;
    refuse_given(&mut args, &HIERARCHY, "write the tree with child, or in one line as policy (docs/trees.md)")?;
    let node = match args.get::<String>(&POLICY)? {
        Some(policy) => of_policy(&policy, &mut args, &mut reading.classes)?,
        None => inner(&mut args, &mut reading)?,
    };
    args.finish(INFO.params)?;
    match reading.classes.idle() {
        Some(class) => {
            let expected = format!("no leaf takes class {class}: expected each class to be taken by a leaf");
            Err(CLASSES.error_because(&owner, format!("{class:?}"), expected))
        }
        None => Ok((node.charge(charge), owner)),
    }
}

fn missing(args: &Args, param: &Param, expected: &str) -> ParamError {
    ParamError {
        owner: args.owner().to_owned(),
        key: param.name.to_owned(),
        value: None,
        expected: expected.to_owned(),
    }
}

/// Refuses a key that was set where nothing reads it.
fn refuse_given(args: &mut Args, param: &Param, problem: &str) -> Result<(), ParamError> {
    if !args.contains(param) {
        return Ok(());
    }
    let value = args.value(param)?.map(|value| value.to_string()).unwrap_or_default();
    Err(param.error_because(args.owner(), value, problem))
}

fn of_policy(text: &str, args: &mut Args, classes: &mut Classes) -> Result<Node, ParamError> {
    let shown = format!("{text:?}");
    let policy = Policy::parse(text)
        .map_err(|error| POLICY.error_because(args.owner(), &shown, format!("{}: {}", error.place, error.problem)))?;
    let mut taken = Vec::new();
    for class in policy.classes() {
        let values = classes.values_of(class).ok_or_else(|| {
            let expected = format!("fifo[{class}]: expected {}", classes.expected());
            POLICY.error_because(args.owner(), &shown, expected)
        })?;
        taken.push(values);
    }
    let rate = if policy.has_wall_clock() { wall_clock_rate(args)? } else { Ratio::ONE };
    let mut taken = taken.into_iter();
    Ok(Node::of_policy(&policy, rate, WALL_CLOCK_TICKS)
        .each_leaf(&mut |leaf| leaf.takes(taken.next().unwrap_or_default())))
}

/// The picoseconds of a byte at weight 1.
fn wall_clock_rate(args: &mut Args) -> Result<Ratio, ParamError> {
    let rate = params::read_gbps(args, &RATE)?.ok_or_else(|| missing(args, &RATE, "expected the rate of weight 1"))?;
    Ratio::new(8_000_000_000_000, rate.as_bps()).ok_or_else(|| {
        let expected = "expected a rate whose time for a byte is a fraction of 32-bit numbers of picoseconds";
        RATE.error_because(args.owner(), rate, expected)
    })
}

/// Nodes that may be written inside one another.
const DEPTH: usize = 256;

/// An inner node from its keys.
fn inner(args: &mut Args, reading: &mut Reading) -> Result<Node, ParamError> {
    // Neither names nor labels have points.
    if args.owner().matches('.').count() >= DEPTH {
        return Err(missing(args, &CHILD, &format!("expected at most {DEPTH} nodes inside one another")));
    }
    refuse_given(args, &POLICY, "only a whole tree is written as a text: give this node's children with child")?;
    let rule = args.get::<DisciplineKind>(&DISCIPLINE)?.unwrap_or(DisciplineKind::Strict);
    let discipline = match rule {
        DisciplineKind::Strict => Discipline::Strict,
        DisciplineKind::RoundRobin => Discipline::RoundRobin,
        DisciplineKind::Stfq => Discipline::Stfq,
        DisciplineKind::Drr => Discipline::Drr { quantum_bytes: args.given(&QUANTUM)? },
        DisciplineKind::WallClock => {
            // An order keeps ranks, which cannot be set back there: coarser ones last longer.
            let ticks_per_ps = if args.contains(&ORDER) { 1 } else { WALL_CLOCK_TICKS };
            Discipline::WallClock { ps_per_byte: wall_clock_rate(args)?, ticks_per_ps }
        }
        DisciplineKind::Ranked => {
            let function = rank_function(args, &RANK, reading)?;
            Discipline::Ranked(
                function.ok_or_else(|| missing(args, &RANK, "expected a rank function: { name = \"stfq\" }"))?,
            )
        }
    };
    let mut node = Node::inner(discipline);
    if let Some(order) = args.component(&ORDER)? {
        node = ordered(node, order, reading)?;
    }
    if let Some(bytes) = args.get::<u64>(&CAPACITY_BYTES)? {
        node = node.capacity(Capacity::Bytes(bytes));
    } else if let Some(packets) = args.get::<u32>(&CAPACITY_PACKETS)? {
        node = node.capacity(Capacity::Packets(packets));
    }
    if args.contains(&CAPACITY_BYTES) || args.contains(&CAPACITY_PACKETS) {
        node = ratio(args, &ALPHA)?.into_iter().fold(node, Node::alpha);
    }
    let emptied = matches!(args.value(&CHILD)?, Some(Value::List(values)) if values.is_empty());
    let children = if emptied { Vec::new() } else { args.components(&CHILD)? };
    if children.is_empty() {
        let is_root = !args.owner().contains('.');
        let expected = if is_root { "expected at least one child, or policy" } else { "expected at least one child" };
        return Err(missing(args, &CHILD, expected));
    }
    for (position, component) in children.into_iter().enumerate() {
        node = node.child(child(component, position, args.owner(), rule, reading)?);
    }
    Ok(node)
}

/// A number above 0. Of one that is too large or has too many digits the message says so.
fn ratio(args: &mut Args, param: &Param) -> Result<Option<Ratio>, ParamError> {
    args.get::<Ratio>(param).map_err(|error| match args.get::<f64>(param) {
        Ok(Some(_)) => ParamError { expected: format!("{}, {PARTS}", error.expected), ..error },
        _ => error,
    })
}

const PARTS: &str = "which is a fraction of integers up to 4294967295, such as 3, 0.25 or \"2/3\"";

/// The rank function that `param` names.
fn rank_function(args: &mut Args, param: &Param, reading: &Reading) -> Result<Option<BoxedRankFn>, ParamError> {
    let Some(Component { name, args }) = args.component(param)? else { return Ok(None) };
    let build = (reading.library.rank)(&name).map_err(|problem| unknown_name(args.owner(), &name, problem))?;
    build(args).map(Some)
}

/// The node with what keeps the indices of its children.
fn ordered(node: Node, Component { name, args }: Component, reading: &Reading) -> Result<Node, ParamError> {
    let owner = args.owner().to_owned();
    let part = (reading.library.scheduler)(&name).map_err(|problem| unknown_name(&owner, &name, problem))?;
    let made = (part.read)(args).map_err(|error| inside(error, &owner))?;
    // The plain text, whatever the form: an index may leave from the middle of a queue, which a twin's accounts would miss.
    match made.parts(pifolab_fast::Form::Plain) {
        Parts::Decider(decider, capacities) => Ok(node.ordered_by(decider, capacities)),
        _ => Ok(node.ordered_by_scheduler(made.scheduler(reading.library.form))),
    }
}

fn child(
    component: Component,
    position: usize,
    parent: &str,
    rule: DisciplineKind,
    reading: &mut Reading,
) -> Result<Node, ParamError> {
    let Component { name, mut args } = component;
    args = args.owned_by(join(parent, &position.to_string()));
    let label: Option<String> = args.get(&LABEL)?;
    if let Some(label) = label.as_deref().filter(|label| label.is_empty() || label.contains(['.', '/'])) {
        return Err(LABEL.error_because(args.owner(), format!("{label:?}"), "expected a text without '.' and '/'"));
    }
    if let Some(label) = &label {
        args = args.owned_by(join(parent, label));
    }
    let weight = ratio(&mut args, &WEIGHT)?.unwrap_or(Ratio::ONE);
    let priority: i64 = args.given(&PRIORITY)?;
    for (param, counts) in [(&WEIGHT, rule.weighs()), (&PRIORITY, rule == DisciplineKind::Strict)] {
        if !counts {
            let problem = format!("this key has no effect below a node of discipline {}: remove it", rule.word());
            refuse_given(&mut args, param, &problem)?;
        }
    }
    let bucket = match params::read_gbps(&mut args, &SHAPE)? {
        Some(rate) => Some(TokenBucket { rate, burst: Bytes(args.given(&SHAPE_BURST)?) }),
        None => {
            refuse_given(&mut args, &SHAPE_BURST, "this key has no effect without shape_gbps: remove it")?;
            None
        }
    };
    let mut node = if name == INFO.name {
        refuse_given(&mut args, &CHARGE, "the whole tree charges in one way: give this key to its root")?;
        let node = inner(&mut args, reading)?;
        args.finish(INNER)?;
        node
    } else {
        leaf(&name, args, reading)?
    };
    node = if let Some(label) = label { node.label(label) } else { node };
    node = if let Some(bucket) = bucket { node.shaped(bucket) } else { node };
    Ok(node.weight_of(weight).priority(priority))
}

fn leaf(name: &str, mut args: Args, reading: &mut Reading) -> Result<Node, ParamError> {
    let path = args.owner().to_owned();
    let part = (reading.library.scheduler)(name).map_err(|problem| unknown_name(&path, name, problem))?;
    if let Some(value) = args.value(&TAKES)?.filter(|_| reading.by_function) {
        let expected = "this key has no effect, since a function sorts packets into leaves: remove it";
        return Err(TAKES.error_because(&path, value, expected));
    }
    let takes = args.value(&TAKES)?.map(|value| reading.classes.taken(&path, &value)).transpose()?;
    let rank = rank_function(&mut args, &LEAF_RANK, reading)?;
    args.refuse_unknown(&[part.params, CHILD_KEYS])?;
    let scheduler: LeafScheduler =
        match ((part.read)(args).map_err(|error| inside(error, &path))?.scheduler(reading.library.form), rank) {
            (scheduler, None) => scheduler.into(),
            (scheduler, Some(rank)) => (Box::new(Ranked::new(rank, scheduler)) as Box<dyn Scheduler + Send>).into(),
        };
    Ok(taking(Node::leaf(scheduler), takes))
}

/// The leaf with what it takes.
fn taking(leaf: Node, takes: Option<Taken>) -> Node {
    match takes {
        Some(Taken::Rest) => leaf.takes_the_rest(),
        Some(Taken::Values(values)) => leaf.takes(values),
        None => leaf,
    }
}
