package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/internal/plain"
)

// finding is something that a round of plugin dev found, and that is compared with an earlier round.
type finding struct {
	kind, name string
	value      string
	failed     bool // of a test
}

// Kinds of findings, in the order in which they are printed.
const (
	testKind = "test"
	noteKind = "note"
	podsKind = "pods" // how many are where
	podKind  = "pod"
	logKind  = "log"
	sizeKind = "size"
	fuelKind = "fuel"
)

// maxFindings is the number of lines of a kind that are printed.
const maxFindings = 15

// findings prints what differs from the findings of an earlier round; without one (0) everything, but pods that are placed. It reports
// whether no test failed.
func (p *printer) findings(now, before []finding, round int) bool {
	said, was, is := 0, keyed(before), keyed(now)
	for _, kind := range []string{testKind, noteKind, podsKind, podKind, logKind, sizeKind, fuelKind} {
		var lines []string
		pods := byText{names: map[string][]string{}}
		for _, f := range now {
			old, there := was[f.key()]
			switch {
			case f.kind != kind:
			case kind == podKind:
				pods.add(f, old, there, round)
			default:
				lines = append(lines, f.told(old, there, round)...)
			}
		}
		for _, f := range before {
			switch _, there := is[f.key()]; {
			case f.kind != kind || there:
			case kind == podKind:
				pods.put("gone", f.name)
			default:
				lines = append(lines, f.gone())
			}
		}
		lines = append(lines, pods.lines()...)
		said += len(lines)
		more := 0
		if kind != testKind && len(lines) > maxFindings {
			lines, more = lines[:maxFindings], len(lines)-maxFindings
		}
		for _, line := range lines {
			p.print(line)
		}
		if more > 0 {
			p.printf("      and %d more lines about %s\n", more, kind)
		}
	}
	if said == 0 {
		p.printf("nothing changed since round %d\n", round)
	}
	return !slices.ContainsFunc(now, func(f finding) bool { return f.failed })
}

func (f finding) key() [2]string { return [2]string{f.kind, f.name} }

func keyed(all []finding) map[[2]string]finding {
	names := make(map[[2]string]finding, len(all))
	for _, f := range all {
		names[f.key()] = f
	}
	return names
}

// byText are pods of which the same is told.
type byText struct {
	texts []string
	names map[string][]string
}

// add adds a pod if something is to be told of it.
func (b *byText) add(f, old finding, there bool, round int) {
	switch {
	case there && f == old, round == 0 && strings.HasPrefix(f.value, "on "): // the number of those is enough
	case there:
		b.put(f.value+"; before "+old.value, f.name)
	default:
		b.put(f.value, f.name)
	}
}

func (b *byText) put(text, name string) {
	if _, there := b.names[text]; !there {
		b.texts = append(b.texts, text)
	}
	b.names[text] = append(b.names[text], name)
}

// lines returns a line for each text.
func (b *byText) lines() []string {
	var lines []string
	for _, text := range b.texts {
		names := b.names[text]
		more := ""
		if n := len(names) - 3; n > 1 {
			names, more = names[:3], fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, fmt.Sprintf("%-5s %s%s: %s\n", podKind, strings.Join(names, ", "), more, plain.Lines(text, maxShown)))
	}
	return lines
}

// told returns the lines about a finding that was old, if it was there.
func (f finding) told(old finding, there bool, round int) []string {
	line := func(format string, args ...any) []string { return []string{fmt.Sprintf(format, shown(args)...) + "\n"} }
	same := there && f == old
	switch {
	case f.failed && same:
		return line("FAIL  %s (as in round %d)", f.name, round)
	case f.failed && old.failed:
		return append(line("FAIL  %s (otherwise than in round %d)", f.name, round), indented(f.value))
	case f.failed && there:
		return append(line("FAIL  %s (passed in round %d)", f.name, round), indented(f.value))
	case f.failed:
		return append(line("FAIL  %s", f.name), indented(f.value))
	case same:
		return nil
	}
	switch f.kind {
	case testKind:
		if old.failed {
			return line("ok    %s (failed in round %d)", f.name, round)
		}
		return line("ok    %s", f.name)
	case noteKind:
		return line("note  %s", f.name)
	case logKind:
		if there {
			return line("log   %s (%s times, before %s)", f.name, f.value, old.value)
		}
		return line("log   %s (%s times)", f.name, f.value)
	}
	text := strings.TrimSpace(f.name + " " + f.value)
	if there {
		return line("%-5s %s, before %s", f.kind, text, old.value)
	}
	return line("%-5s %s", f.kind, text)
}

// gone returns the line about a finding that is not there any more.
func (f finding) gone() string {
	switch f.kind {
	case testKind:
		return fmt.Sprintf("----  %s: not run\n", f.name)
	case logKind:
		f.value = ""
	}
	return fmt.Sprintf("%-5s no longer: %s\n", f.kind, strings.TrimSpace(f.name+" "+f.value))
}
