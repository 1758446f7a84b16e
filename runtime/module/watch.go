package module

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch returns a channel that gets a value when something in a folder has
// changed and nothing more has for as long as settle; several changes are one. A folder
// that is removed is looked for until it is there again. The channel is closed when the
// context ends.
//
// # Errors
//
// The folder cannot be watched.
func Watch(ctx context.Context, dir string, settle time.Duration) (<-chan struct{}, error) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(dir); err != nil {
			_ = w.Close()
		}
	}
	if err != nil {
		return nil, &Error{File: dir, Detail: fmt.Sprintf("it cannot be watched: %v", err), Fix: "name a folder that can be read", Err: err}
	}
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		defer w.Close() //nolint:errcheck // nothing is left to be done about it
		watch(ctx, w, filepath.Clean(dir), settle, changed)
	}()
	return changed, nil
}

func watch(ctx context.Context, w *fsnotify.Watcher, dir string, settle time.Duration, changed chan<- struct{}) {
	// Set while changes have not been told. No decision depends on it: what is done
	// about a change is an input of the scheduler's loop.
	quiet := time.NewTimer(settle) //nolint:forbidigo // see above
	quiet.Stop()
	defer quiet.Stop()
	lost, told := false, false // of the folder itself
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-w.Events:
			if !ok {
				return
			}
			if event.Name == dir && (event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename)) {
				_ = w.Remove(dir) // what is of that name from now on is another one
				lost = true
			}
			quiet.Reset(settle)
		case _, ok := <-w.Errors: // some events may be lost: look again
			if !ok {
				return
			}
			quiet.Reset(settle)
		case <-quiet.C:
			if lost {
				again := w.Add(dir) == nil
				if !again {
					quiet.Reset(settle)
				}
				if !again && told {
					continue
				}
				lost, told = !again, !again
			}
			select {
			case changed <- struct{}{}:
			default: // the last one was not looked at yet
			}
		}
	}
}
