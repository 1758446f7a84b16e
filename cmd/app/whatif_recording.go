package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	records "github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// askRecording repeats a recording and answers about the cluster where it ends.
func (o *whatIfOptions) askRecording(ctx context.Context, stderr io.Writer) (*whatif.Answer, error) {
	var until time.Time
	if o.at != "" {
		var err error
		if until, err = time.Parse(time.RFC3339Nano, o.at); err != nil {
			return nil, fmt.Errorf("--at: %q is not a time such as 2026-01-31T12:00:00Z", o.at)
		}
	}
	r, err := o.request(ctx, nil, stderr)
	if err != nil {
		return nil, err
	}
	log, err := o.modules.logger(stderr)
	if err != nil {
		return nil, err
	}
	opened, err := openRecording(ctx, "--recording: ", o.recording, &o.modules)
	if err != nil {
		return nil, err
	}
	defer opened.close()
	var answer *whatif.Answer
	bar := newPortion(stderr, opened.portion)
	result, err := replay.Run(ctx, opened.reader, replay.Config{
		Modules: opened.modules, Until: until, Progress: bar.set, Log: log,
		Reached: func(a *assembly.Assembly, s *stores.Stores) (err error) {
			c := clusterOf(a.Config(), a.Scheduler.Contents())
			c.Storage, c.Owners, c.Log, c.Recorded = s.Storage.All(), s.Owners.All(), log, true
			if c.PodDisruptionBudgets, err = s.Budgets.List(); err == nil {
				answer, err = c.Ask(ctx, r)
			}
			return err
		},
	})
	bar.close()
	if err := stopped(ctx, err); err != nil {
		return nil, fmt.Errorf("--recording: %s: %w", o.recording, err)
	}
	if result.Cut {
		fmt.Fprintf(stderr, "warning: %s: %v\n", o.recording, records.ErrCut)
	}
	return answer, nil
}
