package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/telemetry"
)

// TestSinks: whatever a stranger's text is, no place where it is shown gets more of it than its bound, or anything that
// moves a cursor, turns the direction of writing or is not UTF-8. The places where the scheduler writes it to the API are
// those of runtime/kube's TestLongMessages, those of a fault are in runtime/wasm.
func TestSinks(t *testing.T) {
	const part = "\x1b[2J\x1b]0;title\x07\u202e\u2066\u0085\u009b31m\r\nlevel=ERROR msg=forged\t\"\\\x00é日\ufeff\xff\xc3\x28 "
	text := strings.Repeat(part, 1<<20/len(part)+1)[:1<<20]
	print := func(f func(p *printer)) string {
		var out bytes.Buffer
		p := &printer{w: &out, width: 100}
		f(p)
		return out.String()
	}
	logged := func(o *moduleOptions) string {
		var out bytes.Buffer
		log, err := o.logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Error("message", "text", text, "error", errors.New(text), "path", stringer(text))
		return out.String()
	}
	attempt := &report.Attempt{Namespace: "ns", Pod: "p", Message: text, Rejections: []report.Rejection{{Plugin: text, Reasons: []string{text}, Count: 3}}}
	recorder := debughttp.NewRecorder(1, nil)
	recorder.Attempted(attempt, func(uint32) string { return text })
	served := func(path string, c debughttp.Config) string {
		c.Recorder, c.Leader = recorder, func() (string, bool) { return "", true }
		c.Where = func(context.Context, types.NamespacedName) (string, error) { return "active", nil }
		c.Metrics, c.Resources, c.Configuration = http.NotFoundHandler(), http.NotFoundHandler(), &configv1.KubeSchedulerConfiguration{}
		c.Lookup = func(context.Context, types.NamespacedName) (*v1.Pod, error) {
			return &v1.Pod{Spec: v1.PodSpec{SchedulerName: text}}, nil
		}
		w := httptest.NewRecorder()
		debughttp.NewHandler(c).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
	metrics := telemetry.New("test", func() *telemetry.State {
		of := telemetry.PluginOf{Plugin: text, Profile: text}
		return &telemetry.State{
			Folder:        map[string]bool{text: true, text + "2": false},
			Breakers:      []telemetry.Breaker{{PluginOf: of, Digest: text}},
			Yanks:         []telemetry.Yank{{PluginOf: of, Digest: text, Yanked: true}},
			Guests:        []telemetry.Guest{{PluginOf: of, Digest: text, Point: text, Faults: map[string]int64{text: 1}}},
			Unschedulable: map[telemetry.PluginOf]int{of: 1},
		}
	})
	metrics.Attempted(&report.Attempt{Profile: "p", Timings: []report.Timing{{Plugin: text, Digest: text, Calls: 1}}}, nil)
	status := &debughttp.Plugins{
		Plugins: []debughttp.Plugin{{Name: text, Module: text, LastFault: text, Namespaces: []string{text}, Breaker: "open", Signers: []string{text}, Yanked: text}},
		Folder:  []debughttp.FolderEntry{{File: text, Error: text}}, Error: text,
	}
	listed := &index.Plugin{Name: text, Repository: text, Versions: []index.Version{{
		Version: text, Publisher: text, License: text, Description: text, ABI: text, Points: []string{text}, Reads: map[string][]string{text: {text}, "node": {text}},
		Grants: index.Directives{ManifestDirectives: wire.ManifestDirectives{Labels: []string{text}, Annotations: []string{text}}}, Image: text, Module: text, Yanked: &index.Yank{Reason: text, Severity: text, Fixed: text, Successor: text},
	}}}
	inspected := &inspection{
		File: text, Digest: text,
		Manifest: &wire.Manifest{Name: text, Version: text, Publisher: text, License: text, Description: text, Enforces: []string{text}, Publishes: []string{text}, Host: []string{text}},
		Reads:    []wire.Reading{{List: text, Names: []string{text}}}, Imports: []importInfo{{Module: text, Name: text}, {Module: "wasi_snapshot_preview1", Name: text}},
		Sections: []sectionInfo{{Name: "custom", Custom: text}}, Warnings: []string{text}, Points: []pointInfo{{Point: text}},
	}
	for i := range 100_000 {
		inspected.Sections = append(inspected.Sections, sectionInfo{Name: "custom", Custom: strconv.Itoa(i)})
	}
	const cell = 3 * maxShown // broken into lines
	for _, sink := range []struct {
		name string
		most int
		push func() string
	}{
		{"log, text", 6*maxAttr + 1024, func() string { return logged(&moduleOptions{log: "debug"}) }},
		{"log, JSON", 6*maxAttr + 1024, func() string { return logged(&moduleOptions{log: "debug", json: true}) }},
		{"paragraph", cell, func() string { return print(func(p *printer) { p.text("%s", text) }) }},
		{"paragraph with an error", cell, func() string { return print(func(p *printer) { p.text("%v", errors.New(text)) }) }},
		{"cell", cell, func() string {
			return print(func(p *printer) { p.table([]column{{head: "A", least: 20}}, []table.Row{{text}}) })
		}},
		{"inspect", 2 << 20, func() string { return print(func(p *printer) { p.inspection(inspected) }) }},
		{"explain", 8 * cell, func() string {
			return print(func(p *printer) {
				p.explain(types.NamespacedName{Namespace: text, Name: text}, &sim.Explanation{Attempt: attempt, Message: text})
			})
		}},
		{"status", 16 * cell, func() string { return print(func(p *printer) { p.status(status, time.Unix(0, 0)) }) }},
		{"search", 8 * cell, func() string { return print(func(p *printer) { p.found([]*index.Plugin{listed}) }) }},
		{"info", 20 * cell, func() string {
			return print(func(p *printer) {
				p.info(listed, &listed.Versions[0], &module.Loaded{Manifest: inspected.Manifest}, text)
			})
		}},
		{"outdated", 4 * cell, func() string {
			return print(func(p *printer) {
				p.outdated([]use{{plugin: listed, version: text, listed: &listed.Versions[0], locked: lock.Plugin{Name: text}}})
			})
		}},
		{"conformance", 20 << 10, func() string {
			r := &conformance.Report{
				Duties:  []conformance.Duty{{Name: "duty", Verdict: conformance.Failed, Example: text}},
				Answers: map[string]map[string]int{"filter": {text: 1}},
			}
			return r.String()
		}},
		{"plugin test", maxErrors + 32<<10, func() string {
			var out bytes.Buffer
			(&pluginTest{out: &out}).report("a scenario", []string{text})
			return out.String()
		}},
		{"errors of a command", 2 * maxErrors, func() string {
			var out bytes.Buffer
			run(t.Context(), []string{"plugin", "inspect", text}, io.Discard, &out)
			return out.String()
		}},
		{"error of a module", 8 << 10, func() string {
			return (&module.Error{File: text, Section: text, Path: text, Detail: text, Fix: text}).Error()
		}},
		{"mistake of a manifest", 2 << 10, func() string {
			return (&wire.ManifestError{Path: text, Detail: text, Fix: text}).Error()
		}},
		{"metrics", 64 << 10, func() string {
			w := httptest.NewRecorder()
			metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			if w.Code != http.StatusOK {
				t.Errorf("metrics: status %d: %.300s", w.Code, w.Body.String())
			}
			var ours []string // not those of the process
			for line := range strings.Lines(w.Body.String()) {
				if strings.Contains(line, "forged") {
					ours = append(ours, line)
				}
			}
			if len(ours) == 0 {
				t.Error("no metric of the plugin")
			}
			return strings.Join(ours, "")
		}},
		{"explain over HTTP", 32 << 10, func() string { return served(debughttp.ExplainPath+"ns/p", debughttp.Config{}) }},
	} {
		out := sink.push()
		if len(out) > sink.most {
			t.Errorf("%s: %d bytes, at most %d", sink.name, len(out), sink.most)
		}
		for i, r := range out {
			if !strconv.IsGraphic(r) && r != '\n' && r != '\t' || r == utf8.RuneError && !strings.HasPrefix(out[i:], "\ufffd") {
				t.Errorf("%s: %q at %d", sink.name, out[i:min(len(out), i+12)], i)
				break
			}
		}
	}
	// JSON has all of it, and nothing that disturbs.
	var out bytes.Buffer
	if err := writeJSON(&out, map[string]string{"text": strings.ToValidUTF8(text, "\ufffd")}); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["text"] != strings.ToValidUTF8(text, "\ufffd") {
		t.Error("JSON has lost something", err)
	}
	if at := strings.IndexFunc(out.String(), func(r rune) bool { return !strconv.IsGraphic(r) && r != '\n' }); at >= 0 {
		t.Errorf("JSON: %q", out.String()[at:at+8])
	}
}

type stringer string

func (s stringer) String() string { return string(s) }

var _ fmt.Stringer = stringer("")
