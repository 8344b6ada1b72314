package httpkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
)

const (
	streamTime  = 30 * time.Minute // how long a stream lasts
	streamWrite = 30 * time.Second // within which a piece must be written; longer than the 15 s between heartbeats
	streamRetry = 2 * time.Second  // after which a browser comes back
)

// Reasons why a stream is not opened, or ends although there may be more to report.
var (
	ErrStreamOver   = errors.New("the stream has lasted long enough")
	ErrStreamBroken = errors.New("the stream cannot be written")
	ErrManyStreams  = fmt.Errorf("%w: too many event streams", order.ErrUnavailable)
	ErrUserStreams  = errors.New("too many event streams of this user")
)

// Streams are the event streams that are open on this instance.
type Streams struct {
	limit, userLimit       int
	Lifetime, WriteTimeout time.Duration // streamTime and streamWrite; tests shorten them

	mu     sync.Mutex
	live   map[*Stream]struct{}
	byUser map[int64]int // how many each user has
	ended  bool          // the process stops
}

// NewStreams returns streams. At most limit may be open at once (some 36 KB each), and at most userLimit of one user.
func NewStreams(limit, userLimit int) *Streams {
	return &Streams{
		limit: limit, userLimit: userLimit, Lifetime: streamTime, WriteTimeout: streamWrite,
		live: make(map[*Stream]struct{}), byUser: make(map[int64]int),
	}
}

// Open makes a stream of an answer. The context is for its handler's work: it ends with the request, with the process
// (order.ErrStopping), and when the stream has lasted long enough or the caller's token expires (ErrStreamOver). It
// returns ErrUserStreams or ErrManyStreams when there are too many; buyers who follow their orders, however many,
// keep no admin out. An open stream must be closed.
func (all *Streams) Open(
	c *gin.Context, who Identity, contentType []string, now time.Time,
) (context.Context, *Stream, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case all.byUser[who.UserID] >= all.userLimit:
		return nil, nil, ErrUserStreams
	case len(all.live) >= all.limit && !who.Admin():
		return nil, nil, ErrManyStreams
	}
	stoppable, cancel := context.WithCancelCause(c.Request.Context())
	ctx, release := context.WithTimeoutCause(stoppable, min(all.Lifetime, who.Left(now)), ErrStreamOver)
	s := &Stream{
		w: c.Writer, server: http.NewResponseController(RawWriter(c)), userID: who.UserID, contentType: contentType,
		writeTimeout: all.WriteTimeout, cancel: cancel, release: release,
	}
	all.live[s] = struct{}{}
	all.byUser[who.UserID]++
	if all.ended {
		cancel(order.ErrStopping)
	}
	return ctx, s, nil
}

// Close forgets a stream that has ended.
func (all *Streams) Close(s *Stream) {
	s.release()
	s.cancel(nil)
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, s)
	if all.byUser[s.userID]--; all.byUser[s.userID] == 0 {
		delete(all.byUser, s.userID)
	}
}

// Count returns how many streams are open.
func (all *Streams) Count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.live)
}

// End ends all streams, and those that are opened afterwards.
func (all *Streams) End() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.ended = true
	for s := range all.live {
		s.cancel(order.ErrStopping)
	}
}

// Stream is an answer that is written piece by piece, by its handler.
type Stream struct {
	w            gin.ResponseWriter
	server       *http.ResponseController
	userID       int64
	contentType  []string
	writeTimeout time.Duration
	cancel       context.CancelCauseFunc
	release      context.CancelFunc
}

// Begun reports whether anything has been sent.
func (s *Stream) Begun() bool { return s.w.Written() }

// Begin sends the header.
func (s *Stream) Begin() {
	h := s.w.Header()
	h["Content-Type"] = s.contentType
	h["Cache-Control"] = []string{"no-store, no-transform"} // a proxy that compressed it would hold it back
	h["X-Accel-Buffering"] = []string{"no"}                 // keeps nginx from buffering it
	s.w.WriteHeader(http.StatusOK)
	s.w.WriteHeaderNow()
}

// Send writes a piece and flushes it. A caller who does not read is cut off, because each piece has a deadline of its
// own. An error wraps ErrStreamBroken.
func (s *Stream) Send(piece string) error {
	if !s.Begun() {
		s.Begin()
		piece = fmt.Sprintf("retry: %d\n%s", streamRetry.Milliseconds(), piece)
	}
	return s.Write(piece)
}

// Event sends an event with data, which is rendered as JSON; an id of "" is none.
func (s *Stream) Event(name, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("rendering the event %s: %w", name, err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return s.Send("event: " + name + "\n" + id + "data: " + string(text) + "\n\n")
}

// Write is Send for streams that are no events.
func (s *Stream) Write(piece string) error {
	err := s.server.SetWriteDeadline(time.Now().Add(s.writeTimeout))
	if err == nil {
		_, err = s.w.WriteString(piece)
	}
	if err == nil {
		err = s.server.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStreamBroken, err)
	}
	return nil
}

// Abort closes the connection before the answer is complete, so that the caller sees that something is missing.
func (s *Stream) Abort() { _ = s.server.SetWriteDeadline(time.Unix(1, 0)) }

// Heartbeat sends a comment, which keeps proxies from closing the connection, and reveals a dead one.
func (s *Stream) Heartbeat() error { return s.Send(":\n\n") }

// Finish sends the reason why the stream ends, if that is still possible, and returns the error to be logged, if any.
// An error before the first event is answered like any other, except that the process stops: a browser does not
// reconnect after an error.
func (s *Stream) Finish(err error) error {
	reason := "unavailable"
	switch {
	case err == nil:
		reason = "final"
	case errors.Is(err, ErrStreamOver):
		reason, err = "timeout", nil
	case errors.Is(err, order.ErrStopping):
		reason, err = "shutdown", nil
	case errors.Is(err, ErrStreamBroken), errors.Is(err, context.Canceled) && s.Begun():
		return nil // the caller has gone, or does not read: no failure of the service
	case !s.Begun():
		return err
	}
	_ = s.Send("event: bye\ndata: {\"reason\":\"" + reason + "\"}\n\n") // the stream ends in any case
	return err
}
