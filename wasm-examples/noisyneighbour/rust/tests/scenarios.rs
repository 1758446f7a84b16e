//! The scenarios of the Go twin, and the words of refused configurations.

use berth::testing::{Scenarios, Trial};
use noisy_neighbour::NoisyNeighbour;

#[test]
fn scenarios() {
    Scenarios::in_folder("../testdata").run::<NoisyNeighbour>();
}

#[test]
fn refusals() {
    for (config, why) in [
        (
            r#"{"podsPerTenant": "two"}"#,
            "podsPerTenant: expected a number, found a string",
        ),
        (
            r#"{"noisyPods": 1.5}"#,
            "noisyPods: 1.5 is not a whole number of 64 bits",
        ),
        (
            r#"{"exempt": [true]}"#,
            "exempt[0]: expected a string, found true or false",
        ),
    ] {
        let refused = Trial::<NoisyNeighbour>::new(config).refused();
        assert_eq!(refused, Some(format!("configuration refused: {}", why)));
    }
}
