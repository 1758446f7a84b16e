package configs

import (
	"errors"
	"regexp"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// place is how each line of our errors begins: where in the file, and which field.
var place = regexp.MustCompile(`^scheduler\.yaml:\d+: ([A-Za-z][A-Za-z0-9.\[\]]*): `)

// ourFields returns the fields that our error names, and a line of it that names
// none.
func ourFields(err error) (fields []string, unplaced string) {
	for line := range strings.Lines(err.Error()) {
		if at := place.FindStringSubmatch(line); at != nil {
			fields = append(fields, at[1])
		} else if unplaced == "" {
			unplaced = line
		}
	}
	return fields, unplaced
}

// covers reports whether ours is their field, or a part of it, or says that the whole
// entry of pluginConfig in which that is should not be there.
func covers(ours, theirs string) bool {
	entry, named := strings.CutSuffix(ours, ".name")
	return ours == theirs || strings.HasPrefix(ours, theirs+".") || strings.HasPrefix(ours, theirs+"[") || named && strings.HasPrefix(theirs, entry+".args")
}

// theirFields returns the fields that kube-scheduler's validation names, where it
// comes to that. It wants queueSort to be written alike in all profiles, and Berth
// that it comes to the same. Of a first backoff above the default of the longest one
// it blames the latter, Berth the one that the file has.
func theirFields(tree map[string]any, err error) []string {
	var all utilerrors.Aggregate
	if !errors.As(err, &all) {
		return nil
	}
	var fields []string
	for _, err := range utilerrors.Flatten(all).Errors() {
		e := (*field.Error)(nil)
		if !errors.As(err, &e) || strings.Contains(e.Field, ".plugins.queueSort") {
			continue
		}
		if _, ok := tree[e.Field]; !ok && e.Field == "podMaxBackoffSeconds" {
			e.Field = "podInitialBackoffSeconds"
		}
		fields = append(fields, e.Field)
	}
	return fields
}
