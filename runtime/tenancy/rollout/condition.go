package rollout

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// The reasons of the condition RolledOut.
const (
	// Complete, with True: the version that the object names decides for all pods.
	Complete = "Complete"
	// InShadow, with False: the version is only tried.
	InShadow = "InShadow"
	// CannotRun, with False: the version is refused, and decides for no pod. With SteppedBack it went beyond a bound.
	CannotRun = "CannotRun"
	// Progressing, with Unknown: the version is at a step.
	Progressing = "Progressing"
	// Paused, with Unknown: the rollout stays where it is by spec.rollout.paused.
	Paused = "Paused"
	// Waiting, with Unknown: the version is not ready to decide.
	Waiting = "Waiting"
)

// Condition says whether the version that an object names decides for all pods. s may be nil. The transition time is left out.
func Condition(s *v1alpha1.RolloutStatus, p *Plan, seen *Seen) metav1.Condition {
	out := metav1.Condition{Type: v1alpha1.RolledOut, ObservedGeneration: p.Generation}
	out.Status, out.Reason, out.Message = said(s, p, seen)
	return out
}

func said(s *v1alpha1.RolloutStatus, p *Plan, seen *Seen) (status metav1.ConditionStatus, reason, message string) {
	if s == nil {
		s = &v1alpha1.RolloutStatus{}
	}
	why := ""
	if p.Canary { // otherwise the condition Ready says it
		why = cmp.Or(seen.Refused, seen.Waits)
	}
	complete := !p.Canary && seen.Digest != "" && !p.Shadow || p.Canary && s.Stable != nil && Same(s.Stable, &p.Version)
	switch {
	case complete:
		return metav1.ConditionTrue, Complete, "the version that the object names decides for all pods"
	case p.Canary && Blocked(s, p):
		return metav1.ConditionFalse, SteppedBack, s.Failed.Message
	case p.Canary && s.Canary != nil && Same(&s.Canary.PluginVersion, &p.Version):
		steps := max(len(Steps(&p.Rollout)), int(s.Canary.Step)) // somebody may have removed steps
		reason = Progressing
		message = fmt.Sprintf("step %d of %d: the new version decides for %d%% of the pods", s.Canary.Step, steps, s.Canary.Percent)
		switch {
		case p.Rollout.Paused:
			reason, message = Paused, message+", and stays at its step until spec.rollout.paused is removed"
		case why != "":
			message = because(message+"; it cannot run", why)
		case seen.Untried != "" && mustCompare(&p.Rollout):
			message += "; it stays at its step, because what it would change cannot be seen: " + seen.Untried
		}
		return metav1.ConditionUnknown, reason, message
	case seen.Refused != "":
		return metav1.ConditionFalse, CannotRun, because("the version that the object names cannot run", why)
	case p.Shadow && seen.Digest != "":
		return metav1.ConditionFalse, InShadow, "the version that the object names is tried, and decides nothing"
	case p.Canary && p.Rollout.Paused:
		return metav1.ConditionUnknown, Paused, "the rollout has not begun, and does not until spec.rollout.paused is removed"
	}
	return metav1.ConditionUnknown, Waiting, because("the version that the object names does not decide yet", why)
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}
