package input

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

var errStopped = errors.New("stopped by the test")

// countdown is a context that ends after n calls of Err, so that a load is stopped at each
// place that checks it.
type countdown struct {
	context.Context
	left atomic.Int64
	stop context.CancelCauseFunc
}

func newCountdown(t *testing.T, n int) *countdown {
	ctx, stop := context.WithCancelCause(t.Context())
	c := &countdown{Context: ctx, stop: stop}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		c.stop(errStopped)
	}
	return c.Context.Err()
}

// Whenever the context ends, loading stops with its cause, or completes.
func TestLoadStopsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nodes, pods := write("nodes.csv", someNodes), write("pods.csv", somePods)
	write("a.yaml", string(benchCluster(2, true, false).data))
	write("b.json", `{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`)
	write("c.yaml", "kind: NodeList\napiVersion: v1\nitems: [{metadata: {name: c}}, {metadata: {name: d}}]\n")
	write("d.yaml", "no object\n---\nnot either\n")
	for name, load := range map[string]func(ctx context.Context) error{
		"cluster": func(ctx context.Context) error {
			return second(LoadCluster(ctx, []string{dir + "/a.yaml", dir + "/b.json", dir + "/c.yaml"}, false))
		},
		"folder": func(ctx context.Context) error { return second(LoadCluster(ctx, []string{dir}, false)) },
		"trace": func(ctx context.Context) error {
			return second(LoadTrace(ctx, "openb", nodes, pods, TraceOptions{Inflate: 0.9, Departures: true}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := load(t.Context())
			stopped := 0
			for n := 0; ; n++ {
				ctx := newCountdown(t, n)
				err := load(ctx)
				if ctx.Context.Err() == nil {
					if stopped < 5 || (err == nil) != (whole == nil) {
						t.Errorf("%d loads were stopped; one that was not gives %v", stopped, err)
					}
					return
				}
				stopped++
				if !errors.Is(err, errStopped) {
					t.Fatalf("stopped at check %d, the load gives %v", n, err)
				}
			}
		})
	}
}
