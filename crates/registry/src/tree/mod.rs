//! Trees from text: `[[scheduler.child]]` tables inside one another, or a policy.

mod classes;
mod rows;
#[cfg(test)]
mod tests;

use crate::library::{Library, made, made_rank};
use crate::made::{ACCEPTED, Made, Make};
use classes::{Classes, Taken};
use pifolab_fast::Form;
use pifolab_params::{Component, Value, join};
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{self, Args, Param, ParamError};
use pifolab_sched::{Capacity, Parts, Ranked};
use pifolab_tree::{
    Charge, Classify, Discipline, DisciplineKind, Field, Node, Policy, TokenBucket, Tree, WALL_CLOCK_TICKS,
};
use pifolab_units::{Bytes, Ratio};
use rows::{
    ALPHA, CAPACITY_BYTES, CAPACITY_PACKETS, CHARGE, CHILD, CLASSES, CLASSIFY, DISCIPLINE, HIERARCHY, INNER, LABEL,
    LEAF_RANK, ORDER, POLICY, PRIORITY, QUANTUM, RANK, RATE, SHAPE, SHAPE_BURST, TAKES, WEIGHT,
};
use std::any::Any;

pub use rows::CHILD_KEYS;
pub(crate) use rows::{INFO, LOOK, TRAITS};

/// Makes a node and its subtree from checked arguments.
type Plant = Box<dyn Fn(Form) -> Node + Send + Sync>;

/// A tree with checked arguments.
struct Planted {
    root: Plant,
    field: Field,
}

impl Make for Planted {
    fn params(&self) -> &dyn Any {
        self
    }

    fn scheduler(&self, form: Form) -> BoxedScheduler {
        Box::new((self.root)(form).build_by(self.field).expect(ACCEPTED))
    }
}

/// Reads a tree.
pub(crate) fn read(mut args: Args, library: Library) -> Result<Made, ParamError> {
    let field: Field = args.given(&CLASSIFY)?;
    let (root, owner) = read_root(args, library, Some(field))?;
    root(Form::Twins).build_by(field).map_err(|error| owned(error, &owner))?;
    Ok(Made::new(Planted { root, field }))
}

/// Builds a tree in which `classify` returns the leaf of each packet.
pub(crate) fn build_with(args: Args, library: Library, classify: Box<Classify>) -> Result<Tree, ParamError> {
    let (root, owner) = read_root(args, library, None)?;
    root(crate::made::usual_form()).build_with(classify).map_err(|error| owned(error, &owner))
}

/// The values below `end` that each leaf takes, by its path, computed on a tree with plain queues as leaves.
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

/// Adds its children to the node, reading only their labels and `takes`.
fn plain(mut node: Node, args: &mut Args, classes: &mut Classes) -> Result<Node, ParamError> {
    for Component { name, mut args } in args.components(&CHILD)? {
        let mut child = if name == INFO.name {
            plain(Node::inner(Discipline::Strict), &mut args, classes)?
        } else {
            let takes = args.value(&TAKES)?.map(|value| classes.taken(&name, &value)).transpose()?;
            taking(Node::fifo(), takes.as_ref())
        };
        if let Some(label) = args.get::<String>(&LABEL)? {
            child = child.label(label);
        }
        node = node.child(child);
    }
    Ok(node)
}

/// The library calls the root "tree"; in text it may have another name.
fn owned(error: ParamError, owner: &str) -> ParamError {
    let inside = error.owner.strip_prefix(INFO.name).unwrap_or(&error.owner);
    ParamError { owner: format!("{owner}{inside}"), ..error }
}

/// The context for reading every node.
struct Reading {
    library: Library,
    classes: Classes,
    /// Whether a function classifies packets, so that leaves have no `takes`.
    by_function: bool,
}

/// The root, and the name of the tree in errors. Without a field, a function classifies packets.
fn read_root(mut args: Args, library: Library, field: Option<Field>) -> Result<(Plant, String), ParamError> {
    let owner = args.owner().to_owned();
    let classes = Classes::read(&mut args, field.is_some_and(Field::is_host))?;
    let mut reading = Reading { library, classes, by_function: field.is_none() };
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
        None => Ok((Box::new(move |form| node(form).charge(charge)), owner)),
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

/// Refuses a key that has no effect here.
fn refuse_given(args: &mut Args, param: &Param, problem: &str) -> Result<(), ParamError> {
    if !args.contains(param) {
        return Ok(());
    }
    let value = args.value(param)?.map(|value| value.to_string()).unwrap_or_default();
    Err(param.error_because(args.owner(), value, problem))
}

fn of_policy(text: &str, args: &mut Args, classes: &mut Classes) -> Result<Plant, ParamError> {
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
    Ok(Box::new(move |_| {
        let mut taken = taken.iter().cloned();
        Node::of_policy(&policy, rate, WALL_CLOCK_TICKS).each_leaf(&mut |leaf| leaf.takes(taken.next()))
    }))
}

/// The picoseconds of a byte at weight 1.
fn wall_clock_rate(args: &mut Args) -> Result<Ratio, ParamError> {
    let rate = params::read_gbps(args, &RATE)?.ok_or_else(|| missing(args, &RATE, "expected the rate of weight 1"))?;
    Ratio::new(8_000_000_000_000, rate.as_bps()).ok_or_else(|| {
        let expected = "expected a rate whose time for a byte is a fraction of 32-bit numbers of picoseconds";
        RATE.error_because(args.owner(), rate, expected)
    })
}

/// The largest depth of nested nodes.
const DEPTH: usize = 256;

/// An inner node from its keys.
fn inner(args: &mut Args, reading: &mut Reading) -> Result<Plant, ParamError> {
    // The number of points is the depth, since neither names nor labels have points.
    if args.owner().matches('.').count() >= DEPTH {
        return Err(missing(args, &CHILD, &format!("expected at most {DEPTH} nodes inside one another")));
    }
    refuse_given(args, &POLICY, "only a whole tree is written as a text: give this node's children with child")?;
    let rule = args.usual(&DISCIPLINE)?;
    let discipline: Box<dyn Fn() -> Discipline + Send + Sync> = match rule {
        DisciplineKind::Strict => Box::new(|| Discipline::Strict),
        DisciplineKind::RoundRobin => Box::new(|| Discipline::RoundRobin),
        DisciplineKind::Stfq => Box::new(|| Discipline::Stfq),
        DisciplineKind::Drr => {
            let quantum_bytes = args.given(&QUANTUM)?;
            Box::new(move || Discipline::Drr { quantum_bytes })
        }
        DisciplineKind::WallClock => {
            // An order stores ranks, which cannot be rebased there: with coarser ranks they run out later.
            let ticks_per_ps = if args.contains(&ORDER) { 1 } else { WALL_CLOCK_TICKS };
            let ps_per_byte = wall_clock_rate(args)?;
            Box::new(move || Discipline::WallClock { ps_per_byte, ticks_per_ps })
        }
        DisciplineKind::Ranked => {
            let function = args
                .component(&RANK)?
                .map(made_rank)
                .transpose()?
                .ok_or_else(|| missing(args, &RANK, "expected a rank function: { name = \"stfq\" }"))?;
            Box::new(move || Discipline::Ranked(function.rank_fn()))
        }
    };
    let order = args.component(&ORDER)?.map(|order| reading.library.made(order)).transpose()?;
    let capacity = match args.get(&CAPACITY_BYTES)? {
        Some(bytes) => Some(Capacity::Bytes(bytes)),
        None => args.get(&CAPACITY_PACKETS)?.map(Capacity::Packets),
    };
    let alpha = if capacity.is_some() { ratio(args, &ALPHA)? } else { None };
    let emptied = matches!(args.value(&CHILD)?, Some(Value::List(values)) if values.is_empty());
    let children = if emptied { Vec::new() } else { args.components(&CHILD)? };
    if children.is_empty() {
        let is_root = !args.owner().contains('.');
        let expected = if is_root { "expected at least one child, or policy" } else { "expected at least one child" };
        return Err(missing(args, &CHILD, expected));
    }
    let child = |(position, component)| child(component, position, args.owner(), rule, reading);
    let children = children.into_iter().enumerate().map(child).collect::<Result<Vec<Plant>, _>>()?;
    Ok(Box::new(move |form| {
        let node = Node::inner(discipline());
        let node = if let Some(order) = &order { ordered(node, order, form) } else { node };
        let node = capacity.into_iter().fold(node, Node::capacity);
        let node = alpha.into_iter().fold(node, Node::alpha);
        children.iter().fold(node, |node, child| node.child(child(form)))
    }))
}

/// A number above 0. The message for a number that is too large or has too many digits says which.
fn ratio(args: &mut Args, param: &Param) -> Result<Option<Ratio>, ParamError> {
    args.get::<Ratio>(param).map_err(|error| match args.get::<f64>(param) {
        Ok(Some(_)) => ParamError { expected: format!("{}, {PARTS}", error.expected), ..error },
        _ => error,
    })
}

const PARTS: &str = "which is a fraction of integers up to 4294967295, such as 3, 0.25 or \"2/3\"";

/// Gives the node the container that orders its children.
fn ordered(node: Node, order: &Made, form: Form) -> Node {
    // Always the plain text: an index may leave from the middle of a queue, which the accounts of a twin would miss.
    match order.parts(Form::Plain) {
        Parts::Decider(decider, capacities) => node.ordered_by(decider, capacities),
        _ => node.ordered_by_scheduler(order.scheduler(form)),
    }
}

fn child(
    component: Component,
    position: usize,
    parent: &str,
    rule: DisciplineKind,
    reading: &mut Reading,
) -> Result<Plant, ParamError> {
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
    let node = if name == INFO.name {
        refuse_given(&mut args, &CHARGE, "the whole tree charges in one way: give this key to its root")?;
        let node = inner(&mut args, reading)?;
        args.finish(INNER)?;
        node
    } else {
        leaf(&name, args, reading)?
    };
    Ok(Box::new(move |form| {
        let node = node(form).weight_of(weight).priority(priority);
        let node = label.iter().fold(node, Node::label);
        bucket.into_iter().fold(node, Node::shaped)
    }))
}

fn leaf(name: &str, mut args: Args, reading: &mut Reading) -> Result<Plant, ParamError> {
    let path = args.owner().to_owned();
    let row = reading.library.row(name, &path)?;
    if let Some(value) = args.value(&TAKES)?.filter(|_| reading.by_function) {
        let expected = "this key has no effect, since a function sorts packets into leaves: remove it";
        return Err(TAKES.error_because(&path, value, expected));
    }
    let takes = args.value(&TAKES)?.map(|value| reading.classes.taken(&path, &value)).transpose()?;
    let rank = args.component(&LEAF_RANK)?.map(made_rank).transpose()?;
    args.refuse_unknown(&[row.info.params, CHILD_KEYS])?;
    let made = made(row, args)?;
    Ok(Box::new(move |form| {
        let scheduler = made.scheduler(form);
        let scheduler: BoxedScheduler = match &rank {
            None => scheduler,
            Some(rank) => Box::new(Ranked::new(rank.rank_fn(), scheduler)),
        };
        taking(Node::leaf(scheduler), takes.as_ref())
    }))
}

/// Sets the packets that the leaf takes.
fn taking(leaf: Node, takes: Option<&Taken>) -> Node {
    match takes {
        Some(Taken::Rest) => leaf.takes_the_rest(),
        Some(Taken::Values(values)) => leaf.takes(values.iter().cloned()),
        None => leaf,
    }
}
