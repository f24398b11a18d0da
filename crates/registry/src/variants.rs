//! AIFO, PACKS and RIFO by name. One table for each has its own parameters, those of wrappers of any decider, and those
//! of published simulations.

use crate::made::{Made, Variant, Variants};
use pifolab_fast as fast;
use pifolab_replay::{self as replay, ARITHMETIC, AifoVariant, Arithmetic, Compare, LiveTest, LiveWindow};
use pifolab_sched::params::{Args, FromArgs, Info, Param, ParamError, choices};
use pifolab_sched::schedulers::{
    AifoParams, GeometricMap, GeometricPacks, Occupancy, PacksParams, Quantile, QuantileTest, RifoParams, Update,
    deciders,
};
use pifolab_sched::{Capacity, Decider, Delayed, FromParams, OCCUPANCY_DELAY, PlainDecider};
use pifolab_units::Rank;

/// The decider, wrapped so that it sees lengths that are `arrivals` arrivals old.
fn late<D: Decider + Clone + Send + Sync + 'static>(
    (decider, capacities): (D, Vec<Capacity>),
    owner: &str,
    arrivals: u32,
) -> Result<Option<Variant>, ParamError> {
    let decider: Box<dyn PlainDecider> = match arrivals {
        0 => Box::new(decider),
        _ => Box::new(Delayed::around(decider, owner, arrivals, &capacities)?),
    };
    Ok(Some((decider, capacities)))
}

/// A row of a scheduler's own table.
const fn own(info: &'static Info, place: usize) -> Param {
    info.params[place]
}

/// The parameters of `aifo`.
#[derive(Clone, Debug)]
pub struct Aifo {
    /// The parameters of the decider.
    pub params: AifoParams,
    /// What differs from Algorithm 1.
    pub published: AifoVariant,
    /// How many arrivals late the decider sees the lengths of queues.
    pub delay: u32,
}

const AIFO_OWN: &Info = &AifoParams::INFO;

/// AIFO by name.
pub(crate) const AIFO: Info = Info {
    params: &[
        own(AIFO_OWN, 0),
        own(AIFO_OWN, 1),
        own(AIFO_OWN, 2),
        own(AIFO_OWN, 3),
        own(AIFO_OWN, 4),
        own(AIFO_OWN, 5),
        own(AIFO_OWN, 6),
        own(AIFO_OWN, 7),
        own(AIFO_OWN, 8),
        AifoVariant::COMPARE,
        ARITHMETIC,
        AifoVariant::HEADROOM,
        OCCUPANCY_DELAY,
        own(AIFO_OWN, 9),
    ],
    ..AifoParams::INFO
};

pub(crate) fn aifo(mut args: Args) -> Result<Made, ParamError> {
    let params = AifoParams::from_args(&mut args)?;
    let published = AifoVariant::read(&mut args)?;
    let delay = args.given(&OCCUPANCY_DELAY)?;
    args.finish(AIFO.params)?;
    Aifo { params, published, delay }.made()
}

impl Variants for Aifo {
    type Twin = fast::Aifo;

    fn params(&self) -> &AifoParams {
        &self.params
    }

    fn variant(&self) -> Result<Option<Variant>, ParamError> {
        let Self { params, published, delay } = self;
        if *published != AifoVariant::default() {
            return late(replay::Aifo::new(params, *published)?, AIFO.name, *delay);
        }
        if *delay == 0 { Ok(None) } else { late(deciders::Aifo::from_params(params.clone())?, AIFO.name, *delay) }
    }

    fn window(&self) -> Option<u32> {
        Some(self.params.window)
    }

    fn starting_with(&self, ranks: &[Rank]) -> Option<Self> {
        Some(Self { params: AifoParams { start_window: ranks.to_vec(), ..self.params.clone() }, ..*self })
    }
}

choices! {
    /// The mapping of quantiles to queues.
    enum Map {
        Occupancy = "occupancy": "the queues' shares are their free places (Algorithm 1)",
        Geometric = "geometric": "the queues' shares are fixed, and shrink so that slack shrinks geometrically",
    }
}

const MAP: Param = Param::choice::<Map>("map")
    .or_word(Map::Occupancy.word())
    .doc("How the quantile of an admitted packet is mapped to a queue. It does not change admission.");

/// The parameters of `packs`.
#[derive(Clone, Debug)]
pub struct Packs {
    /// The parameters of the decider.
    pub params: PacksParams,
    /// The map of quantiles to queues, if it is not that of Algorithm 1.
    pub map: Option<GeometricMap>,
    /// The arithmetic of the test.
    pub arithmetic: Arithmetic,
    /// How many arrivals late the decider sees the lengths of queues.
    pub delay: u32,
}

const PACKS_OWN: &Info = &PacksParams::INFO;

/// PACKS by name.
pub(crate) const PACKS: Info = Info {
    params: &[
        own(PACKS_OWN, 0),
        own(PACKS_OWN, 1),
        own(PACKS_OWN, 2),
        own(PACKS_OWN, 3),
        own(PACKS_OWN, 4),
        own(PACKS_OWN, 5),
        own(PACKS_OWN, 6),
        own(PACKS_OWN, 7),
        own(PACKS_OWN, 8),
        own(PACKS_OWN, 9),
        own(PACKS_OWN, 10),
        MAP,
        GeometricMap::EPS,
        GeometricMap::LOAD,
        own(PACKS_OWN, 11),
        ARITHMETIC,
        OCCUPANCY_DELAY,
        own(PACKS_OWN, 12),
    ],
    ..PacksParams::INFO
};

pub(crate) fn packs(mut args: Args) -> Result<Made, ParamError> {
    // Without the geometric map `eps` and `load` stay unread, because they have no effect.
    let map = match args.given(&MAP)? {
        Map::Occupancy => None,
        Map::Geometric => {
            Some(GeometricMap { eps: args.given(&GeometricMap::EPS)?, load: args.given(&GeometricMap::LOAD)? })
        }
    };
    let params = PacksParams::from_args(&mut args)?;
    let (arithmetic, delay) = (args.given(&ARITHMETIC)?, args.given(&OCCUPANCY_DELAY)?);
    args.finish(PACKS.params)?;
    Packs { params, map, arithmetic, delay }.made()
}

impl Packs {
    /// Wraps a PACKS with this test of quantiles by the map and the delay of the parameters.
    fn around<P: QuantileTest + Clone + Send + Sync + 'static>(
        &self,
        (packs, capacities): (P, Vec<Capacity>),
    ) -> Result<Option<Variant>, ParamError> {
        match self.map {
            None => late((packs, capacities), PACKS.name, self.delay),
            Some(map) => late((GeometricPacks::new(packs, map, capacities.len())?, capacities), PACKS.name, self.delay),
        }
    }
}

impl Variants for Packs {
    type Twin = fast::Packs;

    fn params(&self) -> &PacksParams {
        &self.params
    }

    fn variant(&self) -> Result<Option<Variant>, ParamError> {
        match self.arithmetic {
            Arithmetic::Netbench => self.around(replay::Packs::new(self.params.clone())?),
            Arithmetic::Exact if self.map.is_none() && self.delay == 0 => Ok(None),
            Arithmetic::Exact => self.around(deciders::Packs::from_params(self.params.clone())?),
        }
    }

    fn window(&self) -> Option<u32> {
        Some(self.params.window)
    }

    fn starting_with(&self, ranks: &[Rank]) -> Option<Self> {
        Some(Self { params: PacksParams { start_window: ranks.to_vec(), ..self.params.clone() }, ..*self })
    }
}

choices! {
    /// RIFO's admission test, by name.
    pub enum RifoModeName {
        Alg1 = "alg1": "the test of Algorithm 1",
        Eq3 = "eq3": "the test of eq. 3, which admits more if k > 0",
        Pow2 = "pow2": "eq. 3 on powers of two, as the switch tables compute it",
        Netbench = "netbench": "the published simulation: the reversed score against the free share",
    }
}

const MODE: Param = Param::choice::<RifoModeName>("mode").or_word(RifoModeName::Alg1.word()).doc("The admission test.");

/// The parameters of `rifo`.
#[derive(Clone, Debug)]
pub struct Rifo {
    /// The parameters of the decider. Its `mode` has no effect if the published simulation takes its place.
    pub params: RifoParams,
    /// The admission test.
    pub mode: RifoModeName,
    /// How many arrivals late the decider sees the lengths of queues.
    pub delay: u32,
}

const RIFO_OWN: &Info = &RifoParams::INFO;

/// RIFO by name.
pub(crate) const RIFO: Info = Info {
    params: &[
        own(RIFO_OWN, 0),
        own(RIFO_OWN, 1),
        own(RIFO_OWN, 2),
        own(RIFO_OWN, 3),
        MODE,
        own(RIFO_OWN, 5),
        OCCUPANCY_DELAY,
    ],
    ..RifoParams::INFO
};

pub(crate) fn rifo(mut args: Args) -> Result<Made, ParamError> {
    let mode = args.given(&MODE)?;
    let params = match mode {
        RifoModeName::Netbench => replay::Rifo::read(&mut args)?,
        _ => RifoParams::from_args(&mut args)?,
    };
    let delay = args.given(&OCCUPANCY_DELAY)?;
    args.finish(RIFO.params)?;
    Rifo { params, mode, delay }.made()
}

impl Variants for Rifo {
    type Twin = fast::Rifo;

    fn params(&self) -> &RifoParams {
        &self.params
    }

    fn variant(&self) -> Result<Option<Variant>, ParamError> {
        if self.mode == RifoModeName::Netbench {
            return late(replay::Rifo::new(&self.params)?, RIFO.name, self.delay);
        }
        if self.delay == 0 { Ok(None) } else { late(deciders::Rifo::from_params(self.params)?, RIFO.name, self.delay) }
    }
}

/// The window that follows its packets in the published network simulation, if the scheduler has the settings of that
/// simulation.
pub(crate) fn live_window(made: &Made) -> Option<LiveWindow> {
    if let Some(Aifo { params, published, delay: 0 }) = made.params() {
        let Capacity::Packets(packets) = params.capacity else { return None };
        let test = match (params.update, published.headroom) {
            (Update::After, true) => LiveTest::Aifo { packets },
            (Update::Before, false) => LiveTest::AifoOfPacks { packets },
            _ => return None,
        };
        let as_published = published.compare == Compare::Below
            && published.arithmetic == Arithmetic::Netbench
            && params.quantile == Quantile::Lower
            && params.target.is_none()
            && params.start_window.is_empty();
        let AifoParams { window, sample, k, .. } = *params;
        return as_published.then_some(LiveWindow { test, window, sample, k: k.as_f64() as f32 });
    }
    let Some(Packs { params, map: None, arithmetic: Arithmetic::Netbench, delay: 0 }) = made.params() else {
        return None;
    };
    let Some(Capacity::Packets(queue_packets)) = params.capacities.first().copied() else { return None };
    let as_published = params.below
        && params.fall_through
        && params.shift == 0
        && params.update == Update::Before
        && params.quantile == Quantile::Lower
        && params.occupancy == Occupancy::Global
        && params.start_window.is_empty()
        && params.capacities.iter().all(|capacity| *capacity == Capacity::Packets(queue_packets));
    let test = LiveTest::Packs { queues: params.capacities.len() as u32, queue_packets };
    let PacksParams { window, sample, k, .. } = *params;
    as_published.then_some(LiveWindow { test, window, sample, k: k.as_f64() as f32 })
}
