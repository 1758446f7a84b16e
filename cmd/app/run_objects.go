package app

import (
	"context"
	"log/slog"

	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/state"
)

// followObjects follows the objects that plugins read until stop is called, and tells of those that fail.
func (w *watched) followObjects(
	ctx context.Context, views *kube.ObjectViews, to interface{ SetFeeds(changed []state.Feed) }, log *slog.Logger,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		views.Run(ctx, to.SetFeeds, func() {
			err := views.Failing()
			switch changed := w.optional.tell(partObjects, err); {
			case changed && err != nil:
				log.Warn("plugins miss objects that they read", "error", err)
			case changed:
				log.Info("plugins have all objects that they read")
			}
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}
