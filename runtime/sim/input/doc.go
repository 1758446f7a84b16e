// Package input reads what `berth simulate` runs on: cluster files (nodes, pods
// and the objects that plugins look up) and traces of arriving pods.
//
// Both readers refuse what they do not understand, gather the mistakes of a
// whole run, and say for each one the file, the line, the field and what to
// write in its place. What they accept has been defaulted and checked as an API
// server would have done it, as far as scheduling can tell the difference, so
// that the rest of Berth never has to.
//
// The package keeps no state and reads neither clock nor environment: the same
// files and options give the same objects in the same order.
package input
