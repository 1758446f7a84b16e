// Package hosttest runs the example plugins in the real host: as native code, as
// modules, on a trace, and in benchmarks. It is apart from the examples, which
// show what an author outside of this repository can do, and has tests only.
package hosttest
