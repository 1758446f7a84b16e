package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/budgets"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// cause is who pays for the attempt that an answer of a plugin causes.
type cause struct {
	payer budgets.Payer
	rates budgets.Rates
}

// causeOf returns who pays for an attempt that a plugin causes; false if nobody does, since it is for all namespaces.
func (s *Scheduler) causeOf(info *plugin.Info, namespace string, kind budgets.Kind) (c cause, ok bool) {
	if info == nil || info.Namespaces == nil {
		return c, false
	}
	c.payer = budgets.Payer{Plugin: info.Name, Namespace: namespace, Kind: kind}
	own := map[budgets.Kind]int{
		budgets.Pending: info.Budget.Pending, budgets.Wakeups: info.Budget.Wakeups, budgets.Activations: info.Budget.Activations,
	}
	c.rates.Own = cmp.Or(own[kind], plugin.DefaultBudget)
	if !s.config.NoNamespaceBudget {
		c.rates.All = cmp.Or(info.Budget.All, plugin.DefaultBudget)
	}
	return c, true
}

// caused remembers that a plugin is about to have a pod retried. The gates charge it.
func (s *Scheduler) caused(info *plugin.Info, pod *state.Pod, kind budgets.Kind) {
	if c, ok := s.causeOf(info, pod.Namespace, kind); ok {
		s.causes[pod.UID] = c
		return
	}
	delete(s.causes, pod.UID)
}

// rejected remembers that a plugin of a namespace has rejected a pod. An activation while the pod was in flight has it retried at
// once, and asks no hint; if one is asked, that says who pays.
func (s *Scheduler) rejected(pod *state.QueuedPod) {
	p := s.pipelines[pod.Pod.Profile]
	if p == nil {
		return
	}
	for _, name := range slices.Concat(pod.Pending, pod.Rejectors) {
		if info := p.Plugin(name); info != nil && info.Namespaces != nil {
			s.caused(info, pod.Pod, budgets.Wakeups)
			return
		}
	}
}

// overBudget charges the plugin that has a pod retried. If its budget is used up, the pod waits for its turn.
func (s *Scheduler) overBudget(pod *state.QueuedPod) (queue.GateResult, bool) {
	uid, now := pod.Pod.UID, s.deps.Clock.Now()
	c, ok := s.causes[uid]
	delete(s.causes, uid)
	if payer, rates, waits := s.budgets.Held(string(uid)); waits {
		c = cause{payer, rates}
	} else if !ok || s.budgets.Take(now, c.payer, c.rates, string(uid), true) {
		return queue.GateResult{}, false
	}
	return queue.GateResult{Plugin: pipeline.Budget, Reason: s.overWhich(now, c)}, true
}

// overWhich says why a pod waits: which limit holds, by its name in a grant.
func (s *Scheduler) overWhich(now time.Time, c cause) string {
	by := map[budgets.Kind]string{
		budgets.Pending: "Pending verdicts", budgets.Wakeups: "hints, retryAfter, errors and rejections at preBind", budgets.Activations: "activations",
	}[c.payer.Kind]
	if s.budgets.OwnLimit(now, c.payer) {
		return fmt.Sprintf("waiting for its turn: %s of %s cause more than %d attempts a minute for pods of namespace %s (%sPerMinute)",
			by, c.payer.Plugin, c.rates.Own, c.payer.Namespace, c.payer.Kind)
	}
	return fmt.Sprintf("waiting for its turn: all plugins of namespace %s cause more than %d attempts a minute for its pods (attemptsPerMinute), "+
		"here %s of %s", c.payer.Namespace, c.rates.All, by, c.payer.Plugin)
}

// takeTurns retries the pods whose turn it is.
func (s *Scheduler) takeTurns() {
	pods := s.budgets.Due(s.deps.Clock.Now())
	if len(pods) == 0 {
		return
	}
	due := make(map[types.UID]bool, len(pods))
	for _, uid := range pods {
		due[types.UID(uid)] = true
	}
	s.queue.ReleaseGated(func(pod *state.Pod) bool { return due[pod.UID] }, pipeline.Budget)
}

// NextTurn returns when the next pod is retried that waits for its turn because a plugin caused too many attempts; false if none
// waits. It must be called like Pending.
func (s *Scheduler) NextTurn() (time.Time, bool) { return s.budgets.Next(s.deps.Clock.Now()) }

// Budget counts the attempts of a kind that were charged to plugins, how often a pod had to wait for its turn, and those that wait.
type Budget struct {
	Kind          string
	Waiting       int
	Charged, Held int64
}

// Budgets returns what was charged so far. It must be called like Pending.
func (s *Scheduler) Budgets() (out []Budget) {
	waiting := make(map[budgets.Kind]int)
	for who, n := range s.budgets.Waiting() {
		waiting[who.Kind] += n
	}
	for kind, n := range s.budgets.Counts() {
		out = append(out, Budget{Kind: string(kind), Waiting: waiting[kind], Charged: n.Paid, Held: n.Held})
	}
	return out
}

// OverBudget says by namespace how many pods wait for their turn, and why. It must be called like Pending.
func (s *Scheduler) OverBudget() map[string]string {
	out := make(map[string]string)
	for _, a := range s.budgets.All() {
		if len(a.Held) == 0 {
			continue
		}
		text := fmt.Sprintf("%d pods are %s", len(a.Held), s.overWhich(s.deps.Clock.Now(), cause{a.Payer, a.Rates}))
		if before := out[a.Namespace]; before != "" {
			text = before + "; " + text
		}
		out[a.Namespace] = text
	}
	return out
}

// activate activates pods on the word of a plugin. A pod in a backoff stays there if the plugin's budget is used up.
func (s *Scheduler) activate(info *plugin.Info, uids []types.UID) {
	s.queue.Activate(slices.DeleteFunc(slices.Clone(uids), func(uid types.UID) bool {
		if !s.may(info, uid) {
			return true
		}
		pod, place := s.queue.Get(uid)
		c, pays := s.causeOf(info, pod.Pod.Namespace, budgets.Activations)
		switch place {
		case queue.Unschedulable, queue.Gated:
			s.caused(info, pod.Pod, budgets.Activations)
		case queue.Backoff, queue.ErrorBackoff:
			return pays && !s.budgets.Take(s.deps.Clock.Now(), c.payer, c.rates, string(uid), false)
		}
		return false
	}))
}

func (s *Scheduler) checkpointBudgets() {
	for _, a := range s.budgets.All() {
		s.enter(&inbox.Budget{
			Plugin: a.Plugin, Namespace: a.Namespace, Kind: string(a.Kind), Rates: a.Rates,
			Full: a.Full, AllFull: a.AllFull, Held: a.Held, Paid: a.Paid, PaidAt: a.PaidAt,
		})
	}
}

func (s *Scheduler) resumeBudget(e *inbox.Budget) {
	s.budgets.Restore(budgets.Account{
		Payer: budgets.Payer{Plugin: e.Plugin, Namespace: e.Namespace, Kind: budgets.Kind(e.Kind)},
		Rates: e.Rates, Full: e.Full, AllFull: e.AllFull, Held: e.Held, Paid: e.Paid, PaidAt: e.PaidAt,
	})
}
