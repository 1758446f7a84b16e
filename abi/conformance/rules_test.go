package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance"
)

// unmistaken are sentences whose rule no mistake of the kit's own tests breaks, with the reason.
func unmistaken() map[string]string {
	return map[string]string{
		"ABI-13.5": "a freedom of hosts",
	}
}

// breaks returns for each sentence a mistake that breaks its own rule: of the reference host, followed by the case
// if it is one of more, or of a guest.
func breaks() map[string]string {
	return map[string]string{
		"ABI-1.1":  "accepts tail calls",
		"ABI-1.2":  "does not check modules: modules/a memory that is not exported",
		"ABI-1.3":  "does not check modules: modules/a function that the ABI does not know",
		"ABI-1.4":  "the clock stands still",
		"ABI-1.5":  "takes the last of two manifests",
		"ABI-1.6":  "numbers of rows are in big-endian",
		"ABI-2.1":  "initializes twice",
		"ABI-2.2":  "accepts newer minor versions",
		"ABI-2.3":  "an absent configuration is empty",
		"ABI-2.4":  "asks for a region aligned to 8",
		"ABI-2.5":  "grows the memory",
		"ABI-2.6":  "the generation stands still",
		"ABI-2.7":  "keeps a region that is too small",
		"ABI-2.8":  "counts its calls",
		"ABI-2.9":  "does not look at the region",
		"ABI-2.10": "calls instances again after a fault",
		"ABI-2.11": "aux instances hold namespaces: sight/points from reserve on see the chosen node with its pods (reserve)",
		"ABI-2.12": "asks for a configuration aligned to 24",
		"ABI-2.13": "keeps room for each call",
		"ABI-3.1":  "points are counted from 1",
		"ABI-3.2":  "does not zero codes",
		"ABI-3.3":  "accepts every status code",
		"ABI-3.4":  "writes beyond its codes",
		"ABI-3.5":  "does not decode answers",
		"ABI-3.6":  "reason sets that are not there are none",
		"ABI-3.7":  "answers are by row number",
		"ABI-3.8":  "passes on what cannot be printed",
		"ABI-3.9":  "hi is the last row: sight/rows by row set and by bounds",
		"ABI-3.10": "swaps the nodes of an event",
		"ABI-3.11": "times of the queue are in microseconds",
		"ABI-4.1":  "gives the seed to scope node",
		"ABI-4.2":  "numbers of rows are in big-endian",
		"ABI-4.3":  "columns have no room",
		"ABI-4.4":  "the overlay row is the last of all rows",
		"ABI-4.5":  "columns are there that nobody declared",
		"ABI-4.6":  "depends on ids",
		"ABI-4.7":  "depends on the order of slots",
		"ABI-4.8":  "spans begin one element later",
		"ABI-4.9":  "keys are counted from 1",
		"ABI-4.10": "every plugin sees all namespaces",
		"ABI-4.11": "slots of pods that are not seen are not empty",
		"ABI-4.12": "depends on row numbers",
		"ABI-4.13": "the string of id 0 is not empty",
		"ABI-4.14": "namespaces have no names",
		"ABI-4.15": "depends on other nodes",
		"ABI-4.16": "scans strings once in an epoch",
		"ABI-4.17": "overlay rows have a row set",
		"ABI-4.18": "a value that is stale is fresh",
		"ABI-4.19": "no pod is newer than a sample",
		"ABI-4.20": "no pod is nominated",
		"ABI-4.21": "no pod counts in its namespace",
		"ABI-4.22": "objects say nothing",
		"ABI-5.1":  "does not check modules: modules/a point with another signature",
		"ABI-5.2":  "does not heed Skip",
		"ABI-5.3":  "pre_filter of scope node sees nodes",
		"ABI-5.4":  "does not cut calls at blocks",
		"ABI-5.5":  "accepts every code of a row",
		"ABI-5.6":  "leaves out row sets",
		"ABI-5.7":  "accepts every score",
		"ABI-5.8":  "accepts every score: faults/a normalised score of 101",
		"ABI-5.9":  "does not ask pre_enqueue",
		"ABI-5.10": "sorts by time",
		"ABI-5.11": "attaches queue_key to namespaces",
		"ABI-5.12": "does not heed hints",
		"ABI-5.13": "does not call add_pod and remove_pod",
		"ABI-5.14": "does not nominate",
		"ABI-5.15": "the pod is on its own node",
		"ABI-5.16": "reserved patches are not visible",
		"ABI-5.17": "does not unreserve",
		"ABI-5.18": "permit waits for ever",
		"ABI-5.19": "bind needs no directive",
		"ABI-5.20": "there is a state without a cycle",
		"ABI-5.21": "accepts every status code",
		"ABI-5.22": "does not heed retry_after",
		"ABI-6.1":  "the record says that it is larger",
		"ABI-6.2":  "empty fields are not there",
		"ABI-6.3":  "operators of requirements are counted from 0",
		"ABI-6.4":  "terms do not say that they have fields",
		"ABI-6.5":  "overhead is not counted",
		"ABI-6.6":  "a container without a limit may use nothing",
		"ABI-6.7":  "the time does not move in steps",
		"ABI-6.8":  "containers are counted from the first again",
		"ABI-7.1":  "does not cut texts of the log",
		"ABI-7.2":  "copies values that do not fit",
		"ABI-7.3":  "keys of state have no limit",
		"ABI-7.4":  "what-if changes the state of the cycle",
		"ABI-7.5":  "filter of scope node writes state",
		"ABI-7.6":  "texts beyond the memory are empty",
		"ABI-7.7":  "objects lose their last byte",
		"ABI-7.8":  "objects lose their last byte",
		"ABI-7.9":  "filter of scope node reads published keys",
		"ABI-7.10": "aux calls see cycle-local keys",
		"ABI-9.1":  "ignores unknown fields of a manifest",
		"ABI-9.2":  "does not check manifests: manifest/a name that is not a DNS label",
		"ABI-9.3":  "does not check manifests: manifest/an unknown scope",
		"ABI-9.4":  "does not check manifests: manifest/quantities without resources",
		"ABI-9.5":  "reverse does not turn around",
		"ABI-9.6":  "does not check modules",
		"ABI-9.7":  "asks about every event",
		"ABI-9.8":  "accepts a configuration without a schema",
		"ABI-9.9":  "does not check manifests: manifest/a feature in another form",
		"ABI-9.10": "every key is published",
		"ABI-9.11": "accepts directives that are not declared",
		"ABI-9.12": "does not check manifests",
		"ABI-9.13": "accepts newer minor versions",
		"ABI-9.14": "does not check manifests: manifest/a name of a later minor version",
		"ABI-9.15": "names of the configuration come first",
		"ABI-9.16": "does not check manifests: manifest/an object that no column reads",
		"ABI-13.1": "swaps the texts of a directive",
		"ABI-13.2": "accepts directives at every point",
		"ABI-13.3": "directives count whatever the result",
		"ABI-13.4": "the first patch of a key counts",
	}
}

// finders returns the cases and duties that must find a mistake, as breaks names it.
func finders(name string, cites map[string][]string) []string {
	mistake, only, one := strings.Cut(name, ": ")
	if one && slices.Contains(more(), [2]string{mistake, only}) {
		return []string{only}
	}
	if found, ok := mistakes()[name]; ok {
		return []string{found}
	}
	var out []string
	for duty := range cites {
		if g, ok := guestMistakes()[name]; ok && strings.HasPrefix(duty+" (", g.duty) {
			out = append(out, duty)
		}
	}
	return out
}

// TestRulesHaveMistakes: for each sentence there is a mistake in its own rule, which a case or a duty that cites
// the sentence must find.
func TestRulesHaveMistakes(t *testing.T) {
	cites, reasons, of := conformance.Cites(t), unmistaken(), breaks()
	for sentence := range conformance.Sentences(t) {
		name, ok := of[sentence]
		_, excused := reasons[sentence]
		switch {
		case !strings.Contains(sentence, "."): // a section
		case ok == excused:
			t.Errorf("%s has the mistake %q and the reason %q. Remedy: have the reference or a guest break its rule, or say in unmistaken why none does", sentence, name, reasons[sentence])
		case ok && !slices.ContainsFunc(finders(name, cites), func(by string) bool { return slices.Contains(cites[by], sentence) }):
			t.Errorf("nothing that must find %q cites %s", name, sentence)
		}
		delete(of, sentence)
		delete(reasons, sentence)
	}
	for sentence := range of {
		t.Errorf("breaks has %s, which is not a sentence", sentence)
	}
	for sentence := range reasons {
		t.Errorf("unmistaken has %s, which is not a sentence", sentence)
	}
}
