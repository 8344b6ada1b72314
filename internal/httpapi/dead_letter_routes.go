package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// DeadLetters is what is done about entries that could not be decoded: *order.DeadLetters. by and why go into the log.
type DeadLetters interface {
	// List returns up to n letters behind the one with the id after ("" for the first), oldest first, and how many there are
	// in all. order.ErrNoLetter, order.ErrUnavailable.
	List(ctx context.Context, after string, n int) (letters []order.DeadLetter, total int64, err error)
	// Replay queues a letter's order again. order.ErrNoLetter, order.ErrNotReplayable, order.ErrUnavailable.
	Replay(ctx context.Context, id, by, why string) (order.Claim, error)
	// Discard removes a letter for good; an order that waits for it fails. order.ErrNoLetter, order.ErrUnavailable.
	Discard(ctx context.Context, id, by, why string) (order.DeadLetter, error)
}

// maxWhy is how many characters a reason may have; the ledger's columns are wider.
const maxWhy = 200

// listDeadLetters answers GET /admin/deadletter: dead letters, oldest first; next is the after of the following page.
func (a *API) listDeadLetters(c *gin.Context, _ identity) (answer, error) {
	values, badQuery := query(c.Request)
	after, _, badAfter := single(values, "after")
	n, badLimit := limit(values)
	if err := invalid(badQuery, badAfter, badLimit); err != nil {
		return answer{}, err
	}
	letters, total, err := a.cfg.DeadLetters.List(c.Request.Context(), after, n+1) // one more tells whether there are more
	if err != nil {
		return answer{}, err
	}
	next := ""
	if len(letters) > n {
		letters = letters[:n]
		next = letters[n-1].ID
	}
	views := make([]letterJSON, len(letters))
	for i, l := range letters {
		views[i] = letterView(l)
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: views, Total: &total, Next: next}}, nil
}

// replayDeadLetter answers POST /admin/deadletter/:id/replay.
func (a *API) replayDeadLetter(c *gin.Context, who identity) (answer, error) {
	id, why, err := a.wish(c, who, voucher.Replayed)
	if err != nil {
		return answer{}, err
	}
	claim, err := a.cfg.DeadLetters.Replay(c.Request.Context(), id, adminName(who), why)
	if err != nil {
		return answer{}, err
	}
	view := replayJSON{OrderID: strconv.FormatInt(claim.OrderID, 10), UserID: claim.UserID, VoucherID: claim.VoucherID, Status: order.Queued.String()}
	return answer{status: http.StatusAccepted, envelope: envelope{Data: view}}, nil
}

// discardDeadLetter answers POST /admin/deadletter/:id/discard.
func (a *API) discardDeadLetter(c *gin.Context, who identity) (answer, error) {
	id, why, err := a.wish(c, who, voucher.Discarded)
	if err != nil {
		return answer{}, err
	}
	l, err := a.cfg.DeadLetters.Discard(c.Request.Context(), id, adminName(who), why)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: letterView(l)}}, nil
}

// wish reads which letter something is to be done with, and why. Letters are not in the ledger, where the audit trail is:
// that it was asked for is written down first, so that nothing is done of which the trail does not tell.
func (a *API) wish(c *gin.Context, who identity, action voucher.Action) (id, why string, err error) {
	if id = c.Param("id"); len(id) > maxEcho {
		return "", "", order.ErrNoLetter
	}
	if err := a.readBody(c, required(textField("why", &why))); err != nil {
		return "", "", err
	}
	why = strings.TrimSpace(why)
	if n := utf8.RuneCountInString(why); n == 0 || n > maxWhy {
		return "", "", invalid(&voucher.Problem{
			Field: "why", Reason: fmt.Sprintf("has %d characters", n), Allowed: fmt.Sprintf("1 to %d characters", maxWhy),
		})
	}
	return id, why, a.cfg.Audit.Note(c.Request.Context(), voucher.Entry{
		By: author(c, who), Action: action,
		Changes: []voucher.FieldChange{{Field: "deadLetter", To: id}, {Field: "why", To: why}},
	})
}

// adminName names an admin as the log and the ledger do.
func adminName(who identity) string { return "admin " + strconv.FormatInt(who.userID, 10) }

// letterJSON is a dead letter as admins read it. What its fields do not say is absent.
type letterJSON struct {
	ID        string            `json:"id"`
	Entry     string            `json:"entry"` // its id among the accepted orders
	At        time.Time         `json:"at"`
	Why       string            `json:"why"`
	Fields    map[string]string `json:"fields"`
	LeftOut   int               `json:"leftOut,omitempty"` // fields that it had no room for
	OrderID   string            `json:"orderId,omitempty"`
	UserID    int64             `json:"userId,omitempty"`
	VoucherID int64             `json:"voucherId,omitempty"`
	Standing  string            `json:"standing"`         // unreadable, waiting, recorded, unknown
	Status    string            `json:"status,omitempty"` // of an order that is recorded
}

func letterView(l order.DeadLetter) letterJSON {
	v := letterJSON{
		ID: l.ID, Entry: l.Entry, At: shownTime(l.At), Why: l.Why, Fields: l.Fields, LeftOut: l.LeftOut,
		UserID: l.Claim.UserID, VoucherID: l.Claim.VoucherID, Standing: l.Standing.String(),
	}
	if l.Claim.OrderID != 0 {
		v.OrderID = strconv.FormatInt(l.Claim.OrderID, 10)
	}
	if l.Standing == order.StandingRecorded {
		v.Status = l.Status.String()
	}
	return v
}

// replayJSON is the order of a letter that was replayed.
type replayJSON struct {
	OrderID   string `json:"orderId"`
	UserID    int64  `json:"userId"`
	VoucherID int64  `json:"voucherId"`
	Status    string `json:"status"`
}
