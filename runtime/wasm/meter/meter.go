package meter

import "github.com/berth-scheduler/berth/abi/wire"

// Names that the rewriter adds to a module. All names that begin with Prefix are
// reserved: a module that exports one, or imports from ImportModule, is refused.
const (
	Prefix = "berth.meter."

	// FuelExport is a mutable i64 global: fuel that is not dealt out yet, in grains (512 to
	// the Unit). FuelExport + SliceExport is the fuel that is left.
	FuelExport = Prefix + "fuel"
	// SliceExport is a mutable i32 global: the fuel that is left of the slice.
	SliceExport = Prefix + "slice"
	// DepthExport is a mutable i32 global: frames that may still be entered. If it is negative
	// while the guest yields, the host may add more.
	DepthExport = Prefix + "depth"
	// StatusExport is a mutable i32 global: a Status that says why the code trapped.
	StatusExport = Prefix + "status"
	// StartExport is the function of the start section, if there was one; its type is
	// () → ().
	StartExport = Prefix + "start"
	// GlobalExport and a number from 0 names a mutable global of the module; see
	// Info.Globals.
	GlobalExport = Prefix + "global."

	// ImportModule and YieldImport name the host function that is called at the end of a
	// slice. Its type is () → i32. If it does not return 0, the code traps with Stopped.
	ImportModule = "berth.meter"
	YieldImport  = "yield"
)

// Status is the value of StatusExport after a trap.
type Status int32

// The reasons why rewritten code traps, besides the module's own.
const (
	// Running: the rewritten code did not trap; a trap was the module's own.
	Running Status = iota
	// OutOfFuel: the next charge exceeded the fuel that is left.
	OutOfFuel
	// TooDeep: a call would have exceeded Config.MaxDepth.
	TooDeep
	// Stopped: the yield function stopped the call.
	Stopped
)

// String returns "running", "out of fuel", "too deep" or "stopped".
func (s Status) String() string {
	switch s {
	case Running:
		return "running"
	case OutOfFuel:
		return "out of fuel"
	case TooDeep:
		return "too deep"
	case Stopped:
		return "stopped"
	}
	return "unknown"
}

// Defaults of Config.
const (
	DefaultSlice            = 512 * Unit
	DefaultMaxDepth         = 10_000
	DefaultMemoryMaxPages   = 1024   // 64 MiB
	DefaultTableMaxElements = 65_536 // 512 KiB of references
)

// Part is a part of the added code that can be left out.
type Part uint8

// The parts.
const (
	// PartDepth is the counter of frames.
	PartDepth Part = 1 << iota
	// PartYield is the call of the host at the end of a slice.
	PartYield
)

// Config says how a module is rewritten. Zero values stand for the defaults.
type Config struct {
	Limits Limits
	// Fuel is the fuel of a new instance, in grains. With 0 nothing runs before the host
	// sets FuelExport.
	Fuel int64
	// Slice is the fuel between two yields, in grains.
	Slice uint32
	// MaxDepth is how many frames there may be at a time. A function counts once more for
	// each 64 slots of 8 bytes that its frame may need: for locals, for operands, and for
	// each value that its instructions make, since compilers do not share places.
	MaxDepth uint32
	// MemoryMaxPages is the maximum of the memory in pages of 64 KiB, unless the module
	// declares a smaller one.
	MemoryMaxPages uint32
	// TableMaxElements is the maximum of elements of all tables together.
	TableMaxElements uint32
	// Prices are the prices of calls of imported functions.
	Prices []Price
	// Omit leaves parts out, to measure what each of them costs. A module without PartYield
	// cannot be stopped, and garbage collection waits for it.
	Omit Part
}

// Info is what the host must know about a rewritten module.
type Info struct {
	// SizeBefore and SizeAfter are in bytes.
	SizeBefore, SizeAfter int
	// Functions and Loops count the functions that the module defines and their loops.
	// Checks counts the added places that charge fuel.
	Functions, Loops, Checks int
	// Added is by how much the numbers of the functions that the module defines grew.
	Added int
	// Slice and MaxDepth are those of the Config.
	Slice, MaxDepth uint32
	// Memory and Tables are as rewritten, maxima included. References is how many elements
	// all element segments have.
	Memory     wire.Limits
	Tables     []wire.Table
	References int
	// Start says that StartExport must be called once after instantiation, with fuel.
	Start bool
	// Globals are the names under which the host can read and set the module's mutable
	// globals, in order. Those of types v128, funcref and externref are left out (see
	// OtherGlobals).
	Globals []string

	// ChangesTables says that an instruction writes into a table or grows it.
	ChangesTables bool
	// DropsSegments says that there is data.drop or elem.drop.
	DropsSegments bool
	// OtherGlobals says that a mutable global is of type v128, funcref or externref.
	OtherGlobals bool
}

// Resettable reports whether copying memory and Globals back resets an instance, because
// nothing else can change.
func (i *Info) Resettable() bool { return !i.ChangesTables && !i.DropsSegments && !i.OtherGlobals }

// Rewrite returns a module that does the same as module, and counts as the package comment
// says. It keeps no reference to module.
//
// # Errors
//
// An *Error if the module exceeds a limit, or has something that the rewriter does not know.
// Types of operands are not checked: the result is valid if module is, and a runtime must
// validate it.
func Rewrite(module []byte, c Config) (out []byte, info *Info, err error) {
	defer caught(&err)
	r := &rewriter{config: withDefaults(c), source: module}
	r.read()
	r.rewriteCode()
	out = r.write()
	r.info.SizeBefore, r.info.SizeAfter, r.info.Added = len(module), len(out), r.shift
	return out, &r.info, nil
}

func withDefaults(c Config) Config {
	fill := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&c.Slice, DefaultSlice)
	fill(&c.MaxDepth, DefaultMaxDepth)
	fill(&c.MemoryMaxPages, DefaultMemoryMaxPages)
	fill(&c.TableMaxElements, DefaultTableMaxElements)
	// The globals are signed, and so are the comparisons with them.
	c.Slice, c.MaxDepth = min(c.Slice, 1<<30), min(c.MaxDepth, 1<<30)
	c.MemoryMaxPages = min(c.MemoryMaxPages, 65_536)
	c.Limits = c.Limits.withDefaults()
	return c
}
