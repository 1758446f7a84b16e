package wire_test

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// podVector is a case of abi/vectors/pods.json.
type podVector struct {
	Name string `json:"name"`
	Hex  string `json:"hex"`
	// Strings has the string of id i+1 at i.
	Strings []string          `json:"strings"`
	Want    map[string]string `json:"want"`
}

// TestPodVectors: ABI-6.
func TestPodVectors(t *testing.T) {
	strings := []string{"team-a", "app", "web", "tier", "front", "gpu", "true", "0.0.0.0", "zone", ""}
	var b wire.PodBuilder
	fields := func(add func()) string { b.Reset(); add(); return hex.EncodeToString(b.Bytes()) }
	cases := []podVector{
		{Name: "no fields", Hex: fields(func() {})},
		{Name: "namespace, requests, two labels (section 12)", Hex: hex.EncodeToString(podExample())},
		{Name: "everything", Hex: fields(func() {
			b.Field(abi.PodName, 0)
			b.Text("web-1")
			b.Field(abi.PodNodeSelector, 0)
			b.Requirement(wire.Requirement{Key: 9, Op: wire.OpIn, First: 0, Count: 1})
			b.Field(abi.PodTolerations, 0)
			b.Toleration(wire.Toleration{Key: 6, Value: 7, Operator: wire.Equal, Effect: wire.NoSchedule, Seconds: -1})
			b.Toleration(wire.Toleration{Operator: wire.Exists, Seconds: 300})
			b.Field(abi.PodHostPorts, 0)
			b.Port(wire.Port{IP: 8, Port: 8080, Protocol: wire.TCP})
			b.Field(abi.PodImages, 0)
			b.ID(3)
			b.Field(abi.IncomingNamespace, 0)
			b.ID(1)
			b.Field(abi.IncomingPriority, 0)
			b.I64(-7)
			b.Field(abi.IncomingRequests, 0)
			b.I64(1 << 40)
			b.Field(abi.IncomingLabels, 0)
			b.Field(abi.IncomingAnnotations, 0)
			b.ID(0)
			b.Field(abi.IncomingAnnotations, 1)
			b.ID(10)
			b.Field(abi.IncomingOwner, 0)
			b.ID(0)
			b.Field(abi.PodRequiredTerms, 0)
			b.Term(wire.Term{First: 0, Count: 2})
			b.Field(abi.PodPreferredTerms, 0)
			b.Term(wire.Term{First: 2, Count: 0, Weight: 10, Flags: wire.TermHasFields})
			b.Field(abi.PodRequirements, 0)
			b.Requirement(wire.Requirement{Key: 9, Op: wire.OpNotIn, First: 0, Count: 2})
			b.Requirement(wire.Requirement{Key: 4, Op: wire.OpGt, First: 2, Number: -3})
			b.Field(abi.PodRequirementIDs, 0)
			b.ID(5)
			b.ID(10)
			b.Field(abi.IncomingNonZero, 0)
			b.I64(100)
			b.I64(200 << 20)
		})},
		{Name: "node name, gates, namespace labels, UID", Hex: fields(func() {
			b.Field(abi.PodNodeName, 0)
			b.Text("node-7")
			b.Field(abi.PodSchedulingGates, 0)
			b.ID(6)
			b.ID(9)
			b.Field(abi.IncomingNamespaceLabels, 0)
			b.Pair(wire.Pair{Key: 4, Value: 5})
			b.Pair(wire.Pair{Key: 6, Value: 10})
			b.Field(abi.IncomingUID, 0)
			b.Text("3f0c-1b")
		})},
		{Name: "the same fields of a pod that has nothing", Hex: fields(func() {
			b.Field(abi.PodNodeName, 0)
			b.Field(abi.PodSchedulingGates, 0)
			b.Field(abi.IncomingNamespaceLabels, 0)
			b.Field(abi.IncomingUID, 0)
		})},
		{Name: "what came with ABI 1.1", Hex: fields(func() {
			b.Field(abi.IncomingCreatedAt, 0)
			b.I64(1 << 33)
			for i, id := range []abi.ColumnID{
				abi.IncomingPriorityClass, abi.IncomingServiceAccount, abi.IncomingPreemptionPolicy, abi.IncomingGroup,
			} {
				b.Field(id, 0)
				b.ID(uint32(i + 2))
			}
			b.Field(abi.IncomingLimits, 0)
			b.I64(-1)
			b.Field(abi.IncomingLimits, 1)
			b.I64(1 << 40)
			b.Field(abi.IncomingQOS, 0)
			b.ID(7)
			b.Field(abi.IncomingClaims, 0)
			b.ID(6)
			b.ID(9)
			b.Field(abi.IncomingNow, 0)
			b.I64(1<<32 + 60)
			b.Field(abi.IncomingContainers, 0)
			b.Container(wire.Container{Name: 2, Kind: wire.Sidecar, Image: 3, First: 4})
			b.Container(wire.Container{Name: 4, Kind: wire.InitContainer, Image: 5, First: 0})
			b.Field(abi.IncomingContainerAmounts, 0)
			for _, n := range []int64{0, -1, 1 << 33, 1 << 34, 250, 500, 1<<63 - 1, -1} {
				b.I64(n)
			}
		})},
	}
	read := func(v *podVector) (map[string]string, error) {
		record, err := hex.DecodeString(v.Hex)
		if err != nil {
			return nil, err
		}
		p, err := wire.DecodePod(record)
		if err != nil {
			return nil, err
		}
		return p.Text(stringsOnly(t, v.Strings))
	}
	for i := range cases {
		cases[i].Strings = strings
		var err error
		if cases[i].Want, err = read(&cases[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range load(t, "pods.json", cases) {
		got, err := read(&v)
		if diff := cmp.Diff(v.Want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", v.Name, err, diff)
		}
		if i >= len(cases) || v.Hex != cases[i].Hex {
			t.Errorf("%s: the writer writes something else", v.Name)
		}
	}
}
