package scheduler

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// carryOut carries out the directives of plugins. Pods are activated only after a success. A
// plugin that is attached to namespaces acts only on pods of these.
func (s *Scheduler) carryOut(p *pipeline.Pipeline, all []plugin.Directives, success bool) {
	for i := range all {
		d := &all[i]
		info := p.Plugin(d.Plugin)
		for _, uid := range d.Allow {
			if s.may(info, uid) {
				s.allow(uid, d.Plugin)
			}
		}
		for _, r := range d.Reject {
			if s.may(info, r.UID) {
				s.reject(r.UID, plugin.NewStatus(abi.Unschedulable, r.Reason).By(d.Plugin))
			}
		}
		if success && len(d.Activate) > 0 {
			s.activate(info, d.Activate)
		}
	}
}

// may reports whether a plugin may act on a pod in the queue.
func (s *Scheduler) may(info *plugin.Info, uid types.UID) bool {
	pod, _ := s.queue.Get(uid)
	return pod != nil && (info == nil || info.MayActOn(pod.Pod.Namespace))
}
