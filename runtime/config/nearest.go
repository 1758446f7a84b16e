package config

import (
	"slices"
	"strconv"
	"strings"
)

// closest returns the member of among that differs least from name, if it is
// near enough to be what was meant: two letters wrong, in long names a third, in
// short ones half. Case does not count. Of equals the first in alphabetical
// order wins.
func closest(name string, among []string) (string, bool) {
	best, bestDistance := "", max(len(name)/3, min(2, len(name)/2))+1
	for _, candidate := range slices.Sorted(slices.Values(among)) {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best, best != ""
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

func quote(s string) string { return strconv.Quote(s) }

// list names all members in order, or "none".
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}
