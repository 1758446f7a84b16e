// Package breaker stops calls of a plugin that fails too often, or that uses too much fuel
// to start its instances again, and tries it again later. It sees how calls ended and a
// clock, not the plugin.
package breaker
