package conformance_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode"

	"github.com/berth-scheduler/berth/abi"
)

// imports returns the host functions (ABI-7) and the stubs of WASI (ABI-1.4).
func (i *instance) imports() map[string]hostFunc {
	wasi := func(n uint64) []uint64 { return []uint64{n} }
	return map[string]hostFunc{
		"berth.log":                                i.log,
		"berth.state_get":                          i.stateGet,
		"berth.state_set":                          i.stateSet,
		"berth.published_get":                      i.object(func(n uint32) ([]byte, bool) { return i.env.published(n) }),
		"berth.pod_object":                         i.object(func(n uint32) ([]byte, bool) { return i.env.whole(true, n) }),
		"berth.node_object":                        i.object(func(n uint32) ([]byte, bool) { return i.env.whole(false, n) }),
		"wasi_snapshot_preview1.fd_write":          i.write,
		"wasi_snapshot_preview1.proc_exit":         func(*engineInstance, []uint64) []uint64 { panic(errors.New("proc_exit")) },
		"wasi_snapshot_preview1.args_sizes_get":    func(vm *engineInstance, a []uint64) []uint64 { zero(vm, a); return wasi(0) },
		"wasi_snapshot_preview1.environ_sizes_get": func(vm *engineInstance, a []uint64) []uint64 { zero(vm, a); return wasi(0) },
		"wasi_snapshot_preview1.clock_time_get": func(vm *engineInstance, a []uint64) []uint64 {
			if i.clock++; i.pl.h.wrong("the clock stands still") {
				i.clock = 1
			}
			binary.LittleEndian.PutUint64(vm.Read(a[2], 8), i.clock)
			return wasi(0)
		},
		"wasi_snapshot_preview1.random_get": func(vm *engineInstance, a []uint64) []uint64 {
			for k := range vm.Read(a[0], a[1]) {
				i.random = i.random*6364136223846793005 + 1442695040888963407
				vm.Read(a[0], a[1])[k] = byte(i.random >> 56)
			}
			return wasi(0)
		},
	}
}

func zero(vm *engineInstance, a []uint64) {
	for _, at := range a {
		clear(vm.Read(at, 4))
	}
}

func minusOne() []uint64 { return []uint64{0xffffffff} }

func (i *instance) log(vm *engineInstance, a []uint64) []uint64 {
	if i.pl.h.wrong("texts beyond the memory are empty") && a[1]+a[2] > uint64(len(vm.Memory())) {
		return nil
	}
	text := string(vm.Read(a[1], a[2]))
	if !i.pl.h.wrong("does not cut texts of the log") {
		text = text[:min(len(text), abi.MaxLogText)]
	}
	i.env.output.WriteString(text + "\n")
	if i.env.output.Len() > 4096 {
		i.env.output = *bytes.NewBuffer(i.env.output.Bytes()[i.env.output.Len()-4096:])
	}
	if i.env.r != nil && !i.pl.h.wrong("swallows the log") {
		i.pl.Log(int(int32(a[0])), text)
	}
	return nil
}

// write is fd_write for stdout and stderr.
func (i *instance) write(vm *engineInstance, a []uint64) []uint64 {
	n := uint64(0)
	for k := range a[2] {
		entry := vm.Read(a[1]+8*k, 8)
		text := vm.Read(uint64(binary.LittleEndian.Uint32(entry)), uint64(binary.LittleEndian.Uint32(entry[4:])))
		i.env.output.Write(text)
		n += uint64(len(text))
	}
	binary.LittleEndian.PutUint32(vm.Read(a[3], 4), uint32(n))
	return []uint64{0}
}

func (i *instance) stateGet(vm *engineInstance, a []uint64) []uint64 {
	key, buffer := vm.Read(a[0], a[1]), vm.Read(a[2], a[3])
	value, ok := i.env.get(string(key))
	if !ok {
		return minusOne()
	}
	if len(value) <= len(buffer) || i.pl.h.wrong("copies values that do not fit") {
		copy(buffer, value)
	}
	return []uint64{uint64(len(value))}
}

func (i *instance) stateSet(vm *engineInstance, a []uint64) []uint64 {
	key, value := string(vm.Read(a[0], a[1])), vm.Read(a[2], a[3])
	if !i.env.writable() || !i.env.r.state.set(i.pl.h, key, value) {
		return minusOne()
	}
	return []uint64{0}
}

// object returns a host function that copies bytes by an index.
func (i *instance) object(get func(n uint32) ([]byte, bool)) hostFunc {
	return func(vm *engineInstance, a []uint64) []uint64 {
		buffer := vm.Read(a[1], a[2])
		data, ok := get(uint32(a[0]))
		if !ok {
			return minusOne()
		}
		if i.pl.h.wrong("objects lose their last byte") {
			data = data[:len(data)-1]
		}
		if len(data) <= len(buffer) {
			copy(buffer, data)
		}
		return []uint64{uint64(len(data))}
	}
}

// answers reports whether a point may return a code (ABI-5).
func answers(point abi.Point, code abi.Code) bool {
	switch code {
	case abi.Success, abi.Error:
		return true
	case abi.Skip:
		return point == abi.PreFilter || point == abi.PreScore || point == abi.Bind
	case abi.Unschedulable, abi.UnschedulableAndUnresolvable:
		return point == abi.PreFilter || point == abi.PostFilter || point == abi.Reserve || point == abi.Permit || point == abi.PreBind || point == abi.Bind
	case abi.Pending:
		return point == abi.Reserve || point == abi.Permit || point == abi.PreBind || point == abi.Bind
	case abi.Wait:
		return point == abi.Permit
	}
	return false
}

// rowAnswers reports whether a row or a pod may have a code (ABI-5.5, 5.9, 5.12).
func rowAnswers(point abi.Point, code abi.Code) bool {
	switch code {
	case abi.Success, abi.Error:
		return true
	case abi.Skip:
		return point == abi.Hint
	case abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Pending:
		return point != abi.Hint
	}
	return false
}

// printable replaces unprintable characters (ABI-3.8).
func printable(h *reference, texts []string) []string {
	if h.wrong("passes on what cannot be printed") {
		return texts
	}
	var out []string
	for _, text := range texts {
		out = append(out, strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '\ufffd'
			}
			return r
		}, text))
	}
	return out
}
