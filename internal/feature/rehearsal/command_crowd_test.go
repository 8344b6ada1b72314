package rehearsal

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"seckill/internal/kit/cmdline"
)

// A crowd is killed when its sale ends, and told to end when the command is.
func TestCrowdEnds(t *testing.T) {
	t.Parallel()
	on := cmdline.Env{Out: io.Discard, Err: io.Discard}
	if err := runCrowd(t.Context(), on, time.Now().Add(2*time.Second), "sleep",
		[]string{"3600"}); !errors.Is(err, errUnverified) {
		t.Errorf("at the end of its sale: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := runCrowd(ctx, on, time.Now().Add(time.Hour), "sleep", []string{"3600"}); err == nil ||
		errors.Is(err, errUnverified) {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if err := runCrowd(t.Context(), on, time.Now().Add(time.Hour), "true", nil); err != nil {
		t.Errorf("one that ends by itself: %v", err)
	}
}
