// Package rollout decides which versions of a plugin decide for which pods while a new version takes
// over step by step. It does nothing itself: who leads asks it for the next state, writes that into
// the object's status, and everybody acts on what the object says.
package rollout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Plan is what an object asks for.
type Plan struct {
	// Canary is true if a new version takes over step by step, and false if it does at once.
	Canary bool
	// Shadow is true if the version is tried, and decides for no pod.
	Shadow bool
	// Version is the one that the object names. Its digest is empty.
	Version v1alpha1.PluginVersion
	// Generation is the object's.
	Generation int64
	Rollout    v1alpha1.Rollout
}

// Seen is what the scheduler that leads knows of the version that the object names.
type Seen struct {
	Now time.Time
	// Digest is that of its module. It is empty while the version cannot run; then Refused says why,
	// unless that passes.
	Digest  v1alpha1.Digest
	Refused string
	// Waits says what the version waits for if that passes.
	Waits string
	// Image is the digest of the manifest of its image; empty if it has none.
	Image v1alpha1.Digest
	// Counts are what it did at the current step.
	Counts Counts
	// Stopped says why its calls are stopped after faults; empty if they are not.
	Stopped string
	// Untried says why decisions for other pods cannot be made again with it; empty if they can.
	Untried string
}

// The kinds of RolloutChange.
const (
	Started     = "Started"
	Advanced    = "Advanced"
	Finished    = "Finished"
	SteppedBack = "SteppedBack"
	// Ended is the end of a canary because the object names another version or mode.
	Ended = "Ended"
)

// maxHistory is how many changes a status keeps.
const maxHistory = 32

// Defaults of a step and of a rollout.
const (
	defaultPause   = 5 * time.Minute
	defaultLeast   = 300
	defaultKeepOld = 10 * time.Minute
)

// Steps returns those of a rollout, with defaults.
func Steps(r *v1alpha1.Rollout) []v1alpha1.RolloutStep {
	if len(r.Steps) == 0 {
		return []v1alpha1.RolloutStep{{Percent: 1}, {Percent: 10}, {Percent: 50}}
	}
	return r.Steps
}

// Needs returns the shortest time and the number of attempts that a step takes; number is from 1.
func Needs(r *v1alpha1.Rollout, number int32) (pause time.Duration, least int32) {
	steps := Steps(r)
	at := steps[min(max(int(number), 1), len(steps))-1]
	return span(at.Pause, defaultPause), cmp.Or(at.MinAttempts, defaultLeast)
}

// Same reports whether two versions are the same, as far as the digests of their images and modules are known.
func Same(a, b *v1alpha1.PluginVersion) bool {
	x, y := cmp.Or(a.Digest, a.Module.Digest), cmp.Or(b.Digest, b.Module.Digest)
	sameDigest := x == y || x == "" || y == ""
	return sameImage(a.Module.Image, b.Module.Image) && a.Module.URL == b.Module.URL && sameDigest && sameConfig(a.Config, b.Config)
}

func sameImage(a, b v1alpha1.Image) bool {
	x, y := a.Unpinned(), b.Unpinned()
	return a == b || x == y && (a == x || b == y)
}

// sameConfig compares texts first, since every look at every object does so.
func sameConfig(a, b *v1alpha1.Config) bool {
	if a != nil && a.Omitted != nil || b != nil && b.Omitted != nil {
		return a.Size() == b.Size() && omitted(a) == omitted(b)
	}
	return a != nil && b != nil && bytes.Equal(a.Raw, b.Raw) || bytes.Equal(canonical(a), canonical(b))
}

// omitted is what stays of a configuration that is omitted: the API server writes the same one in the same way.
func omitted(c *v1alpha1.Config) v1alpha1.OmittedConfig {
	if c == nil {
		return v1alpha1.OmittedConfig{}
	}
	out := *c
	if out.Omit(0); out.Omitted == nil {
		return v1alpha1.OmittedConfig{}
	}
	return *out.Omitted
}

// canonical is a configuration whose fields are in order; without one a plugin gets {}.
func canonical(c *v1alpha1.Config) []byte {
	if c == nil || len(c.Raw) == 0 {
		return []byte("{}")
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(c.Raw))
	d.UseNumber() // a plugin is told numbers as they are written
	if d.Decode(&v) != nil {
		return c.Raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return c.Raw
	}
	return out
}

// Blocked reports whether the version that the object names went beyond a bound, and the object has
// not changed since.
func Blocked(s *v1alpha1.RolloutStatus, p *Plan) bool {
	return s != nil && s.Failed != nil && s.Failed.Generation == p.Generation && Same(&s.Failed.PluginVersion, &p.Version)
}

// Role tells the versions of a plugin apart. It is empty for the stable version, and for the only one.
type Role string

// String is the role's name; that of the empty role is stable.
func (r Role) String() string { return cmp.Or(string(r), "stable") }

// The other roles.
const (
	// Canary decides for a part of the pods, or is made ready for that.
	Canary Role = "canary"
	// Trial is the canary in shadow, for the other pods, so that both versions are judged by the same pods.
	Trial Role = "trial"
	// Old was the stable version, and stays ready for a while.
	Old Role = "old"
)

// Share is a version and the pods that it is for.
type Share struct {
	Version v1alpha1.PluginVersion
	Role    Role
	Pods    state.Share
	// Ready is true for a version that only is kept ready: it is for no pods.
	Ready bool
}

// Shares returns the versions of a plugin. The one with an empty role is the first, if there is one. uid
// is the object's, by which pods are divided.
func Shares(s *v1alpha1.RolloutStatus, p *Plan, uid string, now time.Time) (out []Share) {
	if s == nil {
		s = &v1alpha1.RolloutStatus{}
	}
	switch {
	case !p.Canary:
		out = append(out, Share{Version: p.Version})
	case s.Stable != nil && Same(s.Stable, &p.Version):
		out = append(out, Share{Version: *s.Stable}) // what has been tried, and not what the tag names now
	default:
		out = divided(s, p, uid)
	}
	if old := s.Old; old != nil && now.Before(old.Until.Time) && !slices.ContainsFunc(out, func(x Share) bool { return Same(&x.Version, &old.PluginVersion) }) {
		out = append(out, Share{Version: old.PluginVersion, Role: Old, Ready: true})
	}
	return out
}

// divided returns the versions while the stable one is another than the object names.
func divided(s *v1alpha1.RolloutStatus, p *Plan, uid string) (out []Share) {
	canary, stable := Share{Version: p.Version, Role: Canary, Ready: true}, state.Share{}
	if c := s.Canary; c != nil && Same(&c.PluginVersion, &p.Version) {
		to := min(max(int(c.Percent), 0), 100) * state.Buckets / 100
		canary.Version.Module.Image, canary.Version.Digest, canary.Ready = c.Module.Image, c.Digest, to == 0
		canary.Pods, stable = state.Share{Key: uid, To: to}, state.Share{Key: uid, From: to, To: state.Buckets}
	}
	if s.Stable != nil {
		out = append(out, Share{Version: *s.Stable, Pods: stable})
	}
	if Blocked(s, p) {
		return out
	}
	out = append(out, canary)
	if s.Stable != nil && !canary.Ready {
		out = append(out, Share{Version: canary.Version, Role: Trial, Pods: stable})
	}
	return out
}

// Next returns the state that follows, and what happened; nil if nothing changes.
func Next(was *v1alpha1.RolloutStatus, p *Plan, seen *Seen) (*v1alpha1.RolloutStatus, *v1alpha1.RolloutChange) {
	n := next{plan: p, seen: seen, at: metav1.NewTime(seen.Now).Rfc3339Copy(), status: &v1alpha1.RolloutStatus{}}
	if was != nil {
		n.status = was.DeepCopy()
	}
	if !n.change() {
		return nil, nil
	}
	if n.happened == nil { // a version became stable without a rollout
		return n.status, nil
	}
	h := append(n.status.History, *n.happened)
	n.status.History = h[max(0, len(h)-maxHistory):]
	return n.status, n.happened
}

// next is the state while it is being found.
type next struct {
	plan     *Plan
	seen     *Seen
	at       metav1.Time
	status   *v1alpha1.RolloutStatus
	happened *v1alpha1.RolloutChange
}

// change reports whether something changes.
func (n *next) change() bool {
	s, p := n.status, n.plan
	if s.Failed != nil && !Blocked(s, p) {
		s.Failed = nil // the object has changed
		n.change()
		return true
	}
	c := s.Canary
	switch {
	case c != nil && (!Same(&c.PluginVersion, &p.Version) || s.Stable != nil && Same(s.Stable, &p.Version)):
		return n.end("the object names another version")
	case c != nil && !p.Canary:
		if n.seen.Digest != c.Digest || p.Shadow {
			return n.end("the mode is another one")
		}
		n.finish("by hand")
		return true
	case !p.Canary:
		if n.seen.Digest == "" || p.Shadow {
			return false
		}
		if s.Stable != nil && Same(s.Stable, &p.Version) && s.Stable.Digest == n.seen.Digest {
			return n.pin(s.Stable) // the module may have been pushed again, in another image
		}
		n.stable()
		return true
	case s.Stable != nil && Same(s.Stable, &p.Version), Blocked(s, p):
		return false
	case c == nil:
		return n.start()
	}
	return n.step(c)
}

func (n *next) happen(what string, digest v1alpha1.Digest, percent int32, message string) {
	n.happened = &v1alpha1.RolloutChange{At: n.at, What: what, Digest: digest, Percent: percent, Message: message}
}

func (n *next) end(why string) bool {
	n.happen(Ended, n.status.Canary.Digest, 0, why)
	n.status.Canary = nil
	return true
}

// pin gives a version the digest of the module that was seen, and its image that of its manifest: the tag may be
// moved while the version is in use. It reports whether that changes the version.
func (n *next) pin(v *v1alpha1.PluginVersion) bool {
	image, digest := v.Module.Image, v.Digest
	v.Module.Image, v.Digest = image.Pinned(n.seen.Image), n.seen.Digest
	return v.Module.Image != image || v.Digest != digest
}

// stable makes the version that the object names the stable one.
func (n *next) stable() {
	if old := n.status.Stable; old != nil {
		keep := span(n.plan.Rollout.KeepOld, defaultKeepOld)
		n.status.Old = &v1alpha1.OldVersion{PluginVersion: *old, Until: metav1.NewTime(n.seen.Now.Add(keep)).Rfc3339Copy()}
	}
	n.status.Stable = n.plan.Version.DeepCopy()
	n.pin(n.status.Stable)
}

func (n *next) finish(message string) {
	n.stable()
	n.status.Canary = nil
	n.happen(Finished, n.status.Stable.Digest, 100, message)
}

func (n *next) start() bool {
	if n.seen.Digest == "" || n.plan.Rollout.Paused {
		return false
	}
	first := Steps(&n.plan.Rollout)[0].Percent
	c := &v1alpha1.CanaryStatus{PluginVersion: *n.plan.Version.DeepCopy(), Step: 1, Percent: first, Since: n.at}
	n.pin(&c.PluginVersion)
	n.status.Canary = c
	n.happen(Started, c.Digest, first, "")
	return true
}

// step judges the current step.
func (n *next) step(c *v1alpha1.CanaryStatus) bool {
	r, counts := &n.plan.Rollout, &n.seen.Counts
	steps := Steps(r)
	pause, least := Needs(r, c.Step)
	if reason, message := n.broken(int64(least)); reason != "" {
		n.status.Failed = &v1alpha1.FailedVersion{PluginVersion: c.PluginVersion, Generation: n.plan.Generation, Reason: reason, Message: message, At: n.at}
		n.happen(SteppedBack, c.Digest, 0, fmt.Sprintf("at %d%%: %s", c.Percent, message))
		n.status.Canary = nil
		return true
	}
	if n.seen.Now.Before(c.Since.Time) { // a clock was ahead: the step would take as long as it was
		c.Since = n.at
		return true
	}
	ready := n.seen.Digest != "" && (n.seen.Untried == "" || !mustCompare(r))
	if !ready || r.Paused || counts.Attempts < int64(least) || n.seen.Now.Before(c.Since.Add(pause)) {
		return false
	}
	seen := fmt.Sprintf("at %d%%: %s", c.Percent, counts)
	// Steps may have been edited: none leads back.
	for i := max(int(c.Step), 0); i < len(steps); i++ { // somebody may have edited the status
		if steps[i].Percent > c.Percent {
			c.Step, c.Percent, c.Since = int32(i+1), steps[i].Percent, n.at
			n.happen(Advanced, c.Digest, c.Percent, seen)
			return true
		}
	}
	n.finish(seen)
	return true
}

// span reads a duration that the API server has checked.
func span(d v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if out, err := time.ParseDuration(string(d)); err == nil && out >= 0 {
		return out
	}
	return otherwise
}
