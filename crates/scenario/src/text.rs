//! Parses a scenario's text to a tree of tables with the line of every key, and applies overrides.

use crate::error::SpecError;
use pifolab_params::{Entry, Place, Table, Value, join};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The largest depth of tables, so that hostile text cannot overflow the stack. Scenarios are not as deep.
const DEEPEST: usize = 16;
/// The most keys that flags may set; each is compared with the others. No scenario has as many keys.
const MOST_SET: usize = 10_000;

/// The longest text, which is parsed in less than two seconds, so that Ctrl-C works. No scenario is as long.
const MOST_BYTES: usize = 8 << 20;

/// Reads `text`, called `file` in errors.
pub(crate) fn parse(text: &str, file: &str) -> Result<Table, SpecError> {
    if text.len() > MOST_BYTES {
        let problem = format!("has {} bytes: expected at most 8 MiB of TOML", text.len());
        return Err(SpecError {
            file: file.to_owned(),
            place: Place::File,
            key: String::new(),
            problem: problem.into(),
        });
    }
    let lines = Lines::new(text, file);
    let table = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(Place::File, |span| lines.place(span.start));
        let problem = error.message().replace('\n', "; ");
        SpecError {
            file: file.to_owned(),
            place,
            key: String::new(),
            problem: format!("invalid TOML: {problem}").into(),
        }
    })?;
    section(table.get_ref(), String::new(), Place::File, &lines, 0)
}

/// The keys set by flags of the command line: the path of each, with members of lists by number, and its name in
/// errors.
pub(crate) type Written = BTreeMap<Vec<String>, String>;

/// Applies `path = value` of the command line: a dotted path, in which a member of a list of tables has its number from
/// 0, its label or its name. The value is parsed as TOML, or taken as text if it is not TOML.
///
/// `earlier` has the keys set before and gets this one: a path that would replace one of them is refused.
pub(crate) fn set(
    root: &mut Table,
    path: &str,
    value: &str,
    file: &str,
    earlier: &mut Written,
) -> Result<(), SpecError> {
    let fault = |problem: String| SpecError {
        file: file.to_owned(),
        place: Place::SET,
        key: path.to_owned(),
        problem: problem.into(),
    };
    let mut way = Vec::new();
    let mut names = path.split('.').collect::<Vec<_>>();
    let last = names
        .pop()
        .filter(|name| !name.is_empty())
        .ok_or_else(|| fault("is not a key: expected tables and a key, such as link.rate_gbps".to_owned()))?;
    if names.len() > DEEPEST {
        return Err(fault("is too deep: expected fewer tables inside one another".to_owned()));
    }
    if earlier.len() >= MOST_SET {
        return Err(fault(format!("is set beside {MOST_SET} other keys: expected fewer")));
    }
    // A scheduler's name alone selects its table: `packs.window` means `scheduler.packs.window`.
    if names.first().is_some_and(|name| !root.contains(name) && is_scheduler(root, name)) {
        names.insert(0, "scheduler");
    }
    let mut at = root;
    let mut names = names.into_iter().peekable();
    while let Some(name) = names.next() {
        let inner = join(&at.path, name);
        way.push(name.to_owned());
        if !at.contains(name) {
            at.put(name, Place::SET, Value::Table(Table::new(inner.clone(), Place::SET)));
        }
        let entry = at.entry_mut(name).expect("it was just written");
        at = match &mut entry.value {
            Value::Table(table) => table,
            Value::Tables(members) => {
                let index = if let [only] = members.as_slice() {
                    // The number or title of a single member may be omitted.
                    names.next_if(|name| *name == "0" || title(only) == Some(*name));
                    0
                } else {
                    let wanted = names.next().unwrap_or_default();
                    let found = members.iter().position(|member| title(member) == Some(wanted));
                    let found = found.or_else(|| wanted.parse().ok().filter(|index| *index < members.len()));
                    found.ok_or_else(|| {
                        fault(format!("{inner} has several members: expected one of {}", names_of(members).join(", ")))
                    })?
                };
                way.push(index.to_string());
                &mut members[index]
            }
            _ => return Err(fault(format!("{inner} is a value: expected a table"))),
        };
    }
    way.push(last.to_owned());
    // Keys inside this one directly follow it in the order of paths.
    if let Some((one, name)) = earlier.range(way.clone()..).next().filter(|(one, _)| one.starts_with(&way)) {
        let problem = if name == path {
            "is set twice: remove one of the two".to_owned()
        } else if *one == way {
            format!("is the same key as {name}, which is set already: remove one of the two")
        } else {
            format!("replaces {name}, which is set already: remove one of the two")
        };
        return Err(fault(problem));
    }
    earlier.insert(way, path.to_owned());
    let lines = Lines::new("", file);
    let parsed = match DeValue::parse(value) {
        Ok(parsed) => node(parsed.get_ref(), &join(&at.path, last), Place::SET, &lines, 0)?,
        Err(_) => Value::Text(value.to_owned()),
    };
    at.put(last, Place::SET, parsed);
    Ok(())
}

/// Replaces `outer` by `outer = { inner = { key = value } }`; `place` is its origin in errors.
pub(crate) fn replace(root: &mut Table, outer: &str, inner: &str, key: &str, value: Value, place: Place) {
    let path = join(&root.path, outer);
    let innermost = Table::of(join(&path, inner), place, key, value);
    root.put(outer, place, Value::Table(Table::of(path, place, inner, Value::Table(innermost))));
}

/// Whether a scheduler of the scenario has this label or name.
fn is_scheduler(root: &Table, name: &str) -> bool {
    match root.get("scheduler") {
        Some(Value::Table(only)) => title(only) == Some(name),
        Some(Value::Tables(members)) => members.iter().any(|member| title(member) == Some(name)),
        _ => false,
    }
}

/// The label of a table, or else its name.
fn title(table: &Table) -> Option<&str> {
    ["label", "name"].iter().find_map(|key| match table.get(key) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    })
}

/// The name of each member of a list for [`set`]: its label or name if that is unique, else its number.
pub(crate) fn names_of(members: &[Table]) -> Vec<String> {
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    for title in members.iter().filter_map(title) {
        *known.entry(title).or_default() += 1;
    }
    let name = |(index, member): (usize, &Table)| {
        let own = title(member).filter(|own| known[own] == 1);
        own.map_or_else(|| index.to_string(), str::to_owned)
    };
    members.iter().enumerate().map(name).collect()
}

/// Turns byte offsets into lines.
struct Lines<'a> {
    /// The ends of lines, ascending, for a binary search: a text may have a hundred thousand keys.
    ends: Vec<usize>,
    file: &'a str,
}

impl<'a> Lines<'a> {
    fn new(text: &str, file: &'a str) -> Self {
        Self { ends: text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect(), file }
    }

    fn place(&self, offset: usize) -> Place {
        Place::Line(1 + self.ends.partition_point(|end| *end < offset))
    }

    /// The place of an offset in the file, or of the override.
    fn place_in(&self, around: Place, offset: usize) -> Place {
        if let Place::Flag(_) = around { around } else { self.place(offset) }
    }
}

fn section(
    table: &DeTable<'_>,
    path: String,
    place: Place,
    lines: &Lines<'_>,
    depth: usize,
) -> Result<Table, SpecError> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key_place = lines.place_in(place, key.span().start);
        let name = key.get_ref().to_string();
        let value = node(value.get_ref(), &join(&path, &name), key_place, lines, depth + 1)?;
        entries.push((key.span().start, Entry::new(name, key_place, value)));
    }
    // The parser's table is sorted by key; errors and manifests keep the order of the text.
    entries.sort_by_key(|(offset, _)| *offset);
    Ok(Table { path, place, entries: entries.into_iter().map(|(_, entry)| entry).collect() })
}

fn node(value: &DeValue<'_>, path: &str, place: Place, lines: &Lines<'_>, depth: usize) -> Result<Value, SpecError> {
    let fault =
        |problem: &str| SpecError { file: lines.file.to_owned(), place, key: path.to_owned(), problem: problem.into() };
    if depth > DEEPEST {
        return Err(fault("is too deep: expected fewer tables inside one another"));
    }
    Ok(match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => {
            // No range includes numbers beyond 128 bits, so the largest integer is refused in the same way.
            Value::Integer(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX))
        }
        DeValue::Float(float) => Value::Decimal(float.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => return Err(fault("is a date: expected a number, a text or a list")),
        DeValue::Table(table) => return Ok(Value::Table(section(table, path.to_owned(), place, lines, depth)?)),
        DeValue::Array(members) => {
            let tables = members.iter().filter(|member| matches!(member.get_ref(), DeValue::Table(_))).count();
            if tables > 0 && tables == members.len() {
                let sections = members.iter().map(|member| {
                    let DeValue::Table(table) = member.get_ref() else { unreachable!("all members are tables") };
                    section(table, path.to_owned(), table_place(member, place, lines), lines, depth)
                });
                return Ok(Value::Tables(sections.collect::<Result<_, _>>()?));
            }
            let values = members.iter().map(|member| match node(member.get_ref(), path, place, lines, depth + 1)? {
                Value::Table(_) | Value::Tables(_) => Err(fault("mixes tables and values in one list")),
                value => Ok(value),
            });
            Value::List(values.collect::<Result<_, _>>()?)
        }
    })
}

fn table_place(member: &Spanned<DeValue<'_>>, around: Place, lines: &Lines<'_>) -> Place {
    lines.place_in(around, member.span().start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "seeds = [1, 2]\n\n[link]\nrate_gbps = 0.1\n[[scheduler]]\nname = \"packs\"\n[[scheduler]]\n\
                        name = \"packs\"\nlabel = \"wide\"\n";

    fn parsed() -> Table {
        parse(TEXT, "f.toml").unwrap()
    }

    fn values(table: Table) -> Vec<(String, Value)> {
        table.entries.into_iter().filter(|entry| !entry.used).map(|entry| (entry.key, entry.value)).collect()
    }

    fn schedulers(root: &mut Table) -> Vec<Table> {
        let Some(Value::Tables(members)) = root.take("scheduler") else { panic!("a list of tables") };
        members
    }

    #[test]
    fn a_text_that_is_too_long_is_refused_before_it_is_parsed() {
        let longest = format!("x = 1\n#{}", "-".repeat(MOST_BYTES - 7));
        assert!(parse(&longest, "f.toml").is_ok());
        let message = parse(&(longest + "["), "f.toml").unwrap_err().to_string();
        assert_eq!(message, "f.toml: has 8388609 bytes: expected at most 8 MiB of TOML");
    }

    #[test]
    fn every_key_knows_its_line_and_decimals_stay_as_written() {
        let mut root = parsed();
        let place = root.place_of("link");
        let Some(Value::Table(link)) = root.take("link") else { panic!("a table") };
        assert_eq!(place, Place::Line(3));
        assert_eq!(link.place_of("rate_gbps"), Place::Line(4));
        assert_eq!(values(link), [("rate_gbps".to_owned(), Value::Decimal("0.1".to_owned()))]);
        let members = schedulers(&mut root);
        assert_eq!(members[1].place_of("label"), Place::Line(9));
        assert_eq!(members[1].place, Place::Line(7));
        let unused = root.first_unused().unwrap();
        assert_eq!((unused.key.as_str(), unused.place), ("seeds", Place::Line(1)));
    }

    fn set(root: &mut Table, path: &str, value: &str, file: &str) -> Result<(), SpecError> {
        super::set(root, path, value, file, &mut Written::new())
    }

    #[test]
    fn what_would_replace_something_that_was_set_is_refused_whatever_its_name() {
        let conflict = |first: &str, second: &str| {
            let (mut root, mut earlier) = (parsed(), Written::new());
            super::set(&mut root, first, "1", "f.toml", &mut earlier).unwrap();
            super::set(&mut root, second, "2", "f.toml", &mut earlier).map_err(|error| error.to_string())
        };
        let same = |path: &str, other: &str| {
            Err(format!(
                "f.toml: --set: {path}: is the same key as {other}, which is set already: remove one of the two"
            ))
        };
        for (first, second) in [("wide", "1"), ("1", "wide"), ("packs", "0"), ("0", "packs")] {
            let [first, second] = [first, second].map(|member| format!("scheduler.{member}.window"));
            assert_eq!(conflict(&first, &second), same(&second, &first));
        }
        assert_eq!(
            conflict("link.rate_gbps", "link.rate_gbps"),
            Err("f.toml: --set: link.rate_gbps: is set twice: remove one of the two".to_owned())
        );
        assert_eq!(
            conflict("scheduler.wide.window", "scheduler"),
            Err("f.toml: --set: scheduler: replaces scheduler.wide.window, which is set already: \
                 remove one of the two"
                .to_owned())
        );
        for (first, second) in [
            ("scheduler.packs.window", "scheduler.wide.window"),
            ("scheduler.packs.window", "scheduler.packs.windows"),
            ("link.rate_gbps", "link.rate"),
        ] {
            assert_eq!(conflict(first, second), Ok(()), "{first} {second}");
        }

        // The number and name of a single member may be omitted.
        let (mut root, mut earlier) = (parsed(), Written::new());
        let mut set = |path: &str, value: &str| super::set(&mut root, path, value, "f.toml", &mut earlier);
        set("scheduler", "[{ name = \"packs\", window = 3 }]").unwrap();
        set("scheduler.window", "4").unwrap();
        for path in ["scheduler.packs.window", "scheduler.0.window"] {
            let error = set(path, "5").unwrap_err().to_string();
            assert_eq!(Err::<(), _>(error), same(path, "scheduler.window"));
        }
    }

    #[test]
    fn overrides_reach_tables_members_and_new_keys() {
        let mut root = parsed();
        set(&mut root, "link.rate_gbps", "40", "f.toml").unwrap();
        set(&mut root, "scheduler.wide.window", "100", "f.toml").unwrap();
        set(&mut root, "packs.k", "0.1", "f.toml").unwrap();
        set(&mut root, "metrics.delta_to", "fifo", "f.toml").unwrap();
        set(&mut root, "workload", "{ ranks = { distribution = \"uniform\" } }", "f.toml").unwrap();
        let Some(Value::Table(link)) = root.take("link") else { panic!("a table") };
        assert_eq!(link.place_of("rate_gbps"), Place::SET);
        assert_eq!(values(link), [("rate_gbps".to_owned(), Value::Integer(40))]);
        let members = schedulers(&mut root);
        assert_eq!(values(members[0].clone())[1], ("k".to_owned(), Value::Decimal("0.1".to_owned())));
        assert_eq!(values(members[1].clone())[2], ("window".to_owned(), Value::Integer(100)));
        let Some(Value::Table(metrics)) = root.take("metrics") else { panic!("a table") };
        assert_eq!(values(metrics), [("delta_to".to_owned(), Value::Text("fifo".to_owned()))]);
        let Some(Value::Table(workload)) = root.take("workload") else { panic!("a table") };
        assert_eq!(workload.place_of("ranks"), Place::SET);
    }

    #[test]
    fn every_key_of_a_table_of_a_hundred_thousand_knows_its_line() {
        let text: String = (0..100_000).map(|key| format!("k{key} = {key}{}", "\n".repeat(1 + key % 2))).collect();
        let root = parse(&text, "f.toml").unwrap();
        let lines = root.entries.iter().enumerate().map(|(key, entry)| (entry.place, Place::Line(1 + key + key / 2)));
        assert!(root.entries.len() == 100_000 && lines.clone().all(|(place, line)| place == line));
        let tables: String = (0..50_000).map(|key| format!("[t{key}]\n")).collect();
        assert_eq!(parse(&tables, "f.toml").unwrap().place_of("t49999"), Place::Line(50_000));
        let members: String = (0..50_000).map(|key| format!("[[link]]\nname = \"l{key}\"\n")).collect();
        let Some(Value::Tables(links)) = parse(&members, "f.toml").unwrap().take("link") else { panic!("tables") };
        assert_eq!(names_of(&links)[49_999], "l49999");
    }

    proptest::proptest! {
        #[test]
        fn the_line_of_a_key_is_the_number_of_line_ends_before_it(blank in proptest::collection::vec(0usize..4, 1..30)) {
            let text: String =
                blank.iter().enumerate().map(|(key, lines)| format!("{}k{key} = 1\n", "\n".repeat(*lines))).collect();
            let root = parse(&text, "f.toml").unwrap();
            for key in 0..blank.len() {
                let key = format!("k{key}");
                let before = text[..text.find(&format!("{key} ")).unwrap()].matches('\n').count();
                proptest::prop_assert_eq!(root.place_of(&key), Place::Line(1 + before));
            }
        }
    }

    #[test]
    fn more_keys_than_any_scenario_has_are_not_set() {
        let (mut root, mut earlier) = (parsed(), Written::new());
        let mut set = |key: usize| super::set(&mut root, &format!("k{key}"), "1", "f.toml", &mut earlier);
        assert!((0..MOST_SET).all(|key| set(key).is_ok()));
        let expected = "f.toml: --set: k10000: is set beside 10000 other keys: expected fewer";
        assert_eq!(set(MOST_SET).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_a_flag_replaces_is_charged_to_that_flag() {
        let mut root = parsed();
        let flows = Value::Text("flows.csv".to_owned());
        replace(&mut root, "link", "flows", "list", flows.clone(), Place::Flag("--flows"));
        let place = root.place_of("link");
        let Some(Value::Table(mut link)) = root.take("link") else { panic!("a table") };
        let Some(Value::Table(inner)) = link.take("flows") else { panic!("a table") };
        assert_eq!((place, inner.place_of("list")), (Place::Flag("--flows"), Place::Flag("--flows")));
        assert_eq!(values(inner), [("list".to_owned(), flows)]);
        let error = SpecError { file: "f.toml".to_owned(), place, key: "link.x".to_owned(), problem: "no".into() };
        assert_eq!(error.to_string(), "f.toml: --flows: link.x: no");
    }

    #[test]
    fn faults_name_their_line_or_override() {
        let error = |text: &str| parse(text, "f.toml").unwrap_err().to_string();
        assert!(error("a = 1\nb =\n").starts_with("f.toml:2: invalid TOML: "), "{}", error("a = 1\nb =\n"));
        assert!(
            error("a = 1\na = 2\n").starts_with("f.toml:2: invalid TOML: duplicate key"),
            "{}",
            error("a = 1\na = 2\n")
        );
        assert_eq!(error("\na = 2024-01-01\n"), "f.toml:2: a: is a date: expected a number, a text or a list");
        assert_eq!(error("a = [1, {b = 2}]"), "f.toml:1: a: mixes tables and values in one list");
        let deep = format!("a = {}1{}", "[".repeat(20), "]".repeat(20));
        assert_eq!(error(&deep), "f.toml:1: a: is too deep: expected fewer tables inside one another");
        let set = |path| set(&mut parsed(), path, "1", "f.toml").unwrap_err().to_string();
        assert_eq!(set("seeds.x"), "f.toml: --set: seeds.x: seeds is a value: expected a table");
        assert_eq!(
            set("scheduler.k"),
            "f.toml: --set: scheduler.k: scheduler has several members: expected one of packs, wide"
        );
        assert_eq!(
            set("link."),
            "f.toml: --set: link.: is not a key: expected tables and a key, such as link.rate_gbps"
        );
    }
}
