package shop

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// statsEvery is how often a stream sends the sale's stats, however fast they change.
const statsEvery = time.Second

// saleEvents answers GET /admin/voucher/:id/live with server-sent events: the sale's stats, at once and every second,
// as "figures", or "away" while a store does not answer; and "bye" as in orderEvents.
func (a *API) saleEvents(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	stats, err := a.stats(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return a.stream(c, who, func(ctx context.Context, s *httpkit.Stream) error {
		return a.sendStats(ctx, s, id, stats)
	})
}

// sendStats sends the first stats and then those of each second, until ctx ends or the stream cannot go on.
func (a *API) sendStats(ctx context.Context, s *httpkit.Stream, id int64, stats saleStatsJSON) error {
	if err := s.Event("figures", "", stats); err != nil {
		return err
	}
	ticker := time.NewTicker(statsEvery)
	defer ticker.Stop()
	for before := stats.took; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		stats, err := a.stats(ctx, id)
		switch {
		case err == nil:
			if since := stats.took.Minus(before); since.Valid() { // invalid if the counts began anew
				stats.P99MS = httpkit.P99(since)
			}
			before = stats.took
			err = s.Event("figures", "", stats)
		case errors.Is(err, order.ErrUnavailable):
			err = s.Send("event: away\ndata: {}\n\n")
		}
		if err != nil {
			return err
		}
	}
}

// saleStatsJSON is a sale's stats as admins read them.
type saleStatsJSON struct {
	At        httpkit.Time      `json:"at"` // by Redis's clock
	SaleState voucher.SaleState `json:"saleState"`
	BeginTime httpkit.Time      `json:"beginTime"`
	EndTime   httpkit.Time      `json:"endTime"`
	Epoch     int64             `json:"epoch"`
	Sequence  int64             `json:"sequence"` // admissions of the epoch

	Issued   int64 `json:"issued"`
	Stock    int64 `json:"stock"`    // left to sell
	Held     int64 `json:"held"`     // holders
	Recorded int64 `json:"recorded"` // live orders in the ledger
	Stale    bool  `json:"stale"`    // issued and recorded are outdated: the ledger is away

	Accepted int64            `json:"accepted"` // requests, since the sale's counts began
	Refused  map[string]int64 `json:"refused"`  // by code

	took  histogram.Counts // how long the answers took, since the sale's counts began
	P99MS float64          `json:"p99Ms,omitempty"` // 99 % of the answers since the last stats took less

	Guards any `json:"guards,omitempty"` // absent if the sale has no guards and nothing was counted

	Waiting     int64 `json:"waiting"`   // entries of accepted orders without a row, of all sales of the partition
	WaitingMS   int64 `json:"waitingMs"` // for how long the oldest of them has waited
	DeadLetters int64 `json:"deadLetters"`
	Partition   int   `json:"partition,omitempty"` // absent: 0

	Balance *balanceJSON `json:"balance,omitempty"` // absent when it is not known
	// LostDecision is absent if nothing is lost, or as long as it cannot be read.
	LostDecision *lostDecisionJSON `json:"lostDecision,omitempty"`
}

// lostDecisionJSON is a decision about a sale that the ledger has lost, with what each store had.
type lostDecisionJSON struct {
	At       httpkit.Time `json:"at"`
	Kind     string       `json:"kind,omitempty"` // absent: not known
	Redis    saleSideJSON `json:"redis"`
	Database saleSideJSON `json:"database"`
}

type saleSideJSON struct {
	SaleState string       `json:"saleState,omitempty"` // absent: not known
	BeginTime httpkit.Time `json:"beginTime"`
	EndTime   httpkit.Time `json:"endTime"`
	Stock     int64        `json:"stock"`
}

func sideView(s voucher.SaleSide) saleSideJSON {
	return saleSideJSON{
		SaleState: s.Mode, BeginTime: httpkit.ShownTime(s.Begin), EndTime: httpkit.ShownTime(s.End), Stock: s.Stock,
	}
}

// balanceJSON is a sale's balance at the time At: it shows whether all units were accounted for.
type balanceJSON struct {
	At httpkit.Time `json:"at"`
	// Finding is balanced, undecided, redis_wrong, orders_lost, ledger_short or ledger_excess.
	Finding    string `json:"finding"`
	Why        string `json:"why,omitempty"` // the reason, in English
	Issued     int64  `json:"issued"`
	Stock      int64  `json:"stock"`          // left to sell, in Redis
	Held       int64  `json:"held"`           // holders, in Redis
	Live       int64  `json:"live"`           // live orders, in the ledger
	Kept       int64  `json:"kept,omitempty"` // units kept for the waiting list, in the ledger
	Difference int64  `json:"difference"`     // units too many; negative: too few
	Lost       int64  `json:"lost"`           // accepted orders that are in no stream and no ledger
}

func balanceView(b audit.Balance) *balanceJSON {
	return &balanceJSON{
		At: httpkit.ShownTime(b.At), Finding: b.Finding.String(), Why: b.Why,
		Issued: b.Ledger.Issued, Stock: b.Redis.Stock, Held: b.Redis.Held(), Live: b.Ledger.LiveUnits(),
		Kept: b.Ledger.Kept, Difference: cmp.Or(b.LedgerDifference, b.RedisDifference), Lost: b.Lost,
	}
}

// stats returns a sale's stats, with the counts of its guards.
func (a *API) stats(ctx context.Context, id int64) (saleStatsJSON, error) {
	stats, err := a.cfg.SaleStats(ctx, id)
	if err != nil {
		return saleStatsJSON{}, err
	}
	view := saleStatsView(stats)
	if stats.Voucher.Sale != nil && stats.Voucher.Sale.Paused {
		view.LostDecision = a.lostDecision(ctx, id)
	}
	view.Guards, err = a.cfg.Members.Of("guards").Sale(ctx, stats.Voucher)
	return view, err
}

// lostDecision returns the latest lost decision about a sale; nil if there is none, or if it cannot be read now.
func (a *API) lostDecision(ctx context.Context, id int64) *lostDecisionJSON {
	lost, err := a.cfg.LostDecisions(ctx, id)
	if err != nil || len(lost) == 0 {
		return nil
	}
	return &lostDecisionJSON{
		At: httpkit.ShownTime(lost[0].At), Kind: lost[0].Kind, Redis: sideView(lost[0].Redis),
		Database: sideView(lost[0].Ledger),
	}
}

func saleStatsView(f audit.SaleStats) saleStatsJSON {
	v := saleStatsJSON{
		At: httpkit.ShownTime(f.View.Now), SaleState: f.State, BeginTime: httpkit.ShownTime(f.View.Begin),
		EndTime: httpkit.ShownTime(f.View.End), Epoch: f.View.Mark.Epoch, Sequence: f.View.Mark.Sequence,
		Issued: f.Issued, Stock: f.View.Stock, Held: f.View.Buyers + f.View.Extra, Recorded: f.Recorded, Stale: f.Stale,
		Accepted: f.Answers[gate.Accepted.Answer()], Refused: map[string]int64{}, took: f.Took,
		Waiting: f.Waiting, WaitingMS: f.OldestWaiting.Milliseconds(), DeadLetters: f.DeadLetters,
		Partition: f.Partition,
	}
	if f.Balance != nil {
		v.Balance = balanceView(*f.Balance)
	}
	for _, answer := range gate.Answers() {
		if answer != gate.Accepted.Answer() {
			v.Refused[httpkit.CodeOf(answer)] = f.Answers[answer]
		}
	}
	return v
}
