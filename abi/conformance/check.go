package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Check calls a guest as hosts may, in many ways, and reports whether it fulfils the duties
// that SPEC.md gives a guest: whether its answers are well formed and do not depend on the
// instance or on how things are numbered, and whether it writes only where it may. It does not
// judge whether answers are useful.
//
// # Errors
//
// The manifest is invalid, the objects do not fit into a region, or the context has ended.
// Mistakes of the guest are in the report.
func Check(ctx context.Context, g Guest, man *wire.Manifest, o Options) (*Report, error) {
	if err := man.Validate(); err != nil {
		return nil, fmt.Errorf("conformance: %w", err)
	}
	man, err := man.Resolve(o.Config)
	if err != nil {
		return nil, fmt.Errorf("conformance: config: %w", err)
	}
	k := &checker{guest: g, man: man, o: &o, ledger: newLedger(), reads: view.NewReads(&man.Reads, o.Namespaces)}
	k.duties()
	k.module()
	if err := k.apart(ctx); err != nil {
		return nil, err
	}
	all := scenes(man, &o)
	var first answered
	for i, w := range ways(man) {
		d, err := k.drive(w, all)
		if err != nil {
			return nil, err
		}
		for n, s := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			script, err := d.play(ctx, s)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				first.scripts, first.reasons, first.said = append(first.scripts, script), append(first.reasons, d.reasons), append(first.said, d.said)
				k.countAnswers(script)
				continue
			}
			k.compare(w, s, first.scripts[n], script)
			if w.alike() {
				k.compareReasons(w, s, first.said[n], d.said)
			}
			if w.alike() || k.man.Scope(abi.Filter) == abi.ScopeNode && !w.lists {
				k.compareReasons(w, s, first.reasons[n], d.reasons)
			}
		}
		if err := d.close(ctx); err != nil {
			return nil, err
		}
	}
	if r := k.report(k.man.Declared()); !r.OK() { // what piles up is looked for last, for it takes many calls
		return r, nil
	}
	if err := k.lasts(ctx, all, &first); err != nil {
		return nil, err
	}
	return k.report(k.man.Declared()), nil
}

// dutyReasons is about reasons, which are no part of a verdict.
const dutyReasons = "a row has its own reasons, wherever it is in a call"

// checker checks one guest.
type checker struct {
	*ledger
	guest Guest
	man   *wire.Manifest
	o     *Options
	reads *view.Reads
	// configured is how often an instance was configured.
	configured int
}

// dutyAnswers returns the duty of a point's answers.
func dutyAnswers(point abi.Point) string {
	return "answers of " + wire.PointName(point) + wellFormed
}

// duties registers all duties, in the order of the report.
func (k *checker) duties() {
	k.duty(dutyModule, "ABI-1.1", "ABI-1.2", "ABI-1.3", "ABI-1.4", "ABI-1.5", "ABI-5.1", "ABI-9.3", "ABI-9.6")
	k.duty(dutyStarts, "ABI-2.2", "ABI-2.3")
	k.duty(dutyAlloc, "ABI-2.4", "ABI-2.12")
	k.duty(dutyTraps, "ABI-2.10", "ABI-3.3")
	k.duty(dutyBare, "ABI-3.9", "ABI-4.6", "ABI-4.8", "ABI-6.2")
	for _, p := range abi.Points() {
		cites := map[abi.Point][]string{
			abi.PreEnqueue: {"ABI-5.9"}, abi.QueueSort: {"ABI-5.10", "ABI-3.11"}, abi.Hint: {"ABI-5.12"}, abi.PreFilter: {"ABI-5.2", "ABI-5.3"},
			abi.AddPod: {"ABI-5.13"}, abi.RemovePod: {"ABI-5.13"}, abi.Filter: {"ABI-5.5"}, abi.PostFilter: {"ABI-5.14"}, abi.PreScore: {"ABI-5.6"},
			abi.Score: {"ABI-5.7"}, abi.Normalize: {"ABI-5.8"}, abi.Reserve: {"ABI-5.16"}, abi.Unreserve: {"ABI-5.17"}, abi.Permit: {"ABI-5.18"},
			abi.PreBind: {"ABI-5.19"}, abi.Bind: {"ABI-5.19"}, abi.PostBind: {"ABI-5"},
		}[p]
		if cites != nil {
			k.duty(dutyAnswers(p), append(cites, "ABI-3.5", "ABI-3.6", "ABI-8", "ABI-10", "ABI-13.2")...)
		}
	}
	k.duty(dutyRegion, "ABI-2.9", "ABI-3.4")
	k.duty(dutyFunctions, "ABI-7.5", "ABI-9.6")
	k.duty(dutyRepeated, "ABI-2.8")
	k.duty(dutyOneInstance, "ABI-2.8", "ABI-5.17")
	k.duty(dutyLasting, "ABI-2.8", "ABI-2.13")
	k.duty(dutyAlone, "ABI-5.9", "ABI-5.10", "ABI-5.12")
	k.duty(dutyNumbers, "ABI-4.6", "ABI-4.7", "ABI-4.12", "ABI-3.7")
	k.duty(dutyMoving, "ABI-2.11", "ABI-7.4", "ABI-7.10")
	k.duty(dutyState, "ABI-7.4")
	k.duty(dutyUnknown, "ABI-4.5", "ABI-4.8", "ABI-6.2", "ABI-4.1")
	k.duty(dutyGrowing, "ABI-4.6", "ABI-4.7", "ABI-4.16", "ABI-2.8")
	k.duty(dutyRelaid, "ABI-4.1", "ABI-2.8")
	k.duty(dutyReasons, "ABI-3.6", "ABI-3.7")
	k.duty(dutyOverlay, "ABI-4.4", "ABI-4.12", "ABI-4.17")
	k.duty(dutyWhatIf, "ABI-5.13")
	k.duty(dutySplit, "ABI-5.4", "ABI-3.9", "ABI-4.12", "ABI-4.15")
	k.duty(dutyShards, "ABI-4.4", "ABI-4.12", "ABI-4.15", "ABI-5.3")
}

// module checks the module against its manifest, if there is one.
func (k *checker) module() {
	if k.o.Module == nil {
		return
	}
	m, err := wire.ReadModule(k.o.Module)
	if err == nil {
		err = wire.Check(m, k.man, "")
	}
	wrong := ""
	if err != nil {
		wrong = "the module: " + err.Error()
	}
	k.looked(dutyModule, wrong)
}

// entry is one answer, as text without anything that a host may choose.
type entry struct {
	point  abi.Point
	of     string // a node, a pod, or empty for the call
	answer string
}

// countAnswers counts the answers of the first way.
func (k *checker) countAnswers(script []entry) {
	for _, e := range script {
		switch e.point {
		case abi.QueueSort, abi.NumPoints:
			continue // all keys differ, and state is not an answer
		}
		answer, _, _ := strings.Cut(e.answer, ";")
		if e.of == theRowSet {
			answer = "row sets" // which the codes say nothing about; their nodes would fill a page
		}
		if e.of != "" || !slices.Contains([]abi.Point{abi.Filter, abi.Score, abi.Normalize, abi.PreEnqueue, abi.Hint}, e.point) {
			k.count(wire.PointName(e.point), answer)
		}
	}
}

// compare compares the answers of a way with those of the first.
func (k *checker) compare(w way, s *scene, want, got []entry) {
	if !w.states {
		want, got = answersOnly(want), answersOnly(got)
	}
	wrong := ""
	for i := 0; i < max(len(want), len(got)) && wrong == ""; i++ {
		switch {
		case i >= len(got):
			wrong = fmt.Sprintf("%s was not called, but %s was", want[i].name(), "first")
		case i >= len(want):
			wrong = fmt.Sprintf("%s was called, but not in the first way", got[i].name())
		case want[i] != got[i] && want[i].name() == got[i].name():
			wrong = fmt.Sprintf("%s is %s, but was %s", want[i].name(), got[i].shown(), want[i].shown())
		case want[i] != got[i]:
			wrong = fmt.Sprintf("%s is next, but was %s", got[i].name(), want[i].name())
		}
	}
	if wrong != "" {
		wrong = s.name + ": " + wrong
	}
	k.looked(w.duty, wrong)
}

// compareReasons compares the reasons of filter for nodes, or those of whole calls and of pods in lists. Who exceeds a
// limit leaves out reasons (ABI-3.8), but the same ones in a call that is made again, whatever the instance was asked
// before. At scope cluster reasons may be about all nodes, in any order, so they are compared only if nothing is in another order.
func (k *checker) compareReasons(w way, s *scene, want, got map[string]string) {
	if len(want) == 0 {
		return
	}
	wrong := ""
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if a, b := want[name], got[name]; words(a) != words(b) && (w.alike() || a != "" && b != "") {
			wrong = fmt.Sprintf("%s, while checking that %s: the reason of %s is %q, but was %q", s.name, w.duty, name, b, a)
			break
		}
	}
	k.looked(dutyReasons, wrong)
}

// words returns the words of a reason in order: a guest may list things in any.
func words(reason string) string {
	all := strings.FieldsFunc(reason, func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (e entry) name() string {
	point := "the state"
	if e.point < abi.NumPoints {
		point = e.point.String()
	}
	if e.of == "" {
		return point
	}
	return point + " of " + e.of
}

// shown returns the answer as authors know it.
func (e entry) shown() string {
	if e.point == abi.NumPoints || e.of == "" { // the state, or the answer of a whole call
		return e.answer
	}
	return shown(wire.PointName(e.point), e.answer)
}

// answersOnly omits what was left in the state.
func answersOnly(script []entry) []entry {
	return slices.DeleteFunc(slices.Clone(script), func(e entry) bool { return e.point == abi.NumPoints })
}
