package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/images"
)

// onTenants carries out an attack on the pods of another tenant, in a cluster of its own, and reports what was wrong.
func (s *Simulator) onTenants(ctx context.Context, a Attack) (o Outcome, err error) {
	o.Attack = a
	module := a.Modules()[0]
	data, err := os.ReadFile(filepath.Join(a.dir, "cluster.json"))
	if err != nil {
		return o, err
	}
	var plugin []string
	switch a.As {
	case "tenant":
		image, stop, err := images.Publish(ctx, module, filepath.Join(s.Dir, strings.ReplaceAll(a.Name, "/", "-")))
		if err != nil {
			return o, err
		}
		defer stop()
		text := strings.ReplaceAll(string(data), "IMAGE", image)
		data = []byte(strings.ReplaceAll(text, "REPOSITORY", strings.TrimSuffix(image, ":1")))
	case "attached":
		plugin = []string{"--plugin", module + "?name=guest-0&namespaces=evil"}
	case "platform":
		plugin = []string{"--plugin", module + "?name=guest-0"}
	}
	for i, module := range a.Modules()[1:] {
		plugin = append(plugin, "--plugin", fmt.Sprintf("%s?name=guest-%d", module, i+1))
	}
	file := filepath.Join(s.Dir, "cluster.json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return o, err
	}
	r, err := s.run(ctx, slices.Concat([]string{"simulate", "--cluster", file, "-o", "json"}, plugin, a.feeds()))
	if err != nil {
		return o, err
	}
	o.Took, o.Memory, o.Log = r.took, r.memory, int64(len(r.out)+len(r.log))
	fail := func(format string, args ...any) { o.Unbounded = append(o.Unbounded, fmt.Sprintf(format, args...)) }
	var result struct {
		Placements, Unschedulable, Evicted []struct{ Namespace, Pod, Message, For string }
		Attached                           []struct {
			Kind, Reason, Message string
			Ready                 bool
		}
		Plugins []struct{ Faults int64 }
	}
	if err := json.Unmarshal(r.out, &result); err != nil {
		return o, fmt.Errorf("status %d, %w: %.500s", r.status, err, r.log)
	}
	for _, p := range result.Plugins {
		o.Faults += p.Faults
	}
	o.Ended = fmt.Sprintf("%d faults", o.Faults)
	placed := 0
	for _, p := range result.Placements {
		if p.Namespace == "good" {
			placed++
		} else if p.Pod == a.Barred {
			fail("pod %s/%s was placed where it is barred", p.Namespace, p.Pod)
		}
	}
	for _, p := range result.Unschedulable {
		if p.Namespace == "good" && a.Evictions == 0 { // otherwise others than those that were evicted may have no room
			fail("pod %s/%s of another tenant was not placed: %s", p.Namespace, p.Pod, p.Message)
		}
	}
	evicted := 0
	for _, p := range result.Evicted {
		if p.Namespace == "evil" {
			continue
		}
		if evicted++; evicted > a.Evictions {
			fail("pod %s/%s of another tenant was evicted for %s", p.Namespace, p.Pod, p.For)
		}
	}
	refused := false
	for _, p := range result.Attached {
		if !p.Ready && p.Reason == a.Refused {
			refused = true
		} else if !p.Ready {
			return o, fmt.Errorf("%s: the %s is not ready: %s: %s", a.Name, p.Kind, p.Reason, p.Message)
		}
	}
	if a.Refused != "" && !refused {
		fail("the plugin was not refused as %s", a.Refused)
	}
	if placed == 0 {
		fail("no pod of another tenant was placed")
	}
	return o, nil
}
