package framework

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	client "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/scheduler"
)

// StartTestServer starts an API server that a scheduler outside can reach.
func StartTestServer(ctx context.Context, t testing.TB, setup TestServerSetup) (client.Interface, *rest.Config, TearDownFunc) {
	clients, config, end := startTestServerInside(ctx, t, setup)
	scheduler.Serves(config)
	return clients, config, end
}

// goleakFindRetry finds no leaks. Idle connections to the API server end only after 90 seconds. Upstream waits for them,
// so that they do not slow down the next benchmark; here each benchmark has a process of its own.
func goleakFindRetry(...goleak.Option) error { return nil }
