package cluster

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of CPU time in /proc, fixed for programs on Linux
// (USER_HZ, see time(7)).
const ticksPerSecond = 100

// Usage is what a process has used up to now.
type Usage struct {
	CPU        time.Duration // user and system, in steps of 10 ms
	PeakMemory int64         // bytes resident, the most so far
}

// Usage reads what the process has used, while it runs (proc(5): stat, status).
func (p *Process) Usage() (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return Usage{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	// The name in parentheses may have spaces; utime and stime are fields 14 and 15.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("%s: /proc/%d/stat is %q", p.Name, p.PID(), stat)
	}
	var u Usage
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Usage{}, fmt.Errorf("%s: /proc/%d/stat: %w", p.Name, p.PID(), err)
		}
		u.CPU += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	if u.PeakMemory, err = PeakMemory(p.PID()); err != nil {
		return Usage{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	return u, nil
}

// PeakMemory returns the most bytes that a process which runs has had resident
// (proc(5): status).
func PeakMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("VmHWM: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no VmHWM", pid)
}
