package config_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"path/filepath"

	"github.com/berth-scheduler/berth/runtime/config"
)

// FuzzParse: Parse does not panic. An accepted input gives a result that keeps the promises of
// type Scheduler, and that is unchanged when it is written and read again. A refused one gives
// at least one *Error.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/parse/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			f.Add(file.Data)
		}
	}
	cat := testCatalog()
	f.Fuzz(func(t *testing.T, data []byte) {
		s, warnings, err := config.Parse(data, "f.yaml", cat)
		if err != nil {
			var e *config.Error
			if !errors.As(err, &e) || e.Detail == "" {
				t.Fatalf("no *Error in %v", err)
			}
			return
		}
		if err := promises(s, warnings, cat); err != nil {
			t.Fatal(err)
		}
		again, _, err := config.Parse(data, "f.yaml", cat)
		if err != nil || describe(again, nil, nil) != describe(s, nil, nil) {
			t.Fatalf("a second parse differs: %v", err)
		}
		if err := sameAgain(s, cat); err != nil {
			t.Fatal(err)
		}
	})
}

// promises checks a result against the documentation of its type.
func promises(s *config.Scheduler, warnings []config.Warning, cat config.Catalog) error {
	if len(s.Profiles) == 0 || s.Parallelism <= 0 || s.PodInitialBackoff <= 0 || s.PodMaxBackoff < s.PodInitialBackoff {
		return fmt.Errorf("numbers out of range: %+v", s)
	}
	if p := s.PercentageOfNodesToScore; p != nil && (*p < 0 || *p > 100) {
		return fmt.Errorf("percentage %d", *p)
	}
	names := map[string]bool{}
	for _, p := range s.Profiles {
		if p.SchedulerName == "" || names[p.SchedulerName] {
			return fmt.Errorf("scheduler name %q missing or used twice", p.SchedulerName)
		}
		names[p.SchedulerName] = true
		if err := profilePromises(p, cat); err != nil {
			return fmt.Errorf("%s: %w", p.SchedulerName, err)
		}
		if a, b := p.Points["queueSort"][0].Name, s.Profiles[0].Points["queueSort"][0].Name; a != b {
			return fmt.Errorf("queueSort %s and %s", a, b)
		}
	}
	warned := map[string]bool{}
	for _, w := range warnings {
		if w.Plugin == "" && strings.HasPrefix(w.Path, "extenders[") && len(s.Extenders) > 0 {
			continue
		}
		if warned[w.Plugin] || slices.Contains(cat.Known, w.Plugin) || !slices.Contains(cat.Upstream, w.Plugin) || w.ByDefault != (w.Path == "") {
			return fmt.Errorf("warning %+v", w)
		}
		warned[w.Plugin] = true
	}
	return nil
}

func profilePromises(p config.Profile, cat config.Catalog) error {
	if len(p.Points["queueSort"]) != 1 || len(p.Points["bind"]) == 0 {
		return fmt.Errorf("queueSort %v, bind %v", p.Points["queueSort"], p.Points["bind"])
	}
	enabled := map[string]bool{}
	for point, refs := range p.Points {
		seen := map[string]bool{}
		for _, r := range refs {
			if seen[r.Name] || !slices.Contains(cat.Known, r.Name) || !slices.Contains(cat.Points(r.Name), point) {
				return fmt.Errorf("%s at %s", r.Name, point)
			}
			if (point == "score") != (r.Weight >= 1) {
				return fmt.Errorf("%s at %s has weight %d", r.Name, point, r.Weight)
			}
			seen[r.Name], enabled[r.Name] = true, true
		}
	}
	for name, a := range p.Args {
		if !enabled[name] || a.Typed == nil || (a.Raw == nil) != (a.Path == "") {
			return fmt.Errorf("args of %s: %+v", name, a)
		}
	}
	for _, name := range []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation", "NodeAffinity"} {
		if _, ok := p.Args[name]; ok != enabled[name] {
			return fmt.Errorf("args of %s: %v, enabled: %v", name, ok, enabled[name])
		}
	}
	return nil
}
