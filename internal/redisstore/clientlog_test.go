package redisstore

import (
	"log/slog"
	"strings"
	"testing"
)

func TestClientLog(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var out strings.Builder
		l := ClientLog{Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))}
		l.Printf(t.Context(), "failed to dial after %d attempts", 1)
		if got := strings.Contains(out.String(), "failed to dial after 1 attempts"); got != want {
			t.Errorf("at level %v: %q", level, out.String())
		}
	}
}
