package meter_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

func count0(a *asm) {
	a.opN(0x23, 0)
	a.i64(1)
	a.op(0x7c)
	a.opN(0x24, 0)
}

// shapes: n, l (locals)
func bombs(name string, n, l int) []byte {
	a := &asm{}
	locals := make([]byte, l)
	for i := range locals {
		locals[i] = tI64
	}
	use := func() {
		for i := range l {
			a.opN(0x20, i)
			a.opN(0x24, 0)
		}
	}
	setAll := func() {
		for i := range l {
			a.opN(0x23, 0)
			a.opN(0x21, i)
		}
	}
	m := &mod{globals: []byte{tI64}, exports: map[string]int{"run": 0}}
	switch name {
	case "seqblocks":
		for range n {
			a.op(0x02, empty)
			count0(a)
			a.opN(0x23, 0)
			a.op(0xa7)
			a.opN(0x0d, 0)
			count0(a)
			a.op(0x0b)
		}
		use()
	case "brifs":
		a.op(0x02, empty)
		for range n {
			a.i32(1)
			a.opN(0x0d, 0)
		}
		a.op(0x0b)
		use()
	case "brifsback":
		a.op(0x03, empty)
		for range n {
			a.i32(0)
			a.opN(0x0d, 0)
		}
		a.op(0x0b)
		use()
	case "brifssets":
		a.op(0x02, empty)
		for i := range n {
			if l > 0 {
				a.opN(0x23, 0)
				a.opN(0x21, i%l)
			}
			a.i32(1)
			a.opN(0x0d, 0)
		}
		a.op(0x0b)
		use()
	case "seqempty":
		for range n {
			a.op(0x02, empty)
			a.i32(1)
			a.opN(0x0d, 0)
			a.op(0x0b)
		}
		use()
	case "seqifset":
		for i := range n {
			a.i32(1)
			a.op(0x04, empty)
			if l > 0 {
				a.opN(0x23, 0)
				a.opN(0x21, i%l)
			}
			a.op(0x0b)
		}
		use()
	case "nestblocks":
		for range n {
			a.op(0x02, empty)
		}
		a.i32(1)
		a.opN(0x0d, n-1)
		for range n {
			a.op(0x0b)
		}
		use()
	case "nestifs":
		for range n {
			a.i32(1)
			a.op(0x04, empty)
		}
		setAll()
		for range n {
			a.op(0x0b)
		}
		use()
	case "nestifscount":
		for range n {
			count0(a)
			a.i32(1)
			a.op(0x04, empty)
		}
		for range n {
			a.op(0x0b)
		}
	case "seqloops":
		for range n {
			a.op(0x03, empty)
			a.i32(0)
			a.opN(0x0d, 0)
			a.op(0x0b)
		}
		use()
	case "nestloops":
		for range n {
			a.op(0x03, empty)
		}
		setAll()
		for range n {
			a.i32(0)
			a.opN(0x0d, 0)
			a.op(0x0b)
		}
		use()
	case "brtable":
		a.op(0x02, empty)
		a.i32(1)
		a.opN(0x0e, n)
		for range n + 1 {
			a.u32(0)
		}
		a.op(0x0b)
	case "brtables":
		for range 100 {
			a.op(0x02, empty)
			a.i32(1)
			a.opN(0x0e, n/100)
			for range n/100 + 1 {
				a.u32(0)
			}
			a.op(0x0b)
		}
	case "straight":
		for range n {
			count0(a)
		}
	case "calls":
		for range n {
			a.opN(0x10, 0)
		}
	case "locals":
		for range n {
			a.opN(0x23, 0)
		}
		for range n {
			a.opN(0x24, 0)
		}
	case "localscalls":
		for range n {
			a.opN(0x23, 0)
		}
		for range l {
			a.opN(0x10, 0)
		}
		for range n {
			a.opN(0x24, 0)
		}
		locals = nil
	case "callparams":
		m.types = nil
		p := make([]byte, l)
		for i := range p {
			p[i] = tI64
		}
		b := &asm{}
		for range n {
			for range l {
				b.opN(0x23, 0)
			}
			b.opN(0x10, 0)
		}
		m.funcs = append(m.funcs, fn{sig: sig{params: p}, body: nil})
		m.funcs = append(m.funcs, fn{body: b.b})
		return m.bytes()
	case "selects":
		a.opN(0x23, 0)
		for range n {
			a.opN(0x23, 0)
			a.i32(1)
			a.op(0x1b)
		}
		a.opN(0x24, 0)
	}
	m.funcs = append(m.funcs, fn{locals: locals, body: a.b})
	return m.bytes()
}

func TestBombs(t *testing.T) {
	big := meter.Limits{Module: 64 << 20, Body: 60 << 20, Locals: 1 << 20, Nesting: 1 << 30, Merges: 1 << 40, Moves: 1 << 40, Blocks: 1 << 40, Targets: 1 << 30, AllTargets: 1 << 30, Reloads: 1 << 50, Operands: 1 << 30, Values: 1000}
	for _, spec := range strings.Fields(os.Getenv("BOMBS")) {
		f := strings.Split(spec, ":")
		n, _ := strconv.Atoi(f[1])
		l, _ := strconv.Atoi(f[2])
		data := bombs(f[0], n, l)
		t0 := time.Now()
		out, _, err := meter.Rewrite(data, meter.Config{Limits: map[bool]meter.Limits{true: big}[os.Getenv("BIG") != ""]})
		tr := time.Since(t0)
		if err != nil {
			fmt.Println(spec, err)
			continue
		}
		var times []time.Duration
		var mem []uint64
		for _, m := range [][]byte{data, out} {
			h := newHost(t, compiler)
			var a, b runtime.MemStats
			runtime.ReadMemStats(&a)
			cpu := func() time.Duration {
				var r syscall.Rusage
				syscall.Getrusage(syscall.RUSAGE_SELF, &r)
				return time.Duration(r.Utime.Nano() + r.Stime.Nano())
			}
			t0 := cpu()
			_, err = h.runtime.CompileModule(context.Background(), m)
			times = append(times, cpu()-t0)
			runtime.ReadMemStats(&b)
			mem = append(mem, (b.TotalAlloc-a.TotalAlloc)>>20)
			if err != nil {
				fmt.Println(err)
			}
		}
		fmt.Printf("%-24s %8d bytes rewrite %v compile %v MB %v\n", spec, len(data), tr.Round(time.Millisecond), times, mem)
	}
}
