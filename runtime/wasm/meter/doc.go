// Package meter rewrites a module so that the host can limit what it uses. The new code
// charges fuel at the head of functions and loops, in long stretches of code and for each
// bulk operation, counts frames, and calls the host at the end of each slice of fuel. Memory
// and tables get a maximum. The package reads and writes bytes and knows no runtime.
//
// Fuel is a function of the module and its input alone: the same call uses the same fuel on
// every machine. Limits refuse modules that would take very long to compile, before a compiler
// sees them. A rewritten module does what the original did; the tests compare the two on
// random programs and on the WebAssembly specification's.
package meter
