package app

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// The bar appears after showAfter, and is redrawn at most every redrawEvery.
const (
	showAfter   = 700 * time.Millisecond
	redrawEvery = 100 * time.Millisecond
)

// progress is a bar on a terminal for long runs.
type progress struct {
	bar          *progressbar.ProgressBar
	start, drawn time.Time
}

// newProgress returns a bar for n pods, or nil if w is not a terminal.
func newProgress(w io.Writer, n int) *progress {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return &progress{bar: newBar(w, n, width(w)), start: time.Now()}
}

func (p *progress) set(done int) {
	if p == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.start) < showAfter || now.Sub(p.drawn) < redrawEvery {
		return
	}
	p.drawn = now
	// The rate of the bar itself ignores the time before the first drawing.
	p.bar.Describe(fmt.Sprintf("scheduling %.0f pods/s", float64(done)/now.Sub(p.start).Seconds()))
	_ = p.bar.Set(done) // the run goes on without a bar
}

// beside is the number of characters beside the bar, such as
// "scheduling 100000 pods/s 100% || (1000000/1000000) ".
const beside = 52

func newBar(w io.Writer, total, width int) *progressbar.ProgressBar {
	return progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(min(max(width-beside, 5), 40)),
		progressbar.OptionSetDescription("scheduling"),
		progressbar.OptionShowCount(),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionClearOnFinish(),
	)
}

// close erases the bar.
func (p *progress) close() {
	if p != nil && !p.drawn.IsZero() {
		_ = p.bar.Clear()
	}
}
