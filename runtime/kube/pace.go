package kube

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
)

// newPace returns the limit of a client's requests; nil for none.
func newPace(c *rest.Config) flowcontrol.RateLimiter {
	qps, burst := c.QPS, c.Burst
	if qps == 0 {
		qps = rest.DefaultQPS
	}
	if burst == 0 {
		burst = rest.DefaultBurst
	}
	if qps < 0 {
		return nil
	}
	return flowcontrol.NewTokenBucketRateLimiter(qps, burst)
}

// PerSecond is how many requests Main may send in a second, at least 1; 0 means no limit.
func (c *Clients) PerSecond() int {
	if c.Pace == nil {
		return 0
	}
	return int(max(1, math.Ceil(float64(c.Pace.QPS()))))
}

type paidKey struct{}

// paid returns a context whose first request has waited for the limit already.
func paid(ctx context.Context) context.Context {
	once := &atomic.Bool{}
	once.Store(true)
	return context.WithValue(ctx, paidKey{}, once)
}

// prepaid lets a request pass that has waited.
type prepaid struct{ flowcontrol.RateLimiter }

// Wait implements flowcontrol.RateLimiter.
func (p prepaid) Wait(ctx context.Context) error {
	if once, ok := ctx.Value(paidKey{}).(*atomic.Bool); ok && once.Swap(false) {
		return nil
	}
	return p.RateLimiter.Wait(ctx)
}

// ready waits until the limit allows a binding. Unless an earlier request may have been carried out, it then looks at the node again.
func (w *bindWrite) ready(ctx context.Context) error {
	if pace := w.cluster.deps.Pace; pace != nil {
		if err := pace.Wait(ctx); err != nil {
			return fmt.Errorf("wait for the limit of requests to the API server: %w", err)
		}
	}
	if w.doubt {
		return nil
	}
	if err := w.changed(); err != nil {
		return err
	}
	if w.Sent != nil {
		w.Sent()
	}
	if o := w.cluster.deps.Observer; o != nil {
		o.Sent(w.cluster.deps.Clock.Now().Sub(w.decided))
	}
	return nil
}

// changed says what keeps the pod from the node that did not when the node was chosen; nil if nothing does. What was there
// before is the profile's to judge, which may lack the filters.
func (w *bindWrite) changed() error {
	if w.Chosen == nil {
		return nil
	}
	object, exists, err := w.cluster.watches.nodes.GetStore().GetByKey(w.Node)
	if err != nil {
		return err
	}
	now, ok := object.(*v1.Node)
	if !exists || !ok || now.UID != w.Chosen.Object.UID {
		return fmt.Errorf("node %q was deleted after it was chosen", w.Node)
	}
	before := keepsOut(w.Chosen.Object)
	for _, taint := range keepsOut(now) {
		if slices.ContainsFunc(before, func(b v1.Taint) bool { return taint.MatchTaint(&b) && taint.Value == b.Value }) || w.tolerates(&taint) {
			continue
		}
		if taint.Key == v1.TaintNodeUnschedulable {
			return fmt.Errorf("node %q was cordoned after it was chosen", w.Node)
		}
		return fmt.Errorf("node %q got the taint %s after it was chosen", w.Node, taint.ToString())
	}
	return nil
}

func (w *bindWrite) tolerates(taint *v1.Taint) bool {
	return slices.ContainsFunc(w.Pod.Object.Spec.Tolerations, func(t v1.Toleration) bool {
		return t.ToleratesTaint(klog.Background(), taint, w.cluster.config.CompareTolerations)
	})
}

// keepsOut returns the taints that keep pods from a node. A cordon is one, as for the plugin NodeUnschedulable.
func keepsOut(node *v1.Node) (out []v1.Taint) {
	if node.Spec.Unschedulable {
		out = append(out, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute {
			out = append(out, taint)
		}
	}
	return out
}
