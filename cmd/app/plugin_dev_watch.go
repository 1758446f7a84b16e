package app

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How the files of a project are watched: by looking at their times. That is right for editors that replace files, for new folders, and
// on file systems that tell of no changes, such as those of containers and networks.
const (
	lookEvery  = 100 * time.Millisecond
	restsAfter = 2  // looks without a change
	mostLooks  = 50 // after a change, at files that do not rest
	maxWatched = 5000
)

// fileVersion tells versions of a file apart.
type fileVersion struct{ size, modified int64 }

// fileVersions are files with their versions, by path.
type fileVersions map[string]fileVersion

// watchedFiles are the files of a project, and others.
type watchedFiles struct {
	dir    string
	others []string // files, and folders
}

// scan returns the files as they are now. What cannot be read is not there.
func (w *watchedFiles) scan() fileVersions {
	now := fileVersions{}
	for _, root := range append([]string{w.dir}, w.others...) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch name := filepath.Base(path); {
			case err != nil:
				return nil
			case path != root && ignored(name, d.IsDir()):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() { // of what a link points to
				now[path] = fileVersion{info.Size(), info.ModTime().UnixNano()}
			}
			if len(now) > maxWatched {
				return fs.SkipAll
			}
			return nil
		})
	}
	return now
}

// ignored reports whether a file or folder is no source: what is hidden, what editors keep, what tools write.
func ignored(name string, folder bool) bool {
	if folder {
		return name[0] == '.' || name == "target" || name == "node_modules"
	}
	return name[0] == '.' || name[0] == '#' || strings.HasSuffix(name, "~") || filepath.Ext(name) == ".wasm" ||
		name == "Cargo.lock" || name == "go.sum"
}

// since returns sentences about the files that differ from before.
func (w fileVersions) since(before fileVersions) []string {
	var changes []string
	for path, version := range w {
		switch old, there := before[path]; {
		case !there:
			changes = append(changes, path+" is new")
		case version != old:
			changes = append(changes, path+" changed")
		}
	}
	for path := range before {
		if _, there := w[path]; !there {
			changes = append(changes, path+" is deleted")
		}
	}
	slices.Sort(changes)
	return changes
}

// watcher waits for changes.
type watcher struct {
	scan func() fileVersions
	rest func(context.Context) bool // waits before the next look; false if the context has ended
}

// next waits until the files differ from before and rest. It returns nil if the context has ended.
func (w *watcher) next(ctx context.Context, before fileVersions) fileVersions {
	now, still, looks := before, 0, 0
	for w.rest(ctx) {
		last := now
		now = w.scan()
		switch {
		case maps.Equal(now, before): // or as before again
			still, looks = 0, 0
			continue
		case maps.Equal(now, last):
			still++
		default:
			still = 0
		}
		if looks++; still >= restsAfter || looks >= mostLooks {
			return now
		}
	}
	return nil
}

// rested waits between two looks.
func rested(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lookEvery):
		return true
	}
}
