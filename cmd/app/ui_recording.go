package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	records "github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// recordingKept is the number of attempts of a recording that the console can show.
const recordingKept = 16384

// recording repeats a recording, and returns what answers the console about its end.
func (o *uiOptions) recording(ctx context.Context, stderr io.Writer) (http.Handler, error) {
	opened, err := openRecording(ctx, "", o.file, &o.modules)
	if err != nil {
		return nil, err
	}
	defer opened.close()
	bar := newPortion(stderr, opened.portion)
	c := debughttp.Config{
		Lookup: func(context.Context, types.NamespacedName) (*v1.Pod, error) { return nil, nil },
		Leader: func() (string, bool) { return "", true },
	}
	var now func() time.Time
	result, err := replay.Run(ctx, opened.reader, replay.Config{
		Modules: opened.modules, Progress: bar.set,
		Observe: func(of func() time.Time) scheduler.Observer {
			now, c.Recorder = of, debughttp.NewRecorder(recordingKept, of)
			return c.Recorder
		},
		Reached: func(a *assembly.Assembly, _ *stores.Stores) error {
			return o.ended(&c, a, now())
		},
	})
	bar.close()
	if err := stopped(ctx, err); err != nil {
		return nil, fmt.Errorf("%s: %w", o.file, err)
	}
	if result.Cut {
		fmt.Fprintf(stderr, "warning: %s: %v\n", o.file, records.ErrCut)
	}
	return debughttp.NewConsole(c), nil
}

// ended stores what the console shows of a scheduler that has ended.
func (o *uiOptions) ended(c *debughttp.Config, a *assembly.Assembly, now time.Time) error {
	var err error
	if c.Configuration, err = a.Config().Scheduler.Redacted(); err != nil {
		return err
	}
	s := a.Scheduler
	places, queued, nodes, work := placesOf(s), queuedOf(s), nodesOf(s.Contents()), workOf(s.Totals())
	oldestFirst(queued)
	modules := (*yanks)(nil).describe(a.Status(), nil)
	compared := trials(a.Trials())
	c.Where = func(_ context.Context, pod types.NamespacedName) (string, error) {
		return placeOf(queued, pod.Namespace, pod.Name), nil
	}
	c.Plugins = func(context.Context) (*debughttp.Plugins, error) { return modules, nil }
	c.Trials = func() any { return compared }
	c.Source = debughttp.Source{
		About:  debughttp.About{Version: o.program.version, Recording: filepath.Base(o.file)},
		Now:    func() time.Time { return now },
		Places: always(places), Nodes: always(nodes), Work: always(work),
		Queue: func(context.Context) ([]debughttp.Queued, error) { return append([]debughttp.Queued{}, queued...), nil },
	}
	return nil
}

// always returns a function that returns the same.
func always[T any](value T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return value, nil }
}
