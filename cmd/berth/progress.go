package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal; it shows only when a run takes its time.
type progress struct {
	bar *progressbar.ProgressBar // nil when there is nobody to look at it
}

// newProgress returns a bar of n pods if w is a terminal.
func newProgress(w io.Writer, n int) *progress {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions(n,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("scheduling"),
		progressbar.OptionSetItsString("pods"),
		progressbar.OptionShowIts(),
		progressbar.OptionShowCount(),
		progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionThrottle(500*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

func (p *progress) set(done int) {
	if p.bar != nil {
		_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
	}
}
