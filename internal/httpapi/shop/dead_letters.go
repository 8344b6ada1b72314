package shop

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/recorder"
	"seckill/internal/voucher"
)

// DeadLetters lists, replays and discards entries that cannot be decoded: *recorder.DeadLetters. by and why are logged.
type DeadLetters interface {
	// List returns up to n dead letters after the one with the id after ("" for the first), oldest first, and how
	// many there are in all. Errors: order.ErrNoDeadLetter, order.ErrUnavailable.
	List(ctx context.Context, after string, n int) (deadLetters []recorder.DeadLetter, total int64, err error)
	// Replay queues a dead letter's order again. Errors: order.ErrNoDeadLetter, recorder.ErrNotReplayable,
	// order.ErrUnavailable.
	Replay(ctx context.Context, id, by, why string) (order.Claim, error)
	// Discard removes a dead letter for good; its order, if it still waits to be recorded, fails.
	// Errors: order.ErrNoDeadLetter, order.ErrUnavailable.
	Discard(ctx context.Context, id, by, why string) (recorder.DeadLetter, error)
}

const maxDeadLetterID = 64 // bytes; real ones have some 20

// listDeadLetters answers GET /admin/deadletter: dead letters, oldest first; next is the following page's after.
func (a *API) listDeadLetters(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	after, _, badAfter := values.Text("after")
	n, badLimit := values.Limit()
	if err := invalid.Join(badQuery, badAfter, badLimit); err != nil {
		return httpkit.Answer{}, err
	}
	deadLetters, total, err := a.cfg.DeadLetters.List(c.Request.Context(), after, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	deadLetters, next := httpkit.Page(deadLetters, n, func(l recorder.DeadLetter) string { return l.ID })
	views := make([]deadLetterJSON, len(deadLetters))
	for i, l := range deadLetters {
		views[i] = deadLetterView(l)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views, Total: &total, Next: next}},
		nil
}

// replayDeadLetter answers POST /admin/deadletter/:id/replay.
func (a *API) replayDeadLetter(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, why, err := a.command(c, who, voucher.Replayed)
	if err != nil {
		return httpkit.Answer{}, err
	}
	claim, err := a.cfg.DeadLetters.Replay(c.Request.Context(), id, adminName(who), why)
	return httpkit.Data(http.StatusAccepted, replayJSON{
		OrderID: strconv.FormatInt(claim.OrderID, 10), UserID: claim.UserID, VoucherID: claim.VoucherID,
		Status: order.Queued.String(),
	}, err)
}

// discardDeadLetter answers POST /admin/deadletter/:id/discard.
func (a *API) discardDeadLetter(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, why, err := a.command(c, who, voucher.Discarded)
	if err != nil {
		return httpkit.Answer{}, err
	}
	l, err := a.cfg.DeadLetters.Discard(c.Request.Context(), id, adminName(who), why)
	return httpkit.Data(http.StatusOK, deadLetterView(l), err)
}

// isEntryID reports whether a text can be the id of a dead letter: two numbers joined by a dash, after a prefix such as
// "p3:" in partitions other than 0. Any other id is answered as unknown, and gets no entry in the audit trail.
func isEntryID(id string) bool {
	before, after, found := strings.Cut(id, "-")
	if partition, entry, named := strings.Cut(before, ":"); named && strings.HasPrefix(partition, "p") &&
		len(partition) > 1 && strings.Trim(partition[1:], "0123456789") == "" {
		before = entry
	}
	isNumber := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	return found && len(id) <= maxDeadLetterID && isNumber(before) && isNumber(after)
}

// command reads which dead letter to act on, and why. It writes the audit trail's entry before the act: dead letters
// are not in the ledger, so one transaction cannot do both, and no act must lack its entry.
func (a *API) command(c *gin.Context, who httpkit.Identity, action voucher.Action) (id, why string, err error) {
	if id = c.Param("id"); !isEntryID(id) {
		return "", "", order.ErrNoDeadLetter
	}
	if why, err = a.cfg.Bodies.ReadWhy(c); err != nil {
		return "", "", err
	}
	return id, why, a.cfg.Ledger.Note(c.Request.Context(), voucher.Entry{
		By: httpkit.Author(c, who), Action: action,
		Changes: []voucher.FieldChange{{Field: "deadLetter", To: id}, {Field: "why", To: why}},
	})
}

// adminName is an admin's name in the log and in the ledger.
func adminName(who httpkit.Identity) string { return "admin " + strconv.FormatInt(who.UserID, 10) }

// deadLetterJSON is a dead letter as admins read it. It leaves out members that the entry lacks.
type deadLetterJSON struct {
	ID        string            `json:"id"`
	Entry     string            `json:"entryId"` // its id among the accepted orders
	At        httpkit.Time      `json:"at"`
	Why       string            `json:"why"`
	Fields    map[string]string `json:"fields"`
	LeftOut   int               `json:"leftOut,omitempty"` // fields that did not fit
	OrderID   string            `json:"orderId,omitempty"`
	UserID    int64             `json:"userId,omitempty"`
	VoucherID int64             `json:"voucherId,omitempty"`
	State     string            `json:"state"`            // unreadable, waiting, recorded, unknown
	Status    string            `json:"status,omitempty"` // of an order that is recorded
}

func deadLetterView(l recorder.DeadLetter) deadLetterJSON {
	v := deadLetterJSON{
		ID: l.ID, Entry: l.Entry, At: httpkit.ShownTime(l.At), Why: l.Why, Fields: l.Fields, LeftOut: l.LeftOut,
		UserID: l.Claim.UserID, VoucherID: l.Claim.VoucherID, State: l.State.String(),
	}
	if l.Claim.OrderID != 0 {
		v.OrderID = strconv.FormatInt(l.Claim.OrderID, 10)
	}
	if l.State == recorder.DeadLetterRecorded {
		v.Status = l.Status.String()
	}
	return v
}

// replayJSON is the order that a replayed dead letter became.
type replayJSON struct {
	OrderID   string `json:"orderId"`
	UserID    int64  `json:"userId"`
	VoucherID int64  `json:"voucherId"`
	Status    string `json:"status"`
}
