package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// extender starts an HTTP extender: it rejects nodes whose name ends in "-refused", those in
// "-never" as unresolvable, scores "-best" highest, and binds.
func (s *script) extender([]string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/filter", answer(func(in *extenderv1.ExtenderArgs) any {
		out := &extenderv1.ExtenderFilterResult{
			NodeNames: &[]string{}, FailedNodes: extenderv1.FailedNodesMap{}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{},
		}
		for _, name := range *in.NodeNames {
			switch {
			case strings.HasSuffix(name, "-refused"):
				out.FailedNodes[name] = "the extender refuses"
			case strings.HasSuffix(name, "-never"):
				out.FailedAndUnresolvableNodes[name] = "the extender never agrees"
			default:
				*out.NodeNames = append(*out.NodeNames, name)
			}
		}
		return out
	}))
	mux.HandleFunc("/prioritize", answer(func(in *extenderv1.ExtenderArgs) any {
		var out extenderv1.HostPriorityList
		for _, name := range *in.NodeNames {
			score := int64(0)
			if strings.HasSuffix(name, "-best") {
				score = extenderv1.MaxExtenderPriority
			}
			out = append(out, extenderv1.HostPriority{Host: name, Score: score})
		}
		return out
	}))
	mux.HandleFunc("/bind", answer(func(in *extenderv1.ExtenderBindingArgs) any {
		client, err := s.cluster.Client(cluster.Admin)
		if err == nil {
			err = client.CoreV1().Pods(in.PodNamespace).Bind(s.ctx, &v1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: in.PodNamespace, Name: in.PodName, UID: in.PodUID, Annotations: map[string]string{"example.com/bound-by": "extender"}},
				Target:     v1.ObjectReference{Kind: "Node", Name: in.Node},
			}, metav1.CreateOptions{})
		}
		if err != nil {
			return &extenderv1.ExtenderBindingResult{Error: err.Error()}
		}
		return &extenderv1.ExtenderBindingResult{}
	}))
	server := httptest.NewServer(mux)
	s.t.Cleanup(server.Close)
	s.Setenv("EXTENDER", server.URL)
	return nil
}

// answer handles requests of one type.
func answer[In any](handle func(*In) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in := new(In)
		if err := json.NewDecoder(r.Body).Decode(in); err != nil {
			http.Error(w, fmt.Sprintf("cannot be read: %v", err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(handle(in)) // the caller sees what is missing
	}
}
