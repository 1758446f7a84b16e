package nearest

import (
	"strconv"
	"strings"
)

// DidYouMean returns "did you mean …?", or a list of the known names if none is close and
// they are few.
func DidYouMean(name string, among []string) string {
	best, ok := Of(name, among)
	switch {
	case ok:
		return "did you mean " + strconv.Quote(best) + "?"
	case len(among) == 0:
		return "remove it: no field is known here"
	case len(among) > 20:
		return ""
	}
	return "known are " + strings.Join(among, ", ")
}
