package race

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/test/internal/accept"
	"github.com/berth-scheduler/berth/test/internal/cluster"
)

const (
	// writesInFlight is the maximum number of bindings that Berth has in flight (runtime/kube).
	writesInFlight = 96
	// remembered is the number of attempts that Berth can explain (berth explain).
	remembered = 4096
)

// repetition is one run of a scheduler in a leg, with what is needed to check its placements.
type repetition struct {
	*race
	leg       Leg
	scheduler cluster.Program
	// since is the revision after which pods came, and there the nodes that there were.
	since int64
	there []v1.Node
	// decided has the number of the decision to place a pod; nil if that is not known.
	decided map[types.UID]uint64
	// quiet ends questions; nil if there are none.
	quiet func() (answers int, err error)
	// profiled ends profiles; nil if there are none.
	profiled func() error
}

// newRepetition records the state of the cluster before a run, when there are nodes and no
// pods.
func (r *race) newRepetition(ctx context.Context, leg Leg, scheduler cluster.Program) (*repetition, error) {
	since, err := r.cluster.Revision(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return &repetition{race: r, leg: leg, scheduler: scheduler, since: since, there: nodes.Items}, nil
}

// socket is Berth's debug socket.
func (t *repetition) socket() string { return filepath.Join(t.cluster.Dir(), "berth.sock") }

// ask queries a Berth that has placed all pods for the order of its decisions, but not for more
// pods than it remembers, and not for preempting pods: these are tried often, and fit in any
// order, because their victims are gone before they are bound.
func (t *repetition) ask(ctx context.Context) error {
	if t.leg.Workload.Full || t.leg.Before+t.leg.Pods > remembered {
		return nil
	}
	pods, err := t.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	decisions := accept.Decisions(t.socket())
	t.decided = make(map[types.UID]uint64, len(pods.Items))
	for i := range pods.Items {
		pod := &pods.Items[i]
		if t.decided[pod.UID], err = decisions(pod); err != nil {
			return err
		}
	}
	return nil
}

// judge replays what was written, and fails if a pod was placed twice, a node is overcommitted,
// or kube-scheduler's filters do not accept a placement.
func (t *repetition) judge(ctx context.Context) (accepted int, err error) {
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	defer cancel()
	config := accept.Config{InFlight: writesInFlight}
	if t.decided != nil {
		config.Decided = func(pod *v1.Pod) (uint64, error) {
			if n, ok := t.decided[pod.UID]; ok {
				return n, nil
			}
			return 0, fmt.Errorf("no scheduler was asked about pod %s/%s", pod.Namespace, pod.Name)
		}
	}
	checker, err := accept.New(ctx, config)
	if err != nil {
		return 0, err
	}
	ledger := accept.NewLedger(accept.LedgerConfig{})
	write := func(change cluster.Change) error {
		if err := ledger.Write(change.Revision, change.Object, change.Deleted); err != nil {
			return errors.Join(err, errors.New(strings.Join(ledger.Problems(), "\n")))
		}
		return checker.Write(change.Revision, change.Object, change.Deleted)
	}
	for i := range t.there {
		if err := write(cluster.Change{Revision: t.since, Object: &t.there[i]}); err != nil {
			return 0, err
		}
	}
	if err := t.cluster.History(ctx, t.since, write); err != nil {
		return 0, err
	}
	result, err := checker.Result()
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, problem := range ledger.Problems() {
		problems = append(problems, errors.New(problem))
	}
	for i, refusal := range result.Refusals {
		if i == 20 {
			problems = append(problems, fmt.Errorf("… and %d more", len(result.Refusals)-i))
			break
		}
		problems = append(problems, fmt.Errorf("kube-scheduler does not accept %v", refusal))
	}
	return result.Accepted, errors.Join(problems...)
}
