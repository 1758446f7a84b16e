package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// NodeMetrics returns the NodeMetricsList of metrics.k8s.io as JSON, of at most so many bytes: v1, or v1beta1 where the API server does
// not have that.
//
// # Errors
//
// The API server does not have the API, because no metrics-server is installed, or this scheduler may not read it: the error says what
// to install.
func (c *Clients) NodeMetrics(ctx context.Context, most int64) ([]byte, error) {
	const nodes = "/nodes"
	var err error
	for _, group := range []string{"/apis/metrics.k8s.io/v1", "/apis/metrics.k8s.io/v1beta1"} {
		stream, failed := c.Reviews.CoordinationV1().RESTClient().Get().AbsPath(group+nodes).SetHeader("Accept", "application/json").Stream(ctx)
		if failed == nil {
			text, failed := bounded.All(stream, most)
			_ = stream.Close()
			return text, failed
		}
		if err = failed; !apierrors.IsNotFound(err) {
			break
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the API server has no metrics.k8s.io: install metrics-server, or give the feed another source (%w)", err)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("%w (the scheduler needs list on nodes.metrics.k8s.io: install deploy/feeds, or set nodeMetrics of the chart)", err)
	}
	return nil, err
}
