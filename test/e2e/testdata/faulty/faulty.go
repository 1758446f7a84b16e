// Package faulty is a plugin that crashes when it is asked about a pod.
package faulty

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

//go:embed manifest.json
var manifest []byte

// Faulty is the plugin.
type Faulty struct{ berth.Base }

// New returns the plugin.
func New() *Faulty { return &Faulty{berth.Load(manifest)} }

// Configure accepts everything.
func (*Faulty) Configure([]byte) error { return nil }

// Filter crashes.
func (*Faulty) Filter(berth.Pod, berth.Node) berth.Status { panic("it is a bad version") }
