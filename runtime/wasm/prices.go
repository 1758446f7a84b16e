package wasm

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// prices returns what host functions cost that work for as long as their parameters
// say: those of the ABI, and the stubs of WASI, which read paths and lists before
// they find out that there are no files. The instruction costs two units besides.
func prices() []meter.Price {
	// A unit is for 1 << n bytes, or entries of a list.
	const passed, copied, random, entries = 8, 6, 4, 1
	price := func(module, name string, shift uint8, params ...int) meter.Price {
		p := meter.Price{Module: module, Name: name}
		for _, param := range params {
			p.Lengths = append(p.Lengths, meter.Length{Param: param, Shift: shift})
		}
		return p
	}
	log := price(abi.HostModule, abi.HostLog, copied, 2)
	log.Fixed = 64 // for the host's own log
	const wasi = abi.WASIModule
	return []meter.Price{
		log,
		price(abi.HostModule, abi.HostStateGet, copied, 1, 3),
		price(abi.HostModule, abi.HostStateSet, copied, 1, 3),
		price(abi.HostModule, abi.HostPublishedGet, copied, 2),
		price(abi.HostModule, abi.HostPodObject, copied, 2),
		price(abi.HostModule, abi.HostNodeObject, copied, 2),
		price(wasi, "random_get", random, 1),
		price(wasi, "fd_read", entries, 2), price(wasi, "fd_pread", entries, 2),
		price(wasi, "fd_write", entries, 2), price(wasi, "fd_pwrite", entries, 2),
		price(wasi, "sock_recv", entries, 2), price(wasi, "sock_send", entries, 2),
		price(wasi, "poll_oneoff", entries, 2),
		price(wasi, "fd_readdir", passed, 2), price(wasi, "fd_prestat_dir_name", passed, 2),
		price(wasi, "path_create_directory", passed, 2), price(wasi, "path_remove_directory", passed, 2),
		price(wasi, "path_filestat_get", passed, 3), price(wasi, "path_filestat_set_times", passed, 3),
		price(wasi, "path_link", passed, 3, 6), price(wasi, "path_open", passed, 3),
		price(wasi, "path_readlink", passed, 2, 4), price(wasi, "path_rename", passed, 2, 5),
		price(wasi, "path_symlink", passed, 1, 4), price(wasi, "path_unlink_file", passed, 2),
	}
}
