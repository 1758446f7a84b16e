package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc/asctest"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// catalogued builds a plugin of the catalogue as its README says, and returns what runs a simulation of the effect's cluster: with a
// configuration of the effect, or none, and more flags.
func catalogued(t *testing.T, name, folder string, build ...string) func(config string, flags ...string) *sim.Result {
	t.Helper()
	folder = "../../wasm-examples/catalogue/" + folder
	dir := t.TempDir()
	module := filepath.Join(dir, name+".wasm")
	call := func(args ...string) []byte {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitOK {
			t.Fatalf("%v: %d, %s", args, code, stderr.String())
		}
		return stdout.Bytes()
	}
	call(append([]string{"plugin", "build", folder + build[0], "-o", module}, build[1:]...)...)
	return func(config string, flags ...string) *sim.Result {
		t.Helper()
		args := []string{"simulate", "--cluster", folder + "/effect/cluster.yaml", "-o", "json"}
		if config != "" {
			text, err := os.ReadFile(folder + "/effect/" + config)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, config)
			if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("bin/plugins/"+name+".wasm"), []byte(module)), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--config", file)
		}
		var r sim.Result
		if err := json.Unmarshal(call(append(args, flags...)...), &r); err != nil {
			t.Fatal(err)
		}
		return &r
	}
}

// placedOn returns how many pods are on nodes whose names begin with a text.
func placedOn(r *sim.Result, prefix string) (n int) {
	for _, p := range r.Placements {
		if strings.HasPrefix(p.Node, prefix) {
			n++
		}
	}
	return n
}

// passes runs berth plugin test for a plugin of the catalogue that is in another language than Go.
func passes(t *testing.T, folder string) {
	t.Helper()
	if stdout, stderr, err := pluginCommand(t, "test", "../../wasm-examples/catalogue/"+folder); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
}

// TestRestFitPlus: the figures of the README of fit-plus.
func TestRestFitPlus(t *testing.T) {
	effect := catalogued(t, "fit-plus", "fitplus", "/guest", "--manifest", "../../wasm-examples/catalogue/fitplus/manifest.json")
	before, after := effect(""), effect("scheduler.yaml")
	if before.Summary.Scheduled != 58 || after.Summary.Scheduled != 61 {
		t.Errorf("%d pods are placed without the plugin, %d with it; want 58 and 61", before.Summary.Scheduled, after.Summary.Scheduled)
	}
}

// TestRestCRank: the figures of the README of rank, whose scenarios hold.
func TestRestCRank(t *testing.T) {
	clangtest.Toolchain(t)
	passes(t, "rank")
	effect := catalogued(t, "rank", "rank", "")
	before, after := effect(""), effect("scheduler.yaml")
	price := func(r *sim.Result) (sum float64) {
		for _, p := range r.Placements {
			zone, _, _ := strings.Cut(p.Node, "-")
			sum += map[string]float64{"north": 1, "east": 2.5, "west": 3}[zone]
		}
		return sum
	}
	if price(before) != 130 || price(after) != 60 || after.Summary.Scheduled != 60 {
		t.Errorf("the price is %v without the plugin, %v with it; want 130 and 60", price(before), price(after))
	}
}

// TestRestAssemblyScriptLocalStorage: the figures of the README of local-storage, whose scenarios hold.
func TestRestAssemblyScriptLocalStorage(t *testing.T) {
	asctest.Toolchain(t, "../../wasm-examples/catalogue/localstorage")
	passes(t, "localstorage")
	effect := catalogued(t, "local-storage", "localstorage", "")
	without := func(r *sim.Result) (pods int) { // without room for their volume of 50 GiB
		on := map[string]int{}
		for _, p := range r.Placements {
			on[p.Node]++
		}
		for node, n := range on {
			size, err := strconv.Atoi(strings.Split(node, "-")[1])
			if err != nil {
				t.Fatal(err)
			}
			pods += max(0, n-size/50)
		}
		return pods
	}
	after := effect("scheduler.yaml")
	got := []int{without(effect("before.yaml")), without(effect("ignore.yaml")), without(after), after.Summary.Scheduled}
	if want := []int{12, 6, 0, 36}; !slices.Equal(got, want) {
		t.Errorf("pods without room without the plugin, with ignoreStarting and with the plugin, and placed ones: %v; want %v", got, want)
	}
}

// TestRestRustLoadAware: the figures of the README of load-aware, whose scenarios hold.
func TestRestRustLoadAware(t *testing.T) {
	cargotest.Toolchain(t)
	passes(t, "loadaware")
	effect := catalogued(t, "load-aware", "loadaware", "")
	busiest := func(r *sim.Result) (most int) { // in CPUs: what the node used before, and a CPU for each pod
		used := map[string]int{}
		for i, kind := range []string{"idle", "busy", "idle", "busy", "idle", "busy", "idle", "busy", "idle", "busy"} {
			used[fmt.Sprintf("%s-%d", kind, i)] = map[string]int{"idle": 2, "busy": 20}[kind]
		}
		for _, p := range r.Placements {
			used[p.Node]++
		}
		for _, n := range used {
			most = max(most, n)
		}
		return most
	}
	after := effect("scheduler.yaml", "--feeds", "../../wasm-examples/catalogue/loadaware/effect/feeds.yaml")
	if got, want := []int{busiest(effect("")), busiest(after), after.Summary.Scheduled}, []int{28, 20, 80}; !slices.Equal(got, want) {
		t.Errorf("the busiest node without the plugin and with it, and the pods that are placed: %v, want %v", got, want)
	}
}

// TestRestRustStartLimit: the figures of the README of start-limit, whose scenarios hold.
func TestRestRustStartLimit(t *testing.T) {
	cargotest.Toolchain(t)
	passes(t, "startlimit")
	effect := catalogued(t, "start-limit", "startlimit", "")
	before, after := effect(""), effect("scheduler.yaml")
	got := []int{placedOn(before, "new"), placedOn(after, "new"), before.Summary.Scheduled, after.Summary.Scheduled}
	if want := []int{21, 3, 24, 24}; !slices.Equal(got, want) {
		t.Errorf("pods that start on the new node without the plugin and with it, and pods that are placed: %v, want %v", got, want)
	}
}

// TestRestRustNuma: the figures of the README of numa, whose scenarios hold.
func TestRestRustNuma(t *testing.T) {
	cargotest.Toolchain(t)
	passes(t, "numa")
	effect := catalogued(t, "numa", "numa", "")
	before, after := effect(""), effect("scheduler.yaml")
	got := []int{placedOn(before, "split-"), placedOn(after, "split-"), before.Summary.Scheduled, after.Summary.Scheduled}
	if want := []int{6, 0, 6, 6}; !slices.Equal(got, want) { // 3 CPUs are free on each NUMA node of a split one
		t.Errorf("pods that a kubelet refuses without the plugin and with it, and pods that are placed: %v, want %v", got, want)
	}
}

// TestRestQuota: the figures of the README of quota.
func TestRestQuota(t *testing.T) {
	effect := catalogued(t, "quota", "quota", "/guest", "--manifest", "../../wasm-examples/catalogue/quota/manifest.json")
	placed := func(r *sim.Result) (out [2]int) {
		for _, p := range r.Placements {
			out[map[string]int{"research": 0, "shop": 1}[p.Namespace]]++
		}
		return out
	}
	before, after := placed(effect("")), placed(effect("scheduler.yaml"))
	if before != [2]int{80, 0} || after != [2]int{50, 30} {
		t.Errorf("pods of research and of shop without the plugin: %v, want 80 and 0; with it: %v, want 50 and 30", before, after)
	}
}

// TestRestGPUShare: the figures of the README of gpu-share.
func TestRestGPUShare(t *testing.T) {
	effect := catalogued(t, "gpu-share", "gpushare", "/guest", "--manifest", "../../wasm-examples/catalogue/gpushare/manifest.json")
	placed := func(r *sim.Result) (notebooks, trainings int) {
		for _, p := range r.Placements {
			if strings.HasPrefix(p.Pod, "notebook-") {
				notebooks++
			} else {
				trainings++
			}
		}
		return notebooks, trainings
	}
	wholeNotebooks, wholeTrainings := placed(effect("before.yaml"))
	notebooks, trainings := placed(effect("scheduler.yaml"))
	if got, want := []int{wholeNotebooks, wholeTrainings, notebooks, trainings}, []int{40, 0, 80, 5}; !slices.Equal(got, want) {
		t.Errorf("notebooks and trainings that are placed, without the plugin and with it: %v, want %v", got, want)
	}
}

// TestRestExpression: the figures of the README of expression.
func TestRestExpression(t *testing.T) {
	effect := catalogued(t, "expression", "expression", "/guest", "--manifest", "../../wasm-examples/catalogue/expression/manifest.json")
	wrong := func(r *sim.Result) (pods int, price float64) { // critical pods that are elsewhere than they should be
		for _, p := range r.Placements {
			cheap := strings.HasPrefix(p.Node, "spot-")
			if strings.HasPrefix(p.Pod, "shop-") && (cheap || p.Node == "steady-0") {
				pods++
			}
			price += map[bool]float64{true: 3, false: 10}[cheap]
		}
		return pods, price / 10
	}
	before, beforePrice := wrong(effect(""))
	result := effect("scheduler.yaml")
	after, afterPrice := wrong(result)
	got := []any{before, beforePrice, after, afterPrice, result.Summary.Scheduled}
	if want := []any{16, 39.0, 0, 39.0, 60}; !slices.Equal(got, want) {
		t.Errorf("critical pods on spot or old nodes, and the price, without the plugin and with it, and the pods that are placed: %v, want %v", got, want)
	}
}
