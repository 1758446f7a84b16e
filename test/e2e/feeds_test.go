package e2e

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// expand replaces $VARIABLES in files.
func (s *script) expand(files []string) error {
	for _, file := range files {
		if err := os.WriteFile(s.MkAbs(file), []byte(os.Expand(s.ReadFile(file), s.Getenv)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// answers waits until what the scheduler serves at $PORT matches.
func (s *script) answers(args []string) error {
	if len(args) != 2 {
		return errors.New("want PATH RE")
	}
	pattern, err := regexp.Compile(args[1])
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(s.Getenv("PORT"))
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		code, text, err := serverAt(port).ask(s.ctx, args[0], cluster.Admin)
		if err == nil && pattern.MatchString(text) {
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("%s answers %d within %v: %s", args[0], code, patience, text), err)
		}
	}
}
