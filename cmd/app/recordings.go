package app

import (
	"context"
	"fmt"
	"os"

	"github.com/berth-scheduler/berth/runtime/assembly"
	records "github.com/berth-scheduler/berth/runtime/record"
)

// openedRecording is a recording to be repeated.
type openedRecording struct {
	reader  *records.Reader
	modules *assembly.Modules
	dir     string // for the modules of the recording
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
	if r.reader, err = records.NewReader(f); err != nil {
		return nil, fmt.Errorf("%s%s: %w", flag, file, err)
	}
	if r.dir, err = os.MkdirTemp("", "berth-recording-"); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = os.RemoveAll(r.dir) })
	o.dir = r.dir
	if r.modules, err = o.open(); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = r.modules.Close(context.WithoutCancel(ctx)) }) // the process ends anyway
	return r, nil
}
