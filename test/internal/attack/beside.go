package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

const (
	// calm is the namespace whose pods are measured.
	calm = "calm"
	// priority is the priority class of every second attacked pod; broken guests misbehave for
	// it.
	priority = "attack"
	// calmAtATime is the maximum number of pending calm pods.
	calmAtATime = 4
)

// The bounds for pods that a hostile plugin does not apply to: on the p99 of the duration of their attempts with and without it.
// The machine may be busy, so the fastest leg with it must exceed them, against the slowest one without it.
const (
	P99Ratio      = 1.1
	P99Difference = 2 * time.Millisecond
	// morePairs are measured beyond Bench.Pairs while they are exceeded.
	morePairs = 4
	// MostAttempts bounds the attempts for each of these pods, besides the first ones for those that it applies to.
	MostAttempts = 2.0
)

// attacked is the namespace that the plugins of the i-th attack of a group apply to.
func attacked(i int) string { return fmt.Sprint("attacked-", i) }

// Bench runs attacks on `berth run` with nine good plugins, on a real API server.
type Bench struct {
	Cluster *cluster.Cluster
	// Corpus is the folder of Corpus, and Dir one for plugins.
	Corpus, Dir string
	// Pairs is the number of pairs of legs, with and without attacks, at least. Calm is the number of pods in a leg that
	// no attack applies to, and Attacked that of those that one of the attacks applies to.
	Pairs, Calm, Attacked int
	// Together is how many attacks run at once, each for pods of its own. If they are bounded together, each
	// of them is; otherwise they are measured again in halves.
	Together int
	Progress io.Writer

	client kubernetes.Interface
}

// Beside is the effect of an attack on other pods.
type Beside struct {
	Attack Attack
	// Refused reports that no plugin of the attack could be loaded.
	Refused bool
	// Beside is how many other attacks ran at the same time. What follows is of all of them together.
	Beside int
	// Without and With are the p99 of the durations of attempts: medians of the pairs. Slowest is the highest one without, and
	// Fastest the lowest one with them.
	Without, With, Slowest, Fastest time.Duration
	// WaitWithout and WaitWith are the p99 of the time in which a calm pod was placed: medians of the pairs.
	WaitWithout, WaitWith time.Duration
	// Attempts are those for each calm pod, at most, besides the first ones for attacked pods.
	Attempts float64
	// Faults of the hostile plugins. Log is what the scheduler wrote while they ran, and Memory its
	// peak, in bytes; the bounds are how much that may be.
	Faults, Log, LogBound, Memory, MemoryBound int64
}

// Bounded reports whether the effect on other pods, the memory and the log are within the bounds.
func (b *Beside) Bounded() bool {
	return !b.slow() && b.Attempts <= MostAttempts && b.Memory <= b.MemoryBound && b.Log <= b.LogBound
}

func (b *Beside) slow() bool {
	return b.Fastest > b.Slowest+P99Difference && float64(b.Fastest) > P99Ratio*float64(b.Slowest)
}

// Prepare creates nodes and namespaces.
func (b *Bench) Prepare(ctx context.Context, nodes int) error {
	client, err := b.Cluster.Client(cluster.Admin)
	if err != nil {
		return err
	}
	b.client = client
	namespaces := []string{calm}
	for i := range b.Together {
		namespaces = append(namespaces, attacked(i))
	}
	for _, name := range namespaces {
		if _, err := client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: priority}, Value: 1}
	if _, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return load.Nodes(ctx, client, 0, nodes, workload.Large(), false)
}

// Run measures at most Together attacks, and calls done for each.
func (b *Bench) Run(ctx context.Context, group []Attack, done func(Beside)) error {
	return narrow(group, func(group []Attack) (Beside, []bool, error) { return b.together(ctx, group) }, done)
}

// narrow measures attacks at the same time, and if they are not bounded, halves of those that are loaded.
func narrow(group []Attack, together func([]Attack) (Beside, []bool, error), done func(Beside)) error {
	result, loaded, err := together(group)
	if err != nil {
		return fmt.Errorf("%s: %w", names(group), err)
	}
	var left []Attack
	plugins := 0
	for i, a := range group {
		if !loaded[i] {
			done(Beside{Attack: a, Refused: true})
			continue
		}
		left = append(left, a)
		plugins += len(a.Plugins)
	}
	result.Beside, result.MemoryBound = len(left)-1, memoryBound(plugins)
	if len(left) > 1 && !result.Bounded() {
		half := len(left) / 2
		return errors.Join(narrow(left[:half], together, done), narrow(left[half:], together, done))
	}
	for _, a := range left {
		result.Attack = a
		done(result)
	}
	return nil
}

func names(attacks []Attack) string {
	var out []string
	for _, a := range attacks {
		out = append(out, a.Name)
	}
	return strings.Join(out, ", ")
}

// together measures attacks at the same time, on a scheduler of their own. It reports which of them are loaded.
func (b *Bench) together(ctx context.Context, group []Attack) (result Beside, loaded []bool, err error) {
	r, err := b.start()
	if err != nil {
		return result, nil, err
	}
	defer func() {
		err = errors.Join(err, r.process.Kill())
		for i := range group {
			err = errors.Join(err, load.Clear(context.WithoutCancel(ctx), b.client, attacked(i)))
		}
	}()
	if loaded, err = r.attach(ctx, group); err != nil {
		return result, nil, err
	}
	if err := r.detach(ctx); err != nil {
		return result, nil, err
	}
	for i := range group {
		if loaded[i] {
			r.attacks = append(r.attacks, group[i])
		}
	}
	if len(r.attacks) > 0 {
		err = r.measure(ctx, &result)
	}
	return result, loaded, err
}

// measure measures pairs of legs without and with attacks that are not refused.
func (r *attempts) measure(ctx context.Context, result *Beside) error {
	b := r.bench
	if _, err := r.leg(ctx, false); err != nil { // to warm everything up
		return err
	}
	quiet, err := r.process.Usage()
	if err != nil {
		return err
	}
	var without, with, waitWithout, waitWith []time.Duration
	for pair := 0; pair < b.Pairs || result.slow() && pair < b.Pairs+morePairs; pair++ {
		calm, err := r.leg(ctx, false)
		if err != nil {
			return err
		}
		logged, began := len(r.process.Log()), time.Now()
		loaded, err := r.attach(ctx, r.attacks)
		if err != nil {
			return err
		}
		if slices.Contains(loaded, false) {
			return errors.New("a plugin was loaded once, and then refused")
		}
		attacked, err := r.leg(ctx, true)
		if err != nil {
			return err
		}
		faults, err := r.faults()
		if err != nil {
			return err
		}
		result.Attempts = max(result.Attempts, attacked.each)
		result.Faults += faults
		result.Log += int64(len(r.process.Log()) - logged)
		result.LogBound += logBound(r.attacks, faults, b.Attacked, time.Since(began))
		if err := r.detach(ctx); err != nil {
			return err
		}
		without, with = append(without, calm.p99), append(with, attacked.p99)
		waitWithout, waitWith = append(waitWithout, calm.wait), append(waitWith, attacked.wait)
		result.Slowest, result.Fastest = slices.Max(without), slices.Min(with)
		fmt.Fprintf(b.Progress, "%s %d: p99 %v without, %v with, placed in %v without, %v with, %.2f attempts, %d faults\n",
			names(r.attacks), pair+1, calm.p99, attacked.p99, calm.wait, attacked.wait, attacked.each, faults)
	}
	used, err := r.process.Usage()
	if err != nil {
		return err
	}
	result.Memory = used.PeakMemory - quiet.PeakMemory
	result.Without, result.With = median(without), median(with)
	result.WaitWithout, result.WaitWith = median(waitWithout), median(waitWith)
	return nil
}

// logBound is what one leg may log: for faults, for the pods of each attack, and for calls that belong to no pod.
func logBound(attacks []Attack, faults int64, pods int, took time.Duration) int64 {
	bound := FaultLog * (1 + faults)
	for i := range attacks {
		bound += PodLog * int64(len(attacks[i].Plugins)*(attacks[i].Crowd+pods/len(attacks)+1+int(took/time.Second)+1))
	}
	return bound
}

func median(values []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
