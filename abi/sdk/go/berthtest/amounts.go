package berthtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// quantity is an amount of a resource in a line of a file.
type quantity struct {
	value int64
	line  int
	text  string // as in the line, with its field
}

// farBelow is how many times smaller than all others an amount is that probably has another unit.
const farBelow = 100

// units says, of resources for whose amounts authors may take another unit, what the unit is.
func units() map[string][2]string {
	bytes := [2]string{"bytes", "1 GiB is %s:1073741824"}
	return map[string][2]string{"cpu": {"milli-CPU", "one CPU is %s:1000"}, "memory": bytes, "ephemeral-storage": bytes}
}

// amountsOf keeps the amounts in a line about an object.
func (f *file) amountsOf(words []string) {
	for _, word := range words {
		field, value, _ := strings.Cut(word, "=")
		if !slices.Contains([]string{"allocatable", "capacity", "requests", "requestedSince", "limits"}, field) {
			continue
		}
		for _, e := range list(value) {
			resource, text, _ := strings.Cut(e, ":")
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && units()[resource] != [2]string{} {
				f.amounts[resource] = append(f.amounts[resource], quantity{n, f.at, field + "=" + e})
			}
		}
	}
}

// tellFarBelow notes an amount that is far below all others of its resource in the file: cpu:1 where cpu:1000 was meant.
func (f *file) tellFarBelow() {
	f.t.Helper()
	for _, resource := range slices.Sorted(maps.Keys(f.amounts)) {
		all := slices.SortedStableFunc(slices.Values(f.amounts[resource]), func(a, b quantity) int { return int(min(max(a.value-b.value, -1), 1)) })
		least := all[0]
		next := slices.IndexFunc(all, func(a quantity) bool { return a.value > least.value })
		if next < 0 || all[next].value/farBelow < least.value {
			continue
		}
		unit := units()[resource]
		f.t.Logf("%s:%d: %s is %d %s, and all other amounts of %s in the file are at least %d; %s",
			f.name, least.line, least.text, least.value, unit[0], resource, all[next].value, fmt.Sprintf(unit[1], resource))
	}
}

// tellNoReason notes a verdict of the plugin, in the output of a line, that rejects without a reason.
func (f *file) tellNoReason(output []string) {
	f.t.Helper()
	rejected := regexp.MustCompile(`^(\S+) (Unschedulable|UnschedulableAndUnresolvable|Pending)$`)
	for _, line := range output {
		m := rejected.FindStringSubmatch(line)
		if m == nil || f.unsaid {
			continue
		}
		_, unknown := f.trial.node(m[1])
		pending := slices.ContainsFunc(f.trial.Pending, func(p Pending) bool { return p.id() == m[1] })
		narrowed := m[2] == abi.UnschedulableAndUnresolvable.String() && f.trial.manifest.exports(abi.PreFilter) // has no reason of its own
		if unknown == nil && !narrowed || pending {
			f.unsaid = true
			f.t.Logf("%s:%d: the plugin says %s of %s without a reason, so nobody learns why the pod waits: give one", f.name, f.at, m[2], m[1])
		}
	}
}
