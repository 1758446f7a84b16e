package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/config"
)

// TestParse runs the archives of testdata/parse: it parses every NAME.yaml and compares the
// result, or the errors, with NAME.want. Archives whose names begin with small or pods use the
// catalogs of these names. Those with preemption in their names have DefaultPreemption built
// in, those with volumes VolumeBinding.
func TestParse(t *testing.T) {
	paths, err := filepath.Glob("testdata/parse/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			in, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			cat := catalogOf(path)
			out := &txtar.Archive{Comment: in.Comment}
			for _, f := range in.Files {
				name, ok := strings.CutSuffix(f.Name, ".yaml")
				if !ok {
					continue
				}
				s, warnings, err := config.Parse(f.Data, "s.yaml", cat)
				got := describe(s, warnings, err)
				out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
			}
			golden.Check(t, path, txtar.Format(out))
		})
	}
}

// catalogOf returns the catalog of an archive; see TestParse.
func catalogOf(path string) config.Catalog {
	switch name := filepath.Base(path); {
	case strings.HasPrefix(name, "small"):
		return smallCatalog()
	case strings.HasPrefix(name, "volumes"):
		return volumesCatalog()
	case strings.HasPrefix(name, "pods"):
		return podsCatalog()
	case strings.HasPrefix(name, "preemption"):
		return built(testCatalog(), "DefaultPreemption", "postFilter")
	}
	return testCatalog()
}

// TestParseOtherBytes: Windows line ends and a byte order mark make no difference.
func TestParseOtherBytes(t *testing.T) {
	paths, err := filepath.Glob("testdata/parse/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	parse := func(data string) string {
		s, warnings, err := config.Parse([]byte(data), "s.yaml", testCatalog())
		return describe(s, warnings, err)
	}
	for _, path := range paths {
		in, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range in.Files {
			if !strings.HasSuffix(f.Name, ".yaml") {
				continue
			}
			text := string(f.Data)
			want := parse(text)
			if got := parse(strings.ReplaceAll(text, "\n", "\r\n")); got != want {
				t.Errorf("%s: %s with \\r\\n\n got: %s\nwant: %s", path, f.Name, got, want)
			}
			if got := parse("\ufeff" + text); text != "" && got != want {
				t.Errorf("%s: %s with a byte order mark\n got: %s\nwant: %s", path, f.Name, got, want)
			}
		}
	}
}

// TestDefault: no file gives the defaults, and all warnings have ByDefault.
func TestDefault(t *testing.T) {
	s, warnings, err := config.Load(t.Context(), "", testCatalog())
	golden.Check(t, "testdata/default.txt", []byte(describe(s, warnings, err)))
	for _, w := range warnings {
		if !w.ByDefault || w.Path != "" || w.File != "" {
			t.Errorf("warning not by default: %+v", w)
		}
	}
	if got := describe(config.Default(testCatalog()), warnings, nil); got != describe(s, warnings, nil) {
		t.Errorf("Default differs from Load of no file:\n%s", got)
	}
}

func TestDefaultPanicsOnBadCatalog(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "BUG: ") {
			t.Errorf("panic value %q, want BUG", got)
		}
	}()
	config.Default(config.Catalog{Default: []config.PluginWeight{{Name: "Nobody"}}})
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if _, _, err := config.Load(t.Context(), path, testCatalog()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 0\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := config.Load(t.Context(), path, testCatalog())
	var e *config.Error
	if !errors.As(err, &e) || e.File != path || e.Line != 3 || e.Path != "parallelism" {
		t.Errorf("got %#v from %v", e, err)
	}
}

// TestManyMistakes: a file of mistakes takes no more memory for them than a thousand, and the others are counted.
func TestManyMistakes(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {filter: {enabled: [")
	for i := range 5000 {
		fmt.Fprintf(&b, "{name: P%d},", i)
	}
	_, _, err := config.Parse([]byte(b.String()+"]}}}]\n"), "s.yaml", testCatalog())
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		t.Fatal(err)
	}
	all := many.Unwrap()
	if last := all[len(all)-1].Error(); len(all) != 1001 || last != "s.yaml: there are 4000 more mistakes; mend these first" {
		t.Errorf("%d mistakes, the last of which is %s", len(all), last)
	}
}

// describe writes a result as text: the points and args of each profile, other fields that
// differ from the defaults, and warnings.
func describe(s *config.Scheduler, warnings []config.Warning, err error) string {
	var b strings.Builder
	if err != nil {
		return err.Error() + "\n"
	}
	for _, p := range s.Profiles {
		fmt.Fprintf(&b, "profile %s%s\n", p.SchedulerName, percentage(p.PercentageOfNodesToScore))
		if len(p.AllowUnenforced) > 0 {
			fmt.Fprintf(&b, "  left to others: %s\n", strings.Join(p.AllowUnenforced, ", "))
		}
		for _, point := range pointOrder() {
			refs, ok := p.Points[point]
			if !ok {
				continue
			}
			fmt.Fprintf(&b, "  %s:", point)
			for _, r := range refs {
				b.WriteString(" " + r.Name)
				if r.Weight != 0 {
					fmt.Fprintf(&b, "*%d", r.Weight)
				}
			}
			b.WriteString("\n")
		}
		for _, name := range slices.Sorted(maps.Keys(p.Args)) {
			a := p.Args[name]
			if a.Typed == nil {
				fmt.Fprintf(&b, "  args %s %s: %s\n", name, a.Path, a.Raw)
				continue
			}
			typed, _ := json.Marshal(a.Typed) // plain structs
			header := fmt.Sprintf(`"kind":"%sArgs","apiVersion":"kubescheduler.config.k8s.io/v1"`, name)
			fields, ok := strings.CutPrefix(string(typed), "{"+header)
			if !ok {
				fmt.Fprintf(&b, "  no header: %s\n", typed)
			}
			fmt.Fprintf(&b, "  args %s %s: {%s\n", name, a.Path, strings.TrimPrefix(fields, ","))
		}
	}
	fmt.Fprintf(&b, "backoff %v to %v, parallelism %d%s\n", s.PodInitialBackoff, s.PodMaxBackoff, s.Parallelism, percentage(s.PercentageOfNodesToScore))
	for _, e := range s.Extenders {
		text, _ := json.Marshal(e) // a plain struct
		fmt.Fprintf(&b, "extender %s\n", text)
	}
	b.WriteString(component(s))
	var byDefault []string
	for _, w := range warnings {
		if w.ByDefault {
			byDefault = append(byDefault, w.Plugin)
			continue
		}
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	if len(byDefault) > 0 {
		fmt.Fprintf(&b, "warnings by default: %s\n", strings.Join(byDefault, " "))
	}
	return b.String()
}

// component describes the fields that all components share, if they differ from the defaults.
func component(s *config.Scheduler) string {
	l, c := s.LeaderElection, s.ClientConnection
	text := fmt.Sprintf("lease %v %s/%s/%s %v %v %v\n", *l.LeaderElect, l.ResourceLock, l.ResourceNamespace, l.ResourceName,
		l.LeaseDuration.Duration, l.RenewDeadline.Duration, l.RetryPeriod.Duration)
	text += fmt.Sprintf("client %q %s %v/s burst %d\n", c.Kubeconfig, c.ContentType, c.QPS, c.Burst)
	text += fmt.Sprintf("profiling %v, contention %v, delay cache %v\n", s.EnableProfiling, s.EnableContentionProfiling, s.DelayCacheUntilActive)
	const byDefault = `lease true leases/kube-system/kube-scheduler 15s 10s 2s
client "" application/vnd.kubernetes.protobuf 50/s burst 100
profiling true, contention true, delay cache false
`
	if text == byDefault {
		return ""
	}
	return text
}

func percentage(p *int32) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(", %d %% of nodes", *p)
}

func pointOrder() []string {
	return []string{"preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score",
		"reserve", "permit", "preBind", "bind", "postBind"}
}
