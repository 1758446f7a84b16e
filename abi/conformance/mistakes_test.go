package conformance_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/internal/testrest"
)

// mistakes are mistakes of a host, each with a case that must find it. The reference host makes
// them where it refers to them by name.
func mistakes() map[string]string {
	return map[string]string{
		"accepts tail calls":                                "modules/a tail call",
		"points are counted from 1":                         "sight/every column and field in a filter call, pod web",
		"the overlay row is the last of all rows":           "sight/a what-if of a guest without add_pod",
		"columns are there that nobody declared":            "sight/a guest that declares nothing gets nothing",
		"slots of pods that are not seen are not empty":     "sight/a plugin that is attached to a namespace sees only its pods and that namespace",
		"the string of id 0 is not empty":                   "sight/an empty cluster",
		"no pod counts in its namespace":                    "sight/what the pods of namespaces request",
		"objects say nothing":                               "sight/columns of objects, whose elements keep their order",
		"namespaces have no names":                          "sight/the names of namespaces are there though only a label is declared",
		"a value that is stale is fresh":                    "sight/what feeds say of nodes, and what their samples cannot contain",
		"no pod is nominated":                               "sight/pods that are nominated to nodes",
		"no pod is newer than a sample":                     "sight/what feeds say of nodes, and what their samples cannot contain",
		"there is a state without a cycle":                  "state/no state without a cycle",
		"the record says that it is larger":                 "sight/every column and field in a filter call, pod web",
		"empty fields are not there":                        "sight/every column and field in a filter call, pod batch",
		"the epoch never changes":                           "life/what changed between cycles is written before the call",
		"asks for a configuration aligned to 24":            "life/an instance's life up to the first call",
		"keeps a region that is too small":                  "life/a table that outgrows its region",
		"overlay rows have a row set":                       "sight/a what-if: add_pod and remove_pod, then the overlay row",
		"init containers are not counted":                   "sight/what a pod with init containers, sidecars and overhead requests",
		"sidecars end before containers start":              "sight/what a pod with init containers, sidecars and overhead requests",
		"overhead is not counted":                           "sight/what a pod with init containers, sidecars and overhead requests",
		"a container without a limit may use nothing":       "sight/the limits, the QoS class and the claims of a pod",
		"the QoS class of the status is not looked at":      "sight/the limits, the QoS class and the claims of a pod",
		"containers are counted from the first again":       "sight/the containers of a pod",
		"the time does not move in steps":                   "sight/the time in steps, at points that have it",
		"names of the configuration come first":             "sight/names that the configuration brings",
		"numbers of rows are in big-endian":                 "sight/every column and field in a filter call, pod web",
		"columns have no room":                              "sight/every column and field in a filter call, pod web",
		"keys are counted from 1":                           "sight/every column and field in a filter call, pod web",
		"spans begin one element later":                     "sight/every column and field in a filter call, pod web",
		"operators of requirements are counted from 0":      "sight/every column and field in a filter call, pod rich",
		"terms do not say that they have fields":            "sight/every column and field in a filter call, pod rich",
		"takes the last of two manifests":                   "modules/two manifests",
		"ignores unknown fields of a manifest":              "manifest/an unknown field",
		"does not check manifests":                          "manifest/no version",
		"texts beyond the memory are empty":                 "faults/log of a text beyond the memory (preFilter)",
		"objects lose their last byte":                      "sight/whole objects",
		"swaps the texts of a directive":                    "directives/annotate (reserve)",
		"Skip of bind ends it":                              "consequences/bind that answers Skip leaves the pod to the next plugin",
		"a declared column is not there":                    "life/an instance's life up to the first call",
		"a failed pod keeps its node":                       "consequences/a pod that is rejected gives back what it reserved",
		"accepts a configuration without a schema":          "manifest/a configuration without a schema",
		"accepts directives at every point":                 "directives/annotate at another point (preEnqueue)",
		"accepts directives that are not declared":          "directives/annotate that the manifest does not declare",
		"accepts directives that are not granted":           "directives/annotate that the user did not grant",
		"accepts every code of a row":                       "faults/code 4 of a row (filter)",
		"accepts every score":                               "faults/a score of -1 (score)",
		"accepts every status code":                         "faults/a result that the point does not have: Unschedulable (preEnqueue)",
		"accepts newer minor versions":                      "life/a newer minor version",
		"accepts refused configurations":                    "life/a configuration that is refused, with what was logged",
		"an absent configuration is empty":                  "life/no configuration is an empty object",
		"answers are by row number":                         "sight/rows by row set and by bounds",
		"asks about every event":                            "consequences/an event that the manifest does not register is not asked about",
		"asks for a region aligned to 8":                    "life/a region that is not aligned",
		"attaches queue_key to namespaces":                  "manifest/queue_key attached to namespaces",
		"aux calls see cycle-local keys":                    "state/a cycle-local key is gone in aux instances",
		"aux instances hold all nodes":                      "sight/a guest that declares nothing gets nothing",
		"aux instances hold namespaces":                     "sight/bind sees the chosen node with its pods",
		"bind needs no directive":                           "faults/a successful bind without its directive (bind)",
		"calls _start":                                      "life/an instance's life up to the first call",
		"calls instances again after a fault":               "life/an instance is not called again after a fault",
		"carries out what a faulted call asks for":          "directives/one bad directive among good ones",
		"copies values that do not fit":                     "state/a value that does not fit is not copied",
		"directives count whatever the result":              "directives/reserve: directives are ignored with Unschedulable",
		"does not activate":                                 "consequences/activate tries a parked pod again when the call's own pod is placed",
		"does not ask pre_enqueue":                          "consequences/a pod that pre_enqueue holds back is not tried",
		"does not call add_pod and remove_pod":              "sight/a what-if: add_pod and remove_pod, then the overlay row",
		"does not check keys":                               "directives/a key that is not valid",
		"does not check modules":                            "modules/a host function that is not declared",
		"does not check values of labels":                   "directives/a value that no label has",
		"does not cut calls at 1,024 pods":                  "limits/1,024 pods in a call",
		"does not cut calls at blocks":                      "sight/calls of scope node end at multiples of 1,024",
		"does not cut texts of the log":                     "state/a text of the log is cut at 4,096 bytes",
		"does not decode answers":                           "faults/reason sets beyond the memory (filter)",
		"does not heed Skip":                                "consequences/pre_filter that answers Skip leaves filter out",
		"does not heed hints":                               "consequences/Skip leaves a pod parked",
		"does not heed row sets":                            "consequences/a row set narrows the nodes down",
		"does not heed scores":                              "consequences/the highest score decides",
		"does not look at the region":                       "life/a guest that writes over the header's address in the call record",
		"does not nominate":                                 "consequences/a node that post_filter nominates",
		"does not unreserve":                                "consequences/a pod that is rejected gives back what it reserved",
		"does not zero codes":                               "sight/what an earlier call wrote is zero again",
		"does not zero the guest's part of the call record": "sight/what an earlier call wrote is zero again",
		"no score is the lowest":                            "answers/declared normalisation minmax of nodes of which some have no value",
		"equal scores are all the highest":                  "answers/declared normalisation minmax: [5, 5, 5]",
		"every key is published":                            "state/a key that another plugin publishes",
		"every plugin allows":                               "consequences/another plugin cannot allow it",
		"every plugin sees all namespaces":                  "sight/a plugin that is attached to a namespace sees only its pods and that namespace",
		"filter of scope node reads published keys":         "state/no published key in a call of scope node",
		"filter of scope node writes state":                 "state/filter of scope node reads what pre_filter wrote, and does not write",
		"gives the seed to scope node":                      "sight/a filter of scope node",
		"grows the memory":                                  "life/an instance's life up to the first call",
		"hi is the last row":                                "life/an instance's life up to the first call",
		"initializes twice":                                 "life/an instance's life up to the first call",
		"keeps the output of earlier calls":                 "modules/stdout of an earlier call is not shown",
		"keys of state are not counted":                     "state/at most 64 keys",
		"keys of state have no limit":                       "state/a key of 128 bytes, and one of 129",
		"later points do not see patches":                   "sight/the record shows what earlier points patched",
		"leaves out row sets":                               "sight/every point of a cycle sees the same cluster",
		"passes on what cannot be printed":                  "answers/what cannot be printed is replaced",
		"patches do not travel with the binding":            "consequences/a reserved device is taken at once, and free again when its pod is gone",
		"does not heed retry_after":                         "consequences/a pod is tried again after the time that its plugin names",
		"retry_after has no bounds":                         "answers/retry_after is at least a second and at most an hour (pre_filter)",
		"retry_after of ABI 1.0 counts":                     "answers/retry_after of ABI 1.0 says nothing",
		"permit waits for ever":                             "answers/permit: Wait for at most 15 minutes",
		"pre_filter of scope node sees nodes":               "sight/pre_filter of a guest of scope node sees no nodes",
		"reason sets that are not there are none":           "faults/the reason set of a row is not there (preEnqueue)",
		"nothing is requested":                              "life/what changed between cycles is written before the call",
		"reserved patches are not visible":                  "consequences/a reserved device is taken at once, and free again when its pod is gone",
		"reverse does not turn around":                      "answers/declared normalisation reverse: [10, 0, 40]",
		"sorts by time":                                     "consequences/the order of the queue is that of the keys",
		"state has no limit":                                "state/at most 262,144 bytes in all",
		"swallows the log":                                  "state/state goes with the cycle, to every later point",
		"swaps the nodes of an event":                       "sight/hint about a node that changed",
		"the clock stands still":                            "modules/stubs of WASI: a clock that steps, seeded random bytes, no arguments, no environment",
		"the first patch of a key counts":                   "directives/a later patch of a key counts",
		"the generation stands still":                       "life/what changed between cycles is written before the call",
		"the pod is on its own node":                        "sight/the pod is not among those of its own node",
		"the pod list is in another order":                  "sight/pre_enqueue and queue_key see pods, and no nodes",
		"the record does not name the chosen node":          "sight/points from reserve on see the chosen node with its pods (reserve)",
		"there is a seed without a cycle":                   "sight/pre_enqueue and queue_key see pods, and no nodes",
		"post_filter that makes no room asks for nothing":   "directives/post_filter: with Unschedulable all but nominate counts",
		"nominates without room":                            "directives/post_filter: with Unschedulable all but nominate counts",
		"the seed is the same in every cycle":               "sight/seeds differ between cycles",
		"times of the queue are in microseconds":            "sight/pre_enqueue and queue_key see pods, and no nodes",
		"values of state have no limit":                     "state/a value of 65,536 bytes, and one of 65,537",
		"what-if changes the state of the cycle":            "answers/add_pod and remove_pod bring a copy of the state up to date",
		"writes a wrong magic":                              "life/an instance's life up to the first call",
		"writes beside the region":                          "life/an instance's life up to the first call",
	}
}

// more are further cases that find mistakes, about other sentences.
func more() [][2]string {
	return [][2]string{
		{"does not check modules", "modules/a memory that is not exported"},
		{"does not check modules", "modules/a function that the ABI does not know"},
		{"does not check modules", "modules/a point with another signature"},
		{"does not check manifests", "manifest/a name that is not a DNS label"},
		{"does not check manifests", "manifest/a name of a later minor version"},
		{"does not check manifests", "manifest/an unknown scope"},
		{"does not check manifests", "manifest/an object that no column reads"},
		{"does not check manifests", "manifest/a feature in another form"},
		{"accepts every score", "faults/a normalised score of 101"},
		{"does not check manifests", "manifest/quantities without resources"},
		{"hi is the last row", "sight/rows by row set and by bounds"},
		{"aux instances hold namespaces", "sight/points from reserve on see the chosen node with its pods (reserve)"},
	}
}

// TestRunFindsMistakes: a reference host with one mistake fails the case that is about it.
func TestRunFindsMistakes(t *testing.T)     { runFindsMistakes(t) }
func TestRestRunFindsMistakes(t *testing.T) { runFindsMistakes(t) }

func runFindsMistakes(t *testing.T) {
	t.Helper()
	all, lib := more(), conformance.ReadLibrary(t)
	for mistake, name := range mistakes() {
		all = append(all, [2]string{mistake, name})
	}
	slices.SortFunc(all, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	sample := rand.New(rand.NewPCG(1, 1))
	for _, one := range all {
		if drawn := sample.IntN(4) == 0; !drawn && !testrest.In(t) {
			continue // slow: all of them take seconds
		}
		mistake, name := one[0], one[1]
		t.Run(mistake, func(t *testing.T) {
			if got := recordOnly(t, lib, &reference{}, name); len(got.failed) > 0 || got.passed != 1 {
				t.Fatalf("without the mistake %d cases pass: %s", got.passed, strings.Join(got.texts, "\n"))
			}
			got := recordOnly(t, lib, &reference{mistake: mistake}, name)
			if !slices.Equal(got.failed, []string{name}) {
				t.Errorf("no case finds the mistake: %d cases pass", got.passed)
			}
		})
	}
}

// TestMistakesAreMade: the reference host can make each mistake in the list, and each that it
// can make is in the list.
func TestMistakesAreMade(t *testing.T) {
	files, err := filepath.Glob("reference*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	made := map[string]bool{allowed: true}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`wrong\("([^"]+)"\)`).FindAllStringSubmatch(string(text), -1) {
			made[m[1]] = true
		}
	}
	listed := mistakes()
	listed[allowed] = ""
	for mistake := range made {
		if _, ok := listed[mistake]; !ok {
			t.Errorf("the reference can do %q, which is in no test", mistake)
		}
	}
	for mistake := range listed {
		if !made[mistake] {
			t.Errorf("the reference cannot do %q", mistake)
		}
	}
}

// allowed is a behaviour that is not a mistake.
const allowed = "makes an instance for each call"

// TestRestRunAllowsFreshInstances: ABI-2.8.
func TestRestRunAllowsFreshInstances(t *testing.T) {
	got := record(t, &reference{mistake: allowed})
	if len(got.failed) > 0 {
		t.Errorf("%d cases pass:\n%s", got.passed, strings.Join(got.texts, "\n"))
	}
}
