package accept

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// Decisions queries a running Berth at its debug socket for the order of its decisions. It
// covers as many as berth explain remembers. The result is a Config.Decided.
func Decisions(socket string) func(*v1.Pod) (uint64, error) {
	client := cluster.SocketClient(socket)
	return func(pod *v1.Pod) (uint64, error) {
		response, err := client.Get("http://berth" + debughttp.ExplainPath + pod.Namespace + "/" + pod.Name)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		var answer debughttp.Pod
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return 0, fmt.Errorf("what Berth knows of %s: %s: %w", pod.Name, response.Status, err)
		}
		if answer.Last == nil || answer.Last.Attempt.Node != pod.Spec.NodeName {
			return 0, fmt.Errorf("pod %s is not known as placed on %s: %+v", pod.Name, pod.Spec.NodeName, answer.Last)
		}
		return answer.Last.Attempt.Sequence, nil
	}
}
