package sandbox

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// A call of the host costs fuel in proportion to the time that it takes at worst. Prices are
// in iterations of a plain loop (meter.Iteration). A call never takes longer than
// meter.MostTimesPlain times its price, which BenchmarkHostCallTime measures. What follows from the parameters is
// charged before the call, by the rewritten code of the guest. The rest is charged by the
// host function: it depends on the request, never on the time or on a cache, so that a call
// costs the same everywhere.

// transition is the price of calling any function of the host, besides the instruction.
const transition = 8

// Prices returns what is charged before calls of the ABI's functions and of WASI's stubs.
// The stubs read paths and lists before they find out that there are no files.
func Prices() []meter.Price {
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

// What host functions charge, in iterations.

// priceOfLog is the price of a text that the host makes printable, escapes and writes.
func priceOfLog(bytes int) int64 { return 160 + 2*int64(bytes) }

// priceOfOutput is the price of bytes on a standard stream. The host keeps their end.
func priceOfOutput(bytes int) int64 { return 8 + int64(bytes)/32 }

// priceOfKey is the price of looking up a key of the state.
const priceOfKey = 16

// priceOfCopy is the price of a value for the guest, whether or not its buffer has room, and
// priceOfSet that of a value that the host keeps.
func priceOfCopy(bytes int) int64 { return int64(bytes) / 64 }

func priceOfSet(bytes int) int64 { return 32 + int64(bytes)/4 }

// What making an instance costs, in units.

// fuelOfMaking is the price of an instance before its code runs: its segments are copied.
func fuelOfMaking(module int) int64 { return int64(module) / 64 }

// FuelOfAlloc is what a guest may use to allocate a region for columns of so many bytes. It
// may fill the region word by word. start is what its start used: a garbage collector looks
// at what it made then.
func FuelOfAlloc(start, columns int64) int64 { return start + 10_000 + columns/16 }

// FuelOfFilling is the price of writing columns of so many bytes into a new region.
func FuelOfFilling(columns int64) int64 { return columns / 32 }
