//go:build !race

package app

// moduleScripts are those of the scripts with modules that are run.
const moduleScripts = "modules_*.txtar"
