package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// fromConfig is the field of an element of a list of reads that says where the configuration has more names.
const fromConfig = "fromConfig"

// maxPointer is the maximum size of a JSON pointer in a manifest, in bytes.
const maxPointer = 256

// maxConfigDepth is how deeply a configuration may nest (ABI-10).
const maxConfigDepth = 100

// brings reports whether a list of reads may have names of the configuration.
func brings(list string) bool {
	return slices.ContainsFunc(fields.Lists(), func(l fields.List) bool { return l.Name == list && l.FromConfig })
}

// ConfigError is one mistake in the names that a configuration brings.
type ConfigError struct {
	// Pointer is the place in the configuration, as a JSON pointer (RFC 6901); empty for the whole.
	Pointer string
	// Detail says what is wrong, and Fix what to do.
	Detail, Fix string
	// Rule is the sentence of SPEC.md.
	Rule string
}

// Error returns "/keys/1: detail; fix (rule)".
func (e *ConfigError) Error() string {
	out := e.Detail + "; " + e.Fix + " (" + e.Rule + ")"
	if e.Pointer != "" {
		out = quotedPointer(e.Pointer) + ": " + out
	}
	return out
}

// quotedPointer returns a pointer as it is, unless it would disturb a message.
func quotedPointer(pointer string) string {
	if isPointer(pointer) && !strings.ContainsAny(pointer, " \"") {
		return pointer
	}
	return quoted(pointer)
}

// BroughtName is a name that a configuration brings to a list of reads.
type BroughtName struct {
	// List is the list of reads.
	List string
	// Pointer is the name's place in the configuration, as a JSON pointer (RFC 6901).
	Pointer string
	Name    string
}

// Brought returns the names that a configuration brings beside those of the manifest, by list and in their order (ABI-9.15).
//
// # Errors
//
// Those of Resolve.
func (m *Manifest) Brought(config []byte) ([]BroughtName, error) {
	_, brought, err := m.resolve(config)
	return brought, err
}

// Resolve returns the manifest with the names that a configuration in JSON brings to its reads: they follow those of the manifest in
// the order of the configuration, without those that are there already (ABI-9.15). A manifest without such names is returned as it
// is. The manifest is valid.
//
// # Errors
//
// The configuration is not JSON, or the first 32 mistakes in the names, joined, and how many more there are. Each is a *ConfigError,
// or a *ManifestError if a list is empty without which another has no meaning.
func (m *Manifest) Resolve(config []byte) (*Manifest, error) {
	resolved, _, err := m.resolve(config)
	return resolved, err
}

func (m *Manifest) resolve(config []byte) (*Manifest, []BroughtName, error) {
	if len(m.Reads.FromConfig) == 0 {
		return m, nil, nil
	}
	if len(config) == 0 {
		config = []byte("{}")
	}
	root := readJSON(config, maxConfigDepth, &manifestErrors{})
	if root == nil {
		return nil, nil, &ConfigError{Detail: "the configuration is not JSON", Fix: "write JSON", Rule: "ABI-2.3"}
	}
	out := *m
	out.Reads.FromConfig = nil
	var r configReader
	for _, l := range out.Reads.lists() {
		r.list, r.names = l.name, slices.Clone(*l.value)
		for _, pointer := range m.Reads.FromConfig[l.name] {
			r.at(root, pointer)
		}
		*l.value = r.names
	}
	if err := r.join(func(*ConfigError, *ConfigError) int { return 0 }); err != nil {
		return nil, nil, err
	}
	var errs manifestErrors
	manifestValidator{&errs}.reads(&out.Reads) // a list that others need may be empty now
	if err := errs.err(); err != nil {
		return nil, nil, err
	}
	return &out, r.brought, nil
}

// configReader reads names of a configuration.
type configReader struct {
	list    string   // of reads
	names   []string // of it, so far
	brought []BroughtName
	mistakes[*ConfigError]
}

func (r *configReader) add(pointer, detail, fix, rule string) {
	r.keep(&ConfigError{Pointer: pointer, Detail: detail, Fix: fix, Rule: rule})
}

// at reads the names at a pointer.
func (r *configReader) at(n *jsonNode, pointer string) {
	const rule = "ABI-9.15"
	at := ""
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if n.kind == jsonNull {
			return
		}
		if n.kind != jsonObject {
			r.add(at, "expected an object, in which reads."+r.list+" has names", "write an object, or leave it out", rule)
			return
		}
		at += "/" + token
		i := slices.Index(n.names, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if i < 0 {
			return
		}
		n = n.items[i]
	}
	switch n.kind {
	case jsonNull:
	case jsonString:
		r.name(at, n.text)
	case jsonArray:
		for i, item := range n.items {
			if item.kind != jsonString {
				r.add(at+"/"+strconv.Itoa(i), "expected a string, a name for reads."+r.list, "write a name", rule)
				continue
			}
			r.name(at+"/"+strconv.Itoa(i), item.text)
		}
	default:
		r.add(at, "expected a string or a list of strings, names for reads."+r.list, "write names, or leave it out", rule)
	}
}

// name adds a name, unless it is there already.
func (r *configReader) name(at, name string) {
	ok, fix := formOf(r.list)
	switch {
	case !ok(name):
		r.add(at, quoted(name)+" is not well formed for reads."+r.list, fix, "ABI-9.15")
	case slices.Contains(r.names, name):
	case len(r.names) == abi.MaxReads:
		r.add(at, "reads."+r.list+" would have more than "+strconv.Itoa(abi.MaxReads)+" names", "name fewer", "ABI-10")
	default:
		r.names, r.brought = append(r.names, name), append(r.brought, BroughtName{List: r.list, Pointer: at, Name: name})
	}
}

// formOf returns whether a name has the form of a list's, and what to write.
func formOf(list string) (ok func(string) bool, fix string) {
	switch list {
	case "resources":
		return isQualified, "write a resource as in a pod's requests, such as cpu or example.com/gpu"
	case "feeds":
		return isFeed, "write a feed and its unit, such as node.cpu.usage:milli"
	}
	return isQualified, "write a key as in metadata, such as example.com/pool"
}

// isPointer reports whether s is a JSON pointer (RFC 6901) below the whole value, of printable characters.
func isPointer(s string) bool {
	plain := strings.NewReplacer("~0", "", "~1", "").Replace(s)
	return strings.HasPrefix(s, "/") && len(s) <= maxPointer && !strings.Contains(plain, "~") &&
		!strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// fromConfig checks where the configuration has names.
func (v manifestValidator) fromConfig(m *Manifest) {
	const rule = "ABI-9.15"
	for _, l := range m.Reads.lists() {
		pointers := m.Reads.FromConfig[l.name]
		for i, pointer := range pointers {
			path := index("reads."+l.name, len(*l.value)+i)
			if !isPointer(pointer) {
				v.add(path+"."+fromConfig, quoted(pointer)+" is not well formed", "write a JSON pointer such as /keys or /rules/keys", rule)
			}
			if slices.Contains(pointers[:i], pointer) {
				v.add(path, quoted(pointer)+" is there already", "remove it", rule)
			}
		}
		switch {
		case len(pointers) > 0 && !brings(l.name):
			v.add("reads."+l.name, "its names cannot be of the configuration", "write them here", rule)
		case len(pointers) > 0 && len(m.Config) == 0:
			v.add("config", "it is missing, but reads."+l.name+" has names of the configuration", "add the configuration's schema", rule)
		}
		if len(pointers) > 0 && len(*l.value)+len(pointers) > abi.MaxReads {
			v.add("reads."+l.name, "more than "+strconv.Itoa(abi.MaxReads)+" elements", "read less", "ABI-10")
		}
	}
}
