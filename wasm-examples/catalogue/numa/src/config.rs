//! What the operator sets.

use berth::json::Value;
use berth::{Base, Configure, Error};

use crate::{Numa, Strategy, Tracked};

impl Configure for Numa {
    fn configure(&mut self, base: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["devices", "score", "weights", "ignoreStarting"])?;
        for device in config.list("devices")? {
            let name = device.string()?;
            let resource = base
                .find_resource(&name)
                .ok_or_else(|| device.error("the host does not know the resource"))?;
            if self.tracked.iter().any(|t| t.resource == resource) {
                return Err(device.error("cpu, memory and huge pages are aligned anyway"));
            }
            let name = base.constant(&name);
            self.tracked.push(Tracked {
                resource,
                name,
                unit: 1000,
                native: false,
                weight: 1,
            });
        }
        let names = ["least", "most", "balanced"];
        self.strategy = match config.get("score")?.map_or(Ok(0), |s| s.one_of(&names))? {
            1 => Strategy::Most,
            2 => Strategy::Balanced,
            _ => Strategy::Least,
        };
        if let Some(weights) = config.get("weights")? {
            for (name, weight) in weights.fields()? {
                let resource = base.find_resource(&name.string()?);
                let t = self
                    .tracked
                    .iter_mut()
                    .find(|t| Some(t.resource) == resource)
                    .ok_or_else(|| name.error("the resource is not aligned: add it to devices"))?;
                t.weight = match weight.i64()? {
                    n if (1..=100).contains(&n) => n,
                    _ => return Err(weight.error("the number is out of range")),
                };
            }
        }
        self.ignore_starting = config
            .get("ignoreStarting")?
            .map_or(Ok(false), Value::bool)?;
        Ok(())
    }
}
