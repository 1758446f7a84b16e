package scheduler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/debts"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// debtOf returns what keeps others from making room for a pod. A debt of its namespace outlives the plugins for which it was
// opened, so that nothing is won by removing them.
func (s *Scheduler) debtOf(p *pipeline.Pipeline, pod *state.Pod) plugin.Debt {
	if d := s.debts.Owed(debts.Debtor{Pod: string(pod.UID)}); d != nil {
		return plugin.Debt{Reason: fmt.Sprintf("node(s) with pods that make no more room until %s: others did so %d times for this one", format(d.Until), d.Made)}
	}
	d := s.debts.Owed(debts.Debtor{Namespace: pod.Namespace})
	if d == nil {
		return plugin.Debt{}
	}
	own, _ := p.Guests(pod)
	if own == nil {
		own = []string{pod.Namespace}
	}
	return plugin.Debt{
		Reason: fmt.Sprintf("node(s) with pods of other namespaces, which make no more room until pod %s is bound, or until %s", d.Name, format(d.Until)),
		Own:    own,
	}
}

func format(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// owe enters what a preemption removes. It is taken back if nothing leaves.
func (s *Scheduler) owe(p *pipeline.Pipeline, e *preemption, cleared []types.UID) {
	pod := e.preemptor
	own, modules := p.Guests(pod)
	if modules && len(e.victims) > 0 {
		s.debts.Open(s.deps.Clock.Now(), debts.Debtor{Pod: string(pod.UID)}, string(pod.UID), pod.Key())
		e.podOwes = true
	}
	if own == nil {
		return
	}
	outside := func(pod *state.Pod) bool {
		_, in := slices.BinarySearch(own, pod.Namespace)
		return !in
	}
	moves := slices.ContainsFunc(cleared, func(uid types.UID) bool {
		queued, _ := s.queue.Get(uid)
		return queued != nil && outside(queued.Pod)
	})
	if moves || slices.ContainsFunc(e.victims, outside) {
		s.debts.Open(s.deps.Clock.Now(), debts.Debtor{Namespace: pod.Namespace}, string(pod.UID), pod.Key())
		e.namespaceOwes = !moves
	}
}

// takeBack takes back the debts of a preemption for which nobody left.
func (s *Scheduler) takeBack(e *preemption) {
	uid := string(e.preemptor.UID)
	void := func(opened bool, who debts.Debtor) {
		if opened && s.debts.Void(who, uid) {
			s.releaseIndebted(who)
		}
	}
	void(e.namespaceOwes, debts.Debtor{Namespace: e.preemptor.Namespace})
	void(e.podOwes, debts.Debtor{Pod: uid})
}

// inherit has the namespace of a nominated pod owe, because others may have made room for it before this loop or the plugins of
// the pod were there.
func (s *Scheduler) inherit(pod *state.Pod) {
	p, who := s.pipelines[pod.Profile], debts.Debtor{Namespace: pod.Namespace}
	if p == nil || s.debts.Known(who) {
		return
	}
	if own, _ := p.Guests(pod); own != nil {
		s.debts.Open(s.deps.Clock.Now(), who, string(pod.UID), pod.Key())
	}
}

// inheritNew is inherit for pods to which no attached plugin applied so far.
func (s *Scheduler) inheritNew(before map[string]*pipeline.Pipeline) {
	s.queue.Nominations().Nodes(func(_ string, pods []*state.Pod) bool {
		for _, pod := range pods {
			if p := before[pod.Profile]; p != nil {
				if own, _ := p.Guests(pod); own == nil {
					s.inherit(pod)
				}
			}
		}
		return true
	})
}

// pay pays for a pod that is bound.
func (s *Scheduler) pay(pod *state.Pod) {
	if s.debts.Pay(s.deps.Clock.Now(), pod.Namespace, string(pod.UID)) {
		s.releaseIndebted(debts.Debtor{Namespace: pod.Namespace})
	}
}

// decay ends the debts that are due.
func (s *Scheduler) decay() {
	for _, who := range s.debts.Decay(s.deps.Clock.Now()) {
		s.releaseIndebted(who)
	}
}

// releaseIndebted retries the pods that a debt kept from preempting others.
func (s *Scheduler) releaseIndebted(who debts.Debtor) {
	s.queue.ReleaseOnly(func(pod *state.Pod) bool {
		return who.Namespace == pod.Namespace || who.Pod == string(pod.UID)
	}, pipeline.Debt)
}

// ForgiveDebt forgets that pods of other namespaces made room for one of a namespace that is not bound; with a UID, that others
// did so for that pod.
func (s *Scheduler) ForgiveDebt(namespace string, pod types.UID) {
	s.post(&inbox.Forgive{Namespace: namespace, Pod: pod})
}

func (s *Scheduler) forgive(e *inbox.Forgive) {
	if who := (debts.Debtor{Namespace: e.Namespace, Pod: string(e.Pod)}); s.debts.Forgive(who) {
		s.releaseIndebted(who)
	}
}

// Debts returns the debts that are open, and how many there were. It must be called like Pending.
func (s *Scheduler) Debts() (open []Debt, counts debts.Counts) {
	for _, d := range s.debts.All() {
		if d.Owed() {
			open = append(open, Debt{Namespace: d.Namespace, Pod: types.UID(d.Pod), For: d.Name, Since: d.Since, Until: d.Until})
		}
	}
	return open, s.debts.Counts()
}

// Debt is room that others made for a pod that is not bound yet. It is owed by the pods of Namespace, or by the pod with the UID
// Pod, until For, NAMESPACE/NAME, is bound, or until it decays.
type Debt struct {
	Namespace    string
	Pod          types.UID
	For          string
	Since, Until time.Time
}

// Owner names who owes: a namespace, or a pod as NAMESPACE/NAME.
func (d *Debt) Owner() string {
	if d.Namespace != "" {
		return d.Namespace
	}
	return d.For
}

// NextDebt returns when the next debt decays; false if none is open.
func (s *Scheduler) NextDebt() (time.Time, bool) { return s.debts.Next() }

// accounts returns the accounts of all debtors.
func (s *Scheduler) accounts() (out []*inbox.Debt) {
	for _, d := range s.debts.All() {
		out = append(out, &inbox.Debt{
			Namespace: d.Namespace, Pod: types.UID(d.Pod), For: types.UID(d.For), Name: d.Name,
			Made: uint64(d.Made), Step: uint64(d.Step), Until: d.Until, Since: d.Since,
		})
	}
	return out
}

func (s *Scheduler) checkpointDebts() {
	for _, d := range s.accounts() {
		s.enter(d)
	}
}

func (s *Scheduler) resumeDebt(e *inbox.Debt) {
	s.debts.Restore(debts.Debt{
		Debtor: debts.Debtor{Namespace: e.Namespace, Pod: string(e.Pod)}, For: string(e.For), Name: e.Name,
		Made: int(e.Made), Step: int(e.Step), Until: e.Until, Since: e.Since,
	})
}
