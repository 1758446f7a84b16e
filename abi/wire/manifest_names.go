package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// Names that a manifest may use. They are functions, not variables, because the package has no
// state.

// eventResources returns the resources of k8s.io/kube-scheduler/framework.
func eventResources() (out []string) {
	for _, e := range fields.Events() {
		if e.Resource != "" && !slices.Contains(out, e.Resource) {
			out = append(out, e.Resource)
		}
	}
	return out
}

// eventActions returns the action types of k8s.io/kube-scheduler/framework.
func eventActions() []string {
	out := []string{"Add", "Delete", "Update", "All"}
	for _, a := range fields.Actions() {
		if a.Bit > abi.ActionDelete && a.Bit != abi.ActionUpdateOther {
			out = append(out, a.Name)
		}
	}
	return out
}

// actionApplies reports whether an action can happen to a resource: those named after Pod or
// Node apply only to these.
func actionApplies(action, resource string) bool {
	switch {
	case resource == "*":
		return true
	case strings.HasPrefix(action, "UpdateNode"):
		return resource == "Node"
	case strings.HasPrefix(action, "UpdatePod"):
		return resource == "Pod"
	case strings.HasPrefix(action, "UpdateNamespace"):
		return resource == "Namespace"
	}
	return true
}

// isLabel reports whether s is a DNS label (RFC 1123).
func isLabel(s string) bool {
	return len(s) <= 63 && bounded(s, "-", false)
}

// isFeed reports whether s is the name of a feed with its unit: parts of letters, digits and dashes between dots, a colon, and a word
// of at most 32 letters, digits, dashes and slashes.
func isFeed(s string) bool {
	name, unit, has := strings.Cut(s, ":")
	return has && isSubdomain(name) && len(unit) <= 32 && bounded(unit, "-/", true)
}

// resolution reads a number of seconds from 1 to a day, as "60s".
func resolution(s string) (seconds int, ok bool) {
	digits, ok := strings.CutSuffix(s, "s")
	seconds, err := strconv.Atoi(digits)
	return seconds, ok && err == nil && seconds >= 1 && seconds <= 86400 && digits == strconv.Itoa(seconds)
}

// isSubdomain reports whether s is a DNS subdomain (RFC 1123).
func isSubdomain(s string) bool {
	if len(s) > 253 {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if !isLabel(part) {
			return false
		}
	}
	return true
}

// isQualified reports whether s is a Kubernetes qualified name, such as a label key:
// [prefix/]name.
func isQualified(s string) bool {
	prefix, name, has := strings.Cut(s, "/")
	if !has {
		prefix, name = "", s
	}
	return (!has || isSubdomain(prefix)) && len(name) <= 63 && bounded(name, "-_.", true)
}

// bounded reports whether s has only letters, digits and the characters of
// inner, with a letter or digit at both ends.
func bounded(s, inner string, upper bool) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || upper && c >= 'A' && c <= 'Z'
		if !alnum && (i == 0 || i == len(s)-1 || strings.IndexByte(inner, c) < 0) {
			return false
		}
	}
	return s != ""
}

// isSemver reports whether s is a semantic version (semver.org 2.0.0).
func isSemver(s string) bool {
	if len(s) > 128 {
		return false
	}
	s, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(s, "-")
	numbers := strings.Split(core, ".")
	if len(numbers) != 3 {
		return false
	}
	for _, n := range numbers {
		if !digits(n) || zeroLed(n) {
			return false
		}
	}
	return (!hasBuild || semverParts(build, true)) && (!hasPre || semverParts(pre, false))
}

// semverParts checks the identifiers of a build or a pre-release; numbers of a pre-release must
// not begin with a zero.
func semverParts(s string, zeros bool) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.Trim(part, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
			return false
		}
		if !zeros && digits(part) && zeroLed(part) {
			return false
		}
	}
	return true
}

func digits(s string) bool  { return s != "" && strings.Trim(s, "0123456789") == "" }
func zeroLed(s string) bool { return len(s) > 1 && s[0] == '0' }
