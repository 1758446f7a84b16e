//! A plugin that prefers nodes with a high number in a label or an annotation, whose key the
//! configuration names. It is the twin of the Go package beside it.

use berth::json::Value;
use berth::{Base, Configure, Error, Id, Node, NodeAnnotation, NodeLabel, Plugin, Pod, Score};

/// The plugin.
#[derive(Default)]
pub struct NodeNumber {
    label: Option<NodeLabel>,
    annotation: Option<NodeAnnotation>,
}

impl Plugin for NodeNumber {
    const MANIFEST: &'static str = include_str!("../../manifest.json");

    fn new(_: &mut Base) -> NodeNumber {
        NodeNumber::default()
    }
}

impl Configure for NodeNumber {
    /// Looks up the key. The manifest says where the configuration has it, so the host has a column
    /// for it.
    fn configure(&mut self, base: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["label", "annotation"])?;
        if let Some(key) = config.get("label")? {
            self.label = base.find_node_label(&key.string()?);
        }
        if let Some(key) = config.get("annotation")? {
            if self.label.is_some() {
                return Err(key.error("the number is in a label already"));
            }
            self.annotation = base.find_node_annotation(&key.string()?);
        }
        Ok(())
    }
}

impl Score for NodeNumber {
    /// The node's number; 0 if it has none. The manifest asks the host to scale the highest to 100.
    fn score(&mut self, base: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        let text = match (self.label, self.annotation) {
            (Some(key), _) => node.label(key),
            (_, Some(key)) => node.annotation(key),
            _ => Id::ABSENT,
        };
        base.text(text).parse().map_or(0, |n: i64| n.max(0))
    }
}

berth::export!(NodeNumber: configure, score);
