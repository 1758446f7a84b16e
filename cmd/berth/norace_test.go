//go:build !race

package main

// race tells that the race detector is on.
const race = false
