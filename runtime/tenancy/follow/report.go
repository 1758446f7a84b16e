package follow

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
)

// Faulting is the reason of a plugin whose calls are stopped after faults.
const Faulting = "Faulting"

// How often status is compared with what it should be, and how often that of an object is written
// at most. Some changes of what its conditions say are written at once. What passes by in a moment is not written.
// Canaries are judged more often.
const (
	compareEvery = 5 * time.Second
	judgeEvery   = time.Second
	writeEvery   = 30 * time.Second
	logEvery     = 2 * time.Minute // of the lines of the log alone
	atOnce       = 4
	passing      = 3 * time.Second
)

// writesAtOnce is how many objects are written before everything is looked at again.
const writesAtOnce = 100

// Writer writes the status of objects. WritePluginStatus replaces the status of an object if that is
// still of the version (metadata.resourceVersion), and returns a conflict if not; it fails if this replica does not lead.
type Writer interface {
	WritePluginStatus(ctx context.Context, kind string, of types.NamespacedName, uid types.UID, version string, status any) error
	TellOfPlugin(kind string, of types.NamespacedName, uid types.UID, ready bool, reason, note string)
}

// status is that of any of the kinds.
type status struct {
	v1alpha1.PluginStatus
	Plugins int32 `json:"plugins,omitempty"`
}

// text is the whole status; timeless leaves out its times, the rollout, what was observed and the log.
func (s *status) text() string {
	out, _ := json.Marshal(s) // strings, numbers and times always have JSON
	return string(out)
}

func (s *status) timeless() string {
	c := *s
	c.Since, c.Rollout, c.Observed, c.Log, c.Conditions = nil, nil, "", nil, slices.Clone(s.Conditions)
	for i := range c.Conditions {
		c.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return c.text()
}

// logless is the whole status without the log.
func (s *status) logless() string {
	c := *s
	c.Log = nil
	return c.text()
}

// condition is that of a type, which is empty if there is none.
func (s *status) condition(of string) metav1.Condition {
	for _, c := range s.Conditions {
		if c.Type == of {
			return c
		}
	}
	return metav1.Condition{}
}

// gist is the part of a status whose changes are written at once: which module runs, and the conditions without their messages.
func (s *status) gist() string {
	c := status{PluginStatus: v1alpha1.PluginStatus{
		Digest: s.Digest, ObservedGeneration: s.ObservedGeneration, Conditions: slices.Clone(s.Conditions),
	}}
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
	}
	return c.timeless()
}

// object is an object and what its status should be.
type object struct {
	kind       string
	name       types.NamespacedName
	uid        types.UID
	version    string // of the object that has the status
	have, want status
	happened   *v1alpha1.RolloutChange // with want
	turn       int                     // among those of its namespace
}

// reported is the status of an object that a leader has written.
type reported struct {
	last    *status   // nil before the first write
	at      time.Time // of the last write
	owed    time.Time // by when writes would have come to one in writeEvery
	again   time.Time // from when it may be written again after an error
	passing time.Time // since when it is in a state that passes by
	seen    bool
}

// Report writes status and events, until the context ends. Only the leader calls it.
func (f *Follower) Report(ctx context.Context) {
	known := make(map[types.UID]*reported)
	for ctx.Err() == nil {
		more := false
		_ = f.guard(func() { more = f.report(ctx, known) })
		if more {
			continue
		}
		pause := compareEvery
		if f.deps.Meter.Watches() {
			pause = judgeEvery
		}
		next, stop := f.deps.Clock.Until(f.deps.Clock.Now().Add(pause))
		select {
		case <-f.synced:
		case <-next:
		case <-ctx.Done():
		}
		stop()
	}
}

// report writes the status of some objects, and reports whether there are more.
func (f *Follower) report(ctx context.Context, known map[types.UID]*reported) (more bool) {
	now := f.deps.Clock.Now()
	var due []object
	all := f.objects(f.deps.Scheduler.HeldBack(ctx))
	for i := range all {
		o := &all[i]
		t := known[o.uid]
		if t == nil {
			t = &reported{}
			known[o.uid] = t
			if o.have.timeless() == o.want.timeless() { // an earlier leader has written it
				t.last = &o.have
			}
		}
		t.seen = true
		if t.due(o, now) {
			due = append(due, *o)
		}
	}
	for uid, t := range known {
		if !t.seen {
			delete(known, uid)
		}
		t.seen = false
	}
	slices.SortStableFunc(due, func(a, b object) int { return cmp.Compare(a.turn, b.turn) })
	for i := range due {
		if i == writesAtOnce || ctx.Err() != nil {
			return true
		}
		f.write(ctx, &due[i], known[due[i].uid], now)
	}
	return false
}

// due completes the status that an object should have, and reports whether it is to be written.
func (t *reported) due(o *object, now time.Time) bool {
	if t.last != nil && t.last.timeless() == o.want.timeless() {
		rollout, observed, log := o.want.Rollout, o.want.Observed, o.want.Log
		o.want = *t.last
		o.want.Rollout, o.want.Observed, o.want.Log = rollout, observed, log
	}
	if now.Before(t.again) {
		return false
	}
	if o.happened != nil { // it takes effect by that
		return true
	}
	if o.have.text() == o.want.text() || now.Sub(t.at) < logEvery && o.have.logless() == o.want.logless() {
		t.passing = time.Time{}
		return false
	}
	switch o.want.condition(v1alpha1.Ready).Reason {
	case tenancy.Fetching, Compiling:
		if t.passing.IsZero() {
			t.passing = now
		}
		if now.Sub(t.passing) < passing {
			return false
		}
	default:
		t.passing = time.Time{}
	}
	was := &o.have
	if t.last != nil { // what others write into status can wait
		was = t.last
	}
	return t.at.IsZero() || now.Sub(t.at) >= writeEvery || t.owed.Sub(now) <= (atOnce-1)*writeEvery && was.gist() != o.want.gist()
}

// write writes the status of an object, and an event if the condition Ready is another one.
func (f *Follower) write(ctx context.Context, o *object, t *reported, now time.Time) {
	before := &o.have
	if t.last != nil {
		before = t.last
	}
	for i := range o.want.Conditions {
		c := &o.want.Conditions[i]
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		if b := before.condition(c.Type); b.Status == c.Status && !b.LastTransitionTime.IsZero() {
			c.LastTransitionTime = b.LastTransitionTime
		}
	}
	var body any = o.want.PluginStatus
	if o.kind == v1alpha1.KindPluginGrant {
		body = v1alpha1.PluginGrantStatus{Conditions: o.want.Conditions, ObservedGeneration: o.want.ObservedGeneration, Plugins: o.want.Plugins}
	}
	t.at = now
	if o.happened != nil || t.owed.Before(now) {
		t.owed = now
	}
	t.owed = t.owed.Add(writeEvery)
	if err := f.deps.Writer.WritePluginStatus(ctx, o.kind, o.name, o.uid, o.version, body); err != nil {
		if apierrors.IsConflict(err) { // somebody was quicker, or the watch is late: it may have told of that by then
			t.at, t.again = now.Add(compareEvery-writeEvery), now.Add(judgeEvery)
			if o.happened == nil {
				t.again = now.Add(compareEvery)
			}
			return
		}
		t.again = now.Add(compareEvery)
		if ctx.Err() == nil {
			f.deps.Log.Warn("the status of an object could not be written; retrying", "kind", o.kind, "object", o.name.String(), "error", err)
		}
		return
	}
	t.last = &o.want
	if h := o.happened; h != nil {
		f.deps.Writer.TellOfPlugin(o.kind, o.name, o.uid, h.What != rollout.SteppedBack, "Rollout"+h.What, told(h))
	}
	if b, c := before.condition(v1alpha1.Ready), o.want.condition(v1alpha1.Ready); b.Status != c.Status || b.Reason != c.Reason {
		f.deps.Writer.TellOfPlugin(o.kind, o.name, o.uid, c.Status == metav1.ConditionTrue, c.Reason, c.Message)
	}
}

// objects returns those that the last Sync has judged, and what it made of them. held is as HeldBack.
func (f *Follower) objects(held map[string]string) (out []object) {
	r, running := f.Result(), f.deps.Scheduler.Status()
	faults, logs := Faults(running), make(map[string][]string)
	for i := range running.Plugins {
		if p := &running.Plugins[i]; len(p.Log) > 0 { // of several profiles, any
			logs[p.Name] = p.Log
		}
	}
	now := f.deps.Clock.Now()
	type have struct {
		status
		version string
		plan    *rollout.Plan
	}
	known := make(map[types.UID]have)
	o := f.deps.Source.Objects()
	for _, x := range o.SchedulerPlugins {
		known[x.UID] = have{status{PluginStatus: x.Status}, x.ResourceVersion, tenancy.PlanOf(x)}
	}
	for _, x := range o.TenantPlugins {
		plan := tenancy.TenantPlanOf(x)
		if c, ok := f.configs.find(x.Namespace, func(p *v1alpha1.TenantPlugin) bool { return sameConfig(p, x) }); ok {
			plan.Version.Config = c // which status keeps
		}
		known[x.UID] = have{status{PluginStatus: x.Status}, x.ResourceVersion, plan}
	}
	for uid := range o.BadSpec { // nobody knows what it asks for, so its rollout stays as it is
		x := known[uid]
		x.plan = nil
		known[uid] = x
	}
	for _, x := range o.PluginGrants {
		s := &x.Status
		known[x.UID] = have{status{PluginStatus: v1alpha1.PluginStatus{Conditions: s.Conditions, ObservedGeneration: s.ObservedGeneration}, Plugins: s.Plugins}, x.ResourceVersion, nil}
	}
	for uid := range o.BadStatus { // it may say which versions decide, and somebody has to mend it
		delete(known, uid)
	}
	turns := make(map[string]int)
	add := func(x object, first int, generation int64, refusal *tenancy.Refusal, reason, message string) {
		of, ok := known[x.uid]
		if !ok {
			return // it is gone
		}
		x.have, x.version = of.status, of.version
		rolled := of.condition(v1alpha1.RolledOut)
		if x.want.Rollout = of.Rollout; of.plan != nil && of.plan.Generation == generation {
			seen := f.seen(r, first, of.plan, &of.status, faults, now)
			if c := of.plan.Version.Config; c != nil && c.Omitted != nil && seen.Digest != "" {
				return // it ran, and may not run any more: the next Sync tells
			}
			next, happened := rollout.Next(of.Rollout, of.plan, seen)
			if next == nil && !r.judged(first, rollout.Shares(of.Rollout, of.plan, string(x.uid), now)) {
				return // the status has another step by now
			}
			if happened != nil && happened.What == rollout.Finished {
				if n := r.canary(first); n >= 0 { // what it says from now on is about this version
					x.want.PluginStatus, refusal = f.running(r, n, faults, logs)
				}
			}
			if x.want.Rollout, x.happened = of.Rollout, happened; next != nil {
				x.want.Rollout = next
			}
			if c := x.want.Rollout; c != nil && c.Canary != nil && x.happened == nil {
				x.want.Observed = seen.Counts.String()
			}
			rolled = rollout.Condition(x.want.Rollout, of.plan, seen)
			rolled.Message = plain.Line(rolled.Message, maxMessage)
		}
		c := metav1.Condition{Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: generation}
		if refusal != nil {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, refusal.Reason, refusal.Message
		}
		x.want.Conditions, x.want.ObservedGeneration = []metav1.Condition{c}, generation
		if rolled.Type != "" {
			x.want.Conditions = append(x.want.Conditions, rolled)
		}
		if x.name.Namespace != "" {
			turns[x.name.Namespace]++
			x.turn = turns[x.name.Namespace]
		}
		out = append(out, x)
	}
	for i := range r.Grants {
		g := &r.Grants[i]
		x := object{kind: v1alpha1.KindPluginGrant, name: types.NamespacedName{Name: g.Object}, uid: g.UID}
		x.want.Plugins = int32(g.Plugins)
		add(x, 0, g.Generation, g.Refusal, tenancy.InForce, "the grant is in force")
	}
	for i := range r.Plugins {
		p := &r.Plugins[i]
		if i > 0 && r.Plugins[i-1].UID == p.UID { // another version of the same object
			continue
		}
		x := object{kind: p.Kind, name: types.NamespacedName{Namespace: p.Namespace, Name: p.Object}, uid: p.UID}
		var refusal *tenancy.Refusal
		x.want.PluginStatus, refusal = f.running(r, i, faults, logs)
		reason, message := p.Runs()
		if why := held[p.Namespace]; why != "" {
			message += "; " + why
		}
		add(x, i, p.Generation, refusal, reason, message)
	}
	f.deps.Meter.Forget()
	return out
}

// running returns the status of the version that decides, and why it does not run or is not called.
func (f *Follower) running(
	r *Result, i int, faults map[string]*tenancy.Refusal, logs map[string][]string,
) (v1alpha1.PluginStatus, *tenancy.Refusal) {
	if refusal := r.refusal(i); refusal != nil {
		return v1alpha1.PluginStatus{}, refusal
	}
	p := &r.Plugins[i]
	since := metav1.NewTime(r.Since[p.Name]).Rfc3339Copy()
	out := v1alpha1.PluginStatus{
		Digest: p.Module.Digest, Version: p.Module.Manifest.Version, Signers: p.Signers, Grant: p.Grant, Since: &since, Observed: f.tried(p.Name),
	}
	if p.Kind == v1alpha1.KindTenantPlugin { // its readers may learn of pods of its namespace
		l := &p.Reference.Limits
		out.Log = logs[p.Name]
		memory := resource.NewQuantity(l.MemoryTotal, resource.BinarySI).String() // parsed, it is written as the API server returns it
		out.Limits = &v1alpha1.GrantedLimits{
			FuelPerPod: l.FuelPerCycle, FuelPerNode: l.FuelPerCycleRow, FuelForStarts: l.FuelRestarts,
			MemoryPerPlugin:   resource.MustParse(memory),
			AttemptsPerMinute: int32(p.Reference.Attempts.All), MaxPriority: p.Reference.MaxPriority,
		}
	}
	return out, faults[p.Name]
}

// Faults says by name which plugins are not called after faults.
func Faults(s assembly.Status) map[string]*tenancy.Refusal {
	out := make(map[string]*tenancy.Refusal)
	for i := range s.Plugins {
		p := &s.Plugins[i]
		if p.Breaker.State == breaker.Closed {
			continue
		}
		text := "calls are stopped for a while" + p.Breaker.Whose() + ": " + p.Breaker.Cause
		if p.Breaker.LastFault != nil {
			text += "; the last fault: " + p.Breaker.LastFault.Error()
		}
		out[p.Name] = &tenancy.Refusal{Reason: Faulting, Message: plain.Line(text, maxMessage)}
	}
	return out
}
