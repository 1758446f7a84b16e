//go:build !race && !wasip1

package hosttest

// race tells that the race detector is on.
const race = false
