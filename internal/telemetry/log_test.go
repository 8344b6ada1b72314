package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewLoggerText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, LogOptions{Level: slog.LevelInfo, Format: "text", Instance: "shop-1"})
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("unheard")
	log.Info("heard", "order", 42)
	_, line, _ := strings.Cut(out.String(), " ") // without the time
	if want := "level=INFO msg=heard instance=shop-1 order=42\n"; line != want {
		t.Errorf("logged %q, want %q", line, want)
	}
}

func TestNewLoggerJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, LogOptions{Level: slog.LevelDebug, Format: "json"})
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("heard", "order", 42)
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "time")
	want := map[string]any{"level": "DEBUG", "msg": "heard", "order": 42.0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNewLoggerRefusesAnUnknownFormat(t *testing.T) {
	t.Parallel()
	if _, err := NewLogger(&bytes.Buffer{}, LogOptions{Format: "xml"}); err == nil {
		t.Error("no error")
	}
}

func TestBuildFrom(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		settings []debug.BuildSetting
		revision string
	}{
		"not recorded": {nil, "unknown"},
		"clean": {
			[]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}, "abc",
		},
		"changed": {
			[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "abc"}},
			"abc+dirty",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := buildFrom(&debug.BuildInfo{
				GoVersion: "go1.26", Main: debug.Module{Version: "v1"}, Settings: tc.settings,
			})
			if diff := cmp.Diff(Build{Version: "v1", Revision: tc.revision, Go: "go1.26"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
