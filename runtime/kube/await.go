package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Await waits until Synced returns nil. It logs what is missing after a moment, and then
// periodically.
//
// # Errors
//
// The context ended before; the error is that of Synced.
func (c *Cluster) Await(ctx context.Context) error {
	const poll, first, next = 20 * time.Millisecond, 3 * time.Second, 10 * time.Second
	ticks := time.NewTicker(poll) //nolint:forbidigo // nothing is decided yet
	defer ticks.Stop()
	// client-go retries silently while the server does not answer, so Await requests the
	// server's version. It does so in the background, because lost packets take long.
	answers := make(chan error, 1)
	asking, tell := false, first
	for waited := time.Duration(0); ; {
		missing := c.Synced()
		if missing == nil {
			return nil
		}
		if waited >= tell && !asking {
			asking, tell = true, waited+next
			go func() {
				_, err := c.deps.Client.Discovery().ServerVersion()
				answers <- err
			}()
		}
		select {
		case <-ctx.Done():
			return missing
		case err := <-answers:
			asking = false
			if c.deps.Reach.Says(err) {
				continue
			}
			if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
				c.log.Warn("the API server does not answer; retrying", "error", err)
			} else {
				c.log.Warn("waiting for caches to sync", "missing", missing)
			}
		case <-ticks.C:
			waited += poll
		}
	}
}
