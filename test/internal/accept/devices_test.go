package accept_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/test/internal/accept"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// TestDevices: a node need not have an extended resource that the pod's status says to be devices.
func TestDevices(t *testing.T) {
	const name = "example.com/gpu"
	for _, told := range []bool{false, true} {
		pod := func(of string) *v1.Pod {
			pod := workload.Pod("default", of, 100, 100)
			pod.Spec.Containers[0].Resources.Requests[name] = *resource.NewQuantity(1, resource.DecimalSI)
			if told {
				pod.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "c", RequestMappings: []v1.ContainerExtendedResourceRequest{
					{ContainerName: pod.Spec.Containers[0].Name, ResourceName: name, RequestName: "container-0-request-0"},
				}}
			}
			return pod
		}
		if result := check(t, accept.Config{}, pod, "+n0 p1 p1>n0"); (len(result.Refusals) == 0) != told {
			t.Errorf("told %v: %+v", told, result)
		}
		ledger := accept.NewLedger(accept.LedgerConfig{})
		play(t, "+n0 p1 p1>n0", pod, ledger.Write)
		if (len(ledger.Problems()) == 0) != told {
			t.Errorf("told %v: %q", told, ledger.Problems())
		}
	}
}
