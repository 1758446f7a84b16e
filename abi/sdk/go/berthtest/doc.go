// Package berthtest runs a plugin on a few nodes and shows what it decides:
//
//	trial := berthtest.New(t, tenantpool.Manifest, berthtest.Native(tenantpool.New), `{"shared": ["general"]}`)
//	trial.Nodes = []berthtest.Node{{Name: "a", Labels: map[string]string{"berth.dev/pool": "general"}}}
//	verdicts := trial.Place(berthtest.Pod{Namespace: "default", Name: "web"})
//
// Place tries each case in several ways that must not matter: in one instance;
// with a fresh instance for every call; with rows, ids and slots numbered
// otherwise and rows split over several calls; and on overlay rows. A difference
// fails the test.
//
// Scenarios does the same with cases in text files. The memory that plugins see is
// written from abi/SPEC.md alone, apart from the host's code, so that one tests
// the other.
package berthtest
