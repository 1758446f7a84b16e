package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestParse: one document, and empty ones after it.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"": "nothing", "# comment": "nothing", "---\n": "nothing", "~": "nothing",
		"a: 1": "line 1", "---\na: 1\n---\n# end\n": "line 2", "{\"a\": 1}": "line 1",
		"a: 1\n---\nb: 2": "line 2: a second document begins", "{a: 1}\n{b: 2}": "yaml: line 1: did not find expected <document start>",
		"a: [": "yaml: line 1: did not find expected node content",
	} {
		got := "nothing"
		root, err := Parse([]byte(text))
		switch {
		case err != nil:
			got = err.Error()
		case root != nil:
			got = fmt.Sprintf("line %d", root.Line)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	var second *SecondDocument
	if _, err := Parse([]byte("a\n---\nb")); !errors.As(err, &second) || second.Line != 2 {
		t.Errorf("%v", err)
	}
}

// TestSameValues: JSON and Values read the same words, numbers and merges.
func TestSameValues(t *testing.T) {
	for _, text := range []string{
		"a: yes\nb: 'yes'\nc: On\nd: n\ne: !!str no", "a: 010\nb: 0x1F\nc: 1e3\nd: -0\ne: 1.50\nf: 18446744073709551615\ng: 1_000",
		"a: ~\nb: null\nc:\nd: ''", "a: 2001-01-01\nb: 12:30:45\nc: .5\nd: 1.", "a: |\n  two\n  lines\nb: >-\n  folded\n  text",
		"- a\n- [b, {c: d}]\n- &x {e: f}\n- *x", "base: &b {x: 1, v: 2}\nmore:\n  <<: *b\n  z: 3", `{"a": "é☃\u2028", "b": [true, false], "c": {}}`,
	} {
		root, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		fast, err := JSON(root)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		slow, err := Values([]byte(text), false)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if f, s := values(t, fast), values(t, slow); !reflect.DeepEqual(f, s) {
			t.Errorf("%s\n is %s\nand %s", text, fast, slow)
		}
	}
}

func values(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestTwice: a key that occurs twice is found with its path, and refused by JSON
// and by Values, unless that is allowed.
func TestTwice(t *testing.T) {
	text := []byte("a: 1\nb:\n- c: 2\n  d: 3\n  c: 4\na: 5\n")
	root, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	twice, more := Duplicates(root)
	for _, d := range twice {
		found = append(found, fmt.Sprintf("%v in line %d after %d", d.Path, d.Key.Line, d.First.Line))
	}
	if got, want := strings.Join(found, ", "), "[b 0 c] in line 5 after 3, [a] in line 6 after 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if more != 0 {
		t.Errorf("%d more", more)
	}
	var bad *NodeError
	if _, err := JSON(root); !errors.As(err, &bad) || bad.Node.Line != 6 {
		t.Errorf("%v", err)
	}
	if _, err := Values(text, false); err == nil {
		t.Error("the library takes keys that occur twice")
	}
	if out, err := Values(text, true); err != nil || string(out) != `{"a":5,"b":[{"c":4,"d":3}]}` {
		t.Errorf("%s, %v", out, err)
	}
}

// TestFits: aliases count as what they stand for.
func TestFits(t *testing.T) {
	root, err := Parse([]byte("a: &a [xxxxxxxx, xxxxxxxx]\nb: [*a, *a]"))
	if err != nil {
		t.Fatal(err)
	}
	if Fits(root, 40) || !Fits(root, 80) {
		t.Error("the size is wrong")
	}
}

// TestExplain: the line is the one with the mistake.
func TestExplain(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [1\nc: 2\nd: 3":     "line 2: did not find expected ',' or ']'",
		"a: 1\n\tb: 2":                "line 2: found a tab character that violates indentation",
		"{a: 1}\nb: 2":                "line 2: did not find expected <document start> (follows)",
		"k:\n- a\n  b: c\n- d\n e: f": "line 3: mapping values are not allowed in this context",
	} {
		_, err := Parse([]byte(text))
		if err == nil {
			t.Fatalf("%q is taken", text)
		}
		m := Explain([]byte(text), err)[0]
		got := fmt.Sprintf("line %d: %s", m.Line, m.Detail)
		if m.Follows {
			got += " (follows)"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	two := Explain(nil, errors.New("yaml: unmarshal errors:\n  line 2: key \"a\" already set in map\n  line 3: key \"b\" already set in map"))
	if len(two) != 2 || two[1].Line != 3 || two[1].Detail != `key "b" already set in map` {
		t.Errorf("%+v", two)
	}
}

// BenchmarkPod is a pod of 900 bytes: its tree, JSON from the tree, and JSON by the
// library, which parses it once more.
func BenchmarkPod(b *testing.B) {
	text := []byte(pod)
	root, err := Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		do   func() error
	}{
		{"Parse", func() error { _, err := Parse(text); return err }},
		{"JSON", func() error { _, err := JSON(root); return err }},
		{"Values", func() error { _, err := Values(text, false); return err }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := way.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

const pod = `apiVersion: v1
kind: Pod
metadata:
  name: web-000001
  namespace: team-1
  labels:
    app: web
    pod-template-hash: 6f7c9d
spec:
  nodeName: ""
  containers:
  - name: main
    image: registry.example.com/team/web:1.2.3
    command: ["sh", "-c", "sleep 1 && exec web"]
    resources:
      requests: {cpu: 500m, memory: 1Gi}
      limits: {memory: 2Gi}
    ports:
    - containerPort: 8080
  tolerations:
  - key: node.kubernetes.io/not-ready
    operator: Exists
    effect: NoExecute
    tolerationSeconds: 300
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector: {matchLabels: {app: web}}
status:
  phase: Pending
`
