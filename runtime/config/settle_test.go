package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/config"
)

// TestSettle: testdata/settle.txtar has configurations with a plugin Mine, whose points become
// known late. The first line of each file lists them. NAME.want is the profile after Settle, or
// the error.
func TestSettle(t *testing.T) {
	const path = "testdata/settle.txtar"
	in, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cat := testCatalog()
	cat.Late = []string{"Mine"}
	out := &txtar.Archive{Comment: in.Comment}
	for _, f := range in.Files {
		name, ok := strings.CutSuffix(f.Name, ".yaml")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(string(f.Data), "\n")
		implemented := strings.Fields(strings.TrimPrefix(first, "# Mine:"))
		s, warnings, err := config.Parse(f.Data, "s.yaml", cat)
		if err == nil {
			err = settleAll(s, implemented)
		}
		out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(describe(s, warnings, err))})
		if err != nil {
			continue
		}
		for i := range s.Profiles {
			for point, refs := range s.Profiles[i].Points {
				if slices.ContainsFunc(refs, func(r config.PluginRef) bool { return r.Late }) {
					t.Errorf("%s: %s is not settled: %+v", f.Name, point, refs)
				}
			}
		}
	}
	golden.Check(t, path, txtar.Format(out))
}

func settleAll(s *config.Scheduler, implemented []string) error {
	for i := range s.Profiles {
		if err := s.Profiles[i].Settle(func(name string) ([]string, bool) { return implemented, name == "Mine" }); err != nil {
			return err
		}
	}
	return nil
}
