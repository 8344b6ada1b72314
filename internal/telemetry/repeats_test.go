package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// While a store hangs, each job that needs it logs one line a minute, not one for each try.
func TestRepeatedWarnings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, err := NewLogger(&out, LogOptions{Format: "text", Instance: "shop-1"})
		if err != nil {
			t.Fatal(err)
		}
		job := log.With("job", "audit")
		begin := time.Now()
		for i := range 81 {
			log.Warn("the heartbeat failed", "error", fmt.Errorf("no answer after %d ms", 1000+i))
			job.Warn("failed; retrying", "error", errors.New("i/o timeout"))
			time.Sleep(time.Second)
		}
		log.Warn("the heartbeat failed", "error", errors.New("connection refused")) // it says something else
		var got []string
		for line := range strings.Lines(out.String()) {
			at, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			when, err := time.Parse(time.RFC3339, at)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(when.Sub(begin).Truncate(time.Second))+" "+rest)
		}
		want := `0s level=WARN msg="the heartbeat failed" instance=shop-1 error="no answer after 1000 ms"
0s level=WARN msg="failed; retrying" instance=shop-1 job=audit error="i/o timeout"
1m0s level=WARN msg="the heartbeat failed" instance=shop-1 error="no answer after 1060 ms" repeated=59
1m0s level=WARN msg="failed; retrying" instance=shop-1 job=audit error="i/o timeout" repeated=59
1m21s level=WARN msg="the heartbeat failed" instance=shop-1 error="connection refused"
`
		if strings.Join(got, "") != want {
			t.Errorf("logged\n%swant\n%s", strings.Join(got, ""), want)
		}
	})
}

// Other lines than repeated warnings about an error are logged each time.
func TestLinesThatAreNoRepeats(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, LogOptions{Format: "text"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		log.Info("a", "error", "x")
		log.Error("a", "error", "x")
		log.Warn("a")
		log.LogAttrs(t.Context(), slog.LevelWarn, "request", slog.String("request_id", "r"), slog.String("error", "x"))
	}
	if n := strings.Count(out.String(), "\n"); n != 8 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	for i := range maxRepeats + 1 {
		log.Warn("variant "+strings.Repeat("x", i), "error", "x") // the memory is bounded
	}
}
