//! The schedulers and the rank function of a scenario.

use crate::error::SpecError;
use crate::extras::Extras;
use crate::fields::{Reader, json_of};
use crate::inputs::{digest_key, read_digested};
use crate::registry::{
    self, BoxedRankFn, BoxedScheduler, Form, LiveWindow, Made, MadeRank, RANKS, RankEntry, SCHEDULERS, SchedulerEntry,
    Traits, unknown,
};
use crate::spec::written::beside;
use crate::text;
use pifolab_params::{Absent, Misfit, Place, Role, Table, Value, join};
use pifolab_sched::params::{Args, Param, ParamError};
use pifolab_sched::{Fact, Facts, Inspect, RankFn, Ranked, Scheduler, WantedFacts};
use pifolab_sim::network::{Controllers, PortScheduler};
use pifolab_workload::{FileError, Stream};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// A scheduler, a rank function or a congestion controller by name, with its arguments as written.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    args: Table,
    /// The form in which it runs.
    form: Form,
    made: MadeOf,
}

/// Its factory; arguments of the library's schedulers and functions are already checked.
#[derive(Clone, Debug)]
enum MadeOf {
    Scheduler(&'static SchedulerEntry, Made),
    Rank(&'static RankEntry, MadeRank),
    /// The user's own.
    Extras,
}

/// One `[[scheduler]]`.
#[derive(Clone, Debug)]
pub(crate) struct SchedulerSpec {
    /// Its name in tables and figures, which is unique.
    pub(crate) label: String,
    pub(crate) chosen: Chosen,
    /// The facts about packets that it reads.
    pub(crate) wants: WantedFacts,
    /// Its part of the manifest.
    pub(crate) resolved: Json,
}

/// Where a component of the user's own runs: the seed of the run, and the number of the port. Its random stream follows
/// from both.
pub(crate) type Origin = (u64, u32);

/// The origin of a component that is built to find faults, and never runs.
const UNUSED: Origin = (0, 0);

/// Why something could not be built: the key, if one is at fault, and the message.
pub(crate) type Fault = (Option<String>, Misfit);

impl Chosen {
    /// An instance for inspection; `None` if it is the user's own, which is not built only for that.
    pub(crate) fn looked_at(&self) -> Option<BoxedScheduler> {
        let MadeOf::Scheduler(_, made) = &self.made else { return None };
        Some(made.scheduler(self.form))
    }

    /// The written keys and values.
    fn written(&self) -> Vec<(String, Value)> {
        self.args.entries.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect()
    }

    /// The window of `scheduler` that follows its packets, if both it and this rank function have the published
    /// settings.
    pub(crate) fn live_window(&self, scheduler: &Self) -> Option<LiveWindow> {
        let (MadeOf::Rank(_, rank), MadeOf::Scheduler(_, made)) = (&self.made, &scheduler.made) else { return None };
        registry::live_window(rank, made)
    }

    /// The traits of a scheduler of the library.
    pub(crate) fn traits(&self) -> Option<Traits> {
        let MadeOf::Scheduler(entry, _) = &self.made else { return None };
        Some(entry.traits)
    }

    /// Bytes of state for every flow seen, if it is a rank function of the library.
    pub(crate) fn flow_bytes(&self) -> usize {
        match &self.made {
            MadeOf::Rank(_, made) => made.rank_fn().flow_bytes(),
            _ => 0,
        }
    }

    /// Whether this scheduler is a plain tail-drop queue, for which a port without a rank function needs no scheduler.
    pub(crate) fn is_tail_drop(&self) -> bool {
        self.traits().is_some_and(|traits| traits.tail_drop)
    }

    /// The row of a rank function of the library.
    pub(crate) fn rank_entry(&self) -> Option<&'static RankEntry> {
        let MadeOf::Rank(entry, _) = &self.made else { return None };
        Some(entry)
    }

    fn params(&self) -> &'static [Param] {
        match &self.made {
            MadeOf::Scheduler(entry, _) => entry.info.params,
            MadeOf::Rank(entry, _) => entry.info.params,
            MadeOf::Extras => &[],
        }
    }

    /// Its arguments with defaults filled in, and the meaning of absent ones without a default.
    fn resolved(&self) -> Map<String, Json> {
        let mut resolved: Map<_, _> = self.written().into_iter().map(|(key, value)| (key, json_of(&value))).collect();
        let mut absent = Map::new();
        for param in self.params() {
            if resolved.contains_key(param.name) {
                continue;
            }
            match param.absent {
                Absent::Default(literal) => {
                    let shown = match literal.value() {
                        value @ Value::Integer(_) => json_of(&value),
                        _ => literal.to_string().into(),
                    };
                    resolved.insert(param.name.to_owned(), shown);
                }
                other => absent.extend(other.meaning().map(|meaning| (param.name.to_owned(), meaning.into()))),
            }
        }
        if !absent.is_empty() {
            resolved.insert("absent".to_owned(), absent.into());
        }
        resolved
    }

    /// Its part of the manifest.
    fn shown(&self) -> Json {
        let mut shown = Map::from_iter([("name".to_owned(), self.name.clone().into())]);
        shown.extend(self.resolved());
        shown.into()
    }

    fn scheduler(&self, (seed, port): Origin, extras: &dyn Extras) -> Result<BoxedScheduler, Fault> {
        if let MadeOf::Scheduler(_, made) = &self.made {
            return Ok(made.scheduler(self.form));
        }
        match extras.scheduler(&self.name, &self.written(), Stream::named(seed, &format!("scheduler {port}"))) {
            Some(built) => built.map_err(|problem| (None, problem.into())),
            None => {
                let known = SCHEDULERS.iter().map(|entry| entry.info.name);
                Err(unknown_name(Role::Scheduler, &self.name, known, extras.scheduler_names()))
            }
        }
    }

    fn rank(&self, (seed, port): Origin, extras: &dyn Extras) -> Result<BoxedRankFn, Fault> {
        if let MadeOf::Rank(_, made) = &self.made {
            return Ok(made.rank_fn());
        }
        match extras.rank(&self.name, &self.written(), Stream::named(seed, &format!("rank {port}"))) {
            Some(built) => built.map_err(|problem| (None, problem.into())),
            None => {
                let known = RANKS.iter().map(|entry| entry.info.name);
                Err(unknown_name(Role::RankFunction, &self.name, known, extras.rank_names()))
            }
        }
    }
}

/// Reads the arguments of a scheduler of the library.
fn made_scheduler(name: &str, args: Args) -> Result<MadeOf, ParamError> {
    match registry::find_scheduler(name) {
        Ok(entry) => Ok(MadeOf::Scheduler(entry, (entry.read)(args)?)),
        Err(_) => Ok(MadeOf::Extras),
    }
}

/// Reads the arguments of a rank function of the library.
fn made_rank(name: &str, args: Args) -> Result<MadeOf, ParamError> {
    match registry::find_rank(name) {
        Ok(entry) => Ok(MadeOf::Rank(entry, (entry.read)(args)?)),
        Err(_) => Ok(MadeOf::Extras),
    }
}

/// The key of a component inside a scheduler is put after the path to it.
fn fault_of(name: &str, error: &ParamError) -> Fault {
    let inside = error.owner.strip_prefix(name).unwrap_or_default().trim_start_matches('.');
    (Some(join(inside, &error.key)), error.problem())
}

/// The error of an unknown name. `known` are the library's names, `own` those of the run.
fn unknown_name<'a>(role: Role, name: &str, known: impl Iterator<Item = &'a str>, own: Vec<String>) -> Fault {
    // No command lists the classes of a run.
    let listed_by = match role {
        Role::Scheduler if own.is_empty() => Some(registry::LIST_SCHEDULERS),
        Role::RankFunction if own.is_empty() => Some(registry::LIST_RANKS),
        _ => None,
    };
    let names: Vec<String> = known.map(str::to_owned).chain(own).collect();
    let problem = if names.is_empty() {
        Misfit::of(format_args!("{name:?}"), format!("unknown {role}; expected a class that is given to the run"))
    } else {
        unknown(&role.to_string(), name, || names.iter().map(String::as_str), listed_by).into()
    };
    (Some("name".to_owned()), problem.unknown(role))
}

/// A maker of the scheduler of a port, joined to the rank function if there is one. It can be called any number of
/// times on any thread; `None` if one of them is the user's own.
pub(crate) fn port_maker(
    scheduler: &Chosen,
    rank: Option<&Chosen>,
) -> Option<impl Fn() -> PortScheduler + Send + Sync + use<>> {
    let MadeOf::Scheduler(_, made) = scheduler.made.clone() else { return None };
    let rank = match rank.map(|rank| &rank.made) {
        None => None,
        Some(MadeOf::Rank(_, rank)) => Some(rank.clone()),
        Some(_) => return None,
    };
    let form = scheduler.form;
    Some(move || match &rank {
        None => made.parts(form),
        Some(rank) => PortScheduler::from(Ranked::new(rank.rank_fn(), made.parts(form))),
    })
}

/// Builds a scheduler, and the rank function if there is one.
pub(crate) fn build_both(
    scheduler: &Chosen,
    rank: Option<&Chosen>,
    origin: Origin,
    extras: &dyn Extras,
) -> Result<(BoxedScheduler, Option<BoxedRankFn>), String> {
    let built = scheduler.scheduler(origin, extras).map_err(|(_, problem)| problem.to_string())?;
    let rank = rank.map(|rank| rank.rank(origin, extras).map_err(|(_, problem)| problem.to_string())).transpose()?;
    Ok((built, rank))
}

/// Builds a scheduler, joined to the rank function if there is one.
///
/// # Panics
/// Never: validation has built them once.
pub(crate) fn build(
    scheduler: &Chosen,
    rank: Option<&Chosen>,
    origin: Origin,
    extras: &dyn Extras,
) -> Result<BoxedScheduler, String> {
    Ok(match build_both(scheduler, rank, origin, extras)? {
        (built, None) => built,
        (built, Some(rank)) => Box::new(Ranked::new(rank, built)),
    })
}

/// Reads `[[scheduler]]`s and builds each once, to find faults now.
pub(crate) fn read_schedulers(
    sections: Vec<Table>,
    file: &str,
    extras: &dyn Extras,
    known: Facts,
    form: Form,
) -> Result<Vec<SchedulerSpec>, SpecError> {
    let mut schedulers: Vec<SchedulerSpec> = Vec::with_capacity(sections.len());
    let names = text::names_of(&sections);
    let mut labels = BTreeSet::new();
    for (section, name) in sections.into_iter().zip(&names) {
        let read = read_one(section, file, extras, known, form, &mut labels);
        schedulers.push(read.map_err(|error| if names.len() > 1 { saying_which(error, name) } else { error })?);
    }
    Ok(schedulers)
}

/// An error about one of several schedulers names it, unless the error has a line.
fn saying_which(error: SpecError, name: &str) -> SpecError {
    match (error.place, error.key.strip_prefix("scheduler")) {
        (Place::Flag(_), Some(rest)) => SpecError { key: format!("scheduler.{name}{rest}"), ..error },
        _ => error,
    }
}

fn read_one(
    mut section: Table,
    file: &str,
    extras: &dyn Extras,
    known: Facts,
    form: Form,
    labels: &mut BTreeSet<String>,
) -> Result<SchedulerSpec, SpecError> {
    let label = read_text(&mut section, file, "label")?;
    let (chosen, place) = read_chosen(section, file, form, made_scheduler)?;
    let built = chosen.scheduler(UNUSED, extras).map_err(|fault| place.fault(file, fault))?;
    let wants = built.wants();
    check_known(&*built, known).map_err(|fault| place.fault(file, fault))?;
    let label = label.unwrap_or_else(|| chosen.name.clone());
    if !labels.insert(label.clone()) {
        let problem = format!("duplicate label {label:?}: give each [[scheduler]] a label of its own");
        return Err(place.fault(file, (Some("label".to_owned()), problem.into())));
    }
    let mut resolved = Map::from_iter([("name".to_owned(), chosen.name.clone().into())]);
    resolved.insert("label".to_owned(), label.clone().into());
    resolved.extend(chosen.resolved());
    resolved.insert("built".to_owned(), json!({"capacity": built.capacity().to_string(), "queues": built.queues()}));
    Ok(SchedulerSpec { label, chosen, wants, resolved: resolved.into() })
}

/// Refuses a scheduler that needs an unknown fact.
fn check_known(scheduler: &dyn Scheduler, known: Facts) -> Result<(), Fault> {
    // The need for carried ranks is checked with the rank function.
    let needs = scheduler.wants().needs - Facts::one(Fact::CarriedRank);
    let Some(fact) = (needs - known).first() else { return Ok(()) };
    let missing = match fact {
        Fact::Class => "the class of each packet: give the trace a column class, or the workload several sources",
        Fact::Dscp => "the DSCP of each packet: only captures and the user-space switch have it",
        Fact::Hosts => "the hosts of each packet: only captures, networks and the user-space switch have them",
        Fact::Ecn => "the ECN codepoint of each packet: only networks have it",
        Fact::Ports => "the ports of each packet: only captures and the user-space switch have them",
        _ => {
            return Err((
                None,
                format!("needs the fact {} of each packet, which is not known here", fact.word()).into(),
            ));
        }
    };
    Err((None, format!("needs {missing}").into()))
}

/// Reads a single scheduler and builds it once.
pub(crate) fn read_scheduler(
    section: Table,
    file: &str,
    extras: &dyn Extras,
    known: Facts,
    form: Form,
) -> Result<(Chosen, Json), SpecError> {
    let (chosen, place) = read_chosen(section, file, form, made_scheduler)?;
    let built = chosen.scheduler(UNUSED, extras).map_err(|fault| place.fault(file, fault))?;
    check_known(&*built, known).map_err(|fault| place.fault(file, fault))?;
    let shown = chosen.shown();
    Ok((chosen, shown))
}

/// Reads `[rank]` and builds it once.
pub(crate) fn read_rank(
    section: Table,
    file: &str,
    extras: &dyn Extras,
) -> Result<(Chosen, Json, WantedFacts), SpecError> {
    let (chosen, place) = read_chosen(section, file, Form::default(), made_rank)?;
    let built = chosen.rank(UNUSED, extras).map_err(|fault| place.fault(file, fault))?;
    let facts = WantedFacts { needs: built.needs(), reads: built.reads() };
    let shown = chosen.shown();
    Ok((chosen, shown, facts))
}

/// Reads `[transport.controller]` and makes one to find faults.
pub(crate) fn read_controller(section: Table, file: &str, extras: &dyn Extras) -> Result<(Chosen, Json), SpecError> {
    let (chosen, place) = read_chosen(section, file, Form::default(), |_, _| Ok(MadeOf::Extras))?;
    controllers(&chosen, extras).map_err(|fault| place.fault(file, fault))?;
    let shown = chosen.shown();
    Ok((chosen, shown))
}

/// The maker of the congestion controllers of flows.
pub(crate) fn controllers(chosen: &Chosen, extras: &dyn Extras) -> Result<Controllers, Fault> {
    match extras.controllers(&chosen.name, &chosen.written()) {
        Some(made) => made.map_err(|problem| (None, problem.into())),
        None => Err(unknown_name(Role::Controller, &chosen.name, std::iter::empty(), extras.controller_names())),
    }
}

/// The places of the keys of a table.
struct Places(Table);

impl Places {
    fn fault(&self, file: &str, (key, problem): Fault) -> SpecError {
        let key = key.unwrap_or_default();
        let name = if key.is_empty() { self.0.path.clone() } else { join(&self.0.path, &key) };
        let path: Vec<&str> = key.split('.').collect();
        SpecError { file: file.to_owned(), place: place_in(&self.0, &path), key: name, problem }
    }
}

/// The place of the key at the end of `path`, which names tables by their keys and members of lists of tables by labels
/// or positions.
fn place_in(table: &Table, path: &[&str]) -> Place {
    let [first, rest @ ..] = path else { return table.place };
    if rest.is_empty() {
        return table.place_of(first);
    }
    if let Some(Value::Table(inside)) = table.get(first) {
        return place_in(inside, rest);
    }
    let lists = table.entries.iter().filter_map(|entry| match &entry.value {
        Value::Tables(tables) => Some(tables),
        _ => None,
    });
    for tables in lists {
        let labelled = |at: &Table| at.get("label") == Some(&Value::Text((*first).to_owned()));
        let found = tables.iter().find(|table| labelled(table));
        if let Some(inside) = found.or_else(|| tables.get(first.parse::<usize>().ok()?)) {
            return place_in(inside, rest);
        }
    }
    table.place_of(first)
}

/// Resolves the files that a scheduler of the library and those inside it name, relative to the scenario, in `found`,
/// and adds their digests to `args`.
fn place_files(name: &str, args: &mut Table, found: &mut Table, file: &str) -> Result<(), Fault> {
    let files = registry::find_scheduler(name).map_or(&[][..], |entry| entry.files);
    let mut digests = Vec::new();
    for (shown, entry) in args.entries.iter_mut().zip(&mut found.entries) {
        let key = entry.key.clone();
        let inside = |shown: &mut Table, found: &mut Table, path: &str| {
            let Some(Value::Text(name)) = found.get("name").cloned() else { return Ok(()) };
            place_files(&name, shown, found, file).map_err(|(key, problem)| (key.map(|key| join(path, &key)), problem))
        };
        match (&mut shown.value, &mut entry.value) {
            (Value::Table(shown), Value::Table(found)) => inside(shown, found, &key)?,
            (Value::Tables(shown), Value::Tables(found)) => {
                for (place, (shown, found)) in shown.iter_mut().zip(found).enumerate() {
                    inside(shown, found, &join(&key, &place.to_string()))?;
                }
            }
            (_, Value::Text(path)) if files.contains(&key.as_str()) => {
                let at = beside(file, path);
                let ((), digest) = read_digested(&at, |_, _| Ok::<_, FileError>(()))
                    .map_err(|error| (Some(key.clone()), Misfit::of(format_args!("{path:?}"), error.problem)))?;
                *path = at.display().to_string();
                digests.push((digest_key(&key), digest));
            }
            _ => {}
        }
    }
    digests.into_iter().for_each(|(key, digest)| args.put(&key, args.place, Value::Text(digest)));
    Ok(())
}

/// Reads a component by name; `make` reads the arguments of a component of the library.
fn read_chosen(
    mut section: Table,
    file: &str,
    form: Form,
    make: fn(&str, Args) -> Result<MadeOf, ParamError>,
) -> Result<(Chosen, Places), SpecError> {
    let Some(name) = read_text(&mut section, file, "name")? else {
        let problem = "is missing: expected a name that pifolab show lists".into();
        return Err(Places(section).fault(file, (Some("name".to_owned()), problem)));
    };
    let mut args = Table::new(name.clone(), section.place);
    args.entries.extend(section.entries.iter().filter(|entry| !entry.used).cloned());
    let place = Places(section);
    let mut found = args.clone();
    place_files(&name, &mut args, &mut found, file).map_err(|fault| place.fault(file, fault))?;
    match make(&name, Args::from(found)) {
        Ok(made) => Ok((Chosen { name, args, form, made }, place)),
        Err(error) => Err(place.fault(file, fault_of(&name, &error))),
    }
}

fn read_text(section: &mut Table, file: &str, key: &str) -> Result<Option<String>, SpecError> {
    match section.take(key) {
        None => Ok(None),
        Some(Value::Text(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => {
            let problem = "expected a non-empty text".into();
            Err(Places(section.clone()).fault(file, (Some(key.to_owned()), problem)))
        }
    }
}

/// Takes the list of `[[scheduler]]` tables from the top of a scenario.
pub(crate) fn take_schedulers(top: &mut Reader<'_>) -> Result<Vec<Table>, SpecError> {
    match top.node("scheduler") {
        Some(Value::Tables(sections)) => Ok(sections),
        Some(Value::Table(_)) => {
            Err(top.fault("scheduler", "is a single table: expected [[scheduler]], one table for each scheduler"))
        }
        Some(_) => Err(top.fault("scheduler", "is a value: expected [[scheduler]], one table for each scheduler")),
        None => Err(top.fault("scheduler", "is missing: expected [[scheduler]], one table for each scheduler")),
    }
}
