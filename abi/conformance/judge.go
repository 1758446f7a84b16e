package conformance

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// judge compares an answer with what a case expects.
type judge struct {
	want     *wantDoc
	call     *Call
	answer   *Answer
	built    *built
	state    *played
	ids      seenIDs
	problems []string
}

func (j *judge) wrong(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}

// judge adds what is wrong to problems.
//
// # Errors
//
// The case is not well formed.
func (j *judge) judge(texts []heard) error {
	own := slices.DeleteFunc(texts, func(h heard) bool { return h.plugin != j.call.Plugin })
	told, err := understand(own)
	if err != nil {
		j.wrong("%v", err)
		return nil
	}
	j.said(told)
	if len(j.want.Fault) > 0 {
		j.faulted()
		return nil
	}
	if j.want.MayFault && j.answer.Fault != "" {
		return nil
	}
	if j.answer.Fault != "" {
		j.wrong("it is a fault of kind %q, expected none: %s", j.answer.Fault, j.answer.Output)
		return nil
	}
	code, err := codeOf(j.want.Code)
	if err != nil {
		return err
	}
	// The results of unreserve and post_bind have no consequence, so a host need not report
	// them.
	if silent := j.call.Point == abi.Unreserve || j.call.Point == abi.PostBind; !silent {
		if j.answer.Code != code {
			j.wrong("the result is %s, expected %s", j.answer.Code, code)
		}
		if !says(code, j.answer.Reasons, j.want.Reasons) {
			j.wrong("the reasons are %q, expected %q", j.answer.Reasons, j.want.Reasons)
		}
	}
	if err := j.rows(); err != nil {
		return err
	}
	j.rowSet()
	j.directives(j.want.Directives)
	if ms := j.answer.Wait.Milliseconds(); ms != j.want.WaitMS {
		j.wrong("the pod waits for %d ms, expected %d", ms, j.want.WaitMS)
	}
	if ms := j.answer.RetryAfter.Milliseconds(); ms != j.want.RetryAfterMS {
		j.wrong("the pod is tried again after %d ms, expected %d", ms, j.want.RetryAfterMS)
	}
	return nil
}

// faulted checks a fault: its kind, and that nothing is carried out.
func (j *judge) faulted() {
	switch {
	case j.answer.Fault == "":
		j.wrong("the call succeeded, expected a fault of kind %q", j.want.Fault)
	case !slices.Contains(j.want.Fault, j.answer.Fault):
		j.wrong("it is a fault of kind %q, expected %q", j.answer.Fault, j.want.Fault)
	}
	if j.want.Output != "" && !strings.Contains(j.answer.Output, j.want.Output) {
		j.wrong("the guest's stdout is %q, expected it to contain %q", j.answer.Output, j.want.Output)
	}
	if j.want.NotOutput != "" && strings.Contains(j.answer.Output, j.want.NotOutput) {
		j.wrong("the guest's stdout is %q, with %q from an earlier call", j.answer.Output, j.want.NotOutput)
	}
	j.directives(nil)
	if j.answer.Narrowed || len(j.answer.Keys) > 0 || j.answer.Wait != 0 || j.answer.RetryAfter != 0 {
		j.wrong("rows %v, keys %q, wait %v, retry_after %v of a faulted call count",
			j.answer.Rows, j.answer.Keys, j.answer.Wait, j.answer.RetryAfter)
	}
	if j.call.Point == abi.Hint { // a fault means that another attempt is worthwhile (ABI-5.12)
		for i, code := range j.answer.Codes {
			if code != abi.Success {
				j.wrong("pod %s stays parked after a fault: %s", j.call.Pods[i].Metadata.Name, code)
			}
		}
	}
}

// names returns the names that the answers of a point belong to.
func (j *judge) names() []string {
	if j.call.Point > abi.Hint {
		return j.call.Nodes
	}
	var out []string
	for i := range j.call.Pods {
		out = append(out, j.call.Pods[i].Metadata.Name)
	}
	return out
}

// rows checks the answers for nodes and pods.
func (j *judge) rows() error {
	names := j.names()
	for _, name := range slices.Sorted(maps.Keys(j.want.Each)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("conformance: the case expects an answer for %s, which is not in the call", name)
		}
	}
	for i, name := range names {
		wanted, ok := j.want.Each[name]
		if !ok && j.want.All == nil {
			continue
		} else if !ok {
			wanted = *j.want.All
		}
		if err := j.row(i, name, &wanted); err != nil {
			return err
		}
	}
	return nil
}

func (j *judge) row(i int, name string, wanted *rowDoc) error {
	a := j.answer
	if wanted.Score != nil {
		switch {
		case i >= len(a.Scores):
			j.wrong("%s has no score", name)
		case a.Scores[i] != *wanted.Score:
			j.wrong("the score of %s is %d, expected %d", name, a.Scores[i], *wanted.Score)
		}
		return nil
	}
	if wanted.Key != nil {
		key, err := hex.DecodeString(*wanted.Key)
		switch {
		case err != nil:
			return err
		case i >= len(a.Keys):
			j.wrong("%s has no key", name)
		case !bytes.Equal(a.Keys[i], key):
			j.wrong("the key of %s is %x, expected %x", name, a.Keys[i], key)
		}
		return nil
	}
	code, err := codeOf(wanted.Code)
	if err != nil {
		return err
	}
	if i >= len(a.Codes) {
		j.wrong("%s has no code", name)
		return nil
	}
	if a.Codes[i] != code {
		j.wrong("the code of %s is %s, expected %s", name, a.Codes[i], code)
	}
	var after time.Duration
	if i < len(a.RetryAfters) {
		after = a.RetryAfters[i]
	}
	if after.Milliseconds() != wanted.RetryAfterMS {
		j.wrong("pre_enqueue is asked about %s again after %v, expected %d ms", name, after, wanted.RetryAfterMS)
	}
	var reasons []string
	if i < len(a.RowReasons) {
		reasons = a.RowReasons[i]
	}
	if wanted.Printable != nil {
		j.printable(name, reasons, wanted.Printable)
	} else if !says(code, reasons, wanted.Reasons) {
		j.wrong("the reasons of %s are %q, expected %q", name, reasons, wanted.Reasons)
	}
	return nil
}

// says compares reasons. The host may reword the reasons of an Error.
func says(code abi.Code, got, want []string) bool {
	if code != abi.Error {
		return slices.Equal(got, want)
	}
	all := strings.Join(got, "\n")
	return !slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(all, text) })
}

// printable requires the texts between unprintable characters, and no such characters
// (ABI-3.8).
func (j *judge) printable(name string, reasons, texts []string) {
	all := strings.Join(reasons, "")
	if strings.ContainsFunc(all, unicode.IsControl) {
		j.wrong("the reasons of %s have control characters: %q (ABI-3.8)", name, reasons)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			j.wrong("the reasons of %s are %q, without %q", name, reasons, text)
		}
	}
}

func (j *judge) rowSet() {
	switch {
	case j.want.Rows == nil && j.answer.Narrowed:
		j.wrong("the nodes are narrowed down to %v, expected all", j.answer.Rows)
	case j.want.Rows != nil && !j.answer.Narrowed:
		j.wrong("all nodes are left, expected %v", *j.want.Rows)
	case j.want.Rows != nil:
		got, want := slices.Sorted(slices.Values(j.answer.Rows)), slices.Sorted(slices.Values(*j.want.Rows))
		if !slices.Equal(got, want) {
			j.wrong("the nodes are narrowed down to %v, expected %v", got, want)
		}
	}
}

// directives compares the directives that are carried out. Of patches of one key the last
// counts (ABI-13.4).
func (j *judge) directives(wanted []directiveDoc) {
	var want []string
	for _, d := range wanted {
		second := d.Second + strings.Repeat("x", d.SecondSize)
		for range max(1, d.Times) {
			want = append(want, fmt.Sprintf("%s %q %q", d.Kind, d.First, second))
		}
	}
	got := carried(j.answer.Directives)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		j.wrong("the host carries out %.1000s, expected %.1000s", got, want)
	}
}

func carried(all []wire.Directive) []string {
	var out []string
	for i, d := range all {
		if patches := d.Kind == abi.Annotate || d.Kind == abi.Label; patches && slices.ContainsFunc(all[i+1:], func(later wire.Directive) bool {
			return later.Kind == d.Kind && later.First == d.First
		}) {
			continue
		}
		out = append(out, fmt.Sprintf("%s %q %q", d.Kind, d.First, d.Second))
	}
	return out
}
