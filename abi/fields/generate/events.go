package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"

	"github.com/berth-scheduler/berth/abi/fields"
)

// kinds returns a line for each resource that has a number.
func kinds(line func(e *fields.Event) string) string {
	var b strings.Builder
	for _, e := range fields.Events() {
		if e.Go != "" {
			b.WriteString(line(&e))
		}
	}
	return b.String()
}

// actions returns a line for each action.
func actions(line func(a *fields.Action, bit int) string) string {
	var b strings.Builder
	for _, a := range fields.Actions() {
		b.WriteString(line(&a, bits.TrailingZeros32(uint32(a.Bit))))
	}
	return b.String()
}

func goKinds() string {
	return kinds(func(e *fields.Event) string { return fmt.Sprintf("\tEvent%s EventKind = %d\n", e.Go, e.Kind) })
}

func goActions() string {
	return actions(func(a *fields.Action, bit int) string {
		return fmt.Sprintf("\tAction%s EventAction = 1 << %d\n", a.Name, bit)
	})
}

func rustKinds() string {
	return kinds(func(e *fields.Event) string {
		return fmt.Sprintf("    /// %s.\n    pub const %s: EventKind = EventKind(%d);\n",
			sentence(cmp.Or(e.Meaning, e.Resource)), snake(e.Go), e.Kind)
	})
}

func rustActions() string {
	return actions(func(a *fields.Action, bit int) string {
		value := "1"
		if bit > 0 {
			value = fmt.Sprintf("1 << %d", bit)
		}
		return fmt.Sprintf("    /// %s.\n    pub const %s: EventAction = EventAction(%s);\n",
			sentence(cmp.Or(a.Meaning, a.Name)), snake(a.Name), value)
	})
}

// sentence begins a text with a capital, unless it is a name.
func sentence(s string) string {
	if word, _, spaced := strings.Cut(s, " "); spaced && !strings.Contains(word, "/") {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

func cKinds() string {
	return kinds(func(e *fields.Event) string {
		return fmt.Sprintf("  BERTH_EVENT_%s = %d,\n", snake(cmp.Or(e.SDK, e.Go)), e.Kind)
	})
}

func cActions() string {
	return actions(func(a *fields.Action, bit int) string {
		return fmt.Sprintf("  BERTH_%s = 1 << %d,\n", snake(a.Name), bit)
	})
}

func asKinds() string {
	return kinds(func(e *fields.Event) string { return fmt.Sprintf("  %s = %d,\n", cmp.Or(e.SDK, e.Go), e.Kind) })
}

func asActions() string {
	return actions(func(a *fields.Action, bit int) string { return fmt.Sprintf("  %s = 1 << %d,\n", a.Name, bit) })
}

// specKinds returns the rows of resources in SPEC.md, two in each.
func specKinds() string {
	var all []string
	kinds(func(e *fields.Event) string {
		all = append(all, fmt.Sprintf("| %d | %s ", e.Kind, cmp.Or(e.Meaning, e.Resource)))
		return ""
	})
	var b strings.Builder
	for half, i := (len(all)+1)/2, 0; i < half; i++ {
		right := "| | "
		if half+i < len(all) {
			right = all[half+i]
		}
		b.WriteString(all[i] + right + "|\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// specActions returns the list of actions in SPEC.md, a few in each line.
func specActions() string {
	var b strings.Builder
	width := 89 // of what precedes
	for i, a := range fields.Actions() {
		text := fmt.Sprintf("%d %s", i, cmp.Or(a.Meaning, a.Name))
		switch {
		case i == 0:
		case width+len(text)+2 > 120:
			b.WriteString(",\n")
			width = 0
		default:
			b.WriteString(", ")
			width += 2
		}
		b.WriteString(text)
		width += len(text)
	}
	return b.String()
}
