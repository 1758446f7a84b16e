package configs

import (
	"errors"
	"regexp"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// place matches the start of each line of our errors: the position in the file, and the field.
var place = regexp.MustCompile(`^scheduler\.yaml:\d+: ([A-Za-z][A-Za-z0-9.\[\]]*): `)

// ourFields returns the fields that our error names, and a line of it that names none.
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

// covers reports whether our field is their field, or a part of it, or whether ours rejects the
// whole entry of pluginConfig that contains it.
func covers(ours, theirs string) bool {
	entry, named := strings.CutSuffix(ours, ".name")
	return ours == theirs || strings.HasPrefix(ours, theirs+".") || strings.HasPrefix(ours, theirs+"[") || named && strings.HasPrefix(theirs, entry+".args")
}

// theirFields returns the fields that kube-scheduler's validation names, if it gets that far.
// It requires queueSort to be written alike in all profiles, and Berth only that it is
// equivalent. For an initial backoff above the default maximum it reports the latter, Berth the
// one in the file.
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
