package berthtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/internal/region"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/nearest"
)

// split splits at a separator outside double quotes, and drops empty parts.
func split(s string, separator byte) []string {
	var all []string
	from, quoted := 0, false
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] == '"' {
			quoted = !quoted
		}
		if i == len(s) || s[i] == separator && !quoted {
			if i > from {
				all = append(all, s[from:i])
			}
			from = i + 1
		}
	}
	return all
}

// list returns the comma-separated elements of a value.
func list(value string) []string {
	all := split(value, ',')
	for i := range all {
		all[i] = unquote(all[i])
	}
	return all
}

func unquote(s string) string { return strings.ReplaceAll(s, `"`, "") }

// containers parses "name kind image resource:request/limit …", a container after another.
func containers(value string) (out []Container, err error) {
	for _, text := range strings.Split(unquote(value), ",") {
		words := strings.Fields(text)
		if len(words) < 3 {
			return nil, fmt.Errorf("%q: want name, kind and image", text)
		}
		if err := oneOf(words[1], "app", "init", "sidecar"); err != nil {
			return nil, err
		}
		c := Container{Name: words[0], Kind: words[1], Image: words[2], Requests: map[string]int64{}, Limits: map[string]int64{}}
		for _, word := range words[3:] {
			at := strings.LastIndexByte(word, ':')
			if at < 0 {
				return nil, fmt.Errorf("%q: want resource:request/limit", word)
			}
			request, limit, _ := strings.Cut(word[at+1:], "/")
			for of, amount := range map[*map[string]int64]string{&c.Requests: request, &c.Limits: limit} {
				if amount != "" {
					if (*of)[word[:at]], err = number(amount, 64); err != nil {
						return nil, err
					}
				}
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// keyValues parses key:value; the value may be left out.
func keyValues(value string) (map[string]string, error) {
	m := map[string]string{}
	for _, e := range list(value) {
		k, v, ok := strings.Cut(e, ":")
		if !ok && strings.Contains(e, "=") {
			return nil, fmt.Errorf("%s: want key:value", e)
		}
		m[k] = v
	}
	return m, nil
}

func effects() []string { return []string{"NoSchedule", "PreferNoSchedule", "NoExecute"} }

// oneOf refuses a word that is none of the known ones.
func oneOf(word string, known ...string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return fmt.Errorf("%q is none of %s", word, strings.Join(known, ", "))
}

// amounts parses key:number; the number is after the last colon.
func amounts(value string) (map[string]int64, error) {
	m := map[string]int64{}
	for _, e := range list(value) {
		i := strings.LastIndexByte(e, ':')
		if i < 0 {
			return nil, fmt.Errorf("%s: want key:number", e)
		}
		n, err := number(e[i+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: write milli-CPU, bytes or a count, such as cpu:500 or memory:1073741824", e[:i], err)
		}
		m[e[:i]] = n
	}
	return m, nil
}

// feeds parses name:unit:value,….
func feeds(value string) (map[string]int64, error) {
	m, err := amounts(value)
	for name := range m {
		if !strings.Contains(name, ":") {
			err = errors.Join(err, fmt.Errorf("%s: want the feed with its unit, such as node.cpu.usage:milli:250", name))
		}
	}
	return m, err
}

// Values are those of a column of objects: numbers, or texts of which nil is none.
type Values = region.Values

// values parses JSON: an object with a list of numbers, or of strings and null, for each column.
func values(text string) (map[string]Values, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("want JSON, such as {\"zones.status.zones[*].free:quantity\":[1000,2000]}: %w", err)
	}
	out := make(map[string]Values, len(all))
	for column, list := range all {
		var v Values
		into := any(&v.Numbers)
		if strings.HasSuffix(column, ":"+wire.ObjectString) {
			into = &v.Texts
		}
		_, err := wire.ParseObjectColumn(column)
		if err == nil {
			err = json.Unmarshal(list, into)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", column, err)
		}
		out[column] = v
	}
	return out, nil
}

// number parses a whole number of at most the given bits.
func number(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of %d bits", text, bits)
	}
	return n, nil
}

// unknown is the error for a name that is none of the known ones.
func unknown(what, name string, known ...string) error {
	slices.Sort(known)
	return fmt.Errorf("unknown %s: %s; %s", what, name, nearest.DidYouMean(name, known))
}

// preferred parses preferred affinity: as terms, with the weight before each term.
func preferred(value string) ([]Preferred, error) {
	var out []Preferred
	for _, term := range strings.Split(value, " or ") {
		weight, rest, _ := strings.Cut(term, " ")
		n, err := strconv.ParseInt(weight, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: want a weight before the term", term)
		}
		all, err := terms(rest)
		if err != nil {
			return nil, err
		}
		out = append(out, Preferred{Weight: int32(n), Requirements: all[0]})
	}
	return out, nil
}

// terms parses required affinity: terms separated by `or`, of requirements separated by `and`,
// each a key, an operator and its values.
func terms(value string) ([][]Requirement, error) {
	var out [][]Requirement
	for _, term := range strings.Split(value, " or ") {
		var all []Requirement
		for _, one := range strings.Split(term, " and ") {
			words := strings.Fields(one)
			if len(words) < 2 || !slices.Contains([]string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}, words[1]) {
				return nil, fmt.Errorf("%s: want a key, an operator such as In, and values", one)
			}
			if bounded := words[1] == "Gt" || words[1] == "Lt"; bounded && len(words) != 3 {
				return nil, fmt.Errorf("%s: want one number", one)
			}
			all = append(all, Requirement{Key: words[0], Operator: words[1], Values: words[2:]})
		}
		out = append(out, all)
	}
	return out, nil
}
