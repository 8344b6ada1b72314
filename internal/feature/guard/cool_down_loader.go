package guard

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/voucher/guards"
)

const (
	loadEvery   = time.Second
	loadTimeout = time.Second // one query
	forgetEvery = 600         // rounds
	unpaidPage  = 1000        // rows of one query
	pages       = 10          // queries of one round
)

// UnpaidCursor is a position in the list of users with expired orders, sorted by the time of the commit.
type UnpaidCursor struct {
	Number int64
	UserID int64
}

// UnpaidReader reads which users' orders expired unpaid: the ledger.
type UnpaidReader interface {
	// UnpaidAfter returns those behind the cursor, in order, at most limit, and the cursor at the last of them.
	UnpaidAfter(ctx context.Context, after UnpaidCursor, limit int) ([]Unpaid, UnpaidCursor, error)
}

// CoolDownLoader tells a CoolDownCheck each second which orders have expired, while a sale here has a cool-down. A
// round is one query for what is new; after a start it is ten, so that a million users are loaded within two minutes.
type CoolDownLoader struct {
	check   *CoolDownCheck
	ledger  UnpaidReader
	anySale func(func(*guards.Settings) bool) bool
	log     *slog.Logger
	cursor  UnpaidCursor
	rounds  int
	failing bool
}

// NewCoolDownLoader returns a loader; Run starts it. anySale reports whether a function is true of the settings of any
// sale here.
func NewCoolDownLoader(
	check *CoolDownCheck, ledger UnpaidReader, anySale func(func(*guards.Settings) bool) bool, log *slog.Logger,
) *CoolDownLoader {
	return &CoolDownLoader{check: check, ledger: ledger, anySale: anySale, log: log}
}

// Run loads until ctx ends.
func (l *CoolDownLoader) Run(ctx context.Context) error {
	return periodic.Every(ctx, loadEvery, l.round)
}

// round loads what is new, or forgets all users once no sale has a cool-down.
func (l *CoolDownLoader) round(ctx context.Context) {
	if !l.anySale(func(s *guards.Settings) bool { return s != nil && s.CoolDown != nil }) {
		if l.cursor != (UnpaidCursor{}) {
			l.cursor = UnpaidCursor{}
			l.check.ForgetAll()
		}
		return
	}
	if l.rounds++; l.rounds%forgetEvery == 0 {
		l.check.ForgetOld()
	}
	err := l.load(ctx)
	if ctx.Err() == nil {
		l.report(ctx, err)
	}
}

// report logs the first failure of a series, and the recovery.
func (l *CoolDownLoader) report(ctx context.Context, err error) {
	switch {
	case err != nil && !l.failing:
		l.log.WarnContext(ctx, "whose orders expired unpaid cannot be read; cool-downs go by what is known",
			"error", err)
	case err == nil && l.failing:
		l.log.InfoContext(ctx, "whose orders expired unpaid can be read again")
	}
	l.failing = err != nil
}

func (l *CoolDownLoader) load(ctx context.Context) error {
	for range pages {
		more, err := l.page(ctx)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// page reads one page; more is true if another may follow.
func (l *CoolDownLoader) page(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	users, cursor, err := l.ledger.UnpaidAfter(ctx, l.cursor, unpaidPage)
	if err != nil {
		return false, err
	}
	l.check.Tell(users)
	l.cursor = cursor
	return len(users) == unpaidPage, nil
}
