package meter

import "github.com/berth-scheduler/berth/abi/wire"

// Names that the rewriter adds to a module. All names that begin with Prefix are
// reserved: a module that exports one, or imports from ImportModule, is refused.
const (
	Prefix = "berth.meter."

	// FuelExport is a mutable i64 global: fuel that is not yet dealt out, in grains
	// (512 to the Unit). What is left is FuelExport + SliceExport.
	FuelExport = Prefix + "fuel"
	// SliceExport is a mutable i32 global: what is left of the slice.
	SliceExport = Prefix + "slice"
	// DepthExport is a mutable i32 global: frames that may still be entered.
	DepthExport = Prefix + "depth"
	// StatusExport is a mutable i32 global: a Status, why the code trapped.
	StatusExport = Prefix + "status"
	// StartExport is the function of the start section, of type () → (), if there
	// was one.
	StartExport = Prefix + "start"
	// GlobalExport and a number from 0 are mutable globals of the module's own; see
	// Info.Globals.
	GlobalExport = Prefix + "global."

	// ImportModule and YieldImport name the host function that a slice ends with, of
	// type () → i32. If it returns anything but 0, the code traps with Stopped.
	ImportModule = "berth.meter"
	YieldImport  = "yield"
)

// Status is the value of StatusExport after a trap.
type Status int32

// The reasons for which rewritten code traps, beside those of the module itself.
const (
	// Running: no trap of the rewriter's; a trap was the module's own.
	Running Status = iota
	// OutOfFuel: the next charge was more than what is left.
	OutOfFuel
	// TooDeep: a call would have exceeded Config.MaxDepth.
	TooDeep
	// Stopped: the yield function said so.
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

// Part is what can be left out of the code that is added.
type Part uint8

// The parts.
const (
	// PartDepth is the counter of frames.
	PartDepth Part = 1 << iota
	// PartYield is the call of the host at the end of a slice.
	PartYield
)

// Config is how a module is rewritten. Zero values stand for the defaults.
type Config struct {
	Limits Limits
	// Fuel is what a new instance has, in grains. With 0 nothing runs before the host
	// has set FuelExport.
	Fuel int64
	// Slice is the fuel between two yields, in grains.
	Slice uint32
	// MaxDepth is how many frames there can be at a time. A function whose parameters,
	// locals and operands are more than 64 values counts once more for each 64.
	MaxDepth uint32
	// MemoryMaxPages is the maximum that the memory gets, in pages of 64 KiB, unless
	// the module declares a smaller one.
	MemoryMaxPages uint32
	// TableMaxElements is the same for each table.
	TableMaxElements uint32
	// Prices are what calls of imported functions cost.
	Prices []Price
	// Omit leaves parts out, to measure what each of them costs. A module without
	// PartYield cannot be stopped and lets nobody's garbage collection in.
	Omit Part
}

// Info is what the host has to know of a rewritten module.
type Info struct {
	// SizeBefore and SizeAfter are in bytes.
	SizeBefore, SizeAfter int
	// Functions, Loops and Checks count what was there and what was added: functions
	// that the module defines, their loops, and places that charge fuel.
	Functions, Loops, Checks int
	// Slice and MaxDepth are those that the module was rewritten with.
	Slice, MaxDepth uint32
	// Memory and Tables are as rewritten, maxima included.
	Memory wire.Limits
	Tables []wire.Table
	// Start: there is StartExport, to be called once after instantiation with fuel.
	Start bool
	// Globals are the names under which the mutable globals of the module can be read
	// and set, in order, but for those of types v128, funcref and externref, which a
	// host cannot (see OtherGlobals).
	Globals []string

	// ChangesTables: an instruction writes into a table or grows it.
	ChangesTables bool
	// DropsSegments: there is data.drop or elem.drop.
	DropsSegments bool
	// OtherGlobals: a mutable global is of type v128, funcref or externref.
	OtherGlobals bool
}

// Resettable reports whether copying memory and Globals back resets an instance:
// nothing else of it can change.
func (i *Info) Resettable() bool { return !i.ChangesTables && !i.DropsSegments && !i.OtherGlobals }

// Rewrite returns a module that does what module does, and counts as the package
// comment says. It keeps no reference to module.
//
// # Errors
//
// An *Error if the module exceeds a limit, or is, has or does something that the
// rewriter does not know. Types of operands are not checked: what is returned is
// valid if module is, and a runtime has to validate it.
func Rewrite(module []byte, c Config) (out []byte, info *Info, err error) {
	defer caught(&err)
	r := &rewriter{config: withDefaults(c), source: module}
	r.read()
	r.rewriteCode()
	out = r.write()
	r.info.SizeBefore, r.info.SizeAfter = len(module), len(out)
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
