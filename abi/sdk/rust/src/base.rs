//! What a plugin requests: handles, constants and reasons when it is created, and in a call the
//! strings and the snapshot.

use core::cell::RefCell;

use crate::abi::limit;
use crate::columns::Columns;
use crate::constants::{Const, Constants};
use crate::declared::Declared;
use crate::manifest::{undeclared, Manifest};
use crate::memory::Memory;
use crate::node::Node;
use crate::pod::Which;
use crate::pod_view::PodView;
use crate::reasons::Reasons;
use crate::records::{CallRecord, Directive};
use crate::room::{Room, Scratch};
use crate::snapshot::{Nodes, Snapshot};
use crate::status::{Reason, Status};
use crate::types::{
    Feed, Id, NamespaceLabel, NodeAnnotation, NodeCondition, NodeLabel, ObjectColumn,
    PodAnnotation, PodLabel, Published, Resource,
};

/// Ties a plugin to the host. Each method of a plugin gets it.
///
/// What it returns in a call is borrowed from it, and so cannot be kept beyond the call.
pub struct Base {
    pub(crate) memory: Memory,
    pub(crate) declared: Declared,
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) host: Option<*const dyn crate::Host>,
    /// The address of the call record, and the record.
    pub(crate) call: *mut CallRecord,
    pub(crate) columns: Columns,
    /// By pod::Which.
    pub(crate) pods: [PodView; 3],
    pub(crate) constants: Constants,
    pub(crate) answers: RefCell<Answers>,
}

/// What a call answers besides codes and scores.
pub(crate) struct Answers {
    pub reasons: Reasons,
    pub scratch: Scratch,
    pub directives: Room<Directive>,
    /// Bytes of the texts of directives.
    pub texts: usize,
    /// Whether a call is under way.
    in_call: bool,
}

impl Base {
    pub(crate) fn new(memory: Memory, manifest: Manifest) -> Base {
        let declared = Declared::new(manifest);
        let pod = || PodView::new(&memory, &declared);
        Base {
            columns: Columns::new(&memory, &declared),
            pods: [pod(), pod(), pod()],
            memory,
            declared,
            #[cfg(not(target_arch = "wasm32"))]
            host: None,
            call: core::ptr::null_mut(),
            constants: Constants::new(),
            answers: RefCell::new(Answers {
                reasons: Reasons::new(),
                scratch: Scratch::new(),
                directives: Room::new(),
                texts: 0,
                in_call: false,
            }),
        }
    }

    /// Adds the names that a configuration brings, and makes room for what is declared then.
    pub(crate) fn bring(&mut self, config: &[u8]) {
        // The host refuses a configuration with an error in the names, and the plugin reads it, too.
        let _ = self.declared.bring(&self.memory, config);
        self.columns = Columns::new(&self.memory, &self.declared);
        for pod in &mut self.pods {
            *pod = PodView::new(&self.memory, &self.declared);
        }
    }

    /// The index of a declared name.
    fn handle(&self, list: &str, name: &str) -> u32 {
        match self.declared.index(list, name) {
            Some(index) => index,
            None => undeclared(list, name),
        }
    }

    /// The handle of a resource, such as `cpu`. Like the other handles it must be listed in the
    /// manifest, or this panics.
    pub fn resource(&self, name: &str) -> Resource {
        Resource(self.handle("resources", name))
    }

    /// The handle of a label key of nodes.
    pub fn node_label(&self, key: &str) -> NodeLabel {
        NodeLabel(self.handle("nodeLabels", key))
    }

    /// The handle of an annotation key of nodes.
    pub fn node_annotation(&self, key: &str) -> NodeAnnotation {
        NodeAnnotation(self.handle("nodeAnnotations", key))
    }

    /// The handle of a type of node condition.
    pub fn node_condition(&self, kind: &str) -> NodeCondition {
        NodeCondition(self.handle("nodeConditions", kind))
    }

    /// The handle of a feed, with its unit as the manifest has it, such as
    /// `node.cpu.usage:milli`.
    pub fn feed(&self, name: &str) -> Feed {
        Feed(self.handle("feeds", name))
    }

    /// The handle of a column of objects, as the manifest has it, such as
    /// `zones.status.zones[*].free:quantity`.
    pub fn object_column(&self, column: &str) -> ObjectColumn {
        ObjectColumn(self.handle("objectColumns", column))
    }

    /// The handle of a label key of pods on nodes.
    pub fn pod_label(&self, key: &str) -> PodLabel {
        PodLabel(self.handle("podLabels", key))
    }

    /// The handle of an annotation key of pods, the incoming one and those on nodes.
    pub fn pod_annotation(&self, key: &str) -> PodAnnotation {
        PodAnnotation(self.handle("podAnnotations", key))
    }

    /// The handle of a label key of namespaces.
    pub fn namespace_label(&self, key: &str) -> NamespaceLabel {
        NamespaceLabel(self.handle("namespaceLabels", key))
    }

    /// The handle of a key that another plugin publishes: `plugin/key`.
    pub fn published(&self, key: &str) -> Published {
        Published(self.handle("published", key))
    }

    /// The handle of a resource, in configure: the manifest's or one that the configuration brings;
    /// None if it is not declared.
    pub fn find_resource(&self, name: &str) -> Option<Resource> {
        self.declared.index("resources", name).map(Resource)
    }

    /// The same for a label key of nodes.
    pub fn find_node_label(&self, key: &str) -> Option<NodeLabel> {
        self.declared.index("nodeLabels", key).map(NodeLabel)
    }

    /// The same for an annotation key of nodes.
    pub fn find_node_annotation(&self, key: &str) -> Option<NodeAnnotation> {
        let index = self.declared.index("nodeAnnotations", key);
        index.map(NodeAnnotation)
    }

    /// The same for a feed.
    pub fn find_feed(&self, name: &str) -> Option<Feed> {
        self.declared.index("feeds", name).map(Feed)
    }

    /// The same for a label key of pods on nodes.
    pub fn find_pod_label(&self, key: &str) -> Option<PodLabel> {
        self.declared.index("podLabels", key).map(PodLabel)
    }

    /// The same for an annotation key of pods.
    pub fn find_pod_annotation(&self, key: &str) -> Option<PodAnnotation> {
        let index = self.declared.index("podAnnotations", key);
        index.map(PodAnnotation)
    }

    /// A constant string, whose id is known in every call. Create constants with the plugin
    /// or in configure.
    pub fn constant(&mut self, text: &str) -> Const {
        self.constants.add(&self.memory, text)
    }

    /// A reason of one or more texts, which people read in events; kube-scheduler's words are
    /// best where it has them ("node(s) had …").
    ///
    /// A reason created with the plugin or in configure is permanent, and using it costs nothing.
    /// One created in a call is valid for that call. A call, of all nodes or of a block of
    /// them, has room for 1,024 reasons of 65,536 bytes in all; further ones are NONE. So a
    /// reason that is different for every node does not scale.
    pub fn reason(&self, texts: &[&str]) -> Reason {
        let answers = &mut *self.answers.borrow_mut();
        let scratch = if answers.in_call {
            Some(&mut answers.scratch)
        } else {
            None
        };
        answers.reasons.add(&self.memory, scratch, texts)
    }

    /// The string of an id; the empty string for ABSENT.
    pub fn text(&self, id: Id) -> &str {
        self.columns.text(id)
    }

    /// The snapshot of this call.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            columns: &self.columns,
        }
    }

    /// Makes the views of a call.
    pub(crate) fn begin(&mut self, call: u32) {
        self.call = self.memory.at(call);
        let record = self.record();
        self.columns.refresh(&self.memory, record.header);
        self.pods[0].parse(&self.memory, record.pod, record.pod_size, Some(0));
        self.constants.resolve(&self.columns);
        let answers = self.answers.get_mut();
        answers.scratch.clear();
        answers.reasons.begin();
        answers.directives.truncate(0);
        answers.texts = 0;
        answers.in_call = true;
    }

    /// Makes the views of a call about a pod besides the one to be placed: the one entry of the pod
    /// list (ABI-5.13).
    pub(crate) fn begin_with(&mut self, call: u32) {
        self.begin(call);
        self.listed(0, Which::Other);
        self.pods[Which::Asked as usize].index = None;
    }

    /// A copy of the call record.
    pub(crate) fn record(&self) -> CallRecord {
        unsafe { *self.call } // begin has checked it
    }

    /// Changes the call record.
    pub(crate) fn answer(&self, f: impl FnOnce(&mut CallRecord)) {
        // The host does not read it during the call, and nobody holds a reference to it.
        f(unsafe { &mut *self.call });
    }

    /// The rows asked.
    pub(crate) fn nodes(&self, lo: u32) -> Nodes<'_> {
        let record = self.record();
        let rows = match record.rows {
            0 => None,
            address => Some(self.memory.view(address, record.n_rows)),
        };
        Nodes {
            columns: &self.columns,
            // The row set stays as it is during the call.
            rows: rows.map(|view| unsafe { &*view.slice_mut() }),
            lo,
            n: record.n_rows,
        }
    }

    pub(crate) fn node(&self, row: u32) -> Node<'_> {
        Node {
            columns: &self.columns,
            row,
        }
    }

    /// Writes the answer of the whole call. used tells whether rows have reasons.
    pub(crate) fn finish(&self, status: Status, used: bool) -> i32 {
        let answers = &mut *self.answers.borrow_mut();
        answers.in_call = false;
        let reason = status.reason();
        if used || reason != Reason::NONE || answers.reasons.untold() {
            let (address, n) = answers.reasons.table(&self.memory);
            self.answer(|record| {
                record.reason_sets = address;
                record.n_reason_sets = n;
                record.status_reason = u32::from(reason.0);
            });
        }
        if answers.directives.len() > 0 {
            let address = answers.directives.address(&self.memory);
            self.answer(|record| {
                record.directives = address;
                record.n_directives = answers.directives.len() as u32;
            });
        }
        i32::from(status.code().0)
    }

    /// A copy of the host's bytes, which is valid for this call.
    pub(crate) fn fetch(&self, get: impl Fn(*mut u8, u32) -> i32) -> Option<&[u8]> {
        loop {
            let answers = &mut *self.answers.borrow_mut();
            let (at, room) = answers.scratch.left();
            let n = get(at, room);
            if n < 0 {
                return None;
            }
            let n = n as usize;
            if n <= room as usize {
                answers.scratch.take(&self.memory, n);
                // Nothing is written there before the next call, which borrows Base mutably.
                return Some(unsafe { core::slice::from_raw_parts(at, n) });
            }
            answers
                .scratch
                .reserve(&self.memory, n.max(limit::LOG_TEXT));
        }
    }
}
