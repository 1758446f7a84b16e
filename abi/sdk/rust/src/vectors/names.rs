//! The names that a configuration brings (ABI-9.15).

use std::boxed::Box;
use std::format;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

use super::{file, get, list, text};
use crate::fixtures::put;
use crate::json::Value;
use crate::memory::Memory;
use crate::testing::{Native, TestHost};
use crate::{Base, Configure, Error, Manifest, NodeLabel, Plugin};

/// A guest finds the names where the host has them, and has room for their columns.
#[test]
fn names() {
    let all = file("names.json");
    let all: Vec<Value> = Value::parse(&all).unwrap().elements().unwrap().collect();
    assert!(!all.is_empty());
    let mut bytes = std::vec![0_u64; 1 << 20];
    for vector in all {
        let name = text(get(vector, "name"));
        let elements = get(vector, "elements");
        let manifest = format!(r#"{{"reads":{{"nodeLabels":{:?}}}}}"#, elements);
        let manifest = Manifest::new(Box::leak(manifest.into_boxed_str()));
        assert!(manifest.brings(), "{}", name);
        let memory = Memory::new(bytes.as_mut_ptr().cast(), 8 << 20, 64);
        let mut base = Base::new(memory, manifest);
        base.bring(text(get(vector, "config")).as_bytes());
        assert_eq!(base.find_node_label("never"), None, "{}", name);
        let names: Vec<String> = list(vector, "names").into_iter().map(text).collect();
        for (i, key) in names.iter().enumerate() {
            let label = NodeLabel(i as u32);
            assert_eq!(base.find_node_label(key), Some(label), "{}: {}", name, key);
            assert_eq!(base.node_label(key), label, "{}: {}", name, key);
        }
        if vector.get("refused").unwrap().is_none() {
            let room = base.columns.keyed.node_label.len();
            let length = base.declared.length("nodeLabels");
            assert_eq!((length, room), (names.len(), names.len()), "{}", name);
        }
    }
}

/// A plugin whose configuration names something in each list.
struct Finder;

impl Plugin for Finder {
    const MANIFEST: &'static str = r#"{"reads":{
        "resources":[{"fromConfig":"/a"}],"nodeLabels":[{"fromConfig":"/b"}],
        "nodeAnnotations":[{"fromConfig":"/c"}],"feeds":[{"fromConfig":"/d"}],
        "podLabels":[{"fromConfig":"/e"}],"podAnnotations":[{"fromConfig":"/f"}]}}"#;

    fn new(base: &mut Base) -> Finder {
        assert_eq!(base.find_node_label("b"), None);
        Finder
    }
}

impl Configure for Finder {
    fn configure(&mut self, base: &mut Base, _: &[u8]) -> Result<(), Error> {
        let found = |name| {
            [
                base.find_resource(name).map(|h| h.0),
                base.find_node_label(name).map(|h| h.0),
                base.find_node_annotation(name).map(|h| h.0),
                base.find_feed(name).map(|h| h.0),
                base.find_pod_label(name).map(|h| h.0),
                base.find_pod_annotation(name).map(|h| h.0),
            ]
        };
        for (i, name) in ["a", "b", "c", "d", "e", "f"].iter().enumerate() {
            let mut want = [None; 6];
            want[i] = Some(0);
            assert_eq!(found(name), want, "{}", name);
        }
        Ok(())
    }
}

impl crate::guest::Exported for Finder {
    const POINTS: &'static [(crate::abi::Point, crate::guest::Serve<Finder>)] = &[];
    const CONFIGURE: Option<crate::guest::ServeConfigure<Finder>> =
        Some(crate::serve::configure::<Finder>);
}

/// The names are there when configure is called, each in its list, and a pod has room for them.
#[test]
fn lists() {
    let mut native = Native::<Finder>::new(Rc::new(TestHost::default()));
    let config = br#"{"a": "a", "b": "b", "c": "c", "d": "d", "e": "e", "f": "f"}"#;
    let at = put(&mut native, config);
    assert_eq!(native.configure(at, config.len() as u32), 0);
    for pod in &native.base().pods {
        assert_eq!((pod.requests.len(), pod.annotations.len()), (1, 1));
    }
}
