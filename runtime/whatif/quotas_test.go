package whatif_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/whatif"
)

func quota(name v1.ResourceName, hard, used string) *v1.ResourceQuota {
	q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}}
	q.Spec.Hard = v1.ResourceList{name: resource.MustParse(hard)}
	if used != "" {
		q.Status = v1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: v1.ResourceList{name: resource.MustParse(used)}}
	}
	return q
}

// TestQuotas: a quota refuses the pods for which nothing is left. The cluster has four pods in its namespace, with 4 CPU.
func TestQuotas(t *testing.T) {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "owner"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec = pod("d", "1", 0).Spec
	two := []whatif.Pods{{Pod: pod("p", "1", 0), Count: 2}}
	for name, c := range map[string]struct {
		quota *v1.ResourceQuota
		ask   whatif.Request
		sets  []*appsv1.DaemonSet
		want  string
		says  string
	}{
		"room for all": {quota("pods", "6", "4"), whatif.Request{Pods: two}, nil, "p-0 Fits b; p-1 Fits b", ""},
		"room for one": {quota("pods", "5", "4"), whatif.Request{Pods: two}, nil, "p-0 Fits b; p-1 NotAdmitted",
			"1 of pods, 5 of 5 are used"},
		"without a status": {quota("pods", "5", ""), whatif.Request{Pods: two}, nil, "p-0 Fits b; p-1 NotAdmitted",
			"1 of pods, 5 of 5 are used"},
		"more is used than hard": {quota("cpu", "1", "4"), whatif.Request{Pods: two}, nil, "p-0 NotAdmitted; p-1 NotAdmitted",
			"1 of cpu, 4 of 1 are used"},
		"what must be there": {quota("limits.cpu", "9", "0"), whatif.Request{Pods: two}, nil, "p-0 NotAdmitted; p-1 NotAdmitted",
			"container c must specify limits.cpu"},
		"displaced pods counted": {quota("pods", "4", "4"), whatif.Request{RemoveNodes: []string{"a"}}, nil, "set Fits b", ""},
		"replaced pods count not": {quota("pods", "5", "4"), whatif.Request{DaemonSets: []*appsv1.DaemonSet{set}}, nil,
			"owner-0 Fits a; owner-1 Fits b", ""},
		"daemons of added nodes": {
			quota("pods", "4", "4"), whatif.Request{Pods: two[:0], AddNodes: []whatif.Nodes{{Node: node("c", "8"), Count: 2}}},
			[]*appsv1.DaemonSet{set}, "",
			"DaemonSet ns/owner has no pods on added nodes, since the API server would refuse it: ResourceQuota q: the pod needs 1 of pods, " +
				"4 of 4 are used",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := full()
			cluster.Known.ResourceQuotas, cluster.Known.DaemonSets = []*v1.ResourceQuota{c.quota}, c.sets
			a := ask(t, cluster, &c.ask)
			if got := told(a); got != c.want || a.Summary.DaemonPods > 0 {
				t.Errorf("got %s with %d pods of DaemonSets, want %s", got, a.Summary.DaemonPods, c.want)
			}
			said := strings.Join(a.Unknown, "\n")
			for _, p := range a.Pods {
				said += p.Message
			}
			if !strings.Contains(said, c.says) || c.says == "" && said != "" {
				t.Errorf("says %q, want %q", said, c.says)
			}
		})
	}
}
