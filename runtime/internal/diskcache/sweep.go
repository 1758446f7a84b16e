package diskcache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// leftOver is the age at which a temporary name belongs to a process that was killed. It is much
// longer than any fetch or compilation.
const leftOver = time.Hour

// entry is what sweep found.
type entry struct {
	name string
	size int64
	used time.Time
	held bool
}

// sweep looks at the folder: it removes what killed processes left, and the least recently used
// entries if the rest is too large. What this process holds comes last. The caller holds c.mu.
func (c *Cache) sweep() {
	entries, total := c.entries()
	if total > c.config.Size {
		slices.SortFunc(entries, func(a, b entry) int {
			switch {
			case a.held && !b.held:
				return 1
			case b.held && !a.held:
				return -1
			}
			return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name))
		})
		low := c.config.Size - c.config.Size/16 // so that not each entry is followed by a sweep
		for _, e := range entries {
			if total <= low || e.held && total <= c.config.Size {
				break
			}
			if err := os.RemoveAll(c.Path(e.name)); err != nil {
				c.Failed(err)
				continue
			}
			total -= e.size
		}
	}
	c.mu.known, c.mu.added = total, 0
}

// entries returns the entries and their size, without what was left over.
func (c *Cache) entries() (out []entry, total int64) {
	found, err := os.ReadDir(c.config.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Failed(err)
	}
	now := c.config.Clock.Now()
	for _, f := range found {
		name := f.Name()
		if !temporary(name) && !c.config.Mine(name) {
			continue
		}
		size, used, err := measure(c.Path(name))
		if err != nil { // it has just been removed
			continue
		}
		own := c.mu.works[name]
		if temporary(name) && !own && now.Sub(used) > leftOver {
			if err := os.RemoveAll(c.Path(name)); err == nil {
				continue
			}
		}
		total += size
		out = append(out, entry{name: name, size: size, used: used, held: own || c.config.Held(name)})
	}
	return out, total
}

// measure returns what a file or folder takes on the disk, and when it was last used.
func measure(path string) (size int64, used time.Time, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, used, err
	}
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process works there
			return nil
		case err != nil:
			return err
		}
		if d.IsDir() {
			size += onDisk(0)
		} else {
			size += onDisk(info.Size())
		}
		return nil
	})
	return size, info.ModTime(), err
}

// onDisk returns what a file of some bytes takes: whole blocks, and at least one, which stands for
// its name and inode.
func onDisk(bytes int64) int64 {
	const block = 4 << 10
	return max(1, (bytes+block-1)/block) * block
}
