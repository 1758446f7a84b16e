//go:build wasip1

// Command guest is a Go guest for tests and benchmarks of the rewriter: work that
// a plugin does, without the ABI.
package main

import (
	"fmt"
	"slices"
	"strings"
)

func main() {}

type node struct {
	cpu, memory int64
	labels      []pair
}

type pair struct{ key, value uint32 }

var (
	nodes []node
	codes []byte
	names = map[string]int{}
)

// fill makes n nodes.
//
//go:wasmexport fill
func fill(n int32) int32 {
	nodes, codes = make([]node, n), make([]byte, n)
	for i := range nodes {
		nodes[i] = node{cpu: int64(i*7919%33) * 1000, memory: int64(i*104729%130) << 30}
		for j := range uint32(8) {
			nodes[i].labels = append(nodes[i].labels, pair{j*3 + 1, uint32(i*31+int(j)) % 17})
		}
	}
	return int32(len(nodes))
}

func (n *node) label(key uint32) uint32 {
	i, found := slices.BinarySearchFunc(n.labels, key, func(p pair, key uint32) int { return int(p.key) - int(key) })
	if !found {
		return 0
	}
	return n.labels[i].value
}

// scan filters all nodes for a pod and returns how many fit.
//
//go:wasmexport scan
func scan(cpu, memory int64) int32 {
	fit := int32(0)
	for i := range nodes {
		n := &nodes[i]
		code := byte(0)
		switch {
		case n.cpu < cpu:
			code = 1
		case n.memory < memory:
			code = 2
		case n.label(4) == 3, n.label(13) > 14:
			code = 3
		}
		if codes[i] = code; code == 0 {
			fit++
		}
	}
	return fit
}

// text formats, splits and counts words, and so allocates.
//
//go:wasmexport text
func text(n int32) int32 {
	clear(names)
	for i := range n {
		for _, word := range strings.Fields(fmt.Sprintf("pod-%d of node-%d", i, i%17)) {
			names[word]++
		}
	}
	return int32(len(names))
}

// fib calls itself.
//
//go:wasmexport fib
func fib(n int32) int32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

// spin never ends.
//
//go:wasmexport spin
func spin() {
	for i := 0; ; i++ {
		if len(codes) > 0 {
			codes[i%len(codes)]++
		}
	}
}
