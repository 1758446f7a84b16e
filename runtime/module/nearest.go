package module

import (
	"strconv"
	"strings"
)

// nearest returns "did you mean …?", or the list unless it is long.
func nearest(name string, among []string) string {
	best, least := "", max(len(name)/3, min(2, len(name)/2))+1
	for _, candidate := range among {
		if len(name) > 2*len(candidate)+2 || len(candidate) > 2*len(name)+2 {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	switch {
	case best != "":
		return "did you mean " + strconv.Quote(best) + "?"
	case len(among) == 0:
		return "remove it: no field is known here"
	case len(among) > 20:
		return ""
	}
	return "known are " + strings.Join(among, ", ")
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
