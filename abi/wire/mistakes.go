package wire

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/internal/nearest"
)

// mostMistakes is how many mistakes of a module or a manifest are reported.
const mostMistakes = 32

// mistakes collects the first mistakes of a module or a manifest, and counts the others: a
// small file can have many thousands.
type mistakes[E error] struct {
	first []E
	more  int
}

func (m *mistakes[E]) keep(e E) {
	if len(m.first) == mostMistakes {
		m.more++
		return
	}
	m.first = append(m.first, e)
}

// join joins the mistakes in an order, and adds how many more there are; it returns nil if
// there are none.
func (m *mistakes[E]) join(order func(a, b E) int) error {
	slices.SortStableFunc(m.first, order)
	joined := make([]error, 0, len(m.first)+1)
	for _, e := range m.first {
		joined = append(joined, e)
	}
	if m.more > 0 {
		joined = append(joined, errors.New("and "+strconv.Itoa(m.more)+" more mistakes"))
	}
	return errors.Join(joined...)
}

// suggest returns "did you mean …?", or the list unless it is long. It compares nothing for
// mistakes that are only counted.
func (m *mistakes[E]) suggest(name string, among []string) string {
	if len(m.first) == mostMistakes {
		return ""
	}
	if best, ok := nearest.Of(name, among); ok {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	switch {
	case len(among) == 1:
		return "the only one is " + among[0]
	case len(among) > 40:
		return ""
	}
	return "known are " + strings.Join(among, ", ")
}
