// Package input reads the input of `berth simulate`: cluster files (nodes, pods and the objects
// that plugins look up) and traces of arriving pods.
//
// Both readers refuse what they do not support. They collect all mistakes and say for each one
// the file, the line, the field and what to write instead. Accepted objects have been defaulted
// and checked as an API server would have done it, as far as it affects scheduling, so that the
// rest of Berth does not have to.
//
// The package has no state and reads neither clock nor environment: the same files and options
// give the same objects in the same order.
package input
