//! What a trial must know of a manifest.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use super::directives::Declared;
use crate::abi::Point;
use crate::json::Value;
use crate::{Error, Manifest};

/// A manifest's lists of reads by name, and what it says of scoring.
pub(crate) struct Reads {
    lists: BTreeMap<String, Vec<String>>,
    pub directives: Declared,
    pub normalize: String,
    /// Whether all points are of scope node, so that rows can be split over instances.
    pub sharded: bool,
}

/// The manifest's `directives`.
fn declared(manifest: Value<'_>) -> Result<Declared, Error> {
    let mut d = Declared::default();
    let directives = match manifest.get("directives")? {
        Some(directives) => directives,
        None => return Ok(d),
    };
    for (list, key) in [
        (&mut d.annotations, "annotations"),
        (&mut d.labels, "labels"),
    ] {
        for prefix in directives.list(key)? {
            list.push(prefix.string()?);
        }
    }
    for name in ["nominate", "bind", "waiting", "activate"] {
        if directives.get(name)?.map_or(Ok(false), Value::bool)? {
            d.others.push(name.into());
        }
    }
    Ok(d)
}

impl Reads {
    pub fn of(text: &'static str) -> Result<Reads, Error> {
        let value = Value::parse(text.as_bytes())?;
        let mut lists = BTreeMap::new();
        if let Some(reads) = value.get("reads")? {
            for (key, list) in reads.fields()? {
                let names: Result<Vec<String>, Error> =
                    list.elements()?.map(Value::string).collect();
                lists.insert(key.string()?, names?);
            }
        }
        let points = value.need("points")?;
        let manifest = Manifest::new(text);
        let node = |point: &str| -> Result<bool, Error> {
            match points.get(point)? {
                None => Ok(true),
                Some(point) => Ok(point.get("scope")?.map_or(false, |scope| scope.is("node"))),
            }
        };
        let whole = [Point::PRE_SCORE, Point::NORMALIZE, Point::ADD_POD];
        let normalize = match points.get("score")? {
            Some(score) => score.get("normalize")?,
            None => None,
        };
        Ok(Reads {
            lists,
            directives: declared(value)?,
            normalize: normalize.map_or(Ok(String::new()), Value::string)?,
            sharded: node("filter")?
                && node("score")?
                && !whole.iter().any(|point| manifest.point(*point)),
        })
    }

    pub fn list(&self, list: &str) -> &[String] {
        self.lists.get(list).map_or(&[], |names| names)
    }

    pub fn has(&self, list: &str, name: &str) -> bool {
        self.list(list).iter().any(|known| known == name)
    }
}
