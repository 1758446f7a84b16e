// Package debughttp serves the state of a running scheduler over HTTP: its health, metrics and
// configuration, what it decided about a pod and why, and which plugins run. Except for the log
// level, and debts of preemptions that can be forgiven, nothing can be changed through it.
package debughttp
