//! The vectors that all SDKs pass (abi/vectors): views read them, and the answers that they have
//! are written.

mod names;
mod print;
mod replay;
mod rules;

use std::format;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::abi::Point;
use crate::fixtures::{put, with_strings};
use crate::json::Value;
use crate::pod::Which;
use crate::records::{Directive, Text};
use crate::testing::{Native, TestHost};
use crate::Base;
use print::Printer;
use replay::{Replay, CALL};

fn file(name: &str) -> Vec<u8> {
    let path = format!("{}/../../vectors/{}", env!("CARGO_MANIFEST_DIR"), name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {}", path, e))
}

fn text(value: Value<'_>) -> String {
    value.string().expect("a string")
}

fn hex(value: Value<'_>) -> Vec<u8> {
    let text = text(value);
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex digits");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn get<'j>(value: Value<'j>, key: &str) -> Value<'j> {
    value.need(key).expect("the vector has it")
}

fn int(value: Value<'_>, key: &str) -> u32 {
    get(value, key).i64().expect("a number") as u32
}

/// The elements of a list; none for null.
fn list<'j>(value: Value<'j>, key: &str) -> Vec<Value<'j>> {
    value.list(key).expect("a list").collect()
}

fn numbers(value: Value<'_>, key: &str) -> Vec<i64> {
    let all = list(value, key).into_iter();
    all.map(|v| v.i64().expect("a number")).collect()
}

/// ABI-3, ABI-4, ABI-5 and ABI-13.
#[test]
fn regions() {
    let text = file("regions.json");
    let all: Vec<Value> = Value::parse(&text).unwrap().elements().unwrap().collect();
    assert!(!all.is_empty());
    for vector in all {
        let name: String = get(vector, "name").chars().collect();
        let mut native = written(vector);
        let (call, want) = (int(vector, "call"), get(vector, "want"));
        forget(&mut native, call);
        let asked = get(want, "call");
        CALL.with(|text| *text.borrow_mut() = format!("{:?}", asked).into_bytes());
        let point = Point(int(asked, "point"));
        native.call(point, call, 0, int(asked, "n_rows"));
        check_snapshot(&name, native.base(), want);
        check_answers(&name, native.base(), asked);
    }
}

/// An instance whose memory has what the host of a vector wrote.
fn written(vector: Value<'_>) -> Native<Replay> {
    let size = int(vector, "size");
    let mut native = Native::<Replay>::behind(size, Rc::new(TestHost::default()));
    for piece in list(vector, "memory") {
        let (at, bytes) = (int(piece, "address") as usize, hex(get(piece, "hex")));
        native.memory_mut()[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    native
}

/// Zeroes what the guest has answered.
fn forget(native: &mut Native<Replay>, call: u32) {
    native.base().call = native.base().memory.at(call);
    let record = native.base().record();
    let n = record.n_rows as usize;
    let mut zero = |at: u32, n: usize| native.memory_mut()[at as usize..][..n].fill(0);
    zero(call + 64, 64);
    if Point(record.point) != Point::POST_FILTER {
        // Its codes are an input (ABI-3.2).
        zero(record.codes, n);
    }
    zero(record.reasons, 2 * n);
    zero(record.scores, 8 * n);
    if record.keys != 0 {
        zero(record.keys, 68 * n);
    }
}

fn check_snapshot(name: &str, base: &Base, want: Value<'_>) {
    let snapshot = base.snapshot();
    let number = |key| get(want, key).i64().expect("a number") as u64;
    assert_eq!(snapshot.epoch(), number("epoch"), "{}", name);
    assert_eq!(snapshot.generation(), number("generation"), "{}", name);
    assert_eq!(snapshot.seed(), number("seed"), "{}", name);
    for table in list(want, "tables") {
        let id = int(table, "id");
        assert_eq!(
            base.columns.rows(id),
            int(table, "n_rows"),
            "{}: table {}",
            name,
            id
        );
        Printer(base).check_table(name, id, get(table, "cells"));
    }
}

/// Compares what was answered with the vector.
fn check_answers(name: &str, base: &Base, want: Value<'_>) {
    let record = base.record();
    let (m, n) = (&base.memory, record.n_rows);
    let codes: Vec<i64> = m
        .view::<u8>(record.codes, n)
        .slice()
        .iter()
        .map(|v| (*v).into())
        .collect();
    assert_eq!(codes, numbers(want, "codes"), "{}", name);
    let reasons = m.view::<u16>(record.reasons, n);
    let reasons: Vec<i64> = reasons.slice().iter().map(|v| (*v).into()).collect();
    assert_eq!(reasons, numbers(want, "reasons"), "{}", name);
    assert_eq!(
        m.view::<i64>(record.scores, n).slice(),
        numbers(want, "scores"),
        "{}",
        name
    );
    let rows = m.view::<u32>(record.row_set, record.n_row_set);
    let rows: Vec<i64> = rows.slice().iter().map(|v| (*v).into()).collect();
    assert_eq!(rows, numbers(want, "row_set"), "{}", name);
    assert_eq!(
        record.has_row_set != 0,
        want.get("row_set").unwrap().is_some(),
        "{}",
        name
    );
    let optional = |key| want.get(key).unwrap().map_or(0, |v| v.i64().unwrap()) as u64;
    assert_eq!(
        u64::from(record.status_reason),
        optional("status_reason"),
        "{}",
        name
    );
    assert_eq!(record.wait, optional("wait"), "{}", name);
    assert_eq!(record.retry_after, optional("retry_after"), "{}", name);

    let text = |t: &Text| {
        let bytes = m.view::<u8>(t.address, t.length);
        String::from_utf8(bytes.slice().to_vec()).unwrap()
    };
    let sets = m.view::<Text>(record.reason_sets, record.n_reason_sets);
    let sets = sets.slice().iter().map(|set| {
        let texts = m.view::<Text>(set.address, set.length);
        texts.slice().iter().map(text).collect::<Vec<String>>()
    });
    let wanted = list(want, "reason_sets").into_iter();
    let wanted = wanted.map(|set| {
        set.elements()
            .unwrap()
            .map(self::text)
            .collect::<Vec<String>>()
    });
    assert_eq!(
        sets.collect::<Vec<_>>(),
        wanted.collect::<Vec<_>>(),
        "{}",
        name
    );

    let kinds = [
        "", "annotate", "label", "nominate", "bind", "allow", "reject", "activate",
    ];
    let directives = m.view::<Directive>(record.directives, record.n_directives);
    let directives = directives.slice().iter().map(|d| {
        [
            kinds[d.kind as usize].to_string(),
            text(&d.first),
            text(&d.second),
        ]
    });
    let wanted = list(want, "directives").into_iter();
    let wanted = wanted.map(|d| ["kind", "first", "second"].map(|key| self::text(get(d, key))));
    assert_eq!(
        directives.collect::<Vec<_>>(),
        wanted.collect::<Vec<_>>(),
        "{}",
        name
    );

    for (i, entry) in list(want, "queue").into_iter().enumerate() {
        let key = m.view::<u8>(record.keys + 68 * i as u32, 68);
        let bytes = hex(get(entry, "key"));
        assert_eq!(
            key.slice()[..4],
            (bytes.len() as u32).to_le_bytes(),
            "{}",
            name
        );
        assert_eq!(key.slice()[4..4 + bytes.len()], bytes, "{}", name);
    }
}

/// ABI-6.
#[test]
fn pods() {
    let text = file("pods.json");
    let all: Vec<Value> = Value::parse(&text).unwrap().elements().unwrap().collect();
    assert!(!all.is_empty());
    for vector in all {
        let name: String = get(vector, "name").chars().collect();
        let mut native = Native::<Replay>::new(Rc::new(TestHost::default()));
        let bytes = hex(get(vector, "hex"));
        let record = put(&mut native, &bytes);
        let strings = list(vector, "strings").into_iter().map(self::text);
        let header = with_strings(&mut native, 1, strings);
        let base = native.base();
        base.columns.refresh(&base.memory, header);
        let pod = &mut base.pods[Which::Asked as usize];
        pod.parse(&base.memory, record, bytes.len() as u32, None);
        Printer(base).check_pod(&name, base.pod(Which::Asked), get(vector, "want"));
    }
}
