package wire

import (
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// signature makes a FuncType from letters: i for i32, I for i64.
func signature(params, results string) FuncType {
	list := func(letters string) []ValType {
		out := make([]ValType, len(letters))
		for i := range letters {
			out[i] = ValI32
			if letters[i] == 'I' {
				out[i] = ValI64
			}
		}
		return out
	}
	return FuncType{Params: list(params), Results: list(results)}
}

type namedFunc struct {
	name  string
	point abi.Point // of an extension point
	typ   FuncType
}

// pointExports returns the exports of extension points (ABI-5).
func pointExports() []namedFunc {
	return []namedFunc{
		{abi.ExportPreEnqueue, abi.PreEnqueue, signature("iii", "i")},
		{abi.ExportQueueKey, abi.QueueSort, signature("iii", "i")},
		{abi.ExportHint, abi.Hint, signature("iii", "i")},
		{abi.ExportPreFilter, abi.PreFilter, signature("i", "i")},
		{abi.ExportAddPod, abi.AddPod, signature("iii", "i")},
		{abi.ExportRemovePod, abi.RemovePod, signature("iii", "i")},
		{abi.ExportFilter, abi.Filter, signature("iii", "i")},
		{abi.ExportPostFilter, abi.PostFilter, signature("iii", "i")},
		{abi.ExportPreScore, abi.PreScore, signature("iii", "i")},
		{abi.ExportScore, abi.Score, signature("iii", "i")},
		{abi.ExportNormalize, abi.Normalize, signature("iii", "i")},
		{abi.ExportReserve, abi.Reserve, signature("i", "i")},
		{abi.ExportUnreserve, abi.Unreserve, signature("i", "i")},
		{abi.ExportPermit, abi.Permit, signature("i", "i")},
		{abi.ExportPreBind, abi.PreBind, signature("i", "i")},
		{abi.ExportBind, abi.Bind, signature("i", "i")},
		{abi.ExportPostBind, abi.PostBind, signature("i", "i")},
	}
}

// ExportOf returns the name and the signature of the function that a module exports for a
// point; empty for a point that is not in the ABI (ABI-5).
func ExportOf(point abi.Point) (string, FuncType) {
	for _, f := range pointExports() {
		if f.point == point {
			return f.name, f.typ
		}
	}
	return "", FuncType{}
}

// otherExports returns the functions of ABI-5.1 that are not points.
func otherExports() (required, optional []namedFunc) {
	required = []namedFunc{
		{name: abi.ExportABI, typ: signature("", "i")},
		{name: abi.ExportAlloc, typ: signature("ii", "i")},
	}
	optional = []namedFunc{
		{name: abi.ExportConfigure, typ: signature("ii", "i")},
		{name: "_initialize", typ: signature("", "")},
	}
	return required, optional
}

// HostFunction returns the signature of a function of module berth (ABI-7).
func HostFunction(name string) (FuncType, bool) {
	for _, f := range hostFunctions() {
		if f.name == name {
			return f.typ, true
		}
	}
	return FuncType{}, false
}

func hostFunctions() (out []namedFunc) {
	for _, f := range fields.Functions() {
		out = append(out, namedFunc{name: f.Name, typ: signature(f.Params, f.Result)})
	}
	return out
}

func hostFunctionNames() []string { return functionNames(hostFunctions()) }

func functionNames(functions []namedFunc) []string {
	out := make([]string, len(functions))
	for i, f := range functions {
		out[i] = f.name
	}
	return out
}

// wasiFunctions returns those of wasi_snapshot_preview1, for which the host has inert stubs
// (ABI-1.4): "name parameters result", where the result − means none.
func wasiFunctions() []namedFunc {
	const table = `args_get ii i
args_sizes_get ii i
clock_res_get ii i
clock_time_get iIi i
environ_get ii i
environ_sizes_get ii i
fd_advise iIIi i
fd_allocate iII i
fd_close i i
fd_datasync i i
fd_fdstat_get ii i
fd_fdstat_set_flags ii i
fd_fdstat_set_rights iII i
fd_filestat_get ii i
fd_filestat_set_size iI i
fd_filestat_set_times iIIi i
fd_pread iiiIi i
fd_prestat_dir_name iii i
fd_prestat_get ii i
fd_pwrite iiiIi i
fd_read iiii i
fd_readdir iiiIi i
fd_renumber ii i
fd_seek iIii i
fd_sync i i
fd_tell ii i
fd_write iiii i
path_create_directory iii i
path_filestat_get iiiii i
path_filestat_set_times iiiiIIi i
path_link iiiiiii i
path_open iiiiiIIii i
path_readlink iiiiii i
path_remove_directory iii i
path_rename iiiiii i
path_symlink iiiii i
path_unlink_file iii i
poll_oneoff iiii i
proc_exit i -
proc_raise i i
random_get ii i
sched_yield - i
sock_accept iii i
sock_recv iiiiii i
sock_send iiiii i
sock_shutdown ii i`
	var out []namedFunc
	for line := range strings.SplitSeq(table, "\n") {
		f := strings.Fields(line)
		out = append(out, namedFunc{name: f[0], typ: signature(strings.Trim(f[1], "-"), strings.Trim(f[2], "-"))})
	}
	return out
}
