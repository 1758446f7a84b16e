// Package state has the nouns of the scheduler: pods, nodes and namespaces decoded once from
// API objects, the columnar snapshot of the cluster that a cycle reads, the cycle's own state,
// and the events that make another attempt for parked pods worthwhile.
package state
