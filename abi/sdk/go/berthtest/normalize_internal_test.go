package berthtest

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// TestNormalize: declared normalisations are those of the host, by the cases that hold it.
func TestNormalize(t *testing.T) {
	data, err := os.ReadFile("../../../conformance/testdata/cases/4-answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name   string
			Plugin struct {
				Manifest struct {
					Points struct{ Score struct{ Normalize string } }
				}
			}
			Calls []struct {
				Point  string
				Scores []int64
				Want   struct {
					Each map[string]struct{ Score int64 }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, c := range file.Cases {
		how := c.Plugin.Manifest.Points.Score.Normalize
		for _, call := range c.Calls {
			if how == "" || call.Point != "normalize" {
				continue
			}
			held++
			got, want := slices.Clone(call.Scores), make([]int64, len(call.Scores))
			for i := range want {
				want[i] = call.Want.Each[[]string{"n0", "n1", "n2"}[i]].Score
			}
			m := Manifest{Manifest: &wire.Manifest{Points: wire.ManifestPoints{Score: &wire.ManifestPoint{Normalize: how}}}}
			if m.normalize(got); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", c.Name, got, want)
			}
		}
	}
	if held < 10 {
		t.Errorf("%d cases", held)
	}
}
