package volumebinding

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/hostplugins/internal/topology"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// all returns everything that a query finds on a row, in order.
func all[T any](index *topology.Index[T], s *state.Snapshot, row uint32, name func(T) string) string {
	q := topology.NewQuery(index, s, func(T) bool { return true })
	var found []*topology.Item[T]
	var names []string
	for {
		item := q.First(row, found)
		if item == nil {
			return strings.Join(names, " ")
		}
		found, names = append(found, item), append(names, name(item.Value))
	}
}

// content describes the contents of a ledger.
func (l *Ledger) content(s *state.Snapshot) string {
	var b strings.Builder
	for _, class := range []string{"s0", "s1", ""} {
		of := l.ofClass(class)
		for row := range s.Len() {
			fmt.Fprintf(&b, "%s on %d: %s; %s\n", class, row,
				all(of.free, s, uint32(row), func(f free) string { return fmt.Sprintf("%s(%p)", f.pv.Name, f.pv) }),
				all(l.capacitiesOf(class), s, uint32(row), func(c *storagev1.CSIStorageCapacity) string { return fmt.Sprintf("%s(%p)", c.Name, c) }))
		}
		for _, key := range slices.SortedFunc(maps.Keys(of.of), func(a, b claims.Key) int { return strings.Compare(a.String(), b.String()) }) {
			var names []string
			for _, pv := range of.of[key] {
				names = append(names, fmt.Sprintf("%s(%p)", pv.Name, pv))
			}
			slices.Sort(names)
			fmt.Fprintf(&b, "%s for %s: %v\n", class, key, names)
		}
	}
	return b.String()
}

// TestLedgerKept: the maintained data equals that of reading everything again.
func TestLedgerKept(t *testing.T) {
	var nodes []*v1.Node
	for i := range 3 {
		host := fmt.Sprint("h", i)
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: host, Labels: map[string]string{"host": host}}})
	}
	s := plugintest.Snapshot(nodes, nil)
	seeded.Check(t, func(rt *rapid.T) {
		store := storage.New()
		kept := NewLedger(store.Objects())
		pick := func(label, prefix string, most int) string {
			return fmt.Sprint(prefix, rapid.IntRange(0, most).Draw(rt, label))
		}
		for range 30 {
			var object metav1.Object
			if rapid.Bool().Draw(rt, "volume") {
				pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: pick("volume", "v", 4)}}
				pv.Spec.StorageClassName = pick("class", "s", 1)
				pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(pick("size", "1", 3))}
				pv.Status.Phase = rapid.SampledFrom([]v1.PersistentVolumePhase{v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeBound}).Draw(rt, "phase")
				if rapid.Bool().Draw(rt, "local") {
					pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
						MatchExpressions: []v1.NodeSelectorRequirement{{Key: "host", Operator: v1.NodeSelectorOpIn, Values: []string{pick("host", "h", 3)}}},
					}}}}
				}
				if rapid.Bool().Draw(rt, "claimed") {
					pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "ns", Name: pick("claim", "c", 1)}
				}
				object = pv
			} else {
				object = &storagev1.CSIStorageCapacity{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pick("capacity", "k", 3)}, StorageClassName: pick("class", "s", 1),
					NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"host": pick("host", "h", 3)}},
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "gone") == 0 {
				store.Delete(object)
			} else {
				store.Set(object)
			}
			if rapid.Bool().Draw(rt, "not looked at") {
				continue
			}
			kept.update()
			fresh := NewLedger(store.Objects())
			fresh.update()
			if got, want := kept.content(s), fresh.content(s); got != want {
				rt.Fatalf("got\n%swant\n%s", got, want)
			}
		}
	})
}

func version(name, version string) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

// TestPromises: a promise holds until it is withdrawn or the API has another version, and then
// leaves nothing behind.
func TestPromises(t *testing.T) {
	p := make(promises[string, *v1.PersistentVolume])
	stored, first, second := version("v", "1"), version("v", "1"), version("v", "1")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(stored, want *v1.PersistentVolume, left int) {
		t.Helper()
		if got := p.over("v", stored); got != want || len(p) != left {
			t.Errorf("got %p, want %p; %d promises are left, want %d", got, want, len(p), left)
		}
	}
	check(stored, stored, 0)
	must(p.add("v", stored, first))
	must(p.add("v", stored, second))
	check(stored, second, 1)
	p.takeBack("v", second)
	check(stored, first, 1)
	p.takeBack("v", second) // again
	p.expire("v", stored)   // nothing new
	check(stored, first, 1)
	p.takeBack("v", first)
	check(stored, stored, 0)

	must(p.add("v", stored, first))
	check(nil, nil, 1) // gone
	later := version("v", "2")
	check(later, later, 1)
	p.expire("v", later)
	check(later, later, 0)
	if err := p.add("v", later, first); err == nil || err.Error() != `"v" is out of sync (stored: 2, assume: 1)` {
		t.Errorf("promise of an old version: %v", err)
	}
	if err := p.add("v", nil, first); err == nil || err.Error() != "v no longer exists" {
		t.Errorf("promise of a deleted object: %v", err)
	}
	check(later, later, 0)
}

// TestForgotten: promises for objects that the journal no longer covers are dropped as well.
func TestForgotten(t *testing.T) {
	store := storage.New()
	l := NewLedger(store.Objects())
	store.Set(version("v", "1"))
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "1"}}
	store.Set(claim)
	l.update()
	if err := l.promisedVolumes.add("v", l.storage.Volumes.Volume("v"), version("v", "1")); err != nil {
		t.Fatal(err)
	}
	if err := l.promiseClaim(claim.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	l.ofClass("")
	store.Delete(claim)
	for i := range 10000 { // more than the journal holds
		store.Set(version("v", fmt.Sprint(i+2)))
	}
	l.update()
	if len(l.promisedVolumes)+len(l.promisedClaims)+len(l.volumes)+len(l.listed) != 0 {
		t.Errorf("left are %v, %v, %v and %v", l.promisedVolumes, l.promisedClaims, l.volumes, l.listed)
	}
}
