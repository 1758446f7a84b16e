package module

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// Watch returns a channel that receives a value when files of a folder have changed and then
// rested for settle. Several changes make one value. A file that is written again and again
// delays the others for at most ten times settle. If the folder is removed, or cannot be read, Watch waits for its
// return. The channel is closed when the context ends.
//
// # Errors
//
// The folder can be read but not watched.
func Watch(ctx context.Context, dir string, settle time.Duration) (<-chan Change, error) {
	w, err := fsnotify.NewWatcher()
	lost := false
	if err == nil {
		if err = w.Add(dir); err != nil {
			if _, unread := os.ReadDir(dir); unread != nil {
				lost, err = true, nil
			} else {
				_ = w.Close()
			}
		}
	}
	if err != nil {
		return nil, &Error{File: dir, Detail: fmt.Sprintf("it cannot be watched: %v", err), Fix: "name a folder that can be read", Err: err}
	}
	changed := make(chan Change, 1)
	go func() {
		defer close(changed)
		defer w.Close() //nolint:errcheck // nothing is left to be done about it
		// The real clock is fine here: no scheduling decision depends on it, because changes are
		// inputs of the scheduler's loop.
		s := newSettling(settle)
		if lost {
			s.changed("", clock.Real{}.Now())
		}
		watch(ctx, w, filepath.Clean(dir), s, clock.Real{}, lost, changed)
	}()
	return changed, nil
}

// watch follows a folder, which is lost if it is not watched now.
func watch(ctx context.Context, w *fsnotify.Watcher, dir string, s *settling, time clock.Clock, lost bool, changed chan Change) {
	told := false // that it is lost
	for {
		var rest <-chan struct{} // nil without a pending change
		stop := func() {}
		if at, ok := s.due(); ok {
			rest, stop = time.Until(at)
		}
		select {
		case <-ctx.Done():
			stop()
			return
		case event, ok := <-w.Events:
			stop()
			if !ok {
				return
			}
			name := filepath.Base(event.Name)
			if event.Name == dir {
				name = ""
			}
			if name == "" && (event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename)) {
				_ = w.Remove(dir) // a new folder of this name needs a new watch
				lost = true
			}
			s.changed(name, time.Now())
		case _, ok := <-w.Errors: // events may be lost: read the folder again
			stop()
			if !ok {
				return
			}
			s.changed("", time.Now())
		case <-rest:
			moving := s.take(time.Now())
			if lost {
				again := w.Add(dir) == nil
				if !again {
					s.changed("", time.Now())
				}
				if !again && told {
					continue
				}
				lost, told = !again, !again
			}
			select {
			case <-changed: // replace an unread value, which knows less
			default:
			}
			changed <- Change{Moving: moving}
		}
	}
}
