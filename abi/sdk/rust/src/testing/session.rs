//! One try to place a pod: the calls of a cycle, in one of several ways.

use std::string::String;
use std::vec::Vec;

use super::bytes::{read_u32, read_u64, Bytes};
use super::cluster::Pod;
use super::image::{About, Image, Numbering};
use super::manifest::Reads;
use super::native::Native;
use super::normalize::normalize;
use super::trial::{Trial, Verdict};
use crate::abi::Point;
use crate::guest::Exported;
use crate::types::Code;

/// How the same calls are made.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ways {
    /// All rows in one call; else two at a time.
    pub once: bool,
    /// An instance for each call.
    pub fresh: bool,
    /// Rows as a list.
    pub listed: bool,
}

pub(crate) struct Session<'t, P: Exported> {
    trial: &'t Trial<P>,
    ways: Ways,
    pub image: Image,
    pub guest: Option<Native<P>>,
    /// By row.
    verdicts: Vec<Verdict>,
    order: Vec<usize>,
}

impl<'t, P: Exported> Session<'t, P> {
    pub fn new(trial: &'t Trial<P>, pod: &Pod, numbering: Numbering, ways: Ways) -> Session<'t, P> {
        let about = About {
            nodes: &trial.nodes,
            namespaces: &trial.namespaces,
            pod: Some(pod),
            ..About::default()
        };
        let host = &mut *trial.host.inner.borrow_mut();
        host.state.clear();
        host.published = trial.published.clone();
        host.pods = std::vec![pod.object.clone()];
        Session::about(trial, &about, numbering, ways)
    }

    pub fn about(
        trial: &'t Trial<P>,
        about: &About<'_>,
        numbering: Numbering,
        ways: Ways,
    ) -> Session<'t, P> {
        let verdicts = numbering.order.iter().map(|i| Verdict {
            node: about.nodes[*i].name.clone(),
            code: Code::SUCCESS,
            reasons: Vec::new(),
            score: 0,
        });
        Session {
            trial,
            ways,
            verdicts: verdicts.collect(),
            image: Image::new(&trial.reads, about, &numbering),
            guest: None,
            order: numbering.order,
        }
    }

    /// Calls one point and checks what must hold after any call.
    pub fn call(
        &mut self,
        point: Point,
        lo: u32,
        n: usize,
        rows: Option<&[u32]>,
        overlay: bool,
    ) -> Code {
        self.prepare(point, n, rows, overlay);
        self.run(point, lo, n)
    }

    /// Calls post_filter, whose codes are an input (ABI-3.2).
    pub fn call_with(&mut self, point: Point, verdicts: &[Code]) -> Code {
        let n = verdicts.len();
        self.prepare(point, n, None, false);
        for (i, code) in verdicts.iter().enumerate() {
            let at = self.image.codes + i;
            self.image.data[at] = code.0;
        }
        self.run(point, 0, n)
    }

    /// Makes an instance, if one is needed, and the call record.
    fn prepare(&mut self, point: Point, n: usize, rows: Option<&[u32]>, overlay: bool) {
        if self.guest.is_none() || self.ways.fresh {
            let mut guest = match self.trial.instance() {
                Ok(guest) => guest,
                Err(why) => panic!("{}", why),
            };
            let base = guest.alloc(self.image.data.len() as u32, 64);
            assert!(
                base != 0 && base % 64 == 0,
                "berth_alloc returned {:#x}",
                base
            );
            self.image.move_to(base);
            self.guest = Some(guest);
        }
        self.image.set_call(point, n, rows, overlay);
    }

    fn run(&mut self, point: Point, lo: u32, n: usize) -> Code {
        let (image, guest) = (
            &mut self.image,
            self.guest.as_mut().expect("prepare made it"),
        );
        let (base, size) = (image.base as usize, image.data.len());
        guest.memory_mut()[base..base + size].copy_from_slice(&image.data);
        self.trial.host.inner.borrow_mut().writable =
            !self.trial.reads.sharded || point == Point::PRE_FILTER;
        let code = guest.call(point, image.base + image.call as u32, lo, lo + n as u32);
        let after = &guest.memory()[base..base + size];
        let kept = image.read_only.clone();
        let wrote =
            after[kept.clone()] != image.data[kept.clone()] || after[..64] != image.data[..64];
        assert!(
            !wrote,
            "{} wrote into what it may only read (ABI-2.9)",
            point.export()
        );
        image.data[..kept.start].copy_from_slice(&after[..kept.start]); // the answers
        Code(code as u8)
    }

    pub fn reads(&self) -> &Reads {
        &self.trial.reads
    }

    /// A number of the call record.
    pub fn answer(&self, offset: usize) -> u32 {
        self.image.data.get_u32(self.image.call + offset)
    }

    fn memory(&self) -> &[u8] {
        self.guest.as_ref().expect("there was a call").memory()
    }

    /// A text that the guest wrote; at is the address of its address and length.
    pub fn text(&self, at: u32) -> String {
        let memory = self.memory();
        let (address, length) = (
            read_u32(memory, at as usize),
            read_u32(memory, at as usize + 4),
        );
        let bytes = memory[address as usize..][..length as usize].to_vec();
        String::from_utf8(bytes).expect("texts are UTF-8 (ABI-3.8)")
    }

    /// The texts of a reason set of the last call (ABI-3.6).
    pub fn reason_set(&self, n: u32) -> Vec<String> {
        if n == 0 {
            return Vec::new();
        }
        assert!(
            n <= self.answer(68),
            "reason set {} of {}",
            n,
            self.answer(68)
        );
        let memory = self.memory();
        let set = (self.answer(64) + 8 * (n - 1)) as usize;
        let (texts, count) = (read_u32(memory, set), read_u32(memory, set + 4));
        assert!(count > 0, "a reason set has at least one text (ABI-3.6)");
        (0..count).map(|i| self.text(texts + 8 * i)).collect()
    }

    /// The code and reasons that were answered for the i-th row or pod.
    pub fn judged(&self, i: usize) -> (Code, Vec<String>) {
        let data = &self.image.data;
        let reason = data[self.image.reasons + 2 * i] as u32
            | (data[self.image.reasons + 2 * i + 1] as u32) << 8;
        (Code(data[self.image.codes + i]), self.reason_set(reason))
    }

    /// The answer of a call as a whole for every row that stands.
    fn all(&mut self, code: Code) {
        let reasons = self.reason_set(self.answer(84));
        for verdict in self.verdicts.iter_mut().filter(|v| v.code == Code::SUCCESS) {
            verdict.code = code;
            verdict.reasons = reasons.clone();
        }
    }

    /// Reports whether filter is to be called.
    fn pre_filter(&mut self) -> bool {
        if !self.trial.exports(Point::PRE_FILTER) {
            return true;
        }
        let sharded = self.trial.reads.sharded;
        let (rows, rows_at) = (self.image.rows as u32, self.image.rows_at);
        self.image
            .data
            .set_u32(rows_at, if sharded { 0 } else { rows });
        let code = self.call(Point::PRE_FILTER, 0, 0, None, false);
        self.image.data.set_u32(rows_at, rows);
        if code == Code::SKIP {
            return false;
        }
        if code != Code::SUCCESS {
            self.all(code);
            return true;
        }
        if self.answer(80) == 0 {
            return true;
        }
        assert!(
            !sharded,
            "pre_filter of a plugin of scope node must not narrow down (ABI-5.3)"
        );
        let at = self.answer(72) as usize;
        let fit: Vec<u32> = (0..self.answer(76) as usize)
            .map(|i| read_u32(self.memory(), at + 4 * i))
            .collect();
        assert!(
            fit.windows(2).all(|w| w[0] < w[1]) && fit.last().map_or(true, |last| *last < rows),
            "pre_filter's row set {:?} is not strictly ascending, or out of range",
            fit
        );
        for (row, verdict) in self.verdicts.iter_mut().enumerate() {
            if !fit.contains(&(row as u32)) {
                verdict.code = Code::UNSCHEDULABLE_AND_UNRESOLVABLE;
            }
        }
        true
    }

    fn standing(&self) -> Vec<u32> {
        let rows = 0..self.verdicts.len() as u32;
        rows.filter(|row| self.verdicts[*row as usize].code == Code::SUCCESS)
            .collect()
    }

    /// Calls a point with the rows as the ways want them, or all at once; each gets the rows of
    /// each call and their code.
    fn batches(
        &mut self,
        point: Point,
        whole: bool,
        mut each: impl FnMut(&mut Self, &[u32], Code),
    ) {
        let rows = self.standing();
        let size = if whole || self.ways.once {
            rows.len().max(1)
        } else {
            2
        };
        for asked in rows.chunks(size) {
            let (lo, hi) = (asked[0], asked[asked.len() - 1] + 1);
            let listed = (hi - lo) as usize != asked.len() || self.ways.listed;
            let code = self.call(point, lo, asked.len(), listed.then_some(asked), false);
            each(self, asked, code);
        }
    }

    fn filter(&mut self) {
        self.batches(Point::FILTER, false, |s, asked, code| {
            if code != Code::SUCCESS {
                return s.all(code);
            }
            for (i, row) in asked.iter().enumerate() {
                let (code, reasons) = s.judged(i);
                s.check(code, *row);
                let verdict = &mut s.verdicts[*row as usize];
                verdict.code = code;
                verdict.reasons = reasons;
            }
        });
    }

    fn check(&self, code: Code, row: u32) {
        let bad = code == Code::WAIT || code == Code::SKIP || code.0 > Code::PENDING.0;
        let node = self
            .verdicts
            .get(row as usize)
            .map_or("an overlay row", |v| v.node.as_str());
        assert!(!bad, "filter's code for {} is {} (ABI-5.5)", node, code.0);
    }

    fn score(&mut self) {
        if self.trial.exports(Point::PRE_SCORE) {
            let mut skip = false;
            self.batches(Point::PRE_SCORE, true, |s, _, code| match code {
                Code::SKIP => skip = true,
                Code::SUCCESS => {}
                _ => s.all(code),
            });
            if skip {
                return;
            }
        }
        let mut scores = Vec::new();
        self.batches(Point::SCORE, false, |s, asked, code| {
            if code != Code::SUCCESS {
                s.all(code);
            }
            scores.extend(s.scores(asked.len()));
        });
        let rows = self.standing();
        if rows.is_empty() {
            return; // score failed
        }
        if self.trial.exports(Point::NORMALIZE) {
            scores = self.normalize(&rows, &scores);
        }
        normalize(&self.trial.reads.normalize, &mut scores);
        for (row, score) in rows.into_iter().zip(scores) {
            let verdict = &mut self.verdicts[row as usize];
            let fits = (0..=100).contains(&score);
            assert!(
                fits,
                "the score of {} is {}, want 0 to 100",
                verdict.node, score
            );
            verdict.score = score;
        }
    }

    fn normalize(&mut self, rows: &[u32], scores: &[i64]) -> Vec<i64> {
        self.prepare(Point::NORMALIZE, rows.len(), Some(rows), false);
        let mut written = Vec::new();
        scores.iter().for_each(|score| written.u64(*score as u64));
        let at = self.image.scores;
        self.image.data[at..at + written.len()].copy_from_slice(&written);
        let code = self.run(Point::NORMALIZE, rows[0], rows.len());
        if code != Code::SUCCESS {
            self.all(code);
        }
        self.scores(rows.len())
    }

    fn scores(&self, n: usize) -> Vec<i64> {
        let at = self.image.scores;
        (0..n)
            .map(|i| read_u64(&self.image.data, at + 8 * i) as i64)
            .collect()
    }

    /// Makes all calls, and returns the verdicts in the order of the trial's nodes.
    pub fn place(mut self) -> Vec<Verdict> {
        if self.pre_filter() && self.trial.exports(Point::FILTER) {
            self.filter();
        }
        if self.trial.exports(Point::SCORE) {
            self.score();
        }
        let mut by_node: Vec<(usize, Verdict)> =
            self.order.into_iter().zip(self.verdicts).collect();
        by_node.sort_by_key(|(i, _)| *i);
        by_node.into_iter().map(|(_, verdict)| verdict).collect()
    }

    /// Filters overlay rows that repeat rows. want is in the order of rows.
    pub fn overlays(mut self, want: &[Verdict]) {
        if !self.pre_filter() || self.standing().is_empty() {
            return;
        }
        for (i, row) in self.image.overlay.clone().into_iter().enumerate() {
            let over = (self.image.capacity + i) as u32;
            if self.call(Point::FILTER, over, 1, Some(&[over]), true) != Code::SUCCESS {
                return; // the whole call failed; so it did for rows
            }
            let (code, reasons) = self.judged(0);
            self.check(code, u32::MAX);
            assert_eq!(
                (want[row].code, &want[row].reasons),
                (code, &reasons),
                "{}: filter's verdict of a row (left), and of an overlay row with the same content",
                want[row].node
            );
        }
    }
}
