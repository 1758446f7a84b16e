// Package nearest finds the name that was probably meant.
package nearest

import (
	"slices"
	"strings"
)

// MaxName is the most bytes of a name that Of compares: names may come from a
// stranger, and comparing two costs the product of their lengths.
const MaxName = 64

// Of returns the member of among that differs least from name, if it is near enough: at most two
// letters differ, in long names a third, in short ones half. Case does not count. Of several that
// are equally near, the first in alphabetical order wins.
func Of(name string, among []string) (string, bool) {
	if len(name) > MaxName {
		return "", false
	}
	best, least := "", max(len(name)/3, min(2, len(name)/2))+1
	for _, candidate := range slices.Sorted(slices.Values(among)) {
		if len(name) > 2*len(candidate)+2 || len(candidate) > 2*len(name)+2 {
			continue // too far
		}
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
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
