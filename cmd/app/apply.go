package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/bounded"
)

// step is a file as it shall be; without data it is removed.
type step struct {
	path string
	data []byte
}

func (s *step) do() error {
	if s.data == nil {
		err := os.Remove(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return replaceFile(s.path, s.data)
}

// apply takes steps one after the other. If one fails, those before it are taken back.
// The caller orders the steps so that a scheduler can start after each of them.
func apply(steps []step) error {
	var undo []step
	for _, s := range steps {
		was, err := bounded.Regular(s.path, wire.MaxModuleSize) // the largest of the files that steps replace
		if errors.Is(err, fs.ErrNotExist) {
			was, err = nil, nil
		} else if err == nil && was == nil {
			was = []byte{}
		}
		if err == nil {
			err = s.do()
		}
		if err == nil {
			undo = append(undo, step{path: s.path, data: was})
			continue
		}
		errs := []error{fmt.Errorf("%w: nothing was changed", err)}
		for i := len(undo) - 1; i >= 0; i-- {
			if err := undo[i].do(); err != nil {
				errs = append(errs, fmt.Errorf("take back %s: %w", undo[i].path, err))
			}
		}
		return &failure{errors.Join(errs...)}
	}
	return nil
}

// errDeclined is for who answers no.
var errDeclined = errors.New("nothing was changed")

// confirm asks a question, unless yes answers it.
func confirm(ctx context.Context, question string, yes bool, stderr io.Writer) error {
	if yes {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New("there is no terminal to ask: read above what changes, and add --yes if you agree")
	}
	fmt.Fprintf(stderr, "%s [y/N] ", question)
	answer, err := bounded.Until(ctx, func() (string, error) { return bufio.NewReader(os.Stdin).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return &failure{err}
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return &failure{errDeclined}
	}
	return nil
}
