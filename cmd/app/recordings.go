package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/berth-scheduler/berth/internal/bounded"
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
	f, err := bounded.Open(ctx, file)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s%w (name a file that --record of berth simulate or berth run has written)", flag, err)
	}
	undo = append(undo, func() { _ = f.Close() }) // it was only read
	undo = append(undo, ending(ctx, f))
	in := &counting{ctx: ctx, in: f}
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
	if r.modules, err = o.open(ctx); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = r.modules.Close(context.WithoutCancel(ctx)) }) // the process ends anyway
	return r, nil
}

// ending ends the reading of a pipe that nobody writes to with the context, until stop is called.
func ending(ctx context.Context, f *os.File) (stop func()) {
	stopped := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) }) // other files have no deadline, and do not wait
	return func() { stopped() }
}

// counting counts what is read of a file.
type counting struct {
	ctx        context.Context //nolint:containedctx // it ends reading
	in         io.Reader
	read, size int64
}

// Read implements io.Reader.
func (c *counting) Read(p []byte) (n int, err error) {
	n, err = c.in.Read(p)
	c.read += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(c.ctx)
	}
	return n, err
}

// portion returns how much was read, in percent. The size of a pipe is not known.
func (c *counting) portion() int { return int(min(100*c.read/max(1, c.size), 100)) }
