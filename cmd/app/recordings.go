package app

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/berth-scheduler/berth/runtime/assembly"
	records "github.com/berth-scheduler/berth/runtime/record"
)

// openedRecording is a recording to be repeated.
type openedRecording struct {
	reader  *records.Reader
	modules *assembly.Modules
	portion func() int // how much was read, in percent
	close   func()
}

// openRecording opens a file, which flag names, if there is one. Its modules are compiled as the flags say.
func openRecording(ctx context.Context, flag, file string, o *moduleOptions) (opened *openedRecording, err error) {
	r := &openedRecording{}
	var undo []func()
	r.close = func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s%w (name a file that --record of berth simulate or berth run has written)", flag, err)
	}
	undo = append(undo, func() { _ = f.Close() }) // it was only read
	in := &counting{in: f}
	r.portion = in.portion
	if info, err := f.Stat(); err == nil {
		in.size = info.Size()
	}
	if r.reader, err = records.NewReader(in); err != nil {
		return nil, fmt.Errorf("%s%s: %w", flag, file, err)
	}
	if o.recorded, err = os.MkdirTemp("", "berth-recording-"); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = os.RemoveAll(o.recorded) })
	if r.modules, err = o.open(); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = r.modules.Close(context.WithoutCancel(ctx)) }) // the process ends anyway
	return r, nil
}

// counting counts what is read of a file.
type counting struct {
	in         io.Reader
	read, size int64
}

// Read implements io.Reader.
func (c *counting) Read(p []byte) (n int, err error) {
	n, err = c.in.Read(p)
	c.read += int64(n)
	return n, err
}

// portion returns how much was read, in percent. The size of a pipe is not known.
func (c *counting) portion() int { return int(min(100*c.read/max(1, c.size), 100)) }
