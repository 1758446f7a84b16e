// Package diskcache keeps files in a folder up to a number of bytes. Several processes may share
// the folder, so an entry can vanish at any time: whoever misses it makes it again.
package diskcache

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// Config says what a cache may do.
type Config struct {
	Dir string
	// Size is what the folder's entries may take on the disk, in bytes. Each further process that
	// writes to the folder can add a sixteenth.
	Size int64
	// Mine reports whether a name in the folder is an entry. Other files are left alone.
	Mine func(name string) bool
	// Held (optional) reports whether an entry is in use by this process. Those are evicted last.
	Held func(name string) bool
	// Name is what is kept, for the log.
	Name  string
	Log   *slog.Logger // optional
	Clock clock.Clock  // optional: the machine's if nil
}

// Cache is a folder of entries, each a file or a folder. All methods may be called concurrently.
// A failure to store costs making the entry again, so it is only logged, once.
type Cache struct {
	config Config
	opened sync.Once
	warned sync.Once

	mu struct {
		sync.Mutex
		known int64           // size of all entries, as far as this process knows
		added int64           // by this process since it looked
		works map[string]bool // temporary names of this process
	}
}

// New returns a cache. The folder is created and swept when it is first used.
func New(c Config) *Cache {
	if c.Held == nil {
		c.Held = func(string) bool { return false }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	out := &Cache{config: c}
	out.mu.works = make(map[string]bool)
	return out
}

// Path returns where an entry is, or would be.
func (c *Cache) Path(name string) string { return filepath.Join(c.config.Dir, name) }

// Find reports whether there is an entry, and marks it as used now.
func (c *Cache) Find(name string) bool {
	c.open()
	_, err := os.Stat(c.Path(name))
	if err == nil {
		c.touch(name)
	}
	return err == nil
}

// Read returns the bytes of an entry, at most limit, and marks it as used now.
func (c *Cache) Read(name string, limit int64) (data []byte, ok bool) {
	c.open()
	f, err := os.Open(c.Path(name))
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil || int64(len(data)) > limit {
		return nil, false
	}
	c.touch(name)
	return data, true
}

// touch marks an entry as used now. It is the only record of use, because processes share it.
func (c *Cache) touch(name string) {
	now := c.config.Clock.Now()
	_ = os.Chtimes(c.Path(name), now, now) // an entry that cannot be marked only looks older
}

// Remove removes a damaged entry.
func (c *Cache) Remove(name string) {
	if err := os.RemoveAll(c.Path(name)); err != nil {
		c.Failed(err)
	}
}

// Write stores an entry that is a file.
func (c *Cache) Write(name string, data []byte) {
	if onDisk(int64(len(data))) > c.config.Size {
		return
	}
	c.open()
	f, err := os.CreateTemp(c.config.Dir, workPrefix)
	if err != nil {
		c.Failed(err)
		return
	}
	defer c.working(filepath.Base(f.Name()))()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		c.Failed(err)
		return
	}
	c.Keep(f.Name(), name)
}

// Work returns a new folder of this process in the cache, to make an entry in, and a function that
// removes it unless Keep was called.
func (c *Cache) Work() (dir string, done func(), err error) {
	c.open()
	dir, err = os.MkdirTemp(c.config.Dir, workPrefix)
	if err != nil {
		return "", nil, err
	}
	return dir, c.working(filepath.Base(dir)), nil
}

// Keep gives a folder of Work its name as an entry.
func (c *Cache) Keep(work, name string) {
	size, _, err := measure(work)
	if err != nil || size > c.config.Size { // gone, or too large to be kept
		return
	}
	now := c.config.Clock.Now()
	_ = os.Chtimes(work, now, now)
	err = os.Rename(work, c.Path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a folder has the name: another process made the same
		c.Remove(name)
		err = os.Rename(work, c.Path(name))
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.Failed(err)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.known += size
	c.mu.added += size
	if c.mu.known > c.config.Size || c.mu.added > c.config.Size/16 {
		c.sweep()
	}
}

// Failed logs that something could not be stored.
func (c *Cache) Failed(err error) {
	c.warned.Do(func() {
		c.config.Log.Warn("the cache of "+c.config.Name+" cannot be written: plugins run without it, and need longer to start",
			"dir", c.config.Dir, "error", err)
	})
}

// workPrefix begins temporary names. An entry is made under one and then renamed, so that nobody
// sees half of it.
const workPrefix = ".part-"

// working notes a temporary name until done is called, which removes what still has it.
func (c *Cache) working(name string) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.works[name] = true
	return func() {
		c.Remove(name)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.mu.works, name)
	}
}

// open prepares the folder, once.
func (c *Cache) open() {
	c.opened.Do(func() {
		if err := os.MkdirAll(c.config.Dir, 0o700); err != nil {
			c.Failed(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sweep()
	})
}

// temporary reports whether a name is one of Work or Write, in any process.
func temporary(name string) bool { return strings.HasPrefix(name, workPrefix) }
