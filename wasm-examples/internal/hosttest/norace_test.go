//go:build !race && !wasip1

package hosttest

import "math"

// race is true with the race detector.
const race = false

// How much of the traces is run: all, and the published results of the experiment.
const (
	openbPart                        = 1 // divisor of nodes and pods
	experimentPods                   = math.MaxInt
	experimentPlaced                 = 10866        // pods
	experimentArrived                = 130          // percent
	experimentFGD, experimentBestFit = 95.29, 93.13 // percent of the GPUs
)
