// Package state holds the nouns of the scheduler: pods, nodes and namespaces
// decoded once from the API's objects, the columnar snapshot of the cluster that
// a cycle reads, the cycle's own state, and the events that make parked pods
// worth another try.
package state
