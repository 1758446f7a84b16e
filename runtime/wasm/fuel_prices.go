package wasm

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// A call of the host costs fuel in proportion to the time that it takes at worst, and is
// priced in iterations of a plain loop (meter.Iteration): none takes longer than 32 times
// as much, which BenchmarkHostCallTime measures. What parameters tell is charged before the call, by the code of the guest
// as rewritten; what only the host function finds out it charges itself, from what
// the guest is asked for and never from the time or what a cache has, so that a call
// costs the same everywhere.

// transition is what calling any function of the host costs, besides the
// instruction.
const transition = 8

// prices returns what is charged before calls: of the ABI, and of the stubs of WASI,
// which read paths and lists before they find out that there are no files.
func prices() []meter.Price {
	const wasi = abi.WASIModule
	price := func(name string, shift uint8, iterations uint32, params ...int) meter.Price {
		p := meter.Price{Module: wasi, Name: name, Fixed: transition}
		for _, param := range params {
			p.Lengths = append(p.Lengths, meter.Length{Param: param, Shift: shift, Iterations: iterations})
		}
		return p
	}
	path := func(name string, params ...int) meter.Price { return price(name, 1, 1, params...) }
	list := func(name string) meter.Price { return price(name, 0, 8, 2) }
	return []meter.Price{
		{Module: abi.HostModule, Fixed: transition},
		{Module: wasi, Fixed: transition},
		price("random_get", 1, 1, 1),
		list("fd_read"), list("fd_pread"), list("fd_write"), list("fd_pwrite"), list("sock_recv"), list("sock_send"),
		price("poll_oneoff", 0, 16, 2),
		path("fd_readdir", 2), path("fd_prestat_dir_name", 2),
		path("path_create_directory", 2), path("path_remove_directory", 2),
		path("path_filestat_get", 3), path("path_filestat_set_times", 3),
		path("path_link", 3, 6), path("path_open", 3),
		path("path_readlink", 2, 4), path("path_rename", 2, 5),
		path("path_symlink", 1, 4), path("path_unlink_file", 2),
	}
}

// What host functions charge themselves, in iterations.

// priceOfLog is for a text of so many bytes, which the host makes printable, escapes
// and writes out.
func priceOfLog(bytes int) int64 { return 160 + 2*int64(bytes) }

// priceOfOutput is for bytes written to a standard stream, the end of which is kept.
func priceOfOutput(bytes int) int64 { return 8 + int64(bytes)/32 }

// priceOfKey is for looking a key of the state up.
const priceOfKey = 16

// priceOfCopy is for a value that goes to the guest, copied or not, and priceOfSet for
// one that is kept.
func priceOfCopy(bytes int) int64 { return int64(bytes) / 64 }

func priceOfSet(bytes int) int64 { return 32 + int64(bytes)/16 }
