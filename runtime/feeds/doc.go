// Package feeds fetches numbers about nodes for plugins, such as what they use of their CPU. An operator declares each in a file; plugins
// name them, and do no input or output themselves. A source is asked beside the scheduler's loop, within limits, and what has changed
// enters the loop as one event for each round (docs/feeds.md).
package feeds
