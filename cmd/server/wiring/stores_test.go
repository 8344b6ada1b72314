package wiring

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
)

// A start waits for half a minute or endlessly, and never for a store that refuses. The log says once a minute that it
// waits.
func TestAwait(t *testing.T) {
	t.Parallel()
	away, refusal := errors.New("connection refused"), &mysql.MySQLError{Number: 1045, Message: "Access denied"}
	for name, tc := range map[string]struct {
		endless  bool
		err      error
		lasts    time.Duration // how long open fails
		fails    error
		took     time.Duration // most time that it may take
		mostLogs int
	}{
		"it comes":            {false, away, 20 * time.Second, nil, 25 * time.Second, 1},
		"it does not":         {false, away, time.Hour, away, 31 * time.Second, 1},
		"it takes its time":   {true, away, 10 * time.Minute, nil, 11 * time.Minute, 11},
		"it refuses":          {false, refusal, time.Hour, refusal, 0, 0},
		"it refuses, endless": {true, refusal, time.Hour, refusal, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				start := time.Now()
				log := slog.New(slog.NewTextHandler(&logged, nil))
				err := await(t.Context(), tc.endless, log, "MySQL", func() error {
					if time.Since(start) < tc.lasts {
						return tc.err
					}
					return nil
				})
				if !errors.Is(err, tc.fails) || time.Since(start) > tc.took {
					t.Errorf("%v after %v, want %v after %v at most", err, time.Since(start), tc.fails, tc.took)
				}
				if lines := bytes.Count(logged.Bytes(), []byte("\n")); lines > tc.mostLogs {
					t.Errorf("%d lines, want %d at most:\n%s", lines, tc.mostLogs, &logged)
				}
			})
		})
	}
}
