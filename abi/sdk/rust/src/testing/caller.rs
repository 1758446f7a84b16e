//! One call again and again.

use super::cluster::Pod;
use super::session::{Session, Ways};
use super::trial::Trial;
use crate::abi::Point;
use crate::guest::Exported;

/// One call of filter, or of score if the plugin has no filter, for all nodes, to be made again and
/// again: to count what it does, or to measure it. The memory is written once, as a host does.
pub struct Caller<'t, P: Exported> {
    session: Session<'t, P>,
    point: Point,
}

impl<'t, P: Exported> Caller<'t, P> {
    pub(crate) fn new(trial: &'t Trial<P>, pod: &Pod) -> Caller<'t, P> {
        let mut session = Session::new(trial, pod, trial.in_order(), Ways::default());
        let point = match trial.exports(Point::FILTER) {
            true => Point::FILTER,
            false => Point::SCORE,
        };
        session.call(point, 0, trial.nodes.len(), None, false);
        Caller { session, point }
    }

    /// Makes the call.
    ///
    /// # Panics
    ///
    /// If its result is not SUCCESS.
    pub fn call(&mut self) {
        let image = &self.session.image;
        let (base, n) = (image.base as usize, image.rows as u32);
        let (call, answers) = (image.base + image.call as u32, image.codes..image.keys);
        let guest = self.session.guest.as_mut().expect("new has called it");
        guest.memory_mut()[base + answers.start..base + answers.end].fill(0);
        assert_eq!(
            guest.call(self.point, call, 0, n),
            0,
            "{}",
            self.point.export()
        );
    }

    /// How many bytes of the linear memory are taken.
    pub fn used(&self) -> u32 {
        self.session
            .guest
            .as_ref()
            .expect("new has called it")
            .used()
    }
}
