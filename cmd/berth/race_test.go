//go:build race

package main

// race tells that the race detector is on: code is ten times slower, and what has
// nothing to do with goroutines is left out.
const race = true
