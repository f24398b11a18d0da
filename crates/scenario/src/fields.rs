//! Reads the tables of a scenario by their rows, and records the resolved values for the manifest.

use crate::error::SpecError;
use pifolab_params::{
    Args, Choice, FromValue, Kind, Misfit, Param, ParamError, Place, RATE_UNITS, TIME_UNITS, Table, Value,
    WRITTEN_RATES, WRITTEN_TIMES, exact, exact_with_unit, join, unknown_key,
};
use pifolab_units::{Rate, Ratio, Span};
use serde_json::{Map, Value as Json};

/// Reads the keys of one table like [`Args`], with times and rates in any unit. Errors name the place in the file.
/// Records all resolved values.
pub(crate) struct Reader<'a> {
    pub(crate) args: Args,
    file: &'a str,
    /// The rows that apply.
    fields: Vec<&'static Param>,
    /// All values, defaults filled in.
    pub(crate) resolved: Map<String, Json>,
}

impl<'a> Reader<'a> {
    /// Refuses keys that have no row, so that a typo is reported before the key that is missing because of it.
    pub(crate) fn new(section: Table, file: &'a str, fields: &'static [Param]) -> Result<Self, SpecError> {
        let cases = || fields.iter().flat_map(|field| field.cases()).flat_map(|(_, params)| params.iter());
        let args = Args::from(section);
        let mut reader = Self { args, file, fields: fields.iter().chain(cases()).collect(), resolved: Map::new() };
        let mut keys: Vec<String> = Vec::new();
        for key in reader.fields.iter().flat_map(|field| field.keys()) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        if let Some(entry) = reader.args.table.entries.iter().find(|entry| !keys.contains(&entry.key)) {
            return Err(
                reader.fault(&entry.key, unknown_key(&entry.key, || keys.iter().map(String::as_str), "pifolab schema"))
            );
        }
        // Keys of other cases stay unread, and `finish` refuses them, after missing keys of the chosen case are
        // reported.
        reader.fields = fields.iter().collect();
        for field in fields {
            let Some(Value::Text(word)) = reader.args.table.get(field.name) else { continue };
            let chosen = field.cases().iter().find(|(case, _)| case == word);
            reader.fields.extend(chosen.map_or(&[][..], |(_, params)| params));
        }
        Ok(reader)
    }

    fn find(&self, name: &str) -> Option<&'static Param> {
        self.fields.iter().copied().find(|field| field.name == name)
    }

    fn field(&self, name: &str) -> &'static Param {
        self.find(name).unwrap_or_else(|| panic!("no field {name}"))
    }

    /// A fault at `key`.
    pub(crate) fn fault(&self, key: &str, problem: impl Into<Misfit>) -> SpecError {
        self.fault_at(self.args.table.place_of(key), key, problem)
    }

    fn fault_at(&self, place: Place, key: &str, problem: impl Into<Misfit>) -> SpecError {
        SpecError { file: self.file.to_owned(), place, key: join(self.args.owner(), key), problem: problem.into() }
    }

    /// The same error with the key as written and its place; for a missing key also with its description.
    fn told(&self, field: &Param, key: &str, error: &ParamError) -> SpecError {
        match error.value {
            Some(_) => self.fault(key, error.problem()),
            None => self.fault(key, format!("{}; {}", error.problem(), begun_small(field.doc))),
        }
    }

    /// The form of the values of `name`.
    pub(crate) fn expected(&self, name: &str) -> String {
        self.field(name).expected()
    }

    /// `= value: expected ...`.
    fn misfit(&self, field: &Param, key: &str, value: &Value) -> SpecError {
        self.told(field, key, &self.args.misfit(field, value))
    }

    /// The written value of `field`, or its default.
    fn value(&mut self, field: &Param) -> Result<Option<Value>, SpecError> {
        self.args.value(field).map_err(|error| self.told(field, field.name, &error))
    }

    /// The key with which a time or a rate was written, or with its first unit if it was not written. A name without a
    /// row is returned unchanged.
    pub(crate) fn written(&self, name: &str) -> String {
        let Some(field) = self.find(name) else { return name.to_owned() };
        let keys = field.keys();
        keys.iter().find(|key| self.args.table.contains(key)).unwrap_or(&keys[0]).clone()
    }

    /// Whether any spelling of the field was written.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.field(name).keys().iter().any(|key| self.args.table.contains(key))
    }

    /// Records the resolved value of a choice that was not written.
    pub(crate) fn resolve<C: Choice>(&mut self, name: &str, choice: C) {
        self.resolved.insert(name.to_owned(), choice.as_word().into());
    }

    /// The written value of `name`, or its default.
    pub(crate) fn get<T: FromValue>(&mut self, name: &str) -> Result<Option<T>, SpecError> {
        let field = self.field(name);
        let Some(value) = self.value(field)? else { return Ok(None) };
        // An empty list is refused: no key has a meaning for it, neither seeds nor labels.
        let is_empty = matches!(&value, Value::List(members) if members.is_empty());
        if is_empty && matches!(field.kind, Kind::Integers { .. } | Kind::Texts) {
            return Err(self.misfit(field, name, &value));
        }
        let read = self.args.read(field, &value).map_err(|error| self.told(field, name, &error))?;
        let shown = match field.kind {
            Kind::Positive => f64::from_value(&field.kind, &value).into(),
            _ => json_of(&value),
        };
        self.resolved.insert(name.to_owned(), shown);
        Ok(Some(read))
    }

    /// As [`get`](Self::get), for a field that has a default or is required.
    pub(crate) fn given<T: FromValue>(&mut self, name: &str) -> Result<T, SpecError> {
        Ok(self.get(name)?.expect("the field has a default or is required"))
    }

    /// As [`get`](Self::get), for a field that usually has a value.
    pub(crate) fn usual<T: FromValue>(&mut self, name: &str) -> Result<T, SpecError> {
        Ok(self.get(name)?.unwrap_or_else(|| self.field(name).usual()))
    }

    /// An exact fraction.
    pub(crate) fn ratio(&mut self, name: &str) -> Result<Option<Ratio>, SpecError> {
        let ratio = self.get::<Ratio>(name)?;
        if let Some(ratio) = ratio {
            self.resolved.insert(name.to_owned(), ratio.to_string().into());
        }
        Ok(ratio)
    }

    /// A flag without a default.
    pub(crate) fn optional_flag(&mut self, name: &str) -> Result<Option<bool>, SpecError> {
        if self.has(name) { self.get(name) } else { Ok(None) }
    }

    /// A time; the manifest has it in nanoseconds.
    pub(crate) fn time(&mut self, name: &str) -> Result<Option<Span>, SpecError> {
        Ok(self.quantity(name, &TIME_UNITS)?.map(|ps| {
            self.resolved.insert(format!("{name}_ns"), (ps as f64 / 1e3).into());
            Span::from_ps(ps)
        }))
    }

    /// A rate; the manifest has it in bits per second.
    pub(crate) fn rate(&mut self, name: &str) -> Result<Option<Rate>, SpecError> {
        Ok(self.quantity(name, &RATE_UNITS)?.map(|bps| {
            self.resolved.insert(format!("{name}_bps"), bps.into());
            Rate::from_bps(bps).expect("a quantity of rate is above 0")
        }))
    }

    /// A quantity in the smallest unit, read exactly from the key with which it was written.
    fn quantity(&mut self, name: &str, units: &[(&str, u32)]) -> Result<Option<u64>, SpecError> {
        let field = self.field(name);
        let written: Vec<_> = field.keys().into_iter().filter(|key| self.args.table.contains(key)).collect();
        if let [first, second, ..] = written.as_slice() {
            return Err(self.fault(second, format!("conflicts with {first}: remove one of them")));
        }
        let Some(key) = written.first() else {
            let absent = self.args.value(field).map_err(|error| self.told(field, &field.keys()[0], &error))?;
            return Ok(if let Some(Value::Integer(integer)) = absent { u64::try_from(integer).ok() } else { None });
        };
        let power = units.iter().find(|(unit, _)| *key == format!("{name}{unit}")).map(|(_, power)| *power);
        let value = self.args.table.take(key).expect("it was written");
        let (written, example) = match field.kind {
            Kind::Time => (WRITTEN_TIMES, "a time with its unit, such as \"10ms\""),
            _ => (WRITTEN_RATES, "a rate with its unit, such as \"10G\""),
        };
        let quantity = match (&value, power) {
            (Value::Integer(integer), Some(power)) => exact(&integer.to_string(), power),
            (Value::Decimal(text), Some(power)) => exact(text, power),
            (Value::Text(text), None) => exact_with_unit(text, written),
            (_, Some(_)) => None,
            (_, None) => return Err(self.fault(key, Misfit::of(&value, format!("expected {example}")))),
        };
        if quantity.is_none() && power.is_none() {
            return Err(self.fault(key, Misfit::of(&value, format!("expected {example}: {}", field.allowed()))));
        }
        // A time may be zero, a rate may not.
        let is_rate = |quantity: u64| (1..=Rate::FASTEST_LINK.as_bps()).contains(&quantity);
        let quantity = quantity.filter(|quantity| matches!(field.kind, Kind::Time) || is_rate(*quantity));
        quantity.map(Some).ok_or_else(|| self.misfit(field, key, &value))
    }

    /// The table behind `name`.
    pub(crate) fn table(&mut self, name: &str) -> Result<Option<Table>, SpecError> {
        let field = self.field(name);
        match self.value(field)? {
            None => Ok(None),
            Some(Value::Table(table)) => Ok(Some(table)),
            Some(Value::Tables(_)) => {
                Err(self.fault(name, format!("is a list of tables: expected one table, [{name}]")))
            }
            Some(value) => Err(self.misfit(field, name, &value)),
        }
    }

    /// The table behind `name`; an empty one if it was not written.
    pub(crate) fn table_or_empty(&mut self, name: &str) -> Result<Table, SpecError> {
        Ok(self.table(name)?.unwrap_or_else(|| Table::new(join(self.args.owner(), name), Place::File)))
    }

    /// The table or tables behind `name`.
    pub(crate) fn tables(&mut self, name: &str) -> Result<Vec<Table>, SpecError> {
        let field = self.field(name);
        match self.value(field)? {
            None => Ok(Vec::new()),
            Some(Value::Table(table)) => Ok(vec![table]),
            Some(Value::Tables(tables)) => Ok(tables),
            Some(value) => Err(self.misfit(field, name, &value)),
        }
    }

    /// Takes the value of `name`, of any type.
    pub(crate) fn node(&mut self, name: &str) -> Option<Value> {
        self.args.table.take(name)
    }

    /// Refuses keys that were not read, and returns all resolved values.
    pub(crate) fn finish(self) -> Result<Map<String, Json>, SpecError> {
        match self.args.table.first_unused() {
            None => Ok(self.resolved),
            Some(entry) => Err(self.fault_at(entry.place, &entry.key, "has no effect with the other keys: remove it")),
        }
    }
}

/// `sentence` with a lower-case first letter, except for words in capitals such as TCP.
fn begun_small(sentence: &str) -> String {
    let mut rest = sentence.trim_end_matches('.').chars();
    let first = rest.next();
    let name = rest.clone().next().is_some_and(|second| !second.is_lowercase() && second != ' ');
    first.into_iter().map(|letter| if name { letter } else { letter.to_ascii_lowercase() }).chain(rest).collect()
}

/// A written value as JSON. Decimals become the nearest double.
pub(crate) fn json_of(value: &Value) -> Json {
    match value {
        Value::Integer(integer) => match (i64::try_from(*integer), u64::try_from(*integer)) {
            (Ok(integer), _) => integer.into(),
            (_, Ok(integer)) => integer.into(),
            _ => integer.to_string().into(),
        },
        Value::Decimal(text) => text.parse::<f64>().map_or_else(|_| text.clone().into(), Into::into),
        Value::Text(text) => text.clone().into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(members) => members.iter().map(json_of).collect::<Vec<_>>().into(),
        Value::Table(table) => json_of_table(table),
        Value::Tables(tables) => tables.iter().map(json_of_table).collect::<Vec<_>>().into(),
    }
}

fn json_of_table(table: &Table) -> Json {
    table.entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.value))).collect::<Map<_, _>>().into()
}
