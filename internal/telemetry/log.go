package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// LogOptions are the options of a logger.
type LogOptions struct {
	Level    slog.Level // least severity that is logged
	Format   string     // "text" for people, "json" for programs
	Instance string     // name of this instance, in every line unless empty
}

// NewLogger returns a logger that writes one line for each record to w. It leaves out repeated warnings (repeats).
func NewLogger(w io.Writer, o LogOptions) (*slog.Logger, error) {
	var h slog.Handler
	options := &slog.HandlerOptions{Level: o.Level}
	switch o.Format {
	case "text":
		h = slog.NewTextHandler(w, options)
	case "json":
		h = slog.NewJSONHandler(w, options)
	default:
		return nil, fmt.Errorf("log format %q: not text or json", o.Format)
	}
	log := slog.New(withoutRepeats(h))
	if o.Instance != "" {
		log = log.With("instance", o.Instance)
	}
	return log, nil
}
