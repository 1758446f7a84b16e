package conformance

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
)

// Verdict is the result of a duty.
type Verdict string

// The verdicts.
const (
	Passed        Verdict = "pass"
	Failed        Verdict = "FAIL"
	NotApplicable Verdict = "n/a"
)

// Report is the result of Check.
type Report struct {
	Duties []Duty
	// Answers counts the different answers of each point, so that a reader sees whether the test
	// was meaningful.
	Answers map[string]map[string]int
	// Unsaid are reasons that the guest has made, but no answer had.
	Unsaid []string
	// Uncalled are points that the manifest declares and that no call reached.
	Uncalled []string
}

// Duty is something that a guest must do.
type Duty struct {
	Name string
	// Cites are sentences of SPEC.md.
	Cites   []string
	Verdict Verdict
	// Times is how often the duty was checked, Failures how often it failed.
	Times, Failures int
	// Example is the first failure.
	Example string
}

// OK reports whether no duty failed.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Duties, func(d Duty) bool { return d.Verdict == Failed })
}

// wellFormed is the suffix of duties about the answers of a point.
const wellFormed = " are well formed"

// mostAnswers is how many different answers of a point a report shows.
const mostAnswers = 8

// mostExample is how much of an example, which may be a stack trace, a report shows, in bytes.
const mostExample = 8 << 10

// mostReason is how much of a reason it shows, in bytes.
const mostReason = 200

// String returns the report as text.
func (r *Report) String() string {
	var out strings.Builder
	_ = r.Write(&out) // a Builder never fails
	return out.String()
}

// Write writes the report as text: a line for each duty that applies, an example for those that
// failed, and the answers of the guest.
func (r *Report) Write(w io.Writer) error {
	var out strings.Builder
	var without []string
	for i := range r.Duties {
		if d := &r.Duties[i]; d.Verdict == NotApplicable {
			without = append(without, d.Name)
		} else {
			d.write(&out)
		}
	}
	var points []string
	for _, name := range without {
		if point, ok := strings.CutPrefix(name, "answers of "); ok && strings.HasSuffix(point, wellFormed) {
			if point = strings.TrimSuffix(point, wellFormed); !slices.Contains(r.Uncalled, point) {
				points = append(points, point)
			}
			continue
		}
		fmt.Fprintf(&out, "%-4s  %s\n", NotApplicable, name)
	}
	if len(points) > 0 {
		fmt.Fprintf(&out, "%-4s  points that the plugin does not have: %s\n", NotApplicable, strings.Join(points, ", "))
	}
	if len(r.Uncalled) > 0 {
		fmt.Fprintf(&out, "%-4s  points that were never called: %s; other points rejected all pods before, or left nothing to do: give hints\n",
			NotApplicable, strings.Join(r.Uncalled, ", "))
	}
	for _, point := range slices.Sorted(maps.Keys(r.Answers)) {
		var all []string
		for _, answer := range slices.Sorted(maps.Keys(r.Answers[point])) {
			all = append(all, fmt.Sprintf("%d %s", r.Answers[point][answer], plain.Line(shown(point, answer), mostReason)))
		}
		if len(all) > mostAnswers {
			all = append(all[:mostAnswers:mostAnswers], fmt.Sprintf("and %d others", len(r.Answers[point])-mostAnswers))
		}
		fmt.Fprintf(&out, "%s answered %s%s\n", point, strings.Join(all, ", "), missing(point, r.Answers[point]))
		if len(all) == 1 && !onlySuccess(point) {
			fmt.Fprintf(&out, "      always the same: give hints, strings that are meaningful to the plugin, or a configuration\n")
		}
	}
	for _, reason := range r.Unsaid {
		fmt.Fprintf(&out, "%s was never returned: add a hint\n", plain.Quote(reason, mostReason))
	}
	if r.OK() {
		out.WriteString("the guest conforms\n")
	} else {
		out.WriteString(r.failures())
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Failed returns the lines of the report that are about duties that failed, and how many did.
func (r *Report) Failed() string {
	var out strings.Builder
	for i := range r.Duties {
		if r.Duties[i].Verdict == Failed {
			r.Duties[i].write(&out)
		}
	}
	return out.String() + r.failures()
}

func (r *Report) failures() string {
	failed := 0
	for i := range r.Duties {
		if r.Duties[i].Verdict == Failed {
			failed++
		}
	}
	return fmt.Sprintf("%d of %d duties failed\n", failed, len(r.Duties))
}

// write writes a line, and an example if the duty failed.
func (d *Duty) write(out *strings.Builder) {
	fmt.Fprintf(out, "%-4s  %s (%s): %d times\n", d.Verdict, d.Name, strings.Join(d.Cites, ", "), d.Times)
	if d.Verdict == Failed {
		fmt.Fprintf(out, "      failed %d times, first in %s\n", d.Failures, strings.ReplaceAll(plain.Lines(d.Example, mostExample), "\n", "\n      "))
	}
}

// shown returns an answer of a point as its authors know it: a hint's codes have names of their own.
func shown(point, answer string) string {
	if point == wire.PointName(abi.Hint) {
		switch answer {
		case abi.Success.String():
			return "Queue"
		case abi.Skip.String():
			return "QueueSkip"
		}
	}
	return answer
}

// onlySuccess reports whether a point has nothing to answer but Success and Error.
func onlySuccess(name string) bool {
	return slices.ContainsFunc([]abi.Point{abi.AddPod, abi.RemovePod, abi.Unreserve, abi.PostBind}, func(p abi.Point) bool { return wire.PointName(p) == name })
}

// missing lists the codes of a point that were not among its answers, but for Error. A score has
// no code.
func missing(name string, answers map[string]int) string {
	had := map[string]bool{}
	for answer := range answers {
		code, _, _ := strings.Cut(answer, " ") // Wait says for how long
		had[code] = true
	}
	var out []string
	for _, point := range abi.Points() {
		if wire.PointName(point) != name || point == abi.Score || point == abi.Normalize {
			continue
		}
		codes := results(point)
		if point == abi.Filter || point == abi.PreEnqueue || point == abi.Hint {
			codes = elements(point)
		}
		for _, code := range codes {
			if code != abi.Error && !had[code.String()] {
				out = append(out, shown(name, code.String()))
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; never " + strings.Join(out, ", ")
}

// ledger collects the results of duties, by name.
type ledger struct {
	order   []string
	duties  map[string]*Duty
	answers map[string]map[string]int
	said    map[string]bool // of the guest's reasons, whether some answer had it
}

func newLedger() *ledger {
	return &ledger{duties: map[string]*Duty{}, answers: map[string]map[string]int{}, said: map[string]bool{}}
}

// duty registers a duty; it does not apply until it is checked.
func (l *ledger) duty(name string, cites ...string) {
	l.order = append(l.order, name)
	l.duties[name] = &Duty{Name: name, Cites: cites, Verdict: NotApplicable}
}

// looked records a check of a duty, and what was wrong; empty if nothing was.
func (l *ledger) looked(name string, wrong string) {
	d := l.duties[name]
	d.Times++
	if d.Verdict == NotApplicable {
		d.Verdict = Passed
	}
	if wrong == "" {
		return
	}
	if d.Failures++; d.Failures == 1 {
		d.Verdict, d.Example = Failed, wrong
	}
}

func (l *ledger) count(point, answer string) {
	if l.answers[point] == nil {
		l.answers[point] = map[string]int{}
	}
	l.answers[point][answer]++
}

// reasons records the reasons that a guest has, and those of its answers.
func (l *ledger) reasons(c *wire.CallView) {
	for _, set := range c.ReasonSets {
		l.said[strings.Join(set, ", ")] = l.said[strings.Join(set, ", ")]
	}
	say := func(n uint32) {
		if n > 0 && n <= uint32(len(c.ReasonSets)) {
			l.said[strings.Join(c.ReasonSets[n-1], ", ")] = true
		}
	}
	say(c.StatusReason)
	for i, code := range c.Codes {
		if code != 0 {
			say(uint32(c.Reasons[i]))
		}
	}
}

// report returns the report on a plugin that declares some points.
func (l *ledger) report(declared []abi.Point) *Report {
	out := &Report{Answers: l.answers}
	for _, p := range declared {
		if d := l.duties[dutyAnswers(p)]; d != nil && d.Verdict == NotApplicable {
			out.Uncalled = append(out.Uncalled, wire.PointName(p))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(l.said)) {
		if !l.said[reason] {
			out.Unsaid = append(out.Unsaid, reason)
		}
	}
	for _, name := range l.order {
		out.Duties = append(out.Duties, *l.duties[name])
	}
	return out
}
