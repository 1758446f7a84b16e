package benchmark

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"
)

// Settings of the program that runs the benchmarks.
const (
	// outsideScale is the factor of counts of nodes and pods.
	outsideScale = "UPSTREAM_SCALE"
	// outsideScrapes is the folder of the process's metrics, as they were when collecting began and ended.
	outsideScrapes = "UPSTREAM_SCRAPES"
)

// outsideProcess is the process of the workload that runs, where its metrics are.
var outsideProcess struct{ url, token string }

func mustSetupCluster(tCtx ktesting.TContext, c *config.KubeSchedulerConfiguration, gates map[featuregate.Feature]bool, opts *schedulerPerfOptions) (
	*scheduler.Scheduler, informers.SharedInformerFactory, <-chan struct{}, ktesting.TContext,
) {
	sched, factory, done, inner := mustSetupInside(tCtx, c, gates, opts)
	sched.StartOutside()
	outsideProcess.url = fmt.Sprintf("https://127.0.0.1:%d/metrics", sched.OutsidePort())
	outsideProcess.token = inner.RESTConfig().BearerToken
	return sched, factory, done, inner
}

// claimsLeft is how many claims upstream leaves room for in a cluster that it fills.
const claimsLeft = 10

// get scales counts, but not those that multiply others, or of classes, which pods name by index, or of pods in turn with
// one signature. It rounds up, so that there are as many claims as pods need, and devices for them.
func (p params) get(key string) (int, error) {
	n, err := p.getInside(key)
	factor, unscaled := strconv.ParseFloat(os.Getenv(outsideScale), 64)
	if err != nil || unscaled != nil || n == 0 || strings.Contains(key, "Per") || key == "classes" || key == "signatureBatchSize" {
		return n, err
	}
	n = max(1, int(math.Ceil(float64(n)*factor)))
	if key != "initClaims" {
		return n, nil
	}
	nodes, err := p.get("nodesWithDRA")
	if err != nil {
		return 0, err
	}
	claims, err := p.get("maxClaimsPerNode")
	if err != nil {
		return 0, err
	}
	return min(n, nodes*claims-claimsLeft), nil
}

// applyThreshold judges nothing: the program that started this one does.
func applyThreshold([]DataItem, float64, thresholdMetricSelector) error { return nil }

// checkEmptyInFlightEvents asks the process, which may be a moment later, and may still try pods that come and go.
func checkEmptyInFlightEvents() error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		text, err := outsideScrape()
		if err != nil {
			return err
		}
		found, flying := false, false
		for line := range bytes.Lines(text) {
			if bytes.HasPrefix(line, []byte("scheduler_inflight_events")) {
				found, flying = true, flying || !bytes.HasSuffix(line, []byte(" 0\n"))
			}
		}
		switch late := time.Now().After(deadline); {
		case found && !flying:
			return nil
		case late && found:
			return errors.New("events are in flight in the process")
		case late:
			return errors.New("the process has no metric scheduler_inflight_events")
		}
	}
}

// newMetricsCollector keeps the process's metrics of before and after.
func newMetricsCollector(*metricsCollectorConfig, map[string]string) testDataCollector {
	return outsideMetrics{}
}

type outsideMetrics struct{}

func (outsideMetrics) init() error { return outsideKeep("before") }

func (outsideMetrics) run(tCtx ktesting.TContext) {
	<-tCtx.Done()
	if err := outsideKeep("after"); err != nil {
		tCtx.Errorf("metrics of the process: %v", err)
	}
}

func (outsideMetrics) collect() []DataItem { return nil }

// newMemoryCollector collects nothing: the process's memory is among its metrics.
func newMemoryCollector(map[string]string, time.Duration) testDataCollector { return outsideNothing{} }

type outsideNothing struct{}

func (outsideNothing) init() error           { return nil }
func (outsideNothing) run(ktesting.TContext) {}
func (outsideNothing) collect() []DataItem   { return nil }

func outsideKeep(name string) error {
	text, err := outsideScrape()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(os.Getenv(outsideScrapes), name), text, 0o600)
}

func outsideScrape() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, outsideProcess.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+outsideProcess.token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", outsideProcess.url, answer.Status)
	}
	return io.ReadAll(answer.Body)
}

// outsideThroughput is upstream's collector, and measures from the first pod that is created to the last that is
// placed besides: upstream takes a sample each second but the first, so none if all pods are placed by then.
type outsideThroughput struct {
	*throughputCollector

	mu          sync.Mutex
	pods        int
	first, last time.Time
}

func newThroughputCollector(pods coreinformers.PodInformer, labels, selector map[string]string, namespaces []string, margin float64) testDataCollector {
	return &outsideThroughput{throughputCollector: newThroughputCollectorInside(pods, labels, selector, namespaces, margin)}
}

func (t *outsideThroughput) run(tCtx ktesting.TContext) {
	seen := func(old, new any) {
		p, ok := new.(*v1.Pod)
		if !ok || !t.namespaces.Has(p.Namespace) || !labelsMatch(p.Labels, t.labelSelector) {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.first.IsZero() {
			t.first = time.Now()
		}
		before, ok := old.(*v1.Pod)
		if p.Spec.NodeName != "" && (!ok || before.Spec.NodeName == "") {
			t.pods, t.last = t.pods+1, time.Now()
		}
	}
	handle, err := t.podInformer.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(pod any, initial bool) {
			if !initial {
				seen(nil, pod)
			}
		},
		UpdateFunc: seen,
	})
	if err != nil {
		tCtx.Fatalf("register pod event handler: %v", err)
	}
	t.throughputCollector.run(tCtx)
	if err := t.podInformer.Informer().RemoveEventHandler(handle); err != nil {
		tCtx.Errorf("remove pod event handler: %v", err)
	}
}

func (t *outsideThroughput) collect() []DataItem {
	t.mu.Lock()
	defer t.mu.Unlock()
	labels := maps.Clone(t.resultLabels)
	labels["Metric"] = "Placed"
	return append(t.throughputCollector.collect(), DataItem{Labels: labels, Unit: "pods, s", Data: map[string]float64{
		"Pods": float64(t.pods), "Seconds": t.last.Sub(t.first).Seconds(), "Samples": float64(len(t.schedulingThroughputs)),
	}})
}
