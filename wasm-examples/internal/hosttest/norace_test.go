//go:build !race && !wasip1

package hosttest

import "math"

// race tells that the race detector is on.
const race = false

// How much of the traces is run: all, and what is published of the experiment.
const (
	openbPart                        = 1 // nodes and pods are divided by it
	experimentPods                   = math.MaxInt
	experimentPlaced                 = 10866        // pods
	experimentArrived                = 130          // percent
	experimentFGD, experimentBestFit = 95.29, 93.13 // percent of the GPUs
)
