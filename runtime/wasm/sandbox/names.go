package sandbox

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// frames returns the module's functions in a wazero stack trace, one a line. added is how many functions
// the rewriter put before the module's own.
func frames(trace string, added int) string {
	const types = `\((?:(?:[if](?:32|64)|v128|funcref|externref),?)*\)`
	signature := regexp.MustCompile(`^\s*[^.]*\.(.*?)` + types + `(?: \w+| ` + types + `)?$`)
	index := regexp.MustCompile(`^\$(\d+)$`)
	var out []string
	for line := range strings.SplitSeq(trace, "\n") {
		m := signature.FindStringSubmatch(line)
		if m == nil {
			out = append(out, strings.TrimSpace(line))
			continue
		}
		if n := index.FindStringSubmatch(m[1]); n != nil {
			number, _ := strconv.Atoi(n[1])
			out = append(out, "function "+strconv.Itoa(number-added))
		} else if !strings.HasPrefix(m[1], meter.Prefix) {
			out = append(out, function(m[1]))
		}
	}
	return strings.Join(out, "\n")
}

// function returns the name of a function as its author wrote it, or the given one if it is not
// one that rustc or the Go linker changed.
func function(name string) string {
	if rest, ok := strings.CutPrefix(name, "_ZN"); ok {
		return rustPath(rest)
	}
	if rest, ok := strings.CutPrefix(name, "_R"); ok {
		return rustIdentifiers(rest)
	}
	// Go's linker writes each character but letters, digits, dots and underscores as an underscore.
	return regexp.MustCompile(`\.__(\w+)_\.`).ReplaceAllString(name, ".(*$1).")
}

// rustPath demangles the path in a name of Rust's legacy scheme, after its prefix.
func rustPath(s string) string {
	var path []string
	for s != "" && s[0] != 'E' {
		identifier, rest, ok := lengthPrefixed(s, "")
		if !ok {
			break
		}
		path, s = append(path, identifier), rest
	}
	if n := len(path); n > 1 && regexp.MustCompile(`^h[0-9a-f]{16}$`).MatchString(path[n-1]) {
		path = path[:n-1]
	}
	for i := range path {
		path[i] = strings.NewReplacer("$LT$", "<", "$GT$", ">", "$RF$", "&", "$BP$", "*", "$C$", ",", "$LP$", "(", "$RP$", ")",
			"$u20$", " ", "$u27$", "'", "$u5b$", "[", "$u5d$", "]", "$u7b$", "{", "$u7d$", "}", "$u7e$", "~", "..", "::").
			Replace(strings.TrimPrefix(path[i], "_"))
	}
	return strings.Join(path, "::")
}

// rustIdentifiers returns the identifiers of a name of Rust's v0 scheme, after its prefix. They
// say enough to find the function; types and generic arguments are left out.
func rustIdentifiers(s string) string {
	skipped := regexp.MustCompile(`^[sB][0-9a-zA-Z]*_`) // a disambiguator, or a reference to an earlier part
	var path []string
	for s != "" {
		if identifier, rest, ok := lengthPrefixed(s, "_"); ok {
			path, s = append(path, identifier), rest
		} else if m := skipped.FindString(s); m != "" {
			s = s[len(m):]
		} else {
			s = s[1:]
		}
	}
	return strings.Join(path, "::")
}

// lengthPrefixed cuts an identifier that follows its length, and perhaps a separator, off a name.
func lengthPrefixed(s, separator string) (identifier, rest string, ok bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.Atoi(s[:digits])
	if s = strings.TrimPrefix(s[digits:], separator); err != nil || n == 0 || n > len(s) {
		return "", "", false
	}
	return s[:n], s[n:], true
}
