// Package berthtest runs a plugin on a few nodes and shows what it decides:
//
//	trial := berthtest.New(t, tenantpool.Manifest, berthtest.Native(tenantpool.New), `{"shared": ["general"]}`)
//	trial.Nodes = []berthtest.Node{{Name: "a", Labels: map[string]string{"berth.dev/pool": "general"}}}
//	verdicts := trial.Place(berthtest.Pod{Namespace: "default", Name: "web"})
//
// Place returns the plugin's verdict on each node. Schedule continues with Reserve, Permit and
// the binding, and changes the cluster as a host would: the next pod sees the patches of
// Reserve, pods wait and are allowed by others. PreEnqueue, Order and Hint are about the
// pending pods.
//
// Each runs every case in several ways that must give the same result: in one instance; with a
// fresh instance for every call; with other numbers of rows, ids and slots, or new ones for
// every call; with rows or pods split over several calls; and on overlay rows. Ids, rows and
// slots always change for each call from Reserve on, for each call about pending pods, and
// between a plugin that publishes a key and its reader. A difference fails the test, and so
// does an answer that a host would not accept. Only refused directives are shown as a fault
// instead, because they may depend on the user's annotations.
//
// Scenarios does the same with cases in text files. The code that writes the memory of plugins
// follows abi/SPEC.md and shares nothing with the host's, so that each tests the other.
package berthtest
