package module

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// Watch returns a channel that gets a value when something in a folder has changed and
// nothing more has for as long as settle; several changes are one. A file that is written
// again and again keeps others back for at most ten times as long. A folder that is removed
// is looked for until it is there again. The channel is closed when the context ends.
//
// # Errors
//
// The folder cannot be watched.
func Watch(ctx context.Context, dir string, settle time.Duration) (<-chan Change, error) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(dir); err != nil {
			_ = w.Close()
		}
	}
	if err != nil {
		return nil, &Error{File: dir, Detail: fmt.Sprintf("it cannot be watched: %v", err), Fix: "name a folder that can be read", Err: err}
	}
	changed := make(chan Change, 1)
	go func() {
		defer close(changed)
		defer w.Close() //nolint:errcheck // nothing is left to be done about it
		// No decision depends on the time: what is done about a change is an input of
		// the scheduler's loop.
		watch(ctx, w, filepath.Clean(dir), newSettling(settle), clock.Real{}, changed)
	}()
	return changed, nil
}

func watch(ctx context.Context, w *fsnotify.Watcher, dir string, s *settling, time clock.Clock, changed chan Change) {
	lost, told := false, false // of the folder itself
	for {
		var rest <-chan struct{} // nothing, without a change
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
				_ = w.Remove(dir) // what is of that name from now on is another one
				lost = true
			}
			s.changed(name, time.Now())
		case _, ok := <-w.Errors: // some events may be lost: look again
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
			case <-changed: // nobody looked yet, and this one knows more
			default:
			}
			changed <- Change{Moving: moving}
		}
	}
}
