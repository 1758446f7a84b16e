// Package memory divides the memory of guests: a Process among its plugins, a Budget among
// the instances of a plugin. A Linear is the memory of one instance, which enforces its
// part. The package knows neither what runs in that memory nor what is written there.
package memory
