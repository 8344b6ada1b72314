package cooldown

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

// Cursor is a position in the list of users with expired orders, sorted by the time of the commit.
type Cursor struct {
	Number int64
	UserID int64
}

// ReadUnpaid reads from the ledger the users whose orders expired unpaid: at most limit, behind the cursor and in its
// order. It also returns the cursor at the last user.
type ReadUnpaid func(ctx context.Context, after Cursor, limit int) ([]Unpaid, Cursor, error)

// Loader loads into Users each second which orders have expired, while a sale here has a cool-down. A round is one
// query for new entries; after a start it is ten, so that a million users are loaded within two minutes.
type Loader struct {
	users   *Users
	read    ReadUnpaid
	anySale func(func(*guards.Settings) bool) bool
	log     *slog.Logger
	cursor  Cursor
	rounds  int
	failing bool
}

// NewLoader returns a loader; Run starts it. anySale reports whether the given function returns true for the settings
// of any sale here.
func NewLoader(
	users *Users, read ReadUnpaid, anySale func(func(*guards.Settings) bool) bool, log *slog.Logger,
) *Loader {
	return &Loader{users: users, read: read, anySale: anySale, log: log}
}

// Run loads until ctx ends.
func (l *Loader) Run(ctx context.Context) error {
	return periodic.Every(ctx, loadEvery, l.round)
}

// round loads new entries, or forgets all users once no sale has a cool-down.
func (l *Loader) round(ctx context.Context) {
	if !l.anySale(func(s *guards.Settings) bool { return s != nil && s.CoolDown != nil }) {
		if l.cursor != (Cursor{}) {
			l.cursor = Cursor{}
			l.users.ForgetAll()
		}
		return
	}
	if l.rounds++; l.rounds%forgetEvery == 0 {
		l.users.ForgetOld()
	}
	err := l.load(ctx)
	if ctx.Err() == nil {
		l.report(ctx, err)
	}
}

// report logs the first failure of a series, and the recovery.
func (l *Loader) report(ctx context.Context, err error) {
	switch {
	case err != nil && !l.failing:
		l.log.WarnContext(ctx, "whose orders expired unpaid cannot be read; cool-downs go by what is known",
			"error", err)
	case err == nil && l.failing:
		l.log.InfoContext(ctx, "whose orders expired unpaid can be read again")
	}
	l.failing = err != nil
}

func (l *Loader) load(ctx context.Context) error {
	for range pages {
		more, err := l.page(ctx)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// page reads one page; more is true if another may follow.
func (l *Loader) page(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	read, cursor, err := l.read(ctx, l.cursor, unpaidPage)
	if err != nil {
		return false, err
	}
	l.users.Tell(read)
	l.cursor = cursor
	return len(read) == unpaidPage, nil
}
