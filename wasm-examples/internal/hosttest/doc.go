// Package hosttest runs the example plugins in the real host: as native code, as modules, on a
// trace, and in benchmarks. It has only tests. It is separate from the examples, which show
// what an author outside this repository can do.
package hosttest
