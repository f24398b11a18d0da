//! A scenario's text as a tree of tables whose every key knows its line, with overrides applied.

use crate::error::{Place, SpecError};
use pifolab_sched::params::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table: its keys in the order of the text, each with its place, and whether anyone has read it.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Its name with those of the tables around it: `workload.phase`; empty at the top.
    pub(crate) path: String,
    /// Where it begins.
    pub(crate) place: Place,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: String,
    place: Place,
    node: Node,
    used: bool,
}

/// What stands behind a key.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A value, or a list of values.
    Value(Value),
    /// A table.
    Section(Section),
    /// A list of tables.
    Sections(Vec<Section>),
}

/// Deeper tables are no scenario; the limit keeps hostile text from filling the stack.
const DEEPEST: usize = 16;

impl Section {
    /// A table of one key.
    pub(crate) fn of(path: String, place: Place, key: &str, value: Value) -> Self {
        let entry = Entry { key: key.to_owned(), place, node: Node::Value(value), used: false };
        Self { path, place, entries: vec![entry] }
    }

    /// Reads `text`, called `file` in errors.
    pub(crate) fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let lines = Lines { text, file };
        let table = DeTable::parse(text).map_err(|error| {
            let place = error.span().map_or(Place::File, |span| lines.place(span.start));
            let problem = error.message().replace('\n', "; ");
            SpecError { file: file.to_owned(), place, key: String::new(), problem: format!("no TOML: {problem}") }
        })?;
        section(table.get_ref(), String::new(), Place::File, &lines, 0)
    }

    /// Applies `path = value` of the command line: a dotted path, where a member of a list of tables is called by its
    /// number from 0, its label or its name. The value is read as TOML, and as text if it is none.
    pub(crate) fn set(&mut self, path: &str, value: &str, file: &str) -> Result<(), SpecError> {
        let fault =
            |problem: String| SpecError { file: file.to_owned(), place: Place::SET, key: path.to_owned(), problem };
        let mut names = path.split('.').collect::<Vec<_>>();
        let last = names.pop().filter(|name| !name.is_empty()).ok_or_else(|| fault("names no key".to_owned()))?;
        if names.len() > DEEPEST {
            return Err(fault("names more tables than there can be".to_owned()));
        }
        let mut at = self;
        let mut names = names.into_iter().peekable();
        while let Some(name) = names.next() {
            let inner = join(&at.path, name);
            let place = match at.entries.iter().position(|entry| entry.key == name) {
                Some(place) => place,
                None => {
                    let section = Self { path: inner.clone(), place: Place::SET, entries: Vec::new() };
                    at.entries.push(Entry {
                        key: name.to_owned(),
                        place: Place::SET,
                        node: Node::Section(section),
                        used: false,
                    });
                    at.entries.len() - 1
                }
            };
            at = match &mut at.entries[place].node {
                Node::Section(section) => section,
                Node::Sections(members) => {
                    let index = if let [only] = members.as_slice() {
                        // Its number or title may be left out.
                        names.next_if(|name| *name == "0" || only.is_called(name));
                        0
                    } else {
                        let wanted = names.next().unwrap_or_default();
                        let found = members.iter().position(|member| member.is_called(wanted));
                        let found = found.or_else(|| wanted.parse().ok().filter(|index| *index < members.len()));
                        found.ok_or_else(|| {
                            let called: Vec<_> =
                                members.iter().enumerate().map(|(index, member)| member.called(index)).collect();
                            fault(format!("{inner} has several members: say which of {}", called.join(", ")))
                        })?
                    };
                    &mut members[index]
                }
                Node::Value(_) => return Err(fault(format!("{inner} is a value, no table"))),
            };
        }
        let lines = Lines { text: "", file };
        let node = match DeValue::parse(value) {
            Ok(parsed) => node(parsed.get_ref(), &join(&at.path, last), Place::SET, &lines, 0)?,
            Err(_) => Node::Value(Value::Text(value.to_owned())),
        };
        match at.entries.iter_mut().find(|entry| entry.key == last) {
            Some(entry) => {
                entry.node = node;
                entry.place = Place::SET;
            }
            None => at.entries.push(Entry { key: last.to_owned(), place: Place::SET, node, used: false }),
        }
        Ok(())
    }

    /// Puts `outer = { inner = { key = value } }` in the place of whatever `outer` was; `place` says what asked for it.
    pub(crate) fn replace(&mut self, outer: &str, inner: &str, key: &str, value: Value, place: Place) {
        let path = join(&self.path, outer);
        let innermost = Self::of(join(&path, inner), place, key, value);
        let entry = |key: &str, node| Entry { key: key.to_owned(), place, node, used: false };
        let section = Self { path, place, entries: vec![entry(inner, Node::Section(innermost))] };
        self.entries.retain(|entry| entry.key != outer);
        self.entries.push(entry(outer, Node::Section(section)));
    }

    /// Its label, or else its name.
    fn title(&self) -> Option<&str> {
        ["label", "name"].iter().find_map(|key| {
            let entry = self.entries.iter().find(|entry| entry.key == *key)?;
            if let Node::Value(Value::Text(text)) = &entry.node { Some(text.as_str()) } else { None }
        })
    }

    fn is_called(&self, name: &str) -> bool {
        self.title() == Some(name)
    }

    fn called(&self, index: usize) -> String {
        self.title().map_or_else(|| index.to_string(), str::to_owned)
    }

    /// Takes what stands behind `key` and marks it read.
    pub(crate) fn take(&mut self, key: &str) -> Option<(Node, Place)> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key)?;
        entry.used = true;
        Some((entry.node.clone(), entry.place))
    }

    /// Whether `key` was written.
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Where `key` was written; where the table begins if it was not.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.entries.iter().find(|entry| entry.key == key).map_or(self.place, |entry| entry.place)
    }

    /// The first key that is none of these.
    pub(crate) fn first_key_not_in(&self, keys: &[String]) -> Option<(&str, Place)> {
        self.entries.iter().find(|entry| !keys.contains(&entry.key)).map(|entry| (entry.key.as_str(), entry.place))
    }

    /// The first key that nobody has read.
    pub(crate) fn first_unused(&self) -> Option<(&str, Place)> {
        self.entries.iter().find(|entry| !entry.used).map(|entry| (entry.key.as_str(), entry.place))
    }

    /// The values that nobody has read yet, which are taken; tables among them are an error.
    pub(crate) fn take_values(&mut self, file: &str) -> Result<Vec<(String, Value)>, SpecError> {
        let mut values = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| !entry.used) {
            entry.used = true;
            match &entry.node {
                Node::Value(value) => values.push((entry.key.clone(), value.clone())),
                Node::Section(_) | Node::Sections(_) => {
                    let problem = "is a table: expected a value".to_owned();
                    let key = join(&self.path, &entry.key);
                    return Err(SpecError { file: file.to_owned(), place: entry.place, key, problem });
                }
            }
        }
        Ok(values)
    }
}

/// `path.key`.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Turns byte offsets into lines.
struct Lines<'a> {
    text: &'a str,
    file: &'a str,
}

impl Lines<'_> {
    fn place(&self, offset: usize) -> Place {
        let before = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        Place::Line(1 + before.iter().filter(|byte| **byte == b'\n').count())
    }

    /// The place of something in the file, or of the override that it came with.
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
) -> Result<Section, SpecError> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key_place = lines.place_in(place, key.span().start);
        let name = key.get_ref().to_string();
        let node = node(value.get_ref(), &join(&path, &name), key_place, lines, depth + 1)?;
        entries.push((key.span().start, Entry { key: name, place: key_place, node, used: false }));
    }
    // The parser's table is sorted by key; errors and manifests read better in the order of the text.
    entries.sort_by_key(|(offset, _)| *offset);
    Ok(Section { path, place, entries: entries.into_iter().map(|(_, entry)| entry).collect() })
}

fn node(value: &DeValue<'_>, path: &str, place: Place, lines: &Lines<'_>, depth: usize) -> Result<Node, SpecError> {
    let fault = |problem: &str| SpecError {
        file: lines.file.to_owned(),
        place,
        key: path.to_owned(),
        problem: problem.to_owned(),
    };
    if depth > DEEPEST {
        return Err(fault("lies in more tables than there can be"));
    }
    Ok(Node::Value(match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => {
            // Beyond 128 bits nothing is in range, and the largest integer says so as well.
            Value::Integer(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX))
        }
        DeValue::Float(float) => Value::Decimal(float.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => return Err(fault("is a date: expected a number, a text or a list")),
        DeValue::Table(table) => return Ok(Node::Section(section(table, path.to_owned(), place, lines, depth)?)),
        DeValue::Array(members) => {
            let tables = members.iter().filter(|member| matches!(member.get_ref(), DeValue::Table(_))).count();
            if tables > 0 && tables == members.len() {
                let sections = members.iter().map(|member| {
                    let DeValue::Table(table) = member.get_ref() else { unreachable!("all members are tables") };
                    section(table, path.to_owned(), table_place(member, place, lines), lines, depth)
                });
                return Ok(Node::Sections(sections.collect::<Result<_, _>>()?));
            }
            let values = members.iter().map(|member| match node(member.get_ref(), path, place, lines, depth + 1)? {
                Node::Value(value) => Ok(value),
                Node::Section(_) | Node::Sections(_) => Err(fault("mixes tables and values in one list")),
            });
            Value::List(values.collect::<Result<_, _>>()?)
        }
    }))
}

fn table_place(member: &Spanned<DeValue<'_>>, around: Place, lines: &Lines<'_>) -> Place {
    lines.place_in(around, member.span().start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "seeds = [1, 2]\n\n[link]\nrate_gbps = 0.1\n[[scheduler]]\nname = \"packs\"\n[[scheduler]]\n\
                        name = \"packs\"\nlabel = \"wide\"\n";

    fn parsed() -> Section {
        Section::parse(TEXT, "f.toml").unwrap()
    }

    fn values(mut section: Section) -> Vec<(String, Value)> {
        section.take_values("f.toml").unwrap()
    }

    fn schedulers(root: &mut Section) -> Vec<Section> {
        let Some((Node::Sections(members), _)) = root.take("scheduler") else { panic!("a list of tables") };
        members
    }

    #[test]
    fn every_key_knows_its_line_and_decimals_stay_as_written() {
        let mut root = parsed();
        let Some((Node::Section(link), place)) = root.take("link") else { panic!("a table") };
        assert_eq!(place, Place::Line(3));
        assert_eq!(link.place_of("rate_gbps"), Place::Line(4));
        assert_eq!(values(link), [("rate_gbps".to_owned(), Value::Decimal("0.1".to_owned()))]);
        let members = schedulers(&mut root);
        assert_eq!(members[1].place_of("label"), Place::Line(9));
        assert_eq!(members[1].place, Place::Line(7));
        assert_eq!(root.first_unused(), Some(("seeds", Place::Line(1))));
    }

    #[test]
    fn overrides_reach_tables_members_and_new_keys() {
        let mut root = parsed();
        root.set("link.rate_gbps", "40", "f.toml").unwrap();
        root.set("scheduler.wide.window", "100", "f.toml").unwrap();
        root.set("scheduler.0.k", "0.1", "f.toml").unwrap();
        root.set("metrics.delta_to", "fifo", "f.toml").unwrap();
        root.set("workload", "{ ranks = { distribution = \"uniform\" } }", "f.toml").unwrap();
        let Some((Node::Section(link), _)) = root.take("link") else { panic!("a table") };
        assert_eq!(link.place_of("rate_gbps"), Place::SET);
        assert_eq!(values(link), [("rate_gbps".to_owned(), Value::Integer(40))]);
        let members = schedulers(&mut root);
        assert_eq!(values(members[0].clone())[1], ("k".to_owned(), Value::Decimal("0.1".to_owned())));
        assert_eq!(values(members[1].clone())[2], ("window".to_owned(), Value::Integer(100)));
        let Some((Node::Section(metrics), _)) = root.take("metrics") else { panic!("a table") };
        assert_eq!(values(metrics), [("delta_to".to_owned(), Value::Text("fifo".to_owned()))]);
        let Some((Node::Section(workload), _)) = root.take("workload") else { panic!("a table") };
        assert_eq!(workload.place_of("ranks"), Place::SET);
    }

    #[test]
    fn what_a_flag_replaces_is_charged_to_that_flag() {
        let mut root = parsed();
        let flows = Value::Text("flows.csv".to_owned());
        root.replace("link", "flows", "list", flows.clone(), Place::Flag("--flows"));
        let Some((Node::Section(mut link), place)) = root.take("link") else { panic!("a table") };
        let Some((Node::Section(inner), _)) = link.take("flows") else { panic!("a table") };
        assert_eq!((place, inner.place_of("list")), (Place::Flag("--flows"), Place::Flag("--flows")));
        assert_eq!(values(inner), [("list".to_owned(), flows)]);
        let error = SpecError { file: "f.toml".to_owned(), place, key: "link.x".to_owned(), problem: "no".to_owned() };
        assert_eq!(error.to_string(), "f.toml: --flows: link.x: no");
    }

    #[test]
    fn faults_name_their_line_or_override() {
        let error = |text: &str| Section::parse(text, "f.toml").unwrap_err().to_string();
        assert!(error("a = 1\nb =\n").starts_with("f.toml:2: no TOML: "), "{}", error("a = 1\nb =\n"));
        assert!(error("a = 1\na = 2\n").starts_with("f.toml:2: no TOML: duplicate key"), "{}", error("a = 1\na = 2\n"));
        assert_eq!(error("\na = 2024-01-01\n"), "f.toml:2: a: is a date: expected a number, a text or a list");
        assert_eq!(error("a = [1, {b = 2}]"), "f.toml:1: a: mixes tables and values in one list");
        let deep = format!("a = {}1{}", "[".repeat(20), "]".repeat(20));
        assert_eq!(error(&deep), "f.toml:1: a: lies in more tables than there can be");
        let set = |path| parsed().set(path, "1", "f.toml").unwrap_err().to_string();
        assert_eq!(set("seeds.x"), "f.toml: --set: seeds.x: seeds is a value, no table");
        assert_eq!(
            set("scheduler.k"),
            "f.toml: --set: scheduler.k: scheduler has several members: say which of packs, wide"
        );
        assert_eq!(set("link."), "f.toml: --set: link.: names no key");
    }
}
