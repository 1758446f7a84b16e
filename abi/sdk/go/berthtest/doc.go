// Package berthtest runs a plugin on a few nodes and shows what it decides:
//
//	trial := berthtest.New(t, tenantpool.Manifest, berthtest.Native(tenantpool.New), `{"shared": ["general"]}`)
//	trial.Nodes = []berthtest.Node{{Name: "a", Labels: map[string]string{"berth.dev/pool": "general"}}}
//	verdicts := trial.Place(berthtest.Pod{Namespace: "default", Name: "web"})
//
// Place asks what the plugin says of each node. Schedule goes on to Reserve, Permit
// and the binding, and changes the cluster as a host would: what Reserve wrote is
// there for the next pod, pods wait and are allowed by others. PreEnqueue, Order and
// Hint ask about the pods that are pending.
//
// Each tries every case in several ways that must not matter: in one instance; with
// a fresh instance for every call; with rows, ids and slots numbered otherwise, or
// anew for every call; with rows or pods split over several calls; and on overlay
// rows. Ids, rows and slots are other ones in any case for each call from Reserve
// on, for each call about pending pods, and between a plugin that publishes a key
// and its reader. A difference fails the test, and so does what a host would not
// take; only directives that it would refuse are shown as a fault, since they may
// depend on what a user wrote on the pod.
//
// Scenarios does the same with cases in text files. The memory that plugins see is
// written from abi/SPEC.md alone, apart from the host's code, so that one tests
// the other.
package berthtest
