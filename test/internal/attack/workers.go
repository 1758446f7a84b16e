package attack

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// byWorkers runs a simulation with 1, 2 and 8 workers, and reports what differs.
func (s *Simulator) byWorkers(ctx context.Context, args []string, fail func(format string, args ...any)) error {
	var want [][]byte
	for _, workers := range []int{1, 2, 8} {
		r, err := s.run(ctx, append(slices.Clip(args), "-o", "json", "--workers", fmt.Sprint(workers)))
		if err != nil {
			return err
		}
		if r.status != 0 {
			return fmt.Errorf("%d workers: status %d: %.500s", workers, r.status, r.log)
		}
		got := untimed(r.out)
		if want == nil {
			want = got
		}
		for i, line := range want {
			if i >= len(got) || !bytes.Equal(got[i], line) {
				fail("%d workers differ from one in line %d of what has no time: %.200q", workers, i+1, line)
				break
			}
		}
	}
	return nil
}

// untimed returns the lines of a result that tell no time.
func untimed(result []byte) [][]byte {
	return slices.DeleteFunc(bytes.Split(result, []byte("\n")), func(line []byte) bool {
		return bytes.Contains(line, []byte(`"seconds": `)) || bytes.Contains(line, []byte(`"podsPerSecond": `))
	})
}
