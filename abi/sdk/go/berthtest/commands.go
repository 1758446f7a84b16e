package berthtest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commands are the commands of a scenario file except config and hint. Each returns its output,
// which may be nil.
func commands() map[string]func(t *Trial, words []string) ([]string, error) {
	return map[string]func(t *Trial, words []string) ([]string, error){
		"now": (*Trial).setNow, "namespace": (*Trial).addNamespace,
		"node": (*Trial).addNode, "pod": (*Trial).addPod, "pending": (*Trial).addPending, "change": (*Trial).change,
		"nominated": (*Trial).addNominated, "published": (*Trial).addPublished, "delete": (*Trial).remove,
		"try": (*Trial).tryLine, "pre_enqueue": (*Trial).preEnqueueLine, "queue_key": (*Trial).orderLine,
		"schedule": (*Trial).scheduleLine, "timeout": (*Trial).timeOutLine,
	}
}

func (t *Trial) setNow(words []string) ([]string, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("now needs a time, in seconds since 1970")
	}
	var err error
	if t.Now, err = strconv.ParseInt(words[0], 10, 64); err != nil || t.Now < 0 {
		return nil, fmt.Errorf("now needs a time in seconds since 1970, not %s", words[0])
	}
	return nil, nil
}

func (t *Trial) addNamespace(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("a namespace needs a name")
	}
	n := Namespace{Name: words[0]}
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		var err error
		switch field {
		case "labels":
			n.Labels, err = keyValues(value)
		case "objects":
			n.Objects, err = values(value)
		default:
			return nil, unknown("field of a namespace", field, "labels", "objects")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
	}
	t.Namespaces = append(t.Namespaces, n)
	return nil, nil
}

func (t *Trial) addNode(words []string) ([]string, error) {
	n, err := t.newNode(words)
	if _, missing := t.node(n.Name); err == nil && missing == nil {
		err = fmt.Errorf("there is a node %q already", n.Name)
	}
	t.Nodes = append(t.Nodes, n)
	return nil, err
}

// newNode parses a node: its name, then fields as described at [Scenarios].
func (t *Trial) newNode(words []string) (Node, error) {
	if len(words) == 0 {
		return Node{}, fmt.Errorf("a node needs a name")
	}
	n := Node{Name: words[0]}
	return n, t.setNode(&n, words[1:])
}

// setNode sets fields of a node.
func (t *Trial) setNode(n *Node, words []string) error {
	words, err := t.whole(words, func(file string) error { return t.objects.Node(file, n) })
	if err != nil {
		return err
	}
	rest, err := set(words, n.field)
	for field := range rest {
		return unknown("field of a node", field, append(nodeFields(), "object")...)
	}
	return err
}

// pod parses a pod: `namespace/name`, then fields as described at [Scenarios]. The field
// node becomes NodeName; others are fields of the line that do not belong to the pod.
func (t *Trial) pod(words []string, others ...string) (p Pod, rest map[string]string, err error) {
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return p, nil, fmt.Errorf("a pod needs namespace/name")
	}
	p.Namespace, p.Name, _ = strings.Cut(words[0], "/")
	rest, err = t.setPod(&p, words[1:], others...)
	return p, rest, err
}

// setPod sets fields of a pod.
func (t *Trial) setPod(p *Pod, words []string, others ...string) (rest map[string]string, err error) {
	for _, word := range words { // before the file, which says nothing of its node and UID then
		for name, value := range map[string]*string{"node": &p.NodeName, "uid": &p.UID} {
			if field, text, _ := strings.Cut(word, "="); field == name {
				*value = text
			}
		}
	}
	words, err = t.whole(words, func(file string) error { return t.objects.Pod(file, p) })
	if err != nil {
		return nil, err
	}
	if rest, err = set(words, p.field); err != nil {
		return nil, err
	}
	for field := range rest {
		if !slices.Contains(others, field) {
			return nil, unknown("field of a pod", field, append(append(podFields(), "object"), others...)...)
		}
	}
	return rest, nil
}

// whole reads the file of a field object first, and returns the other words, which count more.
func (t *Trial) whole(words []string, read func(file string) error) ([]string, error) {
	is := func(word string) bool { return strings.HasPrefix(word, "object=") }
	at := slices.IndexFunc(words, is)
	switch {
	case at < 0:
		return words, nil
	case t.objects == nil:
		return nil, errUnread
	}
	file := unquote(strings.TrimPrefix(words[at], "object="))
	if words = slices.Delete(slices.Clone(words), at, at+1); slices.ContainsFunc(words, is) {
		return nil, fmt.Errorf("object: a pod or a node has one file")
	}
	if err := read(file); err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	return words, nil
}

// change sets fields of a node, or of a pod on a node or to be placed; other fields stay.
func (t *Trial) change(words []string) ([]string, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("change needs the name of a node or a pod, and fields")
	}
	if !strings.Contains(words[0], "/") {
		n, err := t.node(words[0])
		if err != nil {
			return nil, err
		}
		return nil, t.setNode(n, words[1:])
	}
	for _, word := range words[1:] {
		if field, _, _ := strings.Cut(word, "="); field == "node" || field == "uid" {
			return nil, fmt.Errorf("the %s of a pod does not change: delete the pod, and add it again", field)
		}
	}
	for i := range t.Nodes {
		for j := range t.Nodes[i].Pods {
			if p := &t.Nodes[i].Pods[j]; p.id() == words[0] {
				p.UID = p.uid()
				_, err := t.setPod(p, words[1:])
				return nil, err
			}
		}
	}
	for i := range t.Pending {
		if p := &t.Pending[i].Pod; p.id() == words[0] {
			p.UID = p.uid()
			_, err := t.setPod(p, words[1:])
			return nil, err
		}
	}
	return nil, fmt.Errorf("there is no pod %s", words[0])
}

// node returns the node with a name.
func (t *Trial) node(name string) (*Node, error) {
	for i := range t.Nodes {
		if t.Nodes[i].Name == name {
			return &t.Nodes[i], nil
		}
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

func (t *Trial) addPod(words []string) ([]string, error) {
	p, _, err := t.pod(words)
	if err != nil {
		return nil, err
	}
	n, err := t.node(p.NodeName)
	if err != nil {
		return nil, err
	}
	if t.placed(p.id()) {
		return nil, fmt.Errorf("there is a pod %s already", p.id())
	}
	n.Pods = append(n.Pods, p)
	return nil, nil
}

// placed reports whether a pod is on a node.
func (t *Trial) placed(id string) bool {
	return slices.ContainsFunc(t.Nodes, func(n Node) bool {
		return slices.ContainsFunc(n.Pods, func(p Pod) bool { return p.id() == id })
	})
}

// there checks that a line names nodes and placed pods of the cluster.
func (t *Trial) there(nodes, pods []string) error {
	for _, name := range nodes {
		if _, err := t.node(name); err != nil {
			return err
		}
	}
	for _, id := range pods {
		if !t.placed(id) {
			return fmt.Errorf("there is no pod %s on a node", id)
		}
	}
	return nil
}

func (t *Trial) addPending(words []string) ([]string, error) {
	p, rest, err := t.pod(words, "queued", "attempts")
	if err != nil {
		return nil, err
	}
	entry := Pending{Pod: p}
	for field, value := range rest {
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		if field == "queued" {
			entry.Queued = int64(n) * int64(time.Second)
		} else {
			entry.Attempts = uint32(n)
		}
	}
	t.Pending = append(t.Pending, entry)
	return nil, nil
}

func (t *Trial) addNominated(words []string) ([]string, error) {
	p, _, err := t.pod(words)
	if err != nil {
		return nil, err
	}
	name := p.NodeName
	p.NodeName = ""
	_, err = t.node(name)
	t.Nominated = append(t.Nominated, Nominated{Pod: p, Node: name})
	return nil, err
}

func (t *Trial) addPublished(words []string) ([]string, error) {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if !slices.Contains(t.manifest.Reads["published"], key) {
			return nil, fmt.Errorf("the manifest's reads.published does not list %s", key)
		}
		if t.Published == nil {
			t.Published = map[string]string{}
		}
		t.Published[key] = unquote(value)
	}
	return nil, nil
}

func (t *Trial) remove(words []string) ([]string, error) {
	for _, word := range words {
		if err := t.Delete(word); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// about parses the pod of a line: in full, or by its name if it is pending.
func (t *Trial) about(words []string, others ...string) (Pod, map[string]string, error) {
	p, rest, err := t.pod(words, others...)
	if err != nil {
		return p, nil, err
	}
	if reflect.DeepEqual(p, Pod{Namespace: p.Namespace, Name: p.Name}) {
		for i := range t.Pending {
			if t.Pending[i].id() == p.id() {
				return t.Pending[i].Pod, rest, nil
			}
		}
	}
	return p, rest, nil
}

func (t *Trial) tryLine(words []string) ([]string, error) {
	t.tb.Helper()
	p, rest, err := t.about(words, "without", "rejected")
	without, rejected := list(rest["without"]), list(rest["rejected"])
	if err == nil {
		err = t.there(rejected, without)
	}
	if err != nil {
		return nil, err
	}
	if held := t.held(); held != nil {
		return held, nil
	}
	verdicts, after := t.tried(&p, without, rejected)
	lines := []string{}
	for _, v := range verdicts {
		lines = append(lines, v.String())
	}
	return append(lines, after...), nil
}

// held says for which required feed a host holds back all pods, as none of its values is fresh; nil if there is none (ABI-4.18).
func (t *Trial) held() []string {
	for _, feed := range t.manifest.Manifest.Reads.RequiredFeeds {
		fresh := func(n Node) bool {
			_, has := n.Feeds[feed]
			return has && !slices.Contains(n.Stale, feed)
		}
		if !slices.ContainsFunc(t.Nodes, fresh) {
			return []string{"held back: no node has a fresh value of the required feed " + feed}
		}
	}
	return nil
}

func (t *Trial) preEnqueueLine([]string) ([]string, error) {
	t.tb.Helper()
	if held := t.held(); held != nil {
		return held, nil
	}
	lines := []string{}
	for _, v := range t.PreEnqueue() {
		lines = append(lines, v.short())
	}
	return lines, nil
}

func (t *Trial) orderLine([]string) ([]string, error) {
	t.tb.Helper()
	lines := []string{}
	for _, p := range t.Order() {
		lines = append(lines, p.id())
	}
	return lines, nil
}

func (t *Trial) scheduleLine(words []string) ([]string, error) {
	t.tb.Helper()
	p, rest, err := t.about(words, "on", "rejected", "fails")
	rejected := list(rest["rejected"])
	if err == nil {
		err = t.there(append(list(rest["on"]), rejected...), nil)
	}
	if err != nil {
		return nil, err
	}
	if fails := rest["fails"]; fails != "" && !slices.Contains([]string{"reserve", "permit", "pre_bind", "bind"}, fails) {
		return nil, fmt.Errorf("a pod cannot be rejected at %s", fails)
	}
	if held := t.held(); held != nil {
		return held, nil
	}
	return t.Schedule(p, Schedule{On: rest["on"], Rejected: rejected, Fails: rest["fails"]}), nil
}

func (t *Trial) timeOutLine(words []string) ([]string, error) {
	t.tb.Helper()
	if len(words) != 1 {
		return nil, fmt.Errorf("timeout needs namespace/name")
	}
	return t.TimeOut(words[0]), nil
}

func (t *Trial) hinted(e Event) []string {
	t.tb.Helper()
	lines := []string{}
	for i, r := range t.Hint(e) {
		lines = append(lines, t.Pending[i].id()+" "+hintName(r))
	}
	return lines
}
