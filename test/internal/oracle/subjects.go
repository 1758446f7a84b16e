package oracle

import "github.com/berth-scheduler/berth/test/internal/compare"

// Subjects returns all that is compared.
func Subjects(seed uint64) []Subject {
	var out []Subject
	for _, name := range Plugins() {
		out = append(out, OfPlugin(seed, name, compare.Options{}))
	}
	return out
}
