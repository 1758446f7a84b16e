package assembly

import (
	"context"
	"errors"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// search implements objects.Search: it tells the recorder, if there is one, of the searches that were
// cut off. A replay cuts off the same ones, and no others.
type search struct {
	deps    *Deps
	numbers *numbers[string] // by node
}

var _ objects.Search = search{}

// Within implements objects.Search.
func (s search) Within(ctx context.Context, node string, timeout time.Duration, run func(ctx context.Context) error) error {
	var number uint64
	if s.deps.Recorder != nil {
		number = s.numbers.number(node)
	}
	if s.deps.CutOff != nil {
		if s.deps.CutOff(node, number) {
			return context.DeadlineExceeded
		}
		return run(ctx)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	err := run(ctx)
	if errors.Is(err, context.DeadlineExceeded) && s.deps.Recorder != nil {
		s.deps.Recorder.Enter(&inbox.CutOff{Node: node, Search: number})
	}
	return err
}
