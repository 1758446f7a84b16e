package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// Parts that a scheduler runs without.
const (
	partCache     = "module-cache"
	partSocket    = "debug-socket"
	partIndex     = "index"
	partFeeds     = "feeds"
	partObjects   = "objects"
	partRecording = "recording"
)

// optional knows which optional parts do not work. Metrics and events tell of them, and pods are scheduled all the same.
type optional struct {
	metrics interface {
		PartFailing(part string, failing bool)
	}
	mu struct {
		sync.Mutex
		failing map[string]error // nil for a part that works
	}
}

// tell records whether a part works, and reports whether that has changed. The first time it has if the part does not work.
func (o *optional) tell(part string, err error) (changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed = (o.mu.failing[part] == nil) != (err == nil)
	if o.mu.failing == nil {
		o.mu.failing = make(map[string]error)
	}
	o.mu.failing[part] = err
	o.metrics.PartFailing(part, err != nil)
	return changed
}

// parts returns the states that events report.
func (o *optional) parts() (out []kube.Part) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.mu.failing)) {
		part := kube.Part{
			Name: "optional part " + name, Failed: o.mu.failing[name] != nil,
			Failure: kube.Notice{Reason: "PartFailed", Action: "Trying"}, Recovery: kube.Notice{Reason: "PartWorks", Action: "Trying"},
		}
		part.Recovery.Note = part.Name + " works"
		if part.Failed {
			part.Cause = o.mu.failing[name].Error()
			part.Failure.Note = part.Name + " does not work, and is tried again; pods are scheduled all the same: " + part.Cause
		}
		out = append(out, part)
	}
	return out
}

// Recording implements recordState.
func (w *watched) Recording(err error) {
	w.metrics.Recording(err != nil)
	w.optional.tell(partRecording, err)
}

// partEvery is how often a part that does not work is tried again.
const partEvery = time.Minute

// followCache looks with each tick whether compiled modules can be stored in the folder of --module-cache. While they cannot, each that is
// loaded is compiled. The result is closed when it looks no more, after the context's end.
func (w *watched) followCache(ctx context.Context, dir string, ticks <-chan time.Time, log *slog.Logger) <-chan struct{} {
	look := func() {
		err := sandbox.CheckCache(dir)
		switch changed := w.optional.tell(partCache, err); {
		case changed && err != nil:
			log.Warn("the folder of --module-cache cannot be used; modules are compiled without it, and it is tried again", "dir", dir, "error", err)
		case changed:
			log.Info("the folder of --module-cache can be used again", "dir", dir)
		}
	}
	look()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks:
				look()
			}
		}
	}()
	return ended
}

// keepSocket serves on the socket of --debug-socket. With each tick it tries again if it cannot, or if the file is gone. stop returns
// once nothing is served any more.
func (w *watched) keepSocket(
	ctx context.Context, path string, ticks <-chan time.Time, listen func() (*debughttp.Server, error), log *slog.Logger,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var server *debughttp.Server
	var served os.FileInfo
	end := func() {
		if server != nil {
			if err := server.Close(context.WithoutCancel(ctx)); err != nil {
				log.Debug("server", "error", err)
			}
			server = nil
		}
	}
	try := func() {
		now, err := os.Lstat(path)
		switch {
		case server == nil || errors.Is(err, fs.ErrNotExist):
			end()
			if server, err = listen(); err != nil {
				server = nil
			} else {
				served, err = os.Lstat(path)
			}
		case err == nil && !os.SameFile(served, now):
			err = errors.New("another file has taken its place: remove it")
		}
		switch changed := w.optional.tell(partSocket, err); {
		case changed && err != nil:
			log.Warn("cannot serve on --debug-socket; pods are scheduled all the same, and it is tried again", "file", path, "error", err)
		case changed:
			log.Info("the socket of --debug-socket is served again", "file", path)
		}
	}
	try()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer end()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks:
				try()
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
