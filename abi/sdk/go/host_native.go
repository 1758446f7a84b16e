//go:build !wasip1

package berth

import "strings"

// Texts are copied for the host, which may keep them: they can be views of memory that the next
// call overwrites.

// collect is for modules, whose calls leave the garbage collector no time of its own.
func collect() {}

func (c *core) log(level Level, text string) {
	if c.native != nil {
		c.native.host.Log(int(level), strings.Clone(text))
	}
}

func (c *core) stateGet(key string) ([]byte, bool) { return c.native.host.StateGet(key) }

func (c *core) stateSet(key string, value []byte) bool {
	return c.native.host.StateSet(strings.Clone(key), value)
}

func (c *core) publishedGet(index uint32) ([]byte, bool) {
	return c.native.objects().PublishedGet(index)
}

func (c *core) podObject(index uint32) ([]byte, bool) { return c.native.objects().PodObject(index) }

func (c *core) nodeObject(row uint32) ([]byte, bool) { return c.native.objects().NodeObject(row) }

// alloc returns memory in the linear memory that belongs to the plugin; kept keeps it alive.
func (c *core) alloc(size uint32) (address uint32, kept []byte) { return c.native.Alloc(size, 8), nil }
