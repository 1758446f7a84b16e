package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// maxText is the maximum size of publisher, license and description, in bytes.
const maxText = 1024

// Validate checks a manifest against SPEC.md, section 9. Check compares it with the module; the
// host checks the schema in Config, and whether the names in Enforces exist.
//
// # Errors
//
// The first 32 mistakes, joined and sorted by path, and how many more there are. Each is a
// *ManifestError. An ABI that this host does not have is the only one.
func (m *Manifest) Validate() error {
	var errs manifestErrors
	v := manifestValidator{&errs}
	if err := CheckABI(m.ABI); err != nil {
		return err
	}
	v.head(m)
	v.points(m)
	v.reads(&m.Reads)
	v.objects(m)
	v.names("host", m.Host, "ABI-9.6", hostFunctionNames())
	v.events(m.Events)
	v.form("enforces", m.Enforces, "ABI-9.9", isLabel, "write a feature in lower case, such as host-ports")
	v.state(m)
	v.directives("directives", &m.Directives)
	v.fromConfig(m)
	v.since(m)
	return errs.err()
}

type manifestValidator struct{ *manifestErrors }

func (v manifestValidator) head(m *Manifest) {
	switch {
	case m.Name == "":
		v.add("name", "it is missing", `add "name", a DNS label such as "tenant-pool"`, "ABI-9.2")
	case !isLabel(m.Name):
		v.add("name", quoted(m.Name)+" is not a DNS label", "use at most 63 lower-case letters, digits and dashes, a letter or digit at both ends", "ABI-9.2")
	}
	switch {
	case m.Version == "":
		v.add("version", "it is missing", `add "version", a semantic version such as "1.0.0"`, "ABI-9.2")
	case !isSemver(m.Version):
		v.add("version", quoted(m.Version)+" is not a semantic version", `write major.minor.patch, such as "1.0.0" or "1.2.0-rc.1", without a leading v`, "ABI-9.2")
	}
	v.abi(m.ABI)
	texts := []struct{ path, text string }{{"publisher", m.Publisher}, {"license", m.License}, {"description", m.Description}}
	for _, t := range texts {
		if len(t.text) > maxText {
			v.add(t.path, strconv.Itoa(len(t.text))+" bytes, at most "+strconv.Itoa(maxText)+" are allowed", "shorten it", "")
		}
		if strings.ContainsFunc(t.text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			v.add(t.path, "it has an unprintable character", "write it in one line of plain text", "")
		}
	}
}

func (v manifestValidator) abi(version string) {
	host := hostABI()
	if version == "" {
		v.add("abi", "it is missing", "add "+strconv.Quote("abi")+": "+strconv.Quote(host), "ABI-9.2")
	} else if _, _, ok := parseABI(version); !ok {
		v.add("abi", quoted(version)+" is not major.minor", "write "+strconv.Quote(host), "ABI-9.2")
	}
}

func hostABI() string { return strconv.Itoa(abi.Major) + "." + strconv.Itoa(abi.Minor) }

// Minor returns the minor version of the ABI that the manifest is for.
func (m *Manifest) Minor() uint64 {
	_, minor, _ := parseABI(m.ABI)
	return minor
}

// parseABI reads "major.minor".
func parseABI(version string) (major, minor uint64, ok bool) {
	first, second, ok := strings.Cut(version, ".")
	major, err1 := strconv.ParseUint(first, 10, 16)
	minor, err2 := strconv.ParseUint(second, 10, 16)
	return major, minor, ok && err1 == nil && err2 == nil && !zeroLed(first) && !zeroLed(second) && digits(first) && digits(second)
}

// CheckABI returns a *ManifestError if this host does not run modules of an ABI: it must have the same major version and at least that
// minor one (ABI-2.2). It returns nil for what is not major.minor, which Validate refuses.
func CheckABI(version string) error {
	major, minor, ok := parseABI(version)
	e := &ManifestError{Path: "abi", Rule: "ABI-2.2"}
	switch {
	case ok && major != abi.Major:
		e.Detail = "the module is for ABI " + version + ", this host has " + hostABI()
	case ok && minor > abi.Minor:
		e.Detail = "the module needs ABI " + version + ", this host has " + hostABI()
	default:
		return nil
	}
	e.Fix = "use a berth that has ABI " + version + " (berth version shows it), or a version of the plugin for ABI " + hostABI()
	return e
}

func (v manifestValidator) points(m *Manifest) {
	p := &m.Points
	if len(m.Declared()) == 0 {
		v.add("points", "no extension point is declared", "add at least one, such as filter or score", "ABI-9.3")
	}
	for _, n := range p.all() {
		if *n.value == nil {
			continue
		}
		path := "points." + n.name
		if scope := (*n.value).Scope; scope != "" && scope != "node" && scope != "cluster" {
			v.add(path+".scope", quoted(scope)+" is not a scope", `write "node" or "cluster"`, "ABI-9.3")
		}
	}
	v.companions(m)
	if p.Score == nil {
		for _, n := range p.all() {
			if (n.point == abi.PreScore || n.point == abi.Normalize) && *n.value != nil {
				v.add("points."+n.name, "it needs the point score", "add score, or remove "+n.name, "ABI-9.3")
			}
		}
		return
	}
	kinds := []string{NormalizeNone, NormalizeMax, NormalizeReverse, NormalizeMinMax}
	if kind := p.Score.Normalize; kind != "" && !slices.Contains(kinds, kind) {
		v.add("points.score.normalize", quoted(kind)+" is not a normalization", v.suggest(kind, kinds), "ABI-9.5")
	}
	if p.Normalize != nil && p.Score.Normalize != "" && p.Score.Normalize != NormalizeNone {
		v.add("points.score.normalize", "the module exports normalize itself", "remove one of the two", "ABI-9.5")
	}
	if (p.Normalize != nil || p.PreScore != nil) && p.Score.Scope == "node" {
		v.add("points.score.scope", `a score with preScore or normalize must have scope "cluster"`, `write "cluster", or declare a normalization instead of exporting it`, "ABI-5.8")
	}
}

// companions checks points that need others.
func (v manifestValidator) companions(m *Manifest) {
	p := &m.Points
	if p.Unreserve != nil && p.Reserve == nil {
		v.add("points.unreserve", "it needs the point reserve", "add reserve, or remove unreserve", "ABI-9.3")
	}
	switch {
	case p.AddPod == nil && p.RemovePod == nil:
	case p.AddPod == nil || p.RemovePod == nil:
		missing, there := "addPod", "removePod"
		if p.RemovePod == nil {
			missing, there = there, missing
		}
		v.add("points."+there, "it needs the point "+missing, "add "+missing, "ABI-5.13")
	case p.PreFilter == nil:
		v.add("points.addPod", "it needs the point preFilter, whose state it updates", "add preFilter, or remove addPod and removePod", "ABI-5.13")
	case p.Filter != nil && p.Filter.Scope == "node":
		v.add("points.filter.scope", `a filter with addPod must have scope "cluster"`, `write "cluster", or remove addPod and removePod`, "ABI-5.13")
	}
	if p.Bind != nil && !m.Directives.Bind {
		v.add("directives.bind", "it is missing, but the point bind needs it", `add "bind": true`, "ABI-5.19")
	}
}

// state checks keys of the state with special meanings.
func (v manifestValidator) state(m *Manifest) {
	const rule = "ABI-9.10"
	ok := func(key string) bool { return len(key) <= abi.MaxStateKeySize && bounded(key, "-_./", true) }
	fix := "use at most 128 letters, digits, dashes, dots, underscores and slashes, a letter or digit at both ends"
	v.form("publishes", m.Publishes, rule, ok, fix)
	v.form("cycleLocal", m.CycleLocal, rule, ok, fix)
	published := make(map[string]bool, len(m.Publishes))
	for _, key := range m.Publishes {
		published[key] = true
	}
	for i, key := range m.CycleLocal {
		if published[key] {
			v.add(index("cycleLocal", i), quoted(key)+" is published, but others must not see ids", "remove it from one of the two", rule)
		}
	}
	v.form("reads.published", m.Reads.Published, "ABI-9.4", func(s string) bool {
		name, key, has := strings.Cut(s, "/")
		return has && bounded(name, "-_.", true) && ok(key)
	}, "write the name of a plugin in the profile, a slash and its key, such as gpu-plan/devices")
}

func (v manifestValidator) reads(r *ManifestReads) {
	const rule = "ABI-9.4"
	for _, l := range r.lists() {
		if known := fields.Names(l.name); known != nil {
			v.names("reads."+l.name, *l.value, rule, known)
		}
	}
	keys := []readList{
		{"nodeLabels", &r.NodeLabels}, {"nodeAnnotations", &r.NodeAnnotations}, {"podLabels", &r.PodLabels}, {"podAnnotations", &r.PodAnnotations},
		{"namespaceLabels", &r.NamespaceLabels},
	}
	for _, k := range append(keys, readList{"resources", &r.Resources}, readList{"feeds", &r.Feeds}) {
		ok, fix := formOf(k.name)
		v.form("reads."+k.name, *k.value, rule, ok, fix)
	}
	v.form("reads.nodeConditions", r.NodeConditions, rule, isQualified, "write a type as in status.conditions, such as Ready")
	lacks := func(list string, names []string) bool { return len(names)+len(r.FromConfig[list]) == 0 }
	if user := needsResources(r); user != "" && lacks("resources", r.Resources) {
		v.add("reads.resources", "it is missing, but "+user+" is read for each resource", `list the resources, such as ["cpu", "memory"]`, rule)
	}
	if slices.Contains(r.Node, "requestedSince") && lacks("feeds", r.Feeds) {
		v.add("reads.feeds", "it is missing, but node: requestedSince counts from the samples of the feeds listed there", "list the feeds", rule)
	}
	if slices.Contains(r.Node, "nominated") && !slices.Contains(r.Node, "pods") {
		v.add("reads.node", "nominated has slots of the table of pods, which is there with pods", `list "pods", too`, rule)
	}
	for i, feed := range r.RequiredFeeds {
		if !slices.Contains(r.Feeds, feed) {
			v.add(index("reads.requiredFeeds", i), quoted(feed)+" is not in reads.feeds", "add it there, too", rule)
		}
	}
	v.form("reads.resolution", r.Resolution, rule, func(s string) bool { _, ok := resolution(s); return ok },
		"write a number of seconds from 1 to 86400, such as 60s")
	switch now := slices.Contains(r.Pod, "now"); {
	case now && len(r.Resolution) == 0:
		v.add("reads.resolution", "it is missing, but pod: now moves by it", `write how exact the time must be, such as ["60s"]`, rule)
	case !now && len(r.Resolution) > 0:
		v.add("reads.resolution", "it is of pod: now, which is not read", "read pod: now, or remove it", rule)
	case len(r.Resolution) > 1:
		v.add("reads.resolution", "it has "+strconv.Itoa(len(r.Resolution))+" values", "write one", rule)
	}
	if slices.Contains(r.Pod, "annotations") && lacks("podAnnotations", r.PodAnnotations) {
		v.add("reads.podAnnotations", "it is missing, but pod: annotations has the keys listed there", "list the keys", rule)
	}
}

// needsResources returns a declared read that has a column for each resource.
func needsResources(r *ManifestReads) string {
	for _, e := range fields.All() {
		if e.Arg == fields.ArgResource && r.Declares(&e) {
			return e.Manifest()
		}
	}
	return ""
}

// perResource returns the names of the reads that have something for each resource, and whether one of them is declared.
func perResource(r *ManifestReads) (names []string, declared bool) {
	for _, e := range fields.All() {
		if e.Arg != fields.ArgResource && !e.ByResource {
			continue
		}
		declared = declared || r.Declares(&e)
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names, declared
}

func (v manifestValidator) events(events []ManifestEvent) {
	const rule = "ABI-9.7"
	seen := map[string]int{}
	for i, e := range events {
		path := index("events", i)
		known := slices.Contains(eventResources(), e.Resource)
		switch first, again := seen[e.Resource]; {
		case e.Resource == "":
			v.add(path+".resource", "it is missing", "write Node, Pod or another resource", rule)
		case slices.Contains([]string{"AssignedPod", "UnscheduledPod", "TargetPod", "UnschedulablePod"}, e.Resource):
			v.add(path+".resource", quoted(e.Resource)+" cannot be registered", "write Pod, which covers it", rule)
		case !known:
			v.add(path+".resource", quoted(e.Resource)+" is not a resource of cluster events", v.suggest(e.Resource, eventResources()), rule)
		case again:
			v.add(path+".resource", quoted(e.Resource)+" is in "+index("events", first)+" already", "merge the actions", rule)
		default:
			seen[e.Resource] = i
		}
		if len(e.Actions) == 0 {
			v.add(path+".actions", "it is missing", `list the actions, such as ["Add"], or write ["All"]`, rule)
		}
		v.names(path+".actions", e.Actions, rule, eventActions())
		for j, a := range e.Actions {
			if known && slices.Contains(eventActions(), a) && !actionApplies(a, e.Resource) {
				v.add(index(path+".actions", j), a+" does not apply to "+e.Resource, "write Update, or name the other resource", rule)
			}
		}
	}
}

// names requires each element to be known and unique.
func (v manifestValidator) names(path string, list []string, rule string, known []string) {
	for i, name := range list {
		if !slices.Contains(known, name) {
			v.add(index(path, i), quoted(name)+" is unknown", v.suggest(name, known), rule)
		}
	}
	v.once(path, list, rule)
}

// form requires each element to have a form and to be unique.
func (v manifestValidator) form(path string, list []string, rule string, ok func(string) bool, fix string) {
	for i, name := range list {
		if !ok(name) {
			v.add(index(path, i), quoted(name)+" is not well formed", fix, rule)
		}
	}
	v.once(path, list, rule)
}

func (v manifestValidator) once(path string, list []string, rule string) {
	if len(list) > abi.MaxReads {
		v.add(path, strconv.Itoa(len(list))+" names, at most "+strconv.Itoa(abi.MaxReads)+" are allowed", "read less", "ABI-10")
	}
	first := make(map[string]int, len(list))
	for i, name := range list {
		if at, again := first[name]; again {
			v.add(index(path, i), quoted(name)+" is in "+index(path, at)+" already", "remove it", rule)
			continue
		}
		first[name] = i
	}
}
