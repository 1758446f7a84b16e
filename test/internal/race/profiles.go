package race

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// profile keeps CPU profiles of a running Berth, each of two seconds, one after the other. Those of all runs together say what
// part of its CPU a package uses, far more closely than runs with it and without it: their CPU differs by more. The returned
// function ends that, and drops the profile that is not complete.
func (t *repetition) profile(ctx context.Context) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		client := cluster.SocketClient(t.socket())
		for ctx.Err() == nil {
			switch err := t.profileOnce(ctx, client); {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED): // it does not listen yet
				time.Sleep(10 * time.Millisecond)
			default:
				done <- fmt.Errorf("profile: %w", err)
				return
			}
		}
		done <- nil
	}()
	return func() error {
		cancel()
		return <-done
	}
}

func (t *repetition) profileOnce(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://berth/debug/pprof/profile?seconds=2", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, data)
	}
	if err := os.MkdirAll(t.config.Profiles, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(t.config.Profiles, fmt.Sprintf("%s-%s-%d-*.pb.gz", t.leg.Workload.Name, t.leg.Mode, t.leg.Nodes))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
