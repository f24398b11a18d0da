//! Slack-SP: where each bound starts, and its two moves, as the library rounds them.

use crate::file::File;
use crate::setting::{Refusal, Setting};
use pifolab_sched::FromParams;
use pifolab_sched::schedulers::deciders::SlackSp;
use pifolab_sched::schedulers::{SlackSpParams, StepScale};

pub fn write(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let params: &SlackSpParams = setting.params();
    if params.shares.is_some() {
        return Err(setting.unsupported("map = shares: expected bounds"));
    }
    if params.admission.is_some() {
        return Err(setting.unsupported("admission: expected none"));
    }
    file.define("PROPORTIONAL", u8::from(params.steps == StepScale::Proportional));
    file.define("FALL_THROUGH", u8::from(params.fall_through));
    let (decider, _) = SlackSp::from_params(params.clone())?;
    let bound = |(at, (start, up, down))| format!("{at}, 64w{start}, 64w{up}, 64w{down}");
    file.each("EACH_BOUND", decider.registers().enumerate().map(bound));
    Ok(())
}

pub fn refuse_tofino(_: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    Err(setting.unsupported("there is no program: expected BMv2"))
}
