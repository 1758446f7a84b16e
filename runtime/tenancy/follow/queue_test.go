package follow

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestManyNamespaces: what a plugin costs does not depend on how many plugins other namespaces have.
func TestManyNamespaces(t *testing.T) {
	const plugins, most = 4000, 4 << 10 // bytes for each
	q := newQueue(clock.NewStep(time.Unix(0, 0)), true, nil, func() {}, func(context.Context, int, bool) (int, error) { return 0, nil })
	compared := 0
	q.adopt = func(context.Context, int, int, int) (int, bool) { compared++; return 0, false }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range plugins {
		namespace := fmt.Sprint("n", i)
		_, _, _ = q.get(t.Context(), namespace, namespace+"/p", i)
	}
	q.wait()
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / plugins; got > most {
		t.Errorf("%d bytes are allocated for each of %d plugins", got, plugins)
	}
	if compared > 0 {
		t.Errorf("%d plugins of other namespaces were considered", compared)
	}
}

// TestPanicIsTold: a panic while a module is fetched or compiled is that plugin's failure, and is counted.
func TestPanicIsTold(t *testing.T) {
	var told []*plugin.Panic
	q := newQueue(clock.NewStep(time.Unix(0, 0)), false, func(p *plugin.Panic) { told = append(told, p) }, func() {},
		func(context.Context, int, bool) (int, error) { panic("injected") })
	_, _, _ = q.get(t.Context(), "", "p", 1)
	q.wait()
	if _, ended, err := q.get(t.Context(), "", "p", 1); !ended || err == nil || len(told) != 1 || told[0].Value != "injected" {
		t.Errorf("ended %v, error %v, told of %v", ended, err, told)
	}
}
