package cache_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestAssignedAt: an assumed pod has the host's time until the API says when the pod got its node; a later version that does not say
// changes nothing, and on another node the time is not that of this one.
func TestAssignedAt(t *testing.T) {
	c := cache.New(cache.Config{})
	spec := podSpec{Name: "p", UID: "u", Node: "a"}
	want := func(step string, want int64, errs ...error) {
		t.Helper()
		if pod, ok := c.Get("u"); !ok || pod.AssignedAt != want || errors.Join(errs...) != nil {
			t.Errorf("%s: assigned at %d, want %d, errors %v", step, pod.AssignedAt, want, errs)
		}
	}
	said := func(at int64) *state.Pod { return spec.pod().Assigned(at) }
	want("assumed", 70, c.Assume(said(70)))
	_, err := c.Patch("u", state.Patch{Labels: map[string]string{"a": "b"}})
	want("patched", 70, err)
	_, err = c.AddPod(spec.pod())
	want("confirmed by an API that does not say when", 70, err)
	_, err = c.UpdatePod(spec.pod(), said(71))
	want("the API says when", 71, err)
	_, err = c.UpdatePod(spec.pod(), spec.pod())
	want("updated", 71, err)
	spec.Node = "b"
	_, err = c.UpdatePod(spec.pod(), spec.pod())
	want("moved", 0, err)
}

// TestConfirmationDiffers: the API server's version overrides a patch, and the caller learns
// what was lost.
func TestConfirmationDiffers(t *testing.T) {
	c := cache.New(cache.Config{})
	spec := podSpec{Name: "p", UID: "u", Node: "a", Labels: map[string]string{"app": "x"}}
	if err := c.Assume(spec.pod()); err != nil {
		t.Fatal(err)
	}
	patched, err := c.Patch("u", state.Patch{Annotations: map[string]string{"gpu": "0"}, Labels: map[string]string{"reserved": "yes"}})
	if err != nil || patched.Object.Annotations["gpu"] != "0" || patched.Object.Labels["app"] != "x" {
		t.Fatalf("Patch = %v, %v", patched, err)
	}
	if _, err := c.Patch("u", state.Patch{Annotations: map[string]string{"numa": "1"}}); err != nil {
		t.Fatal(err)
	}
	if same, err := c.Patch("u", state.Patch{}); err != nil || same.Object.Annotations["numa"] != "1" {
		t.Fatalf("empty Patch = %v, %v", same, err)
	}

	spec.Node = "b"
	spec.Labels = map[string]string{"app": "y", "reserved": "yes"}
	spec.Annotations = map[string]string{"gpu": "1", "team": "ml"}
	change, err := c.AddPod(spec.pod())
	if err != nil || !change.Confirmed || change.MovedFrom != "a" || change.Previous.Object.Annotations["numa"] != "1" {
		t.Fatalf("AddPod = %+v, %v", change, err)
	}
	var got []string
	value := func(s *string) string {
		if s == nil {
			return "absent"
		}
		return *s
	}
	for _, d := range change.Differences {
		text := "label "
		if d.Annotation {
			text = "annotation "
		}
		text += d.Key + ": " + value(d.Assumed) + " → " + value(d.Actual)
		if d.Patched {
			text += " patched"
		}
		got = append(got, text)
	}
	want := []string{
		"label app: x → y",
		"annotation gpu: 0 → 1 patched",
		"annotation numa: 1 → absent patched",
		"annotation team: absent → ml",
	}
	if !slices.Equal(got, want) {
		t.Errorf("differences are %q, want %q", got, want)
	}
	if pod, ok := c.Get("u"); !ok || pod.Object.Annotations["gpu"] != "1" || c.IsAssumed("u") {
		t.Errorf("the cache does not hold what the API server shows: %+v", pod)
	}
}

func TestErrors(t *testing.T) {
	bound := podSpec{Name: "bound", UID: "bound", Node: "a"}.pod()
	assumed := podSpec{Name: "assumed", UID: "assumed", Node: "a"}.pod()
	unknown := podSpec{Name: "unknown", UID: "unknown", Node: "a"}.pod()
	unbound := podSpec{Name: "assumed", UID: "assumed"}.pod()
	noUID := podSpec{Name: "nobody", Node: "a"}.pod()
	cases := map[string]struct {
		call func(c *cache.Cache) error
		want error
	}{
		"assume a bound pod":     {func(c *cache.Cache) error { return c.Assume(bound) }, cache.ErrKnown},
		"assume an assumed pod":  {func(c *cache.Cache) error { return c.Assume(assumed) }, cache.ErrKnown},
		"assume without a node":  {func(c *cache.Cache) error { return c.Assume(unbound) }, cache.ErrIncomplete},
		"assume without a UID":   {func(c *cache.Cache) error { return c.Assume(noUID) }, cache.ErrIncomplete},
		"add a bound pod":        {func(c *cache.Cache) error { _, err := c.AddPod(bound); return err }, cache.ErrKnown},
		"confirm without a node": {func(c *cache.Cache) error { _, err := c.AddPod(unbound); return err }, cache.ErrIncomplete},
		"update an unknown pod":  {func(c *cache.Cache) error { _, err := c.UpdatePod(unknown, unknown); return err }, cache.ErrUnknown},
		"update an assumed pod":  {func(c *cache.Cache) error { _, err := c.UpdatePod(assumed, assumed); return err }, cache.ErrAssumed},
		"update to no node": {func(c *cache.Cache) error {
			p := bound.On("", state.Patch{})
			_, err := c.UpdatePod(bound, p)
			return err
		}, cache.ErrIncomplete},
		"replace by a known pod":    {func(c *cache.Cache) error { _, err := c.UpdatePod(assumed, bound); return err }, cache.ErrKnown},
		"patch a bound pod":         {func(c *cache.Cache) error { _, err := c.Patch("bound", state.Patch{}); return err }, cache.ErrNotAssumed},
		"patch an unknown pod":      {func(c *cache.Cache) error { _, err := c.Patch("unknown", state.Patch{}); return err }, cache.ErrUnknown},
		"forget a bound pod":        {func(c *cache.Cache) error { return c.Forget("bound") }, cache.ErrNotAssumed},
		"forget an unknown pod":     {func(c *cache.Cache) error { return c.Forget("unknown") }, cache.ErrUnknown},
		"forget after a removal":    {func(c *cache.Cache) error { c.RemovePod("assumed"); return c.Forget("assumed") }, cache.ErrUnknown},
		"no error for a valid call": {func(c *cache.Cache) error { return c.Forget("assumed") }, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := cache.New(cache.Config{})
			if _, err := c.AddPod(bound); err != nil {
				t.Fatal(err)
			}
			if err := c.Assume(assumed); err != nil {
				t.Fatal(err)
			}
			if err := tc.call(c); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if tc.want != nil && c.Counts().Pods < 1 {
				t.Errorf("a refused call changed the cache: %+v", c.Counts())
			}
		})
	}
}

// TestUpdateMovesPod: in the API an update cannot change a pod's node, but if it does, it must
// not corrupt the cache.
func TestUpdateMovesPod(t *testing.T) {
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	c.AddNode(nodeSpec{Name: "a"}.node())
	c.AddNode(nodeSpec{Name: "b"}.node())
	old := podSpec{Name: "p", UID: "u", Node: "a"}.pod()
	if _, err := c.AddPod(old); err != nil {
		t.Fatal(err)
	}
	c.UpdateSnapshot(s)
	change, err := c.UpdatePod(old, old.On("b", state.Patch{}))
	if err != nil || change.MovedFrom != "a" {
		t.Fatalf("UpdatePod = %+v, %v", change, err)
	}
	c.UpdateSnapshot(s)
	requireEqual(t, c, s)
}

// TestGhosts: pods are kept while their node is unknown, and only then.
func TestGhosts(t *testing.T) {
	c := cache.New(cache.Config{})
	for _, name := range []string{"p", "q"} {
		if _, err := c.AddPod(podSpec{Name: name, UID: name, Node: "ghost-" + name}.pod()); err != nil {
			t.Fatal(err)
		}
	}
	c.AddNode(nodeSpec{Name: "z"}.node())
	var names []string
	for info := range c.Nodes() {
		names = append(names, info.Name)
	}
	if want := []string{"z", "ghost-p", "ghost-q"}; !slices.Equal(names, want) {
		t.Errorf("nodes are %q, want %q", names, want)
	}
	if info, ok := c.Node("ghost-p"); !ok || info.Node != nil || len(info.Pods) != 1 {
		t.Errorf("ghost is %+v, %v", info, ok)
	}
	if _, ok := c.RemoveNode("ghost-p"); ok {
		t.Error("a ghost was removed as a node")
	}
	c.RemovePod("p")
	if _, ok := c.Node("ghost-p"); ok {
		t.Error("the ghost outlived its last pod")
	}
	c.AddNode(nodeSpec{Name: "ghost-q"}.node())
	if want := (cache.Counts{Nodes: 2, Pods: 1}); c.Counts() != want {
		t.Errorf("counts are %+v, want %+v", c.Counts(), want)
	}
}

// TestTwoCachesOneSnapshot: a cache notices that another one wrote its snapshot.
func TestTwoCachesOneSnapshot(t *testing.T) {
	one, _ := cluster(t, 3)
	two, s := cluster(t, 5)
	one.UpdateSnapshot(s)
	requireEqual(t, one, s)
	two.UpdateSnapshot(s)
	requireEqual(t, two, s)
	one.UpdateSnapshot(s)
	requireEqual(t, one, s)
}

// TestMarksAreBounded: a cache without snapshots does not grow with the number of changes.
func TestMarksAreBounded(t *testing.T) {
	c, s := cluster(t, 3)
	pod := podSpec{Name: "new", UID: "new", Node: nodeName(1)}.pod()
	churn := func() {
		if err := c.Assume(pod); err != nil {
			t.Fatal(err)
		}
		if err := c.Forget("new"); err != nil {
			t.Fatal(err)
		}
		c.RemoveNode(nodeName(2))
		c.AddNode(raceNode(2).node())
	}
	for range 1000 {
		churn()
	}
	before := s.BytesWritten
	c.UpdateSnapshot(s)
	if got := s.BytesWritten - before; got > 3000 {
		t.Errorf("1,000 changes of two nodes cost %d bytes", got)
	}
	requireEqual(t, c, s)
}

// TestPodsTableShrinks: free slots of thousands of removed pods do not stay forever, but a few
// removed pods do not renumber the table.
func TestPodsTableShrinks(t *testing.T) {
	c, s := cluster(t, 500)
	var g generations
	g.check(t, c)
	epoch := s.Epoch
	for node := range 500 {
		for i := range 9 {
			c.RemovePod(racePod(node, i).pod().UID)
		}
		c.UpdateSnapshot(s)
		if node%50 == 0 {
			g.check(t, c)
		}
	}
	g.check(t, c)
	requireEqual(t, c, s)
	if slots := len(s.Pods.Pod); slots > 2000 {
		t.Errorf("500 pods take %d slots", slots)
	}
	if turns := s.Epoch - epoch; turns > 3 {
		t.Errorf("there were %d new epochs", turns)
	}
}
