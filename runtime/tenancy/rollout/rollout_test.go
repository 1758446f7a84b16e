package rollout_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// object is one whose rollout is led.
type object struct {
	t      *testing.T
	plan   rollout.Plan
	status *v1alpha1.RolloutStatus
	now    time.Time
	seen   rollout.Seen
}

func version(image string) v1alpha1.PluginVersion {
	return v1alpha1.PluginVersion{Module: v1alpha1.ModuleSource{Image: v1alpha1.Image("r.test/p:" + image)}}
}

func digest(image string) v1alpha1.Digest { return v1alpha1.Digest("sha256:" + image) }

// newObject returns one that has version 1 as its stable one.
func newObject(t *testing.T) *object {
	t.Helper()
	o := &object{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.set(false, "1")
	if what := o.next(); what != "" || o.status == nil || o.status.Stable == nil {
		t.Fatalf("%q: %+v", what, o.status)
	}
	return o
}

// set changes the object.
func (o *object) set(canary bool, image string) {
	o.plan.Canary, o.plan.Version = canary, version(image)
	o.plan.Generation++
	o.seen = rollout.Seen{Digest: digest(image)}
}

// next judges once, and returns what happened.
func (o *object) next() string {
	o.seen.Now = o.now
	status, happened := rollout.Next(o.status, &o.plan, &o.seen)
	if status == nil {
		return ""
	}
	o.status = status
	if happened == nil {
		return ""
	}
	o.seen.Counts = rollout.Counts{} // of the next step
	if last := o.status.History[len(o.status.History)-1]; last != *happened {
		o.t.Errorf("%+v is not the last of the history: %+v", happened, last)
	}
	return happened.What
}

// deciding says which version decides for which part of the pods.
func (o *object) deciding() string {
	var out []string
	all := rollout.Shares(o.status, &o.plan, "uid", o.now)
	o.tried(all)
	for _, s := range all {
		text := strings.TrimPrefix(string(s.Version.Module.Image), "r.test/p:")
		switch {
		case s.Role == rollout.Trial:
			continue
		case s.Ready:
			text += " ready"
		case !s.Pods.All():
			text += " " + time.Duration(s.Pods.To-s.Pods.From).String()
		}
		out = append(out, text)
	}
	return strings.ReplaceAll(strings.Join(out, ", "), "ns", "")
}

// tried expects that a canary is tried for exactly the pods that the stable version decides for.
func (o *object) tried(all []rollout.Share) {
	o.t.Helper()
	of := make(map[rollout.Role]*rollout.Share)
	for i := range all {
		of[all[i].Role] = &all[i]
	}
	stable, canary, trial := of[""], of[rollout.Canary], of[rollout.Trial]
	switch wanted := stable != nil && canary != nil && !canary.Ready; {
	case wanted != (trial != nil):
		o.t.Errorf("a trial is there: %t, want %t: %+v", trial != nil, wanted, all)
	case wanted && (trial.Pods != stable.Pods || trial.Version.Digest != canary.Version.Digest):
		o.t.Errorf("the trial is of %+v: %+v", trial, all)
	}
}

func (o *object) expect(what, deciding string) {
	o.t.Helper()
	if got := o.next(); got != what {
		o.t.Errorf("%q happened, not %q: %+v", got, what, o.status)
	}
	if got := o.deciding(); got != deciding {
		o.t.Errorf("%q decide, not %q", got, deciding)
	}
}

// TestSteps: a good version goes through all steps, each after its pause and its attempts, and the
// old one stays ready for a while.
func TestSteps(t *testing.T) {
	o := newObject(t)
	o.set(true, "2")
	o.plan.Rollout.Steps = []v1alpha1.RolloutStep{{Percent: 5, Pause: "1m", MinAttempts: 100}, {Percent: 50}}
	o.seen.Digest = "" // it is being fetched
	o.expect("", "1, 2 ready")
	o.seen.Digest = digest("2")
	o.expect(rollout.Started, "1 9.5µs, 2 500")
	o.seen.Counts.Attempts = 100
	o.expect("", "1 9.5µs, 2 500")
	o.now = o.now.Add(time.Minute)
	o.seen.Counts.Attempts = 99
	o.expect("", "1 9.5µs, 2 500")
	o.seen.Counts.Attempts = 100
	o.expect(rollout.Advanced, "1 5µs, 2 5µs")
	o.seen.Counts.Attempts = 300
	o.now = o.now.Add(5*time.Minute - time.Second)
	o.expect("", "1 5µs, 2 5µs")
	o.now = o.now.Add(time.Second)
	o.expect(rollout.Finished, "2, 1 ready")
	o.expect("", "2, 1 ready")
	o.now = o.now.Add(10 * time.Minute)
	o.expect("", "2")
	if h := o.status.History; len(h) != 3 || h[1].Percent != 50 || h[2].Digest != digest("2") || !strings.Contains(h[2].Message, "300 attempts") {
		t.Errorf("%+v", h)
	}
}

// TestStepsBack: each bound steps back as soon as it must be broken, and says what was expected and
// observed. The version is not tried again until the object changes.
func TestStepsBack(t *testing.T) {
	did := func(t rollout.Tally) rollout.Seen { return rollout.Seen{Counts: rollout.Counts{Tally: t}} }
	again := func(a rollout.Again) rollout.Seen { return rollout.Seen{Counts: rollout.Counts{Again: a}} }
	for reason, c := range map[string]struct {
		bounds v1alpha1.RolloutBounds
		within rollout.Seen
		beyond rollout.Seen
		says   string
	}{
		"faults": {
			v1alpha1.RolloutBounds{Faults: "1%"},
			did(rollout.Tally{Attempts: 3, Faulted: 3}), did(rollout.Tally{Attempts: 90, Faulted: 4}),
			"at most 1% of the attempts may have faults: 4 of 90 attempts had",
		},
		"pending": {
			v1alpha1.RolloutBounds{},
			did(rollout.Tally{Attempts: 50, Pending: 30}), did(rollout.Tally{Attempts: 31, Pending: 31}),
			"at most 10% of the attempts may leave a pod pending: 31 of 31 attempts did",
		},
		"p99": {
			v1alpha1.RolloutBounds{P99: "20ms"},
			did(rollout.Tally{Attempts: 10, Slow: 3}), did(rollout.Tally{Attempts: 10, Slow: 4}),
			"99 of 100 attempts may take at most 20ms: 4 of 10 attempts took longer",
		},
		"fuelPerRow": {
			v1alpha1.RolloutBounds{FuelPerRow: 100},
			did(rollout.Tally{Attempts: 29, Used: rollout.Used{Rows: 10, Fuel: 9000}}), did(rollout.Tally{Attempts: 30, Used: rollout.Used{Rows: 10, Fuel: 1010}}),
			"at most 100 fuel a row is allowed: after 30 attempts it is 101",
		},
		"changed": {
			v1alpha1.RolloutBounds{Changed: "5%"},
			again(rollout.Again{Compared: 100, Changed: 15}), again(rollout.Again{Compared: 100, Changed: 16}),
			"at most 5% of the decisions may be different: 16 of 100 were",
		},
		rollout.Stopped: {
			v1alpha1.RolloutBounds{},
			rollout.Seen{}, rollout.Seen{Stopped: "3 of 10 calls were faults", Counts: rollout.Counts{Tally: rollout.Tally{Attempts: 7}}},
			"its calls were stopped after 7 attempts: 3 of 10 calls were faults",
		},
		rollout.Refused: {v1alpha1.RolloutBounds{}, rollout.Seen{}, rollout.Seen{Refused: "NoGrant: no grant"}, "NoGrant: no grant"},
	} {
		t.Run(reason, func(t *testing.T) {
			o := newObject(t)
			o.set(true, "2")
			o.plan.Rollout.Bounds = &c.bounds
			divided := "1 9.9µs, 2 100"
			o.expect(rollout.Started, divided)
			if o.seen = c.within; reason != rollout.Refused {
				o.seen.Digest = digest("2")
			}
			o.expect("", divided)
			if o.seen = c.beyond; reason != rollout.Refused {
				o.seen.Digest = digest("2")
			}
			o.plan.Rollout.Paused = true // bounds hold nevertheless
			o.expect(rollout.SteppedBack, "1")
			if f := o.status.Failed; f == nil || f.Reason != reason || f.Message != c.says || f.Digest != digest("2") {
				t.Errorf("%+v", f)
			}
			o.plan.Rollout.Paused = false
			o.seen = rollout.Seen{Digest: digest("2")}
			o.now = o.now.Add(24 * time.Hour)
			o.expect("", "1")
			o.set(true, "2") // somebody touches the object
			o.expect(rollout.Started, divided)
		})
	}
}

// TestDefaultBounds: bounds that the rollout does not name compare the version with the stable one, on the same pods where that can be.
func TestDefaultBounds(t *testing.T) {
	did := func(attempts, faulted, pending int64) rollout.Tally {
		return rollout.Tally{Attempts: attempts, Faulted: faulted, Pending: pending}
	}
	used := func(attempts, calls, rows, fuel int64) rollout.Tally {
		return rollout.Tally{Attempts: attempts, Used: rollout.Used{Calls: calls, Rows: rows, Fuel: fuel}}
	}
	cheap := used(1000, 1000, 100_000, 8_000_000)
	late := rollout.Tally{Attempts: 300, Pending: 31, Late: 31}
	again := func(placed, changed, lost, won int64) rollout.Again {
		return rollout.Again{Compared: 5000, Placed: placed, Changed: changed, Lost: lost, Won: won}
	}
	for name, c := range map[string]struct {
		its, stable rollout.Tally
		again       rollout.Again
		says        string // empty if it is within all bounds
	}{
		"as many faults as the stable version": {its: did(1000, 50, 0), stable: did(5000, 250, 0)},
		"more faults": {
			its: did(1000, 52, 0), stable: did(5000, 250, 0),
			says: "at most 0.1% of the attempts may have faults: 52 of 1000 attempts had, beyond the 5.0% of the stable version's",
		},
		"as strict, not compared": {its: did(1000, 0, 390), stable: did(5000, 0, 1500)},
		"stricter, not compared": {
			its: did(1000, 0, 401), stable: did(5000, 0, 1500),
			says: "at most 10% of the attempts may leave a pod pending: 401 of 1000 attempts did, beyond the 30.0% of the stable version's",
		},
		"its pods fit nowhere, and those of the other version do": {its: did(500, 0, 500), stable: did(500, 0, 0), again: again(5000, 0, 0, 0)},
		"stricter with the same pods": {
			its: did(10, 0, 0), stable: did(500, 0, 0), again: again(500, 71, 61, 10),
			says: "at most 10% of the pods that the stable version places may stay pending with it: 61 of 500 would, " +
				"beyond 10 that it would place; spec.rollout.bounds.pending sets another bound",
		},
		"other pods with the same pods": {its: did(10, 0, 0), stable: did(500, 0, 0), again: again(500, 120, 60, 60)},
		"strict at permit, where no trial comes": {
			its: late, stable: did(500, 0, 0), again: again(500, 0, 0, 0),
			says: "at most 10% of the attempts may leave a pod pending after a node was chosen: 31 of 300 attempts did",
		},
		"half is changed": {its: did(10, 0, 0), stable: did(500, 0, 0), again: again(5000, 2500, 0, 0)},
		"nearly all is changed": {
			its: did(10, 0, 0), stable: did(500, 0, 0), again: again(5000, 2501, 0, 0),
			says: "at most 50% of the decisions may be different: 2501 of 5000 were; spec.rollout.bounds.changed sets another bound",
		},
		"53 times slower": {
			its: used(40, 40, 4000, 53*320_000), stable: cheap,
			says: "at most 4 times the fuel of the stable version is allowed, which uses 80 a row and 8000 a call: it uses 4240 and 424000; " +
				"spec.rollout.bounds.fuelPerRow sets another bound",
		},
		"slower, with few calls of the stable version": {
			its: used(31, 31, 3100, 53*248_000), stable: used(10, 10, 1000, 80_000),
			says: "at most 4 times the fuel of the stable version is allowed, which uses 80 a row and 8000 a call: it uses 4240 and 424000; " +
				"spec.rollout.bounds.fuelPerRow sets another bound",
		},
		"too few calls of the stable version": {its: used(31, 31, 3100, 53*248_000), stable: used(9, 9, 900, 72_000)},
		"fewer rows in each call":             {its: used(40, 40, 40, 40*2000), stable: cheap},
		"more rows in each call":              {its: used(40, 40, 40_000, 40_000*120), stable: cheap},
		"too few calls to tell":               {its: used(29, 29, 2900, 53*232_000), stable: cheap},
		"cheap, if five times dearer":         {its: used(40, 40, 4000, 400_000), stable: used(1000, 1000, 100_000, 2_000_000)},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObject(t)
			o.set(true, "2")
			o.expect(rollout.Started, "1 9.9µs, 2 100")
			o.seen.Counts = rollout.Counts{Tally: c.its, Stable: c.stable, Again: c.again}
			if c.says == "" {
				o.expect("", "1 9.9µs, 2 100")
				return
			}
			o.expect(rollout.SteppedBack, "1")
			if got := o.status.Failed.Message; got != c.says {
				t.Errorf("%q, expected %q", got, c.says)
			}
		})
	}
}

// TestRefusedFirst: a first version that may not run stays at its step, and goes on when it may again.
func TestRefusedFirst(t *testing.T) {
	o := &object{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.set(true, "1")
	o.expect(rollout.Started, "1 100")
	o.seen = rollout.Seen{Refused: "NotGranted: no grant"}
	o.expect("", "1 100")
	o.seen = rollout.Seen{Digest: digest("1"), Counts: rollout.Counts{Tally: rollout.Tally{Attempts: 1000}}}
	o.now = o.now.Add(time.Hour)
	o.expect(rollout.Advanced, "1 1µs")
}

// TestByHand: each verb is a change of the object.
func TestByHand(t *testing.T) {
	start := func() *object {
		o := newObject(t)
		o.set(true, "2")
		o.expect(rollout.Started, "1 9.9µs, 2 100")
		return o
	}
	o := start() // pause
	o.plan.Rollout.Paused = true
	o.now, o.seen.Counts.Attempts = o.now.Add(time.Hour), 1000
	o.expect("", "1 9.9µs, 2 100")
	o.plan.Rollout.Paused = false
	o.expect(rollout.Advanced, "1 9µs, 2 1µs")
	o = start() // promote
	o.set(false, "2")
	o.expect(rollout.Finished, "2, 1 ready")
	o = start() // roll back
	o.set(true, "1")
	o.expect(rollout.Ended, "1")
	o.expect("", "1")
	o = start() // a third version
	o.set(true, "3")
	o.expect(rollout.Ended, "1, 3 ready")
	o.expect(rollout.Started, "1 9.9µs, 3 100")
	o.set(false, "4") // at once
	o.expect(rollout.Ended, "4")
	o.expect("", "4, 1 ready")
	if got := o.status.Stable.Digest; got != digest("4") {
		t.Errorf("stable is %s", got)
	}
}

// TestFirst: without a stable version, pods that are not in the canary have no plugin.
func TestFirst(t *testing.T) {
	o := &object{t: t, now: time.Unix(0, 0)}
	o.set(true, "1")
	o.plan.Rollout.Steps = []v1alpha1.RolloutStep{{Percent: 20}}
	o.expect(rollout.Started, "1 2µs")
	o.seen.Counts.Pending = 100
	o.expect(rollout.SteppedBack, "")
}

// TestEditedStatus: numbers that no leader has written do no harm.
func TestEditedStatus(t *testing.T) {
	for _, edited := range []int32{math.MinInt32, -1, 0, 3, math.MaxInt32} {
		o := newObject(t)
		o.set(true, "2")
		o.expect(rollout.Started, "1 9.9µs, 2 100")
		o.status.Canary.Step = edited
		o.now, o.seen.Counts.Attempts = o.now.Add(time.Hour), 1000
		if what := o.next(); what != rollout.Advanced && what != rollout.Finished {
			t.Errorf("step %d: %q", edited, what)
		}
		o.status.Canary = &v1alpha1.CanaryStatus{PluginVersion: o.plan.Version, Step: edited, Percent: edited}
		o.deciding()
		o.next()
	}
}

// TestFromShadow: a version that was tried in shadow has decided for no pod, so it takes over step by
// step, too, and a canary that goes into shadow does not become stable.
func TestFromShadow(t *testing.T) {
	o := newObject(t)
	shadow := func(image string) {
		o.set(false, image)
		o.plan.Shadow = true
	}
	shadow("2")
	o.expect("", "2") // in its trial
	o.set(true, "2")
	o.plan.Shadow = false
	o.expect(rollout.Started, "1 9.9µs, 2 100")
	shadow("2")
	o.expect(rollout.Ended, "2")
	o.set(true, "2")
	o.plan.Shadow = false
	o.expect(rollout.Started, "1 9.9µs, 2 100")
	if got := o.status.Stable.Digest; got != digest("1") {
		t.Errorf("stable is %s", got)
	}
}

// TestEditedSteps: a step that is taken away, or made smaller, leads no pod back.
func TestEditedSteps(t *testing.T) {
	o := newObject(t)
	o.set(true, "2")
	o.plan.Rollout.Steps = []v1alpha1.RolloutStep{{Percent: 10, Pause: "0s", MinAttempts: 1}, {Percent: 20, Pause: "0s", MinAttempts: 1}}
	o.expect(rollout.Started, "1 9µs, 2 1µs")
	o.seen.Counts.Attempts = 1
	o.expect(rollout.Advanced, "1 8µs, 2 2µs")
	o.plan.Rollout.Steps = []v1alpha1.RolloutStep{{Percent: 1}, {Percent: 2, Pause: "0s", MinAttempts: 1}, {Percent: 5}, {Percent: 60}}
	o.plan.Generation++
	o.expect("", "1 8µs, 2 2µs")
	o.seen.Counts.Attempts = 1
	o.expect(rollout.Advanced, "1 4µs, 2 6µs")
}

// TestClock: a step takes no longer than its pause because the clock of an earlier leader was ahead. Bounds
// hold meanwhile.
func TestClock(t *testing.T) {
	o := newObject(t)
	o.set(true, "2")
	o.expect(rollout.Started, "1 9.9µs, 2 100")
	o.now = o.now.Add(-24 * time.Hour)
	o.expect("", "1 9.9µs, 2 100")
	o.now, o.seen.Counts.Attempts = o.now.Add(5*time.Minute), 300
	o.expect(rollout.Advanced, "1 9µs, 2 1µs")
	o.now, o.seen.Counts.Pending = o.now.Add(-24*time.Hour), 300
	o.expect(rollout.SteppedBack, "1")
}

// TestPinned: status names each version by the digest of its image.
func TestPinned(t *testing.T) {
	o := newObject(t)
	o.seen.Image = "sha256:i1"
	o.expect("", "1")
	if got := o.status.Stable.Module.Image; got != "r.test/p:1@sha256:i1" || o.status.Old != nil {
		t.Errorf("%q is stable, and %+v is old", got, o.status.Old)
	}
	o.set(true, "2")
	o.seen.Image = "sha256:i2"
	o.expect(rollout.Started, "1@sha256:i1 9.9µs, 2@sha256:i2 100")
	o.plan.Version = version("2@sha256:i2") // promote
	o.plan.Canary = false
	o.expect(rollout.Finished, "2@sha256:i2, 1@sha256:i1 ready")
	o.plan.Version, o.plan.Canary = version("2"), true // the same file again
	o.expect("", "2@sha256:i2, 1@sha256:i1 ready")
	o.set(true, "3") // the next release
	o.expect(rollout.Started, "2@sha256:i2 9.9µs, 3 100, 1@sha256:i1 ready")
}

// TestSame: the order of fields in a configuration makes no version.
func TestSame(t *testing.T) {
	with := func(config string) *v1alpha1.PluginVersion {
		v := version("1")
		v.Config = &v1alpha1.Config{RawExtension: runtime.RawExtension{Raw: []byte(config)}}
		return &v
	}
	if !rollout.Same(with(`{"a":1,"b":[2]}`), with(`{"b": [2], "a": 1}`)) || rollout.Same(with(`{"a":1}`), with(`{"a":2}`)) {
		t.Error("versions are compared by their texts")
	}
	if rollout.Same(with(`{"a":9007199254740992}`), with(`{"a":9007199254740993}`)) {
		t.Error("numbers are compared as floats")
	}
	large := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 300))
	omitted := with(large)
	if omitted.Config.Omit(100); omitted.Config.Raw != nil || omitted.Config.Size() != len(large) {
		t.Errorf("%+v is not omitted", omitted.Config)
	}
	again := omitted.DeepCopy()
	again.Config.Omit(0)
	if !rollout.Same(omitted, with(large)) || !rollout.Same(with(large), omitted) || !rollout.Same(omitted, again) {
		t.Error("omitting a configuration makes it another one")
	}
	none := version("1")
	for _, other := range []*v1alpha1.PluginVersion{with(strings.Replace(large, "x", "y", 1)), with(`{}`), &none} {
		if rollout.Same(omitted, other) || rollout.Same(other, omitted) {
			t.Errorf("an omitted configuration is the same as %+v", other.Config)
		}
	}
	if !rollout.Same(&none, with(`{}`)) {
		t.Error("no configuration is not the empty one")
	}
	known, pinned := version("1"), version("1")
	known.Digest, pinned.Module.Digest = digest("1"), digest("1")
	if moved := version("1"); !rollout.Same(&known, &moved) || !rollout.Same(&known, &pinned) {
		t.Error("a version is not the one that its tag or its digest names")
	}
	if pinned.Module.Digest = digest("2"); rollout.Same(&known, &pinned) {
		t.Error("another digest is the same version")
	}
	one, other, tag := version("1@sha256:1"), version("1@sha256:2"), version("1")
	if !rollout.Same(&one, &tag) || !rollout.Same(&tag, &one) || rollout.Same(&one, &other) {
		t.Error("the digest of an image is another version than its tag, or than itself")
	}
	if next := version("2@sha256:1"); rollout.Same(&one, &next) || rollout.Same(&tag, &next) {
		t.Error("another tag is the same version")
	}
}
