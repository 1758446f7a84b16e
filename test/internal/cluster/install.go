package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/berth-scheduler/berth/test/internal/manifests"
)

// Install applies deploy/ as kubectl apply -k does: Berth then has its permissions and its
// lease, and the API server has validated the rest of the objects, which Install returns. It
// starts no pods. Kinds that are not built into the API server, such as PodMonitor, are left
// out.
func (c *Cluster) Install(ctx context.Context, deploy string, v manifests.Variant) ([]*unstructured.Unstructured, error) {
	rendered, err := manifests.Render(deploy, v)
	if err != nil {
		return nil, err
	}
	objects, err := c.Objects("kube-system")
	if err != nil {
		return nil, err
	}
	for _, object := range rendered {
		document, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if err := objects.Apply(ctx, document); err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return rendered, nil
}
