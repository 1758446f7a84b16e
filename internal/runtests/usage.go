package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage returns all processes: from /proc on Linux, from ps on other systems.
func usage() (map[int]process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,time=,comm=").Output()
		if err != nil {
			return nil, fmt.Errorf("ps: %w", err)
		}
		return fromPS(out)
	}
	all := make(map[int]process)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, p, err := fromStat(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[pid] = p
	}
	return all, nil
}

// fromStat reads a file /proc/PID/stat: the id, the name in parentheses, the state, the parent's id, and as fields 14 to
// 17, counted from 1, the CPU time as user and in the kernel, then that of children, in 1/100 s (proc_pid_stat(5)).
func fromStat(text string) (int, process, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return 0, process{}, errors.New("no name in parentheses")
	}
	p := process{name: text[open+1 : end]}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	fields := strings.Fields(text[end+1:]) // from the third on
	if err != nil || len(fields) < 15 {
		return 0, process{}, fmt.Errorf("not what Linux writes: %q", text)
	}
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, process{}, err
	}
	for _, field := range fields[11:15] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, process{}, err
		}
		p.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	return pid, p, nil
}

// fromPS reads lines with id, parent, CPU time and path: 1:02.03 on macOS, 1-02:03:04 or 02:03:04 elsewhere.
func fromPS(out []byte) (map[int]process, error) {
	all := make(map[int]process)
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) < 4 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		cpu, err3 := clock(fields[2])
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("ps says %q: %w", line, err)
		}
		all[pid] = process{parent: parent, name: filepath.Base(strings.Join(fields[3:], " ")), cpu: cpu}
	}
	return all, nil
}

func clock(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "-")
	if !found {
		days, rest = "0", text
	}
	seconds, err := strconv.ParseFloat(days, 64)
	units := []float64{24, 60, 60} // of what is before each part of three
	parts := strings.Split(rest, ":")
	units = units[max(0, len(units)-len(parts)):]
	for i, part := range parts {
		n, err2 := strconv.ParseFloat(part, 64)
		if err = errors.Join(err, err2); err != nil || i >= len(units) {
			return 0, errors.Join(fmt.Errorf("not a time: %q", text), err)
		}
		seconds = float64(seconds*units[i]) + n
	}
	return time.Duration(seconds * float64(time.Second)), err
}
