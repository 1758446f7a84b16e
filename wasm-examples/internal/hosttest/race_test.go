//go:build race && !wasip1

package hosttest

// race is true with the race detector: code is ten times slower, and tests do less.
const race = true

// How much of the traces is run, and the result of the experiment.
const (
	openbPart                        = 10 // divisor of nodes and pods
	experimentPods                   = 300
	experimentPlaced                 = 300        // pods
	experimentArrived                = 3          // percent
	experimentFGD, experimentBestFit = 2.96, 2.96 // percent of the GPUs
)
