package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/config"
)

// TestGates: what is on, warned of and refused.
func TestGates(t *testing.T) {
	const operators, fractions, resizes = config.TolerationOperators, config.FractionalCapacity, config.ResizePreemption
	for _, c := range []struct {
		given                      []string
		gates, warned, refusedWith string
	}{
		{},
		{given: []string{operators + "=true"}, gates: operators + "=true"},
		{given: []string{"kube:" + operators + " = T"}, gates: operators + "=true"},
		{given: []string{operators + "=true", operators + "=false"}},
		{given: []string{fractions + "=true"}, gates: fractions + "=true"},
		{given: []string{fractions + "=false"}},
		{given: []string{operators + "=1", fractions + "=1"}, gates: fractions + "=true," + operators + "=true"},
		{given: []string{"AllBeta=true"}, gates: fractions + "=true", warned: "Berth has no code"},
		{given: []string{resizes + "=true"}, gates: resizes + "=true"},
		{given: []string{"AllAlpha=true"}, gates: resizes + "=true," + operators + "=true", warned: "CompositePodGroup"},
		{given: []string{"AllAlpha=true", operators + "=false"}, gates: resizes + "=true", warned: "CompositePodGroup"},
		{given: []string{"GenericWorkload=true"}, warned: "feature gate GenericWorkload: Berth has no code for it"},
		{given: []string{"GenericWorkload=false"}},
		{given: []string{"OpportunisticBatching=false"}},
		{given: []string{"StorageCapacityScoring=true"}},
		{given: []string{"StorageCapacityScoring=false"}, refusedWith: "StorageCapacityScoring cannot be set to false"},
		{given: []string{"AllBeta=false"}, refusedWith: "VolumeLimitScaling cannot be set to false"},
		{given: []string{"NodeDeclaredFeatures=true"}},
		{given: []string{"NodeDeclaredFeatures=false"}, refusedWith: "NodeDeclaredFeatures cannot be set to false: kube-scheduler"},
		{given: []string{"UserNamespacesHostNetworkSupport=true"}, warned: "for other components"},
		{given: []string{"StorageCapacityScorin=true"}, refusedWith: `did you mean "StorageCapacityScoring"?`},
		{given: []string{"Xyzzy=true"}, refusedWith: `"Xyzzy" is not a feature gate`},
		{given: []string{operators}, refusedWith: "has no value"},
		{given: []string{operators + "=perhaps"}, refusedWith: `"perhaps" is neither true nor false`},
		{given: []string{"One=true", "Two=true"}, refusedWith: `"Two"`},
	} {
		gates, warnings, err := config.ParseGates(c.given)
		if err != nil {
			if c.refusedWith == "" || !strings.Contains(err.Error(), c.refusedWith) {
				t.Errorf("%v: got error %v, want %q", c.given, err, c.refusedWith)
			}
			continue
		}
		warned := slices.ContainsFunc(warnings, func(w config.Warning) bool { return strings.Contains(w.Detail, c.warned) })
		if c.refusedWith != "" || gates.String() != c.gates || (c.warned != "") != (len(warnings) > 0) || c.warned != "" && !warned {
			t.Errorf("%v: got %q, warnings %v; want %q, warning %q, error %q", c.given, gates, warnings, c.gates, c.warned, c.refusedWith)
		}
		for _, name := range []string{operators, fractions, resizes} {
			if gates.On(name) != strings.Contains(c.gates, name) {
				t.Errorf("%v: On(%s) is %v", c.given, name, gates.On(name))
			}
		}
	}
}
