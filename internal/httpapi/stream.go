package httpapi

import (
	"context"
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

// What ends a stream, besides the end of what it reports.
var (
	errStreamOver   = errors.New("the stream has lasted long enough")
	errStreamBroken = errors.New("the stream cannot be written")
	errManyStreams  = fmt.Errorf("%w: too many event streams", order.ErrUnavailable)
	errUserStreams  = errors.New("too many event streams of this user")
)

// streams are the event streams that are open on this instance.
type streams struct {
	limit, userLimit       int
	lifetime, writeTimeout time.Duration // streamTime and streamWrite

	mu     sync.Mutex
	live   map[*stream]struct{}
	byUser map[int64]int // how many each user has
	ended  bool          // the process stops
}

func newStreams(limit, userLimit int) *streams {
	return &streams{
		limit: limit, userLimit: userLimit, lifetime: streamTime, writeTimeout: streamWrite,
		live: make(map[*stream]struct{}), byUser: make(map[int64]int),
	}
}

// open makes a stream of an answer. The context is for its handler's work: it ends with the request, with the process
// (service.ErrStopping), and when the stream has lasted long enough or the caller's token expires (errStreamOver). It returns
// errUserStreams or errManyStreams when there are too many; buyers who follow their orders, however many, keep no admin
// out. An open stream must be closed.
func (all *streams) open(c *gin.Context, who identity, contentType []string, now time.Time) (context.Context, *stream, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case all.byUser[who.userID] >= all.userLimit:
		return nil, nil, errUserStreams
	case len(all.live) >= all.limit && !who.admin:
		return nil, nil, errManyStreams
	}
	stoppable, cancel := context.WithCancelCause(c.Request.Context())
	ctx, release := context.WithTimeoutCause(stoppable, min(all.lifetime, who.left(now)), errStreamOver)
	s := &stream{
		w: c.Writer, server: http.NewResponseController(rawWriter(c)), userID: who.userID, contentType: contentType,
		writeTimeout: all.writeTimeout, cancel: cancel, release: release,
	}
	all.live[s] = struct{}{}
	all.byUser[who.userID]++
	if all.ended {
		cancel(order.ErrStopping)
	}
	return ctx, s, nil
}

func (all *streams) close(s *stream) {
	s.release()
	s.cancel(nil)
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, s)
	if all.byUser[s.userID]--; all.byUser[s.userID] == 0 {
		delete(all.byUser, s.userID)
	}
}

// count returns how many streams are open.
func (all *streams) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.live)
}

// end ends all streams, and those that are opened afterwards.
func (all *streams) end() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.ended = true
	for s := range all.live {
		s.cancel(order.ErrStopping)
	}
}

// stream is an answer that is written piece by piece, by its handler.
type stream struct {
	w            gin.ResponseWriter
	server       *http.ResponseController
	userID       int64
	contentType  []string
	writeTimeout time.Duration
	cancel       context.CancelCauseFunc
	release      context.CancelFunc
}

// whyEnded returns why the work of a stream's handler ended: what ended its context, if that was the service, else err.
func whyEnded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, order.ErrStopping) || errors.Is(cause, errStreamOver) {
		return cause
	}
	return err
}

// begun reports whether anything has been sent.
func (s *stream) begun() bool { return s.w.Written() }

// begin sends the header.
func (s *stream) begin() {
	h := s.w.Header()
	h["Content-Type"] = s.contentType
	h["Cache-Control"] = []string{"no-store, no-transform"} // a proxy that compressed it would hold it back
	h["X-Accel-Buffering"] = []string{"no"}                 // keeps nginx from buffering it
	s.w.WriteHeader(http.StatusOK)
	s.w.WriteHeaderNow()
}

// send writes a piece and flushes it. A caller who does not read is cut off, because each piece has a deadline of its own.
// An error wraps errStreamBroken.
func (s *stream) send(piece string) error {
	if !s.begun() {
		s.begin()
		piece = fmt.Sprintf("retry: %d\n%s", streamRetry.Milliseconds(), piece)
	}
	return s.write(piece)
}

// write is send for streams that are no events.
func (s *stream) write(piece string) error {
	err := s.server.SetWriteDeadline(time.Now().Add(s.writeTimeout))
	if err == nil {
		_, err = s.w.WriteString(piece)
	}
	if err == nil {
		err = s.server.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errStreamBroken, err)
	}
	return nil
}

// abort has the connection end without the end of the answer, so that its caller sees that something is missing.
func (s *stream) abort() { _ = s.server.SetWriteDeadline(time.Unix(1, 0)) } // where it fails the connection is gone already

// heartbeat sends a comment, which keeps proxies from closing the connection, and reveals a dead one.
func (s *stream) heartbeat() error { return s.send(":\n\n") }
