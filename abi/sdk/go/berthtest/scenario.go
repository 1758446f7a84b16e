package berthtest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Scenarios runs every file that matches the pattern. A file has one command per line:
//
//	config {"shared": ["general"]}
//	node a labels=berth.dev/pool:general allocatable=cpu:8000
//	pod default/web node=a requests=cpu:500 labels=app:web
//	try default/new requests=cpu:100
//	----
//	a Success 0
//
// A config line, which may continue on indented lines, starts with an empty cluster. The lines
// after `----`, up to an empty line, are the expected output of a command, or of a
// configuration that is refused: what users are told, by the manifest's schema or by the plugin.
// With BERTHTEST_REWRITE=1 in the environment they are rewritten instead.
//
// Commands that change the cluster:
//
//	now 1767323045                     the time of calls, in seconds since 1970
//	namespace team-a labels=… objects={"quota.spec.max.cpu:quantity":[4000]}
//	node a …
//	pod default/web node=a …           a pod on a node
//	pending default/job queued=12 attempts=1 …
//	                                   a pod to be placed; queued is in seconds since 1970
//	nominated default/vip node=a …     a pod with a nominated node
//	published other/plan=text          what another plugin publishes
//	change a labels=…                  sets fields of a node, or of a pod, whose others stay; labels=
//	                                   leaves it none, and unschedulable=false takes that back
//	delete default/web                 removes a pod, or a node with its pods
//
// Commands with output; pods are given in full, or by name if they are pending:
//
//	try default/web …                  verdicts and scores of each node, and post_filter
//	                                   if no node is left; without=default/a,… judges
//	                                   each node as if those of these pods that are on
//	                                   it were gone, as preemption does; rejected=a,…
//	                                   makes other plugins reject these nodes
//	pre_enqueue                        the verdict on each pending pod
//	queue_key                          the pending pods in the order of their keys
//	hint Node UpdateNodeLabel          the pending pods for which another attempt is
//	  old a labels=…                   worthwhile. Two indented lines have the old and
//	  new a labels=…                   the new object, a node or a pod; Add has no old
//	                                   one, Delete no new one. Other kinds have their
//	                                   name in the first line:
//	                                   hint PersistentVolume Add - disk-1
//	schedule default/web …             all points in order; afterwards the cluster is as
//	                                   the host would have it. on=a chooses a node,
//	                                   rejected is as above, and fails=pre_bind makes
//	                                   another plugin reject the pod at that point.
//	timeout default/web                rejects a pod that waited at permit
//
// While no node has a fresh value of a feed that the manifest's requiredFeeds list, try, pre_enqueue and
// schedule say so, and call no point: a host holds such pods back.
//
// Logf notes a pod that requests a resource which no node has, a resource of which the manifest reads
// allocatable and which no node in the file has, a key of a label, annotation,
// condition or resource that is spelt almost like one of the manifest's, an amount that is far below
// all others of its resource, a verdict that rejects without a reason, and a time that the manifest reads and no line sets.
//
// Amounts in allocatable, capacity, requests, requestedSince and limits are milli-CPU for cpu, bytes for memory and storage, and a
// count for others, and images have bytes: allocatable=cpu:4000,memory:8589934592.
//
// Fields of a node are labels, annotations, allocatable, capacity, createdAt (in seconds),
// conditions, images (key:value,…), feeds (name:unit:value,…), stale (name:unit,… of feeds whose
// value is stale), requestedSince,
// taints (key:value:effect,…) and unschedulable; of a pod labels, annotations, requests,
// nodeSelector, priority, owner, node, uid, terminating, schedulingGates, createdAt (in
// seconds), priorityClass, serviceAccount, preemptionPolicy, group, limits (a resource that is
// not there has none), qos, assignedAt (in seconds), running, ready, claims (name,…), hostPorts (port/protocol,…), images (name,…),
// containers ("web app nginx:1 cpu:500/1000 memory:1024, log sidecar fluentd:1": name, kind, image, and of resources the request and the
// limit), tolerations (key:value:effect:seconds,…; an empty value means operator Exists), affinity
// ("zone In a b and disk Exists or size Gt 7") and preferred ("10 zone In a or 5 disk Exists",
// with weights). Spaces and commas need double quotes:
// annotations=example.com/taken:"0,1".
func Scenarios(t *testing.T, pattern string, manifest []byte, guest Factory) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios match %s: %v", pattern, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Helper()
			Scenario(t, name, manifest, guest, Options{Rewrite: rewrite()})
		})
	}
}

// Options are what [Scenario] may do besides.
type Options struct {
	// Rewrite has the expected output written instead of compared.
	Rewrite bool
	// Objects reads files of whole objects.
	Objects Objects
	// Without is left out of what the plugin sees, though its manifest lists it: if the answers stay as they are, the plugin does not use
	// it. Calls are then made in one way only.
	Without Read
}

// Objects reads whole objects in YAML. Pod and Node set all fields that the file has but for the name, and the node of a pod,
// which are set before and are also those of Object. So is the UID of a pod, if it is set.
type Objects interface {
	Pod(file string, p *Pod) error
	Node(file string, n *Node) error
}

// errUnread is the error of a field object where nothing reads its file.
var errUnread = errors.New("only berth plugin test reads object=FILE")

// file is the state of running a scenario file.
type file struct {
	t        testing.TB
	name     string
	lines    []string
	at       int // the next line
	out      strings.Builder
	manifest []byte
	guest    Factory
	Options
	trial *Trial
	// kept is the last trial that tried pods, with these pods; or else the last one whose
	// configuration was accepted.
	kept  *Trial
	tried []Pod
	// absent are the requested resources that no node has and that were told. allocatable are those
	// that nodes had, in all clusters of the file.
	absent      []string
	allocatable map[string]bool
	// tests is true if a line has output to compare.
	tests bool
	// unseen are the keys that the manifest does not list and that were told.
	unseen []string
	// amounts are those in the lines, by resource. unsaid says that a verdict without a reason was told.
	amounts map[string][]quantity
	unsaid  bool
	// timeless says that the missing time was told.
	timeless bool
	// wrong is the line whose command told a mistake, of which a wrong output may follow.
	wrong int
}

// located reports the file and line of a failure.
type located struct {
	testing.TB
	file *file
}

func (l located) where(text string) string {
	return fmt.Sprintf("%s:%d: %s", l.file.name, l.file.at, text)
}

func (l located) Errorf(format string, args ...any) {
	l.Helper()
	l.file.wrong = l.file.at
	l.TB.Errorf("%s", l.where(fmt.Sprintf(format, args...)))
}

func (l located) Fatalf(format string, args ...any) {
	l.Helper()
	l.TB.Fatalf("%s", l.where(fmt.Sprintf(format, args...)))
}

func (l located) Fatal(args ...any) {
	l.Helper()
	l.TB.Fatalf("%s", l.where(fmt.Sprint(args...)))
}

// Scenario runs one file, as Scenarios does. It returns the
// last trial that tried or scheduled pods, in its final state, and these pods. t need not
// belong to a test: only Helper, Logf, Errorf and Fatalf are called, and Fatalf must not return.
func Scenario(t testing.TB, name string, manifest []byte, guest Factory, o Options) (*Trial, []Pod) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	f := &file{t: t, name: name, lines: lines(data), manifest: manifest, guest: guest, Options: o,
		allocatable: map[string]bool{}, amounts: map[string][]quantity{}}
	switch trap := trapped(t, f.play); {
	case trap != nil && f.at == 0:
		t.Fatalf("%s: the plugin trapped at its start: %v", name, trap)
	case trap != nil:
		t.Fatalf("%s:%d: the plugin trapped: %v", name, f.at, trap)
	}
	return f.kept, f.tried
}

// lines splits a file. Some editors begin a file with a byte order mark, and end its lines with a carriage return.
func lines(data []byte) []string {
	text := strings.TrimPrefix(string(data), "\ufeff")
	return strings.SplitAfter(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}

// play runs the file.
func (f *file) play() {
	t, name := f.t, f.name
	t.Helper()
	f.trial = f.empty("")
	f.kept = f.trial
	for f.at < len(f.lines) {
		line := f.next()
		words := Words(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		at := f.at
		got, err := f.run(words[0], words[1:], line)
		switch {
		case errors.Is(err, errUnread):
			t.Logf("%s:%d: %v: the lines to the next config are left out", name, at, err)
			for f.tests = true; f.at < len(f.lines) && !f.follows("config"); {
				f.next()
			}
		case err != nil:
			t.Fatalf("%s:%d: %v", name, at, err)
		}
		if got != nil {
			f.expect(at, got)
		}
	}
	f.tellUnmet()
	f.tellFarBelow()
	if !f.tests {
		t.Fatalf("%s: nothing is tested: write lines such as try default/web, and the answers below ----", name)
	}
	if f.Rewrite {
		if err := os.WriteFile(name, []byte(f.out.String()), 0o644); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// next consumes a line.
func (f *file) next() string {
	line := f.lines[f.at]
	f.out.WriteString(line)
	f.at++
	return strings.TrimSuffix(line, "\n")
}

// follows reports whether the next line has a prefix.
func (f *file) follows(prefix string) bool {
	return f.at < len(f.lines) && strings.HasPrefix(f.lines[f.at], prefix)
}

// run runs one line and returns its output, which may be nil.
func (f *file) run(command string, words []string, line string) ([]string, error) {
	f.t.Helper()
	switch command {
	case "config":
		return f.config(strings.TrimPrefix(line, command)), nil
	case "hint":
		e, err := f.event(words)
		if err != nil {
			return nil, err
		}
		return f.trial.hinted(e), nil
	}
	if command == "try" || command == "schedule" {
		if f.kept != f.trial {
			f.kept, f.tried = f.trial, nil
		}
		if p, _, err := f.trial.about(words, "without", "rejected", "on", "fails"); err == nil {
			f.tried = append(f.tried, p)
			f.tellAbsent(p)
			f.tellNoTime()
		}
	}
	steps, ok := commands()[command]
	switch {
	case !ok && strings.Trim(command, "-") == "":
		return nil, fmt.Errorf("%s: answers begin with ----, directly below a line that has some", command)
	case !ok:
		return nil, unknown("command", command, append(slices.Collect(maps.Keys(commands())), "config", "hint")...)
	}
	f.tellUnseen(command, words)
	f.amountsOf(words)
	got, err := steps(f.trial, words)
	f.tellNoReason(got)
	return got, err
}

// empty returns a trial without a cluster.
func (f *file) empty(config string) *Trial {
	f.t.Helper()
	t := newTrial(located{f.t, f}, f.manifest, f.guest, config, f.Without)
	t.objects = f.Objects
	return t
}

// config starts with an empty cluster.
func (f *file) config(config string) []string {
	for f.follows(" ") {
		config += f.next()
	}
	f.absent = nil
	f.trial = f.empty(strings.TrimSpace(config))
	expected := f.follows("----")
	why, refused := f.trial.Refused()
	switch {
	case expected:
	case refused && !f.Rewrite:
		f.trial.tb.Fatalf("%s\nif that is right, write it below ----", why)
	case !refused:
		if len(f.tried) == 0 {
			f.kept = f.trial
		}
		return nil
	}
	if !refused {
		return []string{"accepted"}
	}
	return strings.Split(why, "\n")
}

// expect compares the output of a line with the file.
func (f *file) expect(at int, got []string) {
	f.t.Helper()
	f.tests = true
	var want []string
	if f.follows("----") {
		for f.at++; f.at < len(f.lines) && strings.TrimSpace(f.lines[f.at]) != ""; f.at++ {
			want = append(want, strings.TrimSuffix(f.lines[f.at], "\n"))
		}
	}
	if !f.Rewrite && !slices.Equal(got, want) && f.wrong != at {
		f.t.Errorf("%s:%d: got\n%s\nwant\n%s", f.name, at, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	f.out.WriteString("----\n" + strings.Join(got, "\n") + "\n")
	if f.at < len(f.lines) && strings.TrimSpace(f.lines[f.at]) != "" {
		f.out.WriteString("\n") // which ends the answers
	}
}

func rewrite() bool { return os.Getenv("BERTHTEST_REWRITE") == "1" }
