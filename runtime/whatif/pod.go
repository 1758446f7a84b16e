package whatif

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/report"
)

// AskPod asks whether a pending pod of the cluster fits by now and, if it does not, for an explanation
// with a single change with which it would; nil for a pod that fits or is gated.
//
// # Errors
//
// Those of Ask.
func (c *Cluster) AskPod(ctx context.Context, pod *v1.Pod) (*Pod, *report.Explanation, error) {
	own := *c
	own.Nominated = slices.DeleteFunc(slices.Clone(c.Nominated), func(n *v1.Pod) bool { return n.UID == pod.UID }) // it is the one that is asked about
	r := &Request{APIVersion: APIVersion, Kind: RequestKind, Pods: []Pods{{Pod: pod.DeepCopy()}}, Explain: true}
	if err := r.Check(); err != nil {
		return nil, nil, &Refused{err}
	}
	r.pending, r.Pods[0].Pod.Status.ResourceClaimStatuses = pod.UID, pod.Status.ResourceClaimStatuses
	answer, err := own.Ask(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if len(answer.Explanations) == 0 {
		return &answer.Pods[0], nil, nil
	}
	return &answer.Pods[0], answer.Explanations[0], nil
}
