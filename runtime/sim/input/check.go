package input

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// checker finds what an API server would refuse in one object, as far as it affects scheduling.
// It looks up line numbers only for mistakes.
type checker struct {
	place place
	node  *yaml.Node // may be nil
	errs  []*Error
}

func (c *checker) bad(path, detail, fix string) {
	if c.node == nil {
		c.node = c.place.node()
	}
	c.errs = append(c.errs, c.place.at(c.node, path, detail, fix))
}

// oneOf refuses a value that is not among the allowed ones.
func (c *checker) oneOf(path, value string, allowed ...string) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	fix := "write " + allowed[0]
	if len(allowed) > 1 {
		fix = "write one of " + strings.Join(allowed, ", ")
	}
	c.bad(path, fmt.Sprintf("%q is not allowed", value), fix)
	return false
}

// meta checks name, namespace, labels and annotations.
func (c *checker) meta(m *metav1.ObjectMeta, kind string) {
	if m.Name == "" {
		c.bad("metadata.name", "the name is missing", "write one")
	} else {
		c.name("metadata.name", m.Name, kind)
	}
	switch {
	case namespaced(kind):
		if msgs := validation.IsDNS1123Label(m.Namespace); len(msgs) > 0 {
			c.bad("metadata.namespace", fmt.Sprintf("%q is not a valid namespace: %s", m.Namespace, msgs[0]), "use lower-case letters, digits and '-', at most 63")
		}
	case m.Namespace != "":
		c.bad("metadata.namespace", "a "+kind+" has no namespace", "remove it")
	}
	c.labels("metadata.labels", m.Labels)
	var wrong []string
	for key := range m.Annotations {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			wrong = append(wrong, key)
		}
	}
	slices.Sort(wrong)
	for _, key := range wrong {
		c.key("metadata.annotations["+key+"]", strings.ToLower(key))
	}
}

func (c *checker) name(path, name, kind string) {
	valid, fix := validation.IsDNS1123Subdomain, "use lower-case letters, digits, '-' and '.', at most 253"
	switch kind {
	case "Namespace":
		valid, fix = validation.IsDNS1123Label, "use lower-case letters, digits and '-', at most 63"
	case "Service":
		valid, fix = validation.IsDNS1123Label, "use lower-case letters, digits and '-', at most 63"
	}
	if msgs := valid(name); len(msgs) > 0 {
		c.bad(path, fmt.Sprintf("%q is not a valid name", name), fix)
	}
}

func (c *checker) labels(path string, labels map[string]string) {
	var wrong []string // sorted only if there is something to report
	for key, value := range labels {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			wrong = append(wrong, key)
		}
	}
	slices.Sort(wrong)
	for _, key := range wrong {
		if at := path + "[" + key + "]"; c.key(at, key) {
			c.labelValue(at, labels[key])
		}
	}
}

// key refuses an invalid key of a label, taint, toleration or topology.
func (c *checker) key(path, key string) bool {
	msgs := validation.IsQualifiedName(key)
	if len(msgs) > 0 {
		c.bad(path, fmt.Sprintf("%q is not a valid key", key), "write [domain/]name of letters, digits, '-', '_' and '.', the name at most 63")
	}
	return len(msgs) == 0
}

// labelValue refuses an invalid label value.
func (c *checker) labelValue(path, value string) {
	if len(validation.IsValidLabelValue(value)) > 0 {
		c.bad(path, fmt.Sprintf("%q is not a valid label value", value), "use letters, digits, '-', '_' and '.', at most 63, letters or digits at both ends")
	}
}

// selector checks a label selector, which may be nil. The API server keeps invalid values of expressions that an older
// one took; such a selector cannot be compiled, and the plugin that needs it says so.
func (c *checker) selector(path string, s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	c.labels(path+".matchLabels", s.MatchLabels)
	for i, r := range s.MatchExpressions {
		at := fmt.Sprintf("%s.matchExpressions[%d]", path, i)
		c.key(at+".key", r.Key)
		if !c.oneOf(at+".operator", string(r.Operator), "In", "NotIn", "Exists", "DoesNotExist") {
			continue
		}
		c.valueCount(at, string(r.Operator), r.Values)
	}
}

// valueCount checks the number of values of an operator.
func (c *checker) valueCount(at, operator string, values []string) {
	switch operator {
	case "In", "NotIn":
		if len(values) == 0 {
			c.bad(at+".values", operator+" needs a value", "write at least one")
		}
	case "Exists", "DoesNotExist":
		if len(values) > 0 {
			c.bad(at+".values", operator+" takes no values", "remove them")
		}
	}
}
