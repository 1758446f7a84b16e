package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
)

// view sees pods as a user sees them who watches a scheduler.
type view struct {
	client    kubernetes.Interface
	namespace string
}

// conditions that pods get from schedulers.
func ofScheduler(c v1.PodCondition) bool {
	return c.Type == v1.PodScheduled || c.Type == v1.DisruptionTarget
}

// report renders what a scheduler did with a pod: its node, its nominated node, its conditions,
// and its events without repetitions. UIDs of pods are replaced by their names.
func (v view) report(ctx context.Context, name string) (string, error) {
	pod, err := v.client.CoreV1().Pods(v.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s\n", name)
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s: %s\n", key, value)
		}
	}
	line("node", pod.Spec.NodeName)
	line("nominated", pod.Status.NominatedNodeName)
	if pod.DeletionTimestamp != nil {
		line("deletion", fmt.Sprintf("in %d s", *pod.DeletionGracePeriodSeconds))
	}
	conditions := slices.SortedFunc(slices.Values(pod.Status.Conditions), func(a, b v1.PodCondition) int { return strings.Compare(string(a.Type), string(b.Type)) })
	for _, c := range conditions { // the order in which the API server merges them is unspecified
		if !ofScheduler(c) {
			continue
		}
		text := fmt.Sprintf("%s %s", c.Status, c.Reason)
		if c.ObservedGeneration != 0 {
			text += fmt.Sprintf(" generation %d", c.ObservedGeneration)
		}
		line(string(c.Type), strings.TrimSpace(text+" "+c.Message))
	}
	events, err := v.events(ctx, name)
	if err != nil {
		return "", err
	}
	uids, err := v.uids(ctx)
	if err != nil {
		return "", err
	}
	var seen []string
	for _, e := range events {
		text := fmt.Sprintf("%s %s %s by %s: %s", e.Type, e.Reason, e.Action, e.ReportingController, uids.Replace(e.Note))
		// The related object is left out: kube-scheduler means to name the preemptor, but passes
		// a type that is not an API object (docs/differences.md).
		if !slices.Contains(seen, text) {
			line("event", text)
			seen = append(seen, text)
		}
	}
	return b.String(), nil
}

// events returns the events about a pod, oldest first.
func (v view) events(ctx context.Context, pod string) ([]eventsv1.Event, error) {
	list, err := v.client.EventsV1().Events(v.namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"regarding.kind": "Pod", "regarding.name": pod}.String(),
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return list.Items, nil
}

func (v view) uids(ctx context.Context) (*strings.Replacer, error) {
	list, err := v.client.CoreV1().Pods(v.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var pairs []string
	for _, pod := range list.Items {
		pairs = append(pairs, string(pod.UID), "<uid of "+pod.Name+">")
	}
	return strings.NewReplacer(pairs...), nil
}

// state is a state that a pod can reach.
type state string

const (
	placed    state = "placed"    // it has a node
	bound     state = "bound"     // it has a node, and an event says so
	rejected  state = "rejected"  // a condition and an event say that it is unschedulable, for the same reason
	nominated state = "nominated" // it is nominated
	leaving   state = "leaving"   // it is being deleted
	gone      state = "gone"      // it no longer exists
	preempted state = "preempted" // an event says that it was preempted
)

// reached reports whether a pod has reached a state; where describes what was seen.
func (v view) reached(ctx context.Context, name string, want state, message string) (ok bool, where string, err error) {
	pods, err := v.client.CoreV1().Pods(v.namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil {
		return false, "", err
	}
	events, err := v.events(ctx, name)
	if err != nil {
		return false, "", err
	}
	event := func(reason, note string) bool {
		return slices.ContainsFunc(events, func(e eventsv1.Event) bool {
			return e.Reason == reason && (note == "" || e.Note == note)
		})
	}
	if len(pods.Items) == 0 {
		return want == gone || want == preempted && event("Preempted", ""), "it does not exist", nil
	}
	pod := &pods.Items[0]
	where = fmt.Sprintf("node %q, nominated %q, conditions %+v, %d events", pod.Spec.NodeName, pod.Status.NominatedNodeName, pod.Status.Conditions, len(events))
	switch want {
	case placed:
		return pod.Spec.NodeName != "", where, nil
	case bound:
		return pod.Spec.NodeName != "" && event("Scheduled", ""), where, nil
	case nominated:
		return pod.Status.NominatedNodeName != "", where, nil
	case leaving:
		return pod.DeletionTimestamp != nil, where, nil
	case preempted:
		return event("Preempted", ""), where, nil
	case rejected:
		return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
			return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Reason != v1.PodReasonSchedulingGated &&
				strings.Contains(c.Message, message) && event("FailedScheduling", c.Message)
		}), where, nil
	case gone:
		return false, where, nil
	default:
		return false, "", fmt.Errorf("%q is not a state of a pod", want)
	}
}

// await waits until a pod has reached a state; the message of a rejection must contain a text.
func (v view) await(ctx context.Context, name string, want state, message string, patience time.Duration) error {
	end := time.Now().Add(patience)
	for {
		ok, where, err := v.reached(ctx, name, want, message)
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("pod %s is not %s %s after %v: %s", name, want, message, patience, where)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
