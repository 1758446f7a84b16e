package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Await waits until Synced returns nil, and logs after a moment, and then now and again,
// what is missing.
//
// # Errors
//
// The context ended before; the error is that of Synced.
func (c *Cluster) Await(ctx context.Context) error {
	const poll, first, next = 20 * time.Millisecond, 3 * time.Second, 10 * time.Second
	ticks := time.NewTicker(poll) //nolint:forbidigo // nothing is decided yet
	defer ticks.Stop()
	// client-go tries again in silence while nobody answers, so the server is asked for
	// its version. Nobody waits for that: it takes long where packets get lost.
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
				c.log.Warn("the API server does not answer; it is tried again", "error", err)
			} else {
				c.log.Warn("waiting to be told of the cluster", "missing", missing)
			}
		case <-ticks.C:
			waited += poll
		}
	}
}
