package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// checkArrivals refuses pods that the loop cannot distinguish or order.
func checkArrivals(c *Config) error {
	seen := make(map[types.UID]bool, len(c.Arrivals)+len(c.Bound))
	unique := func(pod *v1.Pod) error {
		if pod.UID == "" || seen[pod.UID] {
			return c.about(pod, "metadata.uid", fmt.Sprintf("%q is empty or the UID of another pod", pod.UID), "give every pod a UID of its own")
		}
		seen[pod.UID] = true
		return nil
	}
	for _, pod := range c.Bound {
		if err := unique(pod.Object); err != nil {
			return err
		}
	}
	for i, a := range c.Arrivals {
		switch {
		case i > 0 && a.At < c.Arrivals[i-1].At:
			return c.about(a.Pod, "", fmt.Sprintf("it arrives at %v, after a pod that arrives at %v", a.At, c.Arrivals[i-1].At), "sort the arrivals by time")
		case a.Until != 0 && a.Until <= a.At:
			return c.about(a.Pod, "", fmt.Sprintf("it arrives at %v and leaves at %v", a.At, a.Until), "let it leave later")
		}
		if err := unique(a.Pod); err != nil {
			return err
		}
	}
	return nil
}

// checkProfiles refuses pods without a profile: they would be missing from the result. It
// returns one error per scheduler name, however many pods use it.
func checkProfiles(c *Config, profiles []string) error {
	var order []string
	pods := make(map[string][]*v1.Pod)
	for _, a := range c.Arrivals {
		name := a.Pod.Spec.SchedulerName
		if slices.Contains(profiles, name) {
			continue
		}
		if pods[name] == nil {
			order = append(order, name)
		}
		pods[name] = append(pods[name], a.Pod)
	}
	var errs []error
	for i, name := range order {
		if i == input.MaxErrors {
			errs = append(errs, fmt.Errorf("and %d more unknown scheduler names", len(order)-i))
			break
		}
		detail := fmt.Sprintf("no profile is named %q", name)
		if n := len(pods[name]) - 1; n == 1 {
			detail += ", which 1 more pod asks for"
		} else if n > 1 {
			detail += fmt.Sprintf(", which %d more pods ask for", n)
		}
		errs = append(errs, c.about(pods[name][0], "spec.schedulerName", detail,
			"write "+quoted(profiles)+", or add a profile to the configuration"))
	}
	return errors.Join(errs...)
}

// about returns an error about a pod, FILE:LINE: pod NAMESPACE/NAME: PATH: DETAIL (FIX).
func (c *Config) about(pod *v1.Pod, path, detail, fix string) error {
	var b strings.Builder
	if c.Where != nil {
		if where := c.Where(pod); where != "" {
			b.WriteString(where + ": ")
		}
	}
	fmt.Fprintf(&b, "pod %s/%s: ", pod.Namespace, pod.Name)
	if path != "" {
		b.WriteString(path + ": ")
	}
	fmt.Fprintf(&b, "%s (%s)", detail, fix)
	return errors.New(b.String())
}

// quoted lists alternatives.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(out, " or ")
}
