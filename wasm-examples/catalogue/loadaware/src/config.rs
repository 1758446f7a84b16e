//! What the operator sets.

use berth::json::Value;
use berth::{Base, Configure, Error};

use crate::{LoadAware, Mode};

impl Configure for LoadAware {
    fn configure(&mut self, base: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&[
            "feeds",
            "mode",
            "thresholds",
            "staleFits",
            "estimates",
            "weights",
            "pack",
            "risk",
            "ignoreSince",
        ])?;
        let flag = |key: &str| config.get(key)?.map_or(Ok(false), Value::bool);
        self.stale_fits = flag("staleFits")?;
        self.ignore_since = flag("ignoreSince")?;
        self.mode = match config
            .get("mode")?
            .map_or(Ok(0), |mode| mode.one_of(&["spread", "pack", "risk"]))?
        {
            1 => Mode::Pack,
            2 => Mode::Risk,
            _ => Mode::Spread,
        };

        let feeds = config.need("feeds")?;
        feeds.only(&["cpu", "memory", "cpuDeviation", "memoryDeviation"])?;
        for (k, unit) in self.kinds.iter_mut().zip([":milli", ":bytes"]) {
            let feed = |key: &str| match feeds.get(key)? {
                None => Ok(None),
                Some(value) => match value.string()? {
                    name if name.ends_with(unit) => Ok(base.find_feed(&name)),
                    _ => {
                        Err(value.error(&(String::from("the feed must have a unit: NAME") + unit)))
                    }
                },
            };
            k.usage = feed(k.name)?;
            k.deviation = feed(&(String::from(k.name) + "Deviation"))?;
            k.threshold = number(config.get("thresholds")?, k.name, 0, 0, 100)?;
            k.estimate = number(config.get("estimates")?, k.name, k.estimate, 1, 100)?;
            k.weight = number(config.get("weights")?, k.name, 1, 0, 100)?;
        }
        let [cpu, memory] = &self.kinds;
        match self.mode {
            Mode::Pack if cpu.usage.is_none() => {
                return Err(feeds.error("pack needs a feed for cpu"))
            }
            _ if cpu.usage.is_none() && memory.usage.is_none() => {
                return Err(feeds.error("name a feed for cpu or memory"))
            }
            Mode::Risk if cpu.deviation.is_none() && memory.deviation.is_none() => {
                return Err(feeds.error("risk needs a feed for cpuDeviation or memoryDeviation"))
            }
            _ => {}
        }
        self.dominant = number(config.get("weights")?, "dominant", 0, 0, 100)?;
        let pack = config.get("pack")?;
        self.target = number(pack, "target", 40, 1, 99)?;
        self.requests_percent = number(pack, "requests", 150, 1, 1000)?;
        self.cpu_otherwise = number(pack, "otherwise", 1000, 0, 1_000_000)?;
        let risk = config.get("risk")?;
        self.margin = float(risk, "margin")?;
        self.sensitivity = float(risk, "sensitivity")?;
        Ok(())
    }
}

/// A whole number of an object that may be missing.
fn number(
    of: Option<Value<'_>>,
    key: &str,
    otherwise: i64,
    least: i64,
    most: i64,
) -> Result<i64, Error> {
    match of.map_or(Ok(None), |o| o.get(key))? {
        None => Ok(otherwise),
        Some(value) => match value.i64()? {
            n if n < least || n > most => Err(value.error("the number is out of range")),
            n => Ok(n),
        },
    }
}

/// A number of an object that may be missing, 0 to 100; 1 if it is not there.
fn float(of: Option<Value<'_>>, key: &str) -> Result<f64, Error> {
    match of.map_or(Ok(None), |o| o.get(key))? {
        None => Ok(1.0),
        Some(value) => match value.f64()? {
            n if (0.0..=100.0).contains(&n) => Ok(n),
            _ => Err(value.error("the number is out of range")),
        },
    }
}
