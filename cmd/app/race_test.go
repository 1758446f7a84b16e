//go:build race

package app

// moduleScripts are those of the scripts with modules that are run. With the race detector code is ten
// times slower: one of them has all that is about goroutines.
const moduleScripts = "modules_faults.txtar"
