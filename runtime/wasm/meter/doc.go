// Package meter rewrites a module so that what it may use is bounded: it charges fuel
// at the head of functions and loops, in long stretches of code and for each bulk
// operation, counts frames, calls
// the host at the end of each slice of fuel, and gives memory and tables a maximum. It
// reads and writes bytes and knows no runtime.
//
// Fuel is a function of the module and its input alone: the same call uses the same
// fuel on every machine. Limits refuse modules that would take a compiler very long,
// before it sees them. What is rewritten does what it did, which the tests hold against
// random programs and the WebAssembly specification's.
package meter
