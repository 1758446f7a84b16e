package conformance

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// said checks what the guest logged.
func (j *judge) said(told *report) {
	if j.want.Log != nil && !slices.EqualFunc(told.lines, j.want.Log, like) {
		j.wrong("the guest logged %q, expected %q", told.lines, j.want.Log)
	}
	for _, line := range told.lines {
		switch line {
		case "memory grown":
			j.wrong("the host grew the guest's memory (ABI-2.5)")
		case "wrote outside":
			j.wrong("the host wrote outside of what berth_alloc gave (ABI-2.5)")
		case "called again":
			j.wrong("the instance was called again after a fault (ABI-2.10)")
		}
	}
	if j.want.See {
		j.problems = append(j.problems, j.sight().check(told.dumps)...)
		j.order(told.dumps)
	}
	if j.want.Inert {
		j.inert(told.lines)
	}
	if j.want.Config {
		j.config(told.configs)
	}
	if j.want.Blocks > 0 {
		j.blocks(told.notes)
	}
	if j.want.Object != "" {
		j.object(told.objects)
	}
}

// like compares a line with one that may end in *.
func like(got, want string) bool {
	begin, ok := strings.CutSuffix(want, "*")
	return got == want || ok && strings.HasPrefix(got, begin)
}

// order checks the points of a what-if, and records the seed and generation of a cycle.
func (j *judge) order(dumps []*dump) {
	var points []string
	for _, d := range dumps {
		points = append(points, wire.PointName(abi.Point(d.point)))
		_, s, _, err := d.snapshot()
		if err != nil {
			continue
		}
		if wrong := j.ids.add(j.built.Name, d, s); wrong != "" {
			j.wrong("%s", wrong)
		}
		if j.want.Seed {
			j.state.seeds = append(j.state.seeds, s.Seed)
		}
		if !abi.Point(d.point).Aux() {
			j.state.generation = s.Generation
		}
	}
	if j.want.Points != nil && !slices.Equal(points, j.want.Points) {
		j.wrong("the points %v were called, expected %v (ABI-5.13)", points, j.want.Points)
	}
	if s := j.state.seeds; len(s) > 1 && s[0] != s[len(s)-1] {
		j.wrong("the seed is %#x in one call of a cycle and %#x in another (ABI-4.1)", s[0], s[len(s)-1])
	}
}

// inert checks what WASI's stubs return: clock, clock, random bytes, number of arguments,
// number of variables.
func (j *judge) inert(lines []string) {
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "W ") })
	if at < 0 {
		j.wrong("the guest did not log the results of WASI's stubs: %q", lines)
		return
	}
	data, err := hex.DecodeString(strings.TrimPrefix(lines[at], "W "))
	if err != nil || len(data) != 32 {
		j.wrong("the guest logged %q about WASI's stubs", lines[at])
		return
	}
	first, second := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
	if second <= first {
		j.wrong("the clock returned %d and then %d: it does not advance (ABI-1.4)", first, second)
	}
	if binary.LittleEndian.Uint64(data[24:]) != 0 {
		j.wrong("there are arguments or an environment (ABI-1.4)")
	}
}

// config compares the configuration that the guest was given, as JSON.
func (j *judge) config(configs [][]byte) {
	var got, want any
	if len(configs) != 1 {
		j.wrong("the guest logged %d configurations", len(configs))
		return
	}
	if err := json.Unmarshal(configs[0], &got); err != nil || !utf8.Valid(configs[0]) {
		j.wrong("the configuration is not JSON in UTF-8: %q (ABI-2.3)", configs[0])
	}
	if err := json.Unmarshal(j.built.Config, &want); err != nil || !reflect.DeepEqual(got, want) {
		j.wrong("the configuration is %q, expected %q (ABI-2.3)", configs[0], j.built.Config)
	}
}

// blocks checks how calls of scope node (ABI-5.4) and calls about many pods (ABI-10) are
// divided.
func (j *judge) blocks(notes []note) {
	var rows uint32
	for _, n := range notes {
		rows += n.n
		if n.n > j.want.Blocks || n.hi-n.lo > j.want.Blocks {
			j.wrong("one call is about %d rows, from %d to %d; at most %d are allowed", n.n, n.lo, n.hi, j.want.Blocks)
		}
	}
	if rows != uint32(len(j.names())) {
		j.wrong("calls were about %d rows or pods in all, of %d", rows, len(j.names()))
	}
}
