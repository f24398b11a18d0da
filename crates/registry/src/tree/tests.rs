use crate::find_scheduler;
use pifolab_params::{Place, Table, Value};
use pifolab_sched::params::Args;
use pifolab_sched::{Dequeued, Inspect, Packet, Scheduler};
use pifolab_units::{Rank, Time};

fn table(name: &str, keys: &[(&str, Value)]) -> Table {
    let mut table = Table::of("child", Place::File, "name", Value::Text(name.to_owned()));
    for (key, value) in keys {
        table.put(key, Place::File, value.clone());
    }
    table
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn args(keys: &[(&str, Value)]) -> Args {
    let mut args = Args::new("tree");
    for (key, value) in keys {
        args.set(*key, value.clone());
    }
    args
}

fn order(args: Args, offers: &[(u32, u32)]) -> Vec<u32> {
    let mut tree = find_scheduler("tree").unwrap().build(args).unwrap();
    for (id, (flow, rank)) in (0..).zip(offers) {
        let packet = Packet { id, flow: *flow, size: 1_500, rank: Rank::from(*rank), arrival: Time::ZERO };
        assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
    }
    let mut order = Vec::new();
    while let Dequeued::Packet { packet, .. } = tree.dequeue(Time::ZERO) {
        order.push(packet.flow);
    }
    order
}

#[test]
fn nested_children_become_a_tree() {
    let tenants = Value::Tables(vec![
        table("pifo", &[("takes", Value::Integer(1)), ("weight", Value::Integer(2)), ("label", text("a"))]),
        table("fifo", &[("takes", text("rest"))]),
    ]);
    let children = Value::Tables(vec![
        table("tree", &[("discipline", text("stfq")), ("child", tenants), ("priority", Value::Integer(1))]),
        table("fifo", &[("takes", Value::List(vec![Value::Integer(0), text("10-19")]))]),
    ]);
    let args = args(&[("child", children)]);
    let offers = [(1, 9), (1, 8), (1, 7), (1, 6), (5, 0), (5, 0), (12, 0), (0, 0)];
    assert_eq!(order(args.clone(), &offers), [12, 0, 1, 5, 1, 1, 5, 1]);
    let tree = find_scheduler("tree").unwrap().build(args).unwrap();
    assert_eq!(tree.queues(), 3);
}

#[test]
fn a_policy_is_a_tree_in_one_line() {
    let policy = args(&[("policy", text("strict[(fifo[7], 1), (rr[fifo[0], fifo[1-3]], 2)]"))]);
    assert_eq!(order(policy, &[(0, 0), (0, 0), (2, 0), (7, 0), (3, 0)]), [7, 0, 2, 0, 3]);
    // The name of a class may equal the positional name of a node beside it.
    let numbers = || args(&[("policy", text("strict[(rr[fifo[1], fifo[2]], 1), (fifo[0], 2)]"))]);
    assert_eq!(order(numbers(), &[(0, 0), (1, 0), (1, 0), (2, 0)]), [1, 2, 1, 0]);
}

#[test]
fn a_tree_that_cannot_be_built_is_one_line_with_the_path() {
    let error = |keys: &[(&str, Value)]| match find_scheduler("tree").unwrap().build(args(keys)) {
        Ok(_) => panic!("it was built"),
        Err(error) => error.to_string(),
    };
    let child = |name: &str, keys: &[(&str, Value)]| error(&[("child", Value::Tables(vec![table(name, keys)]))]);
    assert_eq!(error(&[]), "tree: child is missing: expected at least one child, or policy");
    assert_eq!(child("fifo", &[("weight", Value::Integer(0))]), "tree.0: weight = 0: expected a number above 0");
    assert_eq!(
        child("pfio", &[("label", text("web"))]),
        "tree.web: name = \"pfio\": unknown scheduler \"pfio\"; did you mean pifo?"
    );
    assert_eq!(child("fifo", &[("label", Value::Integer(3))]), "tree.0: label = 3: expected a text");
    let shaped = table("fifo", &[("takes", Value::Integer(0)), ("shape_gbps", Value::Integer(1))]);
    let order = Value::Table(table("sp-pifo", &[]));
    assert_eq!(
        error(&[("order", order.clone()), ("charge", text("arrival")), ("child", Value::Tables(vec![shaped.clone()]))]),
        "tree: order = { ... }: expected an exact order above a shaped node, or charge = \"departure\": any other order may refuse what \
         was admitted already"
    );
    let both = args(&[("order", order), ("child", Value::Tables(vec![shaped]))]);
    assert!(
        find_scheduler("tree").unwrap().build(both).is_ok(),
        "nothing is refused late where departures are charged"
    );
    assert_eq!(
        child("tree", &[("charge", text("arrival"))]),
        "tree.0: charge = \"arrival\": the whole tree charges in one way: give this key to its root"
    );
    assert!(error(&[("charge", text("never"))]).starts_with("tree: charge = \"never\": "));
    let deep = (0..300).fold(table("fifo", &[]), |inside, _| table("tree", &[("child", Value::Tables(vec![inside]))]));
    assert!(error(&[("child", Value::Tables(vec![deep]))]).ends_with("expected at most 256 nodes inside one another"));
    assert_eq!(child("tree", &[("label", text("web"))]), "tree.web: child is missing: expected at least one child");
    assert!(child("fifo", &[("shape_gbps", Value::Integer(0))]).starts_with("tree.0: shape_gbps = 0: expected a rate"));
    assert!(child("fifo", &[("capacity_packets", Value::Integer(0))]).starts_with("tree.0: capacity_packets = 0: "));
    assert!(child("fifo", &[("takes", text("x"))]).starts_with("tree.0: takes = \"x\": expected an integer from 0"));
    assert_eq!(
        error(&[("policy", text("wfq[(fifo[1], 2)]"))]),
        "tree: rate_gbps is missing: expected the rate of weight 1"
    );
    assert_eq!(
        error(&[("policy", text("fifo[web]"))]),
        "tree: policy = \"fifo[web]\": fifo[web]: expected an integer from 0 to 2^63 - 1, or a range of them such as 10-19"
    );
    assert_eq!(
        error(&[("hierarchy", text("0 WFQ {1, false, 1}"))]),
        "tree: hierarchy = \"0 WFQ {1, false, 1}\": write the tree with child, or in one line as policy (docs/trees.md)"
    );
    let both = [("policy", text("fifo[1]")), ("discipline", text("rr"))];
    assert_eq!(error(&both), "tree: discipline = \"rr\": this key has no effect with the other keys: remove it");
}

#[test]
fn classes_name_values_and_each_must_be_taken() {
    let classes = Value::List(vec![text("voice = 7"), text("web = 1-3")]);
    let policy = |policy| args(&[("classes", classes.clone()), ("policy", text(policy))]);
    assert_eq!(
        order(policy("strict[(fifo[voice], 1), (rr[fifo[0], fifo[web]], 2)]"), &[(0, 0), (2, 0), (7, 0)]),
        [7, 0, 2]
    );
    let error = |args| match find_scheduler("tree").unwrap().build(args) {
        Ok(_) => panic!("it was built"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error(policy("fifo[web]")),
        "tree: classes = \"voice\": no leaf takes class voice: expected each class to be taken by a leaf"
    );
    assert_eq!(
        error(policy("rr[fifo[web], fifo[vioce]]")),
        "tree: policy = \"rr[fifo[web], fifo[vioce]]\": fifo[vioce]: expected a value, a range of values such as 10-19, or one \
         of the classes: voice, web"
    );
    let twice = args(&[("classes", Value::List(vec![text("a = 1"), text("a = 2")])), ("policy", text("fifo[a]"))]);
    assert_eq!(error(twice), "tree: classes = \"a = 2\": duplicate class; expected each name once");
}

#[test]
fn a_node_orders_its_children_with_any_scheduler_and_a_leaf_ranks_its_packets() {
    let order_of = |order: Table| {
        let children = Value::Tables(vec![
            table("pifo", &[("takes", Value::Integer(0)), ("rank", Value::Table(table("las", &[])))]),
            table("fifo", &[("takes", text("rest")), ("priority", Value::Integer(1))]),
        ]);
        args(&[("child", children), ("order", Value::Table(order))])
    };
    // Two queues and a bound of 1 between them are strict priority of two children.
    let bounds = Value::List(vec![Value::Integer(0), Value::Integer(1)]);
    let strict = table("strict-priority", &[("queues", Value::Integer(2)), ("bounds", bounds)]);
    assert_eq!(order(order_of(strict), &[(3, 0), (0, 9), (3, 0), (0, 1)]), [0, 0, 3, 3]);
    // One queue keeps the order of arrival.
    assert_eq!(order(order_of(table("fifo", &[])), &[(3, 0), (0, 9), (3, 0), (0, 1)]), [3, 0, 3, 0]);
    // PIEO uses the ranks of the discipline; round robin has none.
    assert_eq!(order(order_of(table("pieo", &[])), &[(3, 0), (0, 9), (3, 0), (0, 1)]), [0, 0, 3, 3]);
    let turns = table("drr", &[("quantum_bytes", Value::Integer(1_500))]);
    assert_eq!(order(order_of(turns), &[(3, 0), (3, 0), (0, 9), (0, 1)]), [3, 0, 3, 0]);
}

#[test]
fn a_value_that_no_packet_has_and_a_key_without_effect_are_refused() {
    let error = |keys: &[(&str, Value)]| match find_scheduler("tree").unwrap().build(args(keys)) {
        Ok(_) => panic!("it was built"),
        Err(error) => error.to_string(),
    };
    let takes = |field: &str, value: Value| {
        let children = vec![table("fifo", &[("takes", value)]), table("fifo", &[("takes", text("rest"))])];
        error(&[("classify", text(field)), ("child", Value::Tables(children))])
    };
    assert_eq!(takes("dscp", Value::Integer(64)), "tree.0: takes = 64: expected a dscp from 0 to 63");
    assert_eq!(
        takes("source-port", text("443-70000")),
        "tree.0: takes = 70000: expected a source-port from 0 to 65535"
    );
    assert!(takes("flow", Value::Integer(1 << 32)).ends_with("expected a flow from 0 to 4294967295"));
    assert!(takes("source-host", Value::Integer(1 << 32)).ends_with("expected a source-host from 0 to 4294967295"));
    assert!(
        takes("flow", text("10.0.0.0/8")).starts_with("tree.0: takes = \"10.0.0.0/8\": expected an integer from 0")
    );

    let below = |discipline: &str, key: &str| {
        let children = vec![table("fifo", &[("takes", Value::Integer(0)), (key, Value::Integer(2))])];
        error(&[("discipline", text(discipline)), ("child", Value::Tables(children))])
    };
    assert_eq!(
        below("strict", "weight"),
        "tree.0: weight = 2: this key has no effect below a node of discipline strict: remove it"
    );
    assert!(below("rr", "weight").ends_with("below a node of discipline rr: remove it"));
    assert!(below("stfq", "priority").ends_with("below a node of discipline stfq: remove it"));

    let alone = |name: &str| {
        let children = vec![table(name, &[("takes", Value::Integer(0)), ("shape_burst_bytes", Value::Integer(9))])];
        error(&[("child", Value::Tables(children))])
    };
    let burst = "tree.0: shape_burst_bytes = 9: this key has no effect without shape_gbps: remove it";
    assert_eq!((alone("fifo").as_str(), alone("tree").as_str()), (burst, burst));
    for key in ["shape_gbps", "shape_burst_bytes", "weight", "priority", "takes"] {
        let children = Value::Tables(vec![table("fifo", &[])]);
        let expected = format!("tree: {key} = 2: this key belongs to a child: the root has no parent");
        assert_eq!(error(&[(key, Value::Integer(2)), ("child", children)]), expected);
    }
    assert_eq!(
        error(&[("child", Value::List(Vec::new()))]),
        "tree: child is missing: expected at least one child, or policy"
    );

    let children = vec![table("fifo", &[("takes", Value::Integer(0))])];
    let by_function =
        crate::build_tree_with(args(&[("child", Value::Tables(children))]), Box::new(|_, _| Some(0))).map(|_| ());
    assert_eq!(
        by_function.unwrap_err().to_string(),
        "tree.0: takes = 0: this key has no effect, since a function sorts packets into leaves: remove it"
    );
}
