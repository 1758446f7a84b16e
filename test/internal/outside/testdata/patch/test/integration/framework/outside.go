package framework

import (
	"context"
	"testing"

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
