package strictyaml

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// scalar writes a scalar as kubectl reads it: YAML 1.1 words for booleans,
// timestamps as text, numbers as numbers.
func (c *converter) scalar(n *yaml.Node) error {
	v := n.Value
	switch n.ShortTag() {
	case "!!str":
		if b, ok := oldBool(v); ok && n.Style == 0 {
			c.out = strconv.AppendBool(c.out, b)
			return nil
		}
	case "!!null":
		c.out = append(c.out, "null"...)
		return nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return &NodeError{n, fmt.Sprintf("%q is not a boolean", v), "write true or false"}
		}
		c.out = strconv.AppendBool(c.out, b)
		return nil
	case "!!int", "!!float":
		return c.number(n)
	}
	c.out = appendString(c.out, v)
	return nil
}

func (c *converter) number(n *yaml.Node) error {
	var v any
	if err := n.Decode(&v); err != nil {
		return &NodeError{n, fmt.Sprintf("%q is not a number", n.Value), "quote it if it is text"}
	}
	switch v := v.(type) {
	case int:
		c.out = strconv.AppendInt(c.out, int64(v), 10)
	case int64:
		c.out = strconv.AppendInt(c.out, v, 10)
	case uint64:
		c.out = strconv.AppendUint(c.out, v, 10)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return &NodeError{n, n.Value + " has no JSON form", "write a finite number"}
		}
		c.out = strconv.AppendFloat(c.out, v, 'g', -1, 64)
	default:
		c.out = appendString(c.out, n.Value)
	}
	return nil
}

// oldBool are the words that YAML 1.1, and so kubectl, reads as booleans.
func oldBool(s string) (value, ok bool) {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if b := s[i]; b < 0x20 || b >= 0x7f || b == '"' || b == '\\' {
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return append(out, quoted...)
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}
