//go:build race && !wasip1

package hosttest

// race tells that the race detector is on: code is ten times slower, and tests do less.
const race = true

// How much of the traces is run, and what comes out of the experiment.
const (
	openbPart                        = 10 // nodes and pods are divided by it
	experimentPods                   = 300
	experimentPlaced                 = 300        // pods
	experimentArrived                = 3          // percent
	experimentFGD, experimentBestFit = 2.96, 2.96 // percent of the GPUs
)
