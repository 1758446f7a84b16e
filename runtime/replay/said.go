package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// said has the recorded answers of extenders in a step.
type said struct {
	mu  sync.Mutex // a cycle asks for scores concurrently
	all []*inbox.Answer
}

// answer is an extender.Tape.
func (s *said) answer(number int, verb string, result any, _ func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(e *inbox.Answer) bool { return e.Extender == uint64(number) && e.Verb == verb })
	if i < 0 {
		return fmt.Errorf("the recording has no answer of extender %d to %s here", number, verb)
	}
	e := s.all[i]
	s.all = slices.Delete(s.all, i, i+1)
	if e.Err != "" {
		return errors.New(e.Err)
	}
	return json.Unmarshal(e.Result, result)
}
