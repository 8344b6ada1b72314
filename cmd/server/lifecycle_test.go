package main

import (
	"context"
	"errors"
	"testing"
)

// A job that ends before it is stopped ends the process at once, with or without an error. After that, its error is the
// group's.
func TestJobsThatEnd(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		returns error
		stopped bool
		cause   error // of the end of the process
		waited  error // of the group
	}{
		"an error":                 {returns: bad, cause: bad},
		"no error":                 {cause: errJobEnded},
		"an error when stopped":    {returns: bad, stopped: true, waited: bad},
		"without one when stopped": {stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serving, failed := context.WithCancelCause(t.Context())
			defer failed(nil)
			running, stop := context.WithCancel(t.Context())
			defer stop()
			w := &work{failed: failed}
			w.run(running, &w.jobs, func(ctx context.Context) error {
				if c.stopped {
					<-ctx.Done()
				}
				return c.returns
			})
			if !c.stopped {
				<-serving.Done()
			}
			stop()
			if err := w.jobs.Wait(); !errors.Is(err, c.waited) || !errors.Is(context.Cause(serving), c.cause) {
				t.Errorf("the process ends by %v, the group by %v; want %v, %v",
					context.Cause(serving), err, c.cause, c.waited)
			}
		})
	}
}
