package config

import (
	"slices"
	"strconv"
	"strings"
)

func quote(s string) string { return strconv.Quote(s) }

// list returns all members in order, separated by commas, or "none".
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}
