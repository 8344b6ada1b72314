package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Monitor tells how sales go: *order.Monitor.
type Monitor interface {
	// Figures returns how a sale goes now, across all instances. voucher.ErrNotFound, voucher.ErrNotSeckill,
	// order.ErrUnavailable.
	Figures(ctx context.Context, voucherID int64) (order.Figures, error)
}

// figuresEvery is how often a stream tells how its sale goes, whatever its pace.
const figuresEvery = time.Second

// saleEvents answers GET /admin/voucher/:id/live with server-sent events: how the sale goes, at once and every second, as
// "figures"; "away" instead while a store cannot be asked; and "bye" as orderEvents.
func (a *API) saleEvents(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithCancelCause(c.Request.Context())
	defer cancel(nil)
	f, err := a.cfg.Monitor.Figures(ctx, id)
	if err != nil {
		return answer{}, err
	}
	s, err := a.streams.open(c, who, a.headers.stream, cancel)
	if err != nil {
		return answer{}, err
	}
	defer a.streams.close(s)
	if c.Request.Method == http.MethodHead {
		s.begin()
		return answer{}, nil
	}
	err = a.tellFigures(ctx, s, id, f)
	if cause := context.Cause(ctx); errors.Is(cause, order.ErrDismissed) {
		err = cause
	}
	return answer{}, s.end(err)
}

// tellFigures sends the first figures and then those of each second, until ctx ends or the stream cannot go on.
func (a *API) tellFigures(ctx context.Context, s *stream, id int64, f order.Figures) error {
	if err := s.figures(f); err != nil {
		return err
	}
	ticker := time.NewTicker(figuresEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if s.over() {
			return errStreamOver
		}
		f, err := a.cfg.Monitor.Figures(ctx, id)
		switch {
		case err == nil:
			err = s.figures(f)
		case errors.Is(err, order.ErrUnavailable):
			err = s.send("event: away\ndata: {}\n\n")
		}
		if err != nil {
			return err
		}
	}
}

// figures sends how the sale goes.
func (s *stream) figures(f order.Figures) error {
	data, err := json.Marshal(figuresView(f))
	if err != nil {
		return fmt.Errorf("rendering a sale's figures: %w", err)
	}
	return s.send("event: figures\ndata: " + string(data) + "\n\n")
}

// figuresJSON is how a sale goes, as admins read it.
type figuresJSON struct {
	At        time.Time         `json:"at"` // by Redis's clock
	SaleState voucher.SaleState `json:"saleState"`
	BeginTime time.Time         `json:"beginTime"`
	EndTime   time.Time         `json:"endTime"`
	Epoch     int64             `json:"epoch"`
	Sequence  int64             `json:"sequence"` // admissions of the epoch

	Issued   int64 `json:"issued"`
	Stock    int64 `json:"stock"`    // left to sell
	Held     int64 `json:"held"`     // places held
	Recorded int64 `json:"recorded"` // live orders in the ledger
	Stale    bool  `json:"stale"`    // issued and recorded are not of now: the ledger is away

	Accepted int64            `json:"accepted"` // applicants, since the sale's counts began
	Refused  map[string]int64 `json:"refused"`  // by code

	Waiting     int64 `json:"waiting"`   // accepted orders without a row, of all sales of the partition
	WaitingMS   int64 `json:"waitingMs"` // for how long the first of them has waited
	DeadLetters int64 `json:"deadLetters"`

	Balance *balanceJSON `json:"balance,omitempty"` // absent when nobody can say
}

// balanceJSON says whether all units are accounted for. Its numbers are of the moment at which it was drawn.
type balanceJSON struct {
	At         time.Time `json:"at"`
	Finding    string    `json:"finding"`       // balanced, undecided, redis_wrong, orders_lost, ledger_short, ledger_excess
	Why        string    `json:"why,omitempty"` // in English
	Issued     int64     `json:"issued"`
	Stock      int64     `json:"stock"`      // left to sell, in Redis
	Held       int64     `json:"held"`       // places, in Redis
	Live       int64     `json:"live"`       // live orders, in the ledger
	Difference int64     `json:"difference"` // units too many, or below 0 too few
	Lost       int64     `json:"lost"`       // accepted orders that are in no stream and no ledger
}

func balanceView(b order.Balance) *balanceJSON {
	return &balanceJSON{
		At: shownTime(b.At), Finding: b.Finding.String(), Why: b.Why,
		Issued: b.Ledger.Issued, Stock: b.Redis.Stock, Held: b.Redis.Places, Live: b.Ledger.Live,
		Difference: cmp.Or(b.LedgerDifference, b.RedisDifference), Lost: b.Lost,
	}
}

func figuresView(f order.Figures) figuresJSON {
	v := figuresJSON{
		At: shownTime(f.View.Now), SaleState: f.State, BeginTime: shownTime(f.View.Begin), EndTime: shownTime(f.View.End),
		Epoch: f.View.Mark.Epoch, Sequence: f.View.Mark.Sequence,
		Issued: f.Issued, Stock: f.View.Stock, Held: f.View.Buyers, Recorded: f.Recorded, Stale: f.Stale,
		Accepted: f.Told[order.ToldAccepted], Refused: make(map[string]int64, order.ToldKinds-1),
		Waiting: f.Waiting, WaitingMS: f.Oldest.Milliseconds(), DeadLetters: f.Dead,
	}
	if f.Balance != nil {
		v.Balance = balanceView(*f.Balance)
	}
	for told := order.ToldAccepted + 1; told < order.ToldKinds; told++ {
		v.Refused[strings.ToUpper(told.String())] = f.Told[told]
	}
	return v
}
