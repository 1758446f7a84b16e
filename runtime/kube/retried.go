package kube

import (
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// retried calls do until it succeeds, fails with an error that is not to be retried, or the backoff is over, and returns its
// last error. retry.OnError takes a context's error for the end of its own backoff, and then returns no error at all.
func retried(backoff wait.Backoff, again func(error) bool, do func() error) error {
	var last error
	_ = retry.OnError(backoff, again, func() error { // returns last, or nothing
		last = do()
		return last
	})
	return last
}
