package input

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// benchCluster returns one file with many pods: documents, a YAML list or a JSON list.
func benchCluster(pods int, list, json bool) source {
	pod := `apiVersion: v1
kind: Pod
metadata:
  name: web-%06d
  namespace: team-%d
  labels:
    app: web
    pod-template-hash: 6f7c9d
spec:
  nodeName: ""
  containers:
  - name: main
    image: registry.example.com/team/web:1.2.3
    command: ["sh", "-c", "sleep 1 && exec web"]
    resources:
      requests: {cpu: 500m, memory: 1Gi}
      limits: {memory: 2Gi}
    ports:
    - containerPort: 8080
  tolerations:
  - key: node.kubernetes.io/not-ready
    operator: Exists
    effect: NoExecute
    tolerationSeconds: 300
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector: {matchLabels: {app: web}}
status:
  phase: Pending
`
	if json {
		pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-%06d","namespace":"team-%d"},"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"500m","memory":"1Gi"}}}]}},
`
	}
	if list && !json {
		pod = "- " + strings.TrimSuffix(strings.ReplaceAll(pod, "\n", "\n  "), "  ")
	}
	var b bytes.Buffer
	switch {
	case json:
		b.WriteString("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[\n")
	case list:
		b.WriteString("apiVersion: v1\nitems:\n")
	}
	for i := range pods {
		if !list && !json {
			b.WriteString("---\n")
		}
		fmt.Fprintf(&b, pod, i, i%50)
	}
	switch {
	case json:
		b.Truncate(b.Len() - 2)
		b.WriteString("]}\n")
	case list:
		b.WriteString("kind: List\n")
	}
	return source{"bench.yaml", b.Bytes()}
}

// BenchmarkLoad reads 10,000 pods. "one tree" is a list that is not cut into items because it
// has an anchor. -cpu 1,2 shows what decoding on all processors saves.
func BenchmarkLoad(b *testing.B) {
	const pods = 10_000
	whole := benchCluster(pods, true, false)
	whole.data = append([]byte("metadata: {resourceVersion: &v \"1\"}\n"), whole.data...)
	for name, f := range map[string]source{
		"documents": benchCluster(pods, false, false),
		"list":      benchCluster(pods, true, false),
		"one tree":  whole,
		"json":      benchCluster(pods, true, true),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(f.data)))
			b.ReportAllocs()
			peak := watchHeap(b)
			for b.Loop() {
				o, err := loadBytes(f.file, f.data)
				if err != nil || len(o.Pods) != pods {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/pods, "µs/pod")
			b.ReportMetric(peak(), "peak-MB")
		})
	}
}

// BenchmarkLargeCluster decodes 5,000 nodes and 100,000 pods, each a document: from trees, as this package does, on all
// processors (-cpu 1,2), and with sigs.k8s.io/yaml, on one.
func BenchmarkLargeCluster(b *testing.B) {
	const nodes, pods = 5_000, 100_000
	f := benchCluster(pods, false, false)
	for i := range nodes {
		f.data = fmt.Appendf(f.data, "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: node-%d\n  labels: {kubernetes.io/hostname: node-%d, "+
			"topology.kubernetes.io/zone: zone-%d}\nstatus:\n  allocatable: {cpu: \"32\", memory: 128Gi, pods: \"110\"}\n", i, i, i%3)
	}
	for name, decode := range map[string]func() ([]object, error){
		"trees": func() ([]object, error) {
			return decodeFiles(context.Background(), []source{f}, ofClusters(), &gatherer{})
		},
		"library": func() ([]object, error) {
			d, err := newDecoder(ofClusters(), &gatherer{left: &gatherer{}, lenient: true})
			if err != nil {
				return nil, err
			}
			var r result
			for _, c := range splitFile(f) {
				text, err := strictyaml.Values(c.text, false)
				if err != nil {
					return nil, err
				}
				d.object(b.Context(), place{chunk: &c, first: c.line}, text, nil, header{}, &r)
			}
			return r.objects, nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			peak := watchHeap(b)
			for b.Loop() {
				if objects, err := decode(); err != nil || len(objects) != nodes+pods {
					b.Fatal(len(objects), err)
				}
			}
			b.ReportMetric(peak(), "peak-MB")
		})
	}
}

// watchHeap returns the maximum growth of the heap since the call, sampled every 5 ms.
func watchHeap(b *testing.B) (peak func() float64) {
	b.Helper()
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	first := heap()
	most := make(chan uint64)
	done := make(chan struct{})
	go func() {
		top := first
		for {
			select {
			case <-done:
				most <- top
				return
			case <-time.After(5 * time.Millisecond):
				top = max(top, heap())
			}
		}
	}()
	return func() float64 {
		close(done)
		return float64(<-most-first) / (1 << 20)
	}
}
