package dynamicresources

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
)

// expressions are some that read parts of devices, and whether many devices share an answer.
func expressions() map[string]bool {
	return map[string]bool{
		`device.driver == "d"`: true,
		`device.allowMultipleAllocations || device.driver == "d"`:                 true,
		`device.attributes["d"].model == "x"`:                                     true,
		`device.attributes["d"]["model"] == "x"`:                                  true,
		`has(device.attributes["d"].model)`:                                       true,
		`"model" in device.attributes["d"]`:                                       true,
		`device.attributes["e"].model == "x"`:                                     true,
		`device.attributes["d"].?model.orValue("x") == "x"`:                       true,
		`device.attributes["d"][?"model"].orValue("x") == "x"`:                    true,
		`device.attributes["d"].version.isGreaterThan(semver("1.2.3"))`:           true,
		`device.attributes["d"].model in ["x", "y"] && device.attributes["d"].ok`: false,
		`device.capacity["d"].memory.compareTo(quantity("2Gi")) >= 0`:             false,
		`cel.bind(a, device.attributes["d"], a.model == "x")`:                     false,
		`device.attributes.exists(k, k == "e")`:                                   false,
		`["model", "ok"].exists(k, k in device.attributes["d"])`:                  false,
		`["d", "e"].exists(device, device == "d")`:                                false,
		`device.attributes[device.driver].model == "x"`:                           false,
		`device.attributes["d"].serial == "1"`:                                    false,
		`device.attributes["d"].model == 1`:                                       true,
		`no such syntax`:                                                          true,
		`device.attributes["d"].ok`:                                               true,
		`{"a": device.attributes["d"].model}["a"] == "x"`:                         true,
		`device.attributes["d"].model + device.driver == "xd"`:                    true,
		`device.nothing == 1`:                                                     true,
		`1 == 1`:                                                                  true,
	}
}

func drawDevice(dice *rand.Rand, i int) cel.Device {
	chance := func(n int) bool { return dice.IntN(n) == 0 }
	d := cel.Device{Driver: []string{"d", "e"}[dice.IntN(2)], Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	if chance(2) {
		d.AllowMultipleAllocations = ptr.To(chance(2))
	}
	domain := []string{"", "d/", "e/"}[dice.IntN(3)]
	set := func(name string, value resourcev1.DeviceAttribute) {
		d.Attributes[resourcev1.QualifiedName(domain+name)] = value
	}
	set("serial", resourcev1.DeviceAttribute{StringValue: ptr.To(fmt.Sprint(i))})
	if !chance(4) {
		set("model", []resourcev1.DeviceAttribute{{StringValue: ptr.To("x")}, {StringValue: ptr.To("y")}, {IntValue: ptr.To(int64(1))}}[dice.IntN(3)])
	}
	if chance(2) {
		set("version", resourcev1.DeviceAttribute{VersionValue: ptr.To([]string{"1.2.3", "1.3.0", "no version"}[dice.IntN(3)])})
	}
	if chance(2) {
		set("ok", resourcev1.DeviceAttribute{BoolValue: ptr.To(chance(2))})
	}
	if chance(10) {
		set("future", resourcev1.DeviceAttribute{})
	}
	if chance(2) {
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse([]string{"1Gi", "4Gi"}[dice.IntN(2)])}}
	}
	return d
}

// TestAnswers: what is kept is what the library says, and devices that differ only in what an expression does not
// read share an answer.
func TestAnswers(t *testing.T) {
	const devices = 3000
	for text, shared := range expressions() {
		t.Run(text, func(t *testing.T) {
			a := NewLedger(storage.New().Devices()).compiled()
			compiled := a.cache.GetOrCompile(text)
			dice := rand.New(rand.NewPCG(23, 1))
			seen := make(map[answer]bool)
			for i := range devices {
				device := drawDevice(dice, i)
				want := fails
				if compiled.Error == nil {
					switch ok, _, err := compiled.DeviceMatches(context.Background(), device); {
					case err != nil:
					case ok:
						want = yes
					default:
						want = no
					}
				}
				about := subjectOf(device)
				for range 2 {
					if got := a.of(t.Context(), text, &about); got != want {
						t.Fatalf("%+v: %v, want %v", device, got, want)
					}
				}
				seen[want] = true
			}
			if shared && a.programs > devices/3 || a.programs > devices {
				t.Errorf("%d programs were run for %d devices", a.programs, devices)
			}
			if compiled.Error == nil && len(seen) < 2 && text != "1 == 1" {
				t.Errorf("all answers are %v", seen)
			}
		})
	}
}

// TestAnswersBounded: answers that would take too much memory are forgotten, and asked again.
func TestAnswersBounded(t *testing.T) {
	a := NewLedger(storage.New().Devices()).compiled()
	a.bytes = mostAnswerBytes - 1000
	for i := range 100 {
		about := subjectOf(cel.Device{Driver: "d", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"serial": {StringValue: ptr.To(fmt.Sprint(i))}}})
		a.of(t.Context(), `device.attributes["d"].serial == "1"`, &about)
	}
	if a.programs != 100 || a.bytes > 100*200 || len(a.expressions) > 1 {
		t.Errorf("%d programs, %d bytes, %d expressions", a.programs, a.bytes, len(a.expressions))
	}
	for i := range compiledExpressions + 1 {
		about := subjectOf(cel.Device{})
		a.of(t.Context(), fmt.Sprintf("%d == 1", i), &about)
	}
	if len(a.expressions) > compiledExpressions {
		t.Errorf("%d expressions are kept", len(a.expressions))
	}
}
