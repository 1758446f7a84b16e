package app

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/bounded"
)

// hintUsage is what plugin conformance and plugin bench say of a hint.
const hintUsage = "`STRING` to use in labels, namespaces and other names, or KEY=VALUE for what a label, an annotation or a column " +
	"of objects may be; repeatable. Those of a project are in its file testdata/hints, one a line"

// hintsFile is the name of the file beside the scenarios that has a project's hints, one a line; lines that begin with # are comments.
const hintsFile = "hints"

// readHints returns the hints of a folder of scenarios; none if it has no such file.
func readHints(dir string) ([]string, error) {
	file := filepath.Join(dir, hintsFile)
	data, err := bounded.Regular(file, 64<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var hints []string
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !utf8.ValidString(line) {
			return nil, fmt.Errorf("%s:%d: %q is not UTF-8: write one hint a line", file, i+1, line)
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			hints = append(hints, line)
		}
	}
	return hints, nil
}

// hints returns the hints of flags and, for a folder, of the project.
func (t *target) hints(flags []string) ([]string, error) {
	if t.dir == "" {
		return flags, nil
	}
	all := slices.Clone(flags)
	for _, dir := range []string{t.dir, filepath.Join(t.dir, "..")} { // as scenarios are found
		own, err := readHints(filepath.Join(dir, "testdata"))
		if err != nil {
			return nil, err
		}
		if all = append(all, own...); len(own) > 0 {
			break
		}
	}
	return all, nil
}

// checkHints refuses what cannot be a value of the column that a hint names.
func checkHints(m *wire.Manifest, hints []string) error {
	for _, hint := range hints {
		column, value, is := wire.ColumnHint(m.Reads.ObjectColumns, hint)
		if !is || strings.HasSuffix(column, ":"+wire.ObjectString) {
			continue
		}
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("hint %s: %q is not a whole number: write one, of quantities in thousandths", hint, value)
		}
	}
	return nil
}

// hintsOf returns strings that matter to a plugin: namespaces, and of labels and annotations the values, also as KEY=VALUE, and of columns
// of objects. What an annotation of a pod says is often a command, which means something under its own key only.
func hintsOf(trial *berthtest.Trial, pods []berthtest.Pod) []string {
	var hints []string
	told := func(texts map[string]string) {
		for key, value := range texts {
			hints = append(hints, key+"="+value)
		}
	}
	add := func(texts map[string]string) {
		hints = slices.AppendSeq(hints, maps.Values(texts))
		told(texts)
	}
	objects := func(of map[string]berthtest.Values) {
		for column, values := range of {
			for _, text := range values.Texts {
				if text != nil {
					hints = append(hints, column+"="+*text)
				}
			}
			for _, number := range values.Numbers {
				hints = append(hints, fmt.Sprint(column, "=", number))
			}
		}
	}
	for _, n := range trial.Namespaces {
		hints = append(hints, n.Name)
		add(n.Labels)
		objects(n.Objects)
	}
	for _, n := range trial.Nodes {
		add(n.Labels)
		add(n.Annotations)
		objects(n.Objects)
		for i := range n.Pods {
			add(n.Pods[i].Labels)
			told(n.Pods[i].Annotations)
		}
	}
	for i := range pods {
		hints = append(hints, pods[i].Namespace)
		add(pods[i].Labels)
		told(pods[i].Annotations)
	}
	slices.Sort(hints)
	return slices.Compact(hints)
}
