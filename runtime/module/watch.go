package module

import (
	"context"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch returns a channel that gets a value when something in a folder has
// changed and nothing more has for as long as settle; several changes are one. It
// is closed when the context ends, or with the folder.
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
		watch(ctx, w, settle, changed)
	}()
	return changed, nil
}

func watch(ctx context.Context, w *fsnotify.Watcher, settle time.Duration, changed chan<- struct{}) {
	// Set while changes have not been told. No decision depends on it: what is done
	// about a change is an input of the scheduler's loop.
	quiet := time.NewTimer(settle) //nolint:forbidigo // see above
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.Events:
			if !ok {
				return
			}
			quiet.Reset(settle)
		case _, ok := <-w.Errors: // some events may be lost: look again
			if !ok {
				return
			}
			quiet.Reset(settle)
		case <-quiet.C:
			select {
			case changed <- struct{}{}:
			default: // the last one was not looked at yet
			}
		}
	}
}
