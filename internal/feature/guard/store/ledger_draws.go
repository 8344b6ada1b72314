package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/kit/moment"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Errors of draws.
var (
	// ErrNoDraw: the sale has no draw, or its draw counts no more.
	ErrNoDraw = errors.New("the sale has no draw")
	// ErrNoBeacon: no beacon was named for the draw.
	ErrNoBeacon = errors.New("the draw has no beacon")
	// ErrBeaconEarly: the root of the entries is not published yet.
	ErrBeaconEarly = errors.New("the draw is not closed yet")
	// ErrBeaconLate: the sale has begun.
	ErrBeaconLate = errors.New("the sale has begun without the beacon")
	// ErrBeaconEntered: another beacon was entered before.
	ErrBeaconEntered = errors.New("another beacon was entered")
)

// The reasons why a draw counts no more.
const (
	drawChanged  = "changed"  // the sale's begin, the delay or the announcement was changed
	drawOff      = "off"      // tickets or the draw were turned off
	drawRestored = "restored" // the ledger was restored from a backup, and may lack entries
)

// DrawsClosed bounds how many draws one batch closes, and hashesRead how many hashes are read at once.
const (
	DrawsClosed = 10
	hashesRead  = 5000
)

// DrawRow is a draw.
type DrawRow struct {
	VoucherID  int64      `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Number     int64      `gorm:"column:number;primaryKey;autoIncrement:false"`
	Key        []byte     `gorm:"column:draw_key"`
	KeyHash    []byte     `gorm:"column:key_hash"`
	Begin      time.Time  `gorm:"column:begin_time"`
	DelayMs    int64      `gorm:"column:delay_ms"`
	Close      time.Time  `gorm:"column:close_time"`
	Source     string     `gorm:"column:source"`
	Round      string     `gorm:"column:round"`
	Created    time.Time  `gorm:"column:create_time"`
	Closed     *time.Time `gorm:"column:closed_time"`
	Entries    int64      `gorm:"column:entries"`
	Root       []byte     `gorm:"column:root"` // nil: not published yet
	Beacon     string     `gorm:"column:beacon"`
	BeaconTime *time.Time `gorm:"column:beacon_time"`
	Void       *time.Time `gorm:"column:void_time"`
	VoidWhy    string     `gorm:"column:void_why"`
}

// TableName implements gorm's schema.Tabler.
func (*DrawRow) TableName() string { return "tb_draw" }

// Decided reports whether all moments of the draw are decided: it is closed, and has its beacon if one was named.
func (d *DrawRow) Decided() bool {
	return d.Void == nil && d.Root != nil && (d.Source == "" || d.Beacon != "")
}

// Fits reports whether the draw is that of a sale with this begin and these tickets.
func (d *DrawRow) Fits(begin time.Time, t *guards.Tickets) bool {
	return d.Begin.Equal(begin) && d.DelayMs == t.DelayMs &&
		t.Draw.Equal(&guards.Draw{CloseTime: moment.Of(d.Close), Source: d.Source, Round: d.Round})
}

type entryRow struct {
	VoucherID int64  `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Number    int64  `gorm:"column:number;primaryKey;autoIncrement:false"`
	UserID    int64  `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Entry     int64  `gorm:"column:entry"`
	Hash      []byte `gorm:"column:hash"`
}

// TableName implements gorm's schema.Tabler.
func (entryRow) TableName() string { return "tb_draw_entry" }

// current returns the sale's current draw, locked; nil if it has none that counts.
func current(tx *gorm.DB, voucherID int64) (*DrawRow, error) {
	var rows []DrawRow
	err := sqlkit.Locking(tx).Where("voucher_id = ?", voucherID).
		Order("number DESC").Limit(1).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("locking the draw of voucher %d: %w", voucherID, err)
	}
	if len(rows) == 0 || rows[0].Void != nil {
		return nil, nil
	}
	return &rows[0], nil
}

// VoucherChanged keeps the draw of a changed voucher's sale in step with its settings: what a draw was committed to
// never changes, so a change begins another. The list of a sale that is over is public, and stays. It is a
// sqlkit.Hook's.
func (l *Ledger) VoucherChanged(tx *gorm.DB, v voucher.Voucher) error {
	if v.Sale == nil {
		return nil
	}
	was, err := current(tx, v.ID)
	if err != nil {
		return err
	}
	set := v.Sale.Guards.Drawn()
	if was == nil && set == nil || was != nil && set != nil && was.Fits(v.Sale.Begin, v.Sale.Guards.Tickets) {
		return nil
	}
	now, err := l.db.LedgerTime(tx)
	if err != nil || v.Sale.Retired || v.Sale.Ended(now) {
		return err
	}
	why := drawChanged
	if set == nil {
		why = drawOff
	}
	if err := void(tx, was, now, why); err != nil || set == nil {
		return err
	}
	return begin(tx, now, &DrawRow{
		VoucherID: v.ID, Begin: v.Sale.Begin, DelayMs: v.Sale.Guards.Tickets.DelayMs,
		Close: set.CloseTime.Time, Source: set.Source, Round: set.Round,
	})
}

// void ends a draw, if there is one.
func void(tx *gorm.DB, d *DrawRow, now time.Time, why string) error {
	if d == nil {
		return nil
	}
	return tx.Model(d).Updates(map[string]any{"void_time": now, "void_why": why}).Error
}

// begin begins a draw with a key of its own, as the sale's next one. It begins none that would close in the past, or
// too near to the sale's begin: the sale then begins for nobody until another draw is announced.
func begin(tx *gorm.DB, now time.Time, d *DrawRow) error {
	if !d.Close.After(now) || d.Close.After(d.Begin.Add(-voucher.DrawLead)) {
		return nil
	}
	var last int64
	if err := tx.Model(&DrawRow{}).Where("voucher_id = ?", d.VoucherID).Select("COALESCE(MAX(number), 0)").
		Scan(&last).Error; err != nil {
		return fmt.Errorf("numbering a draw of voucher %d: %w", d.VoucherID, err)
	}
	var key [draw.Bytes]byte
	_, _ = rand.Read(key[:]) // it never fails
	hash := draw.KeyHash(key)
	d.Number, d.Created, d.Key, d.KeyHash = last+1, now, key[:], hash[:]
	d.Begin, d.Close = d.Begin.UTC(), d.Close.UTC()
	if err := tx.Create(d).Error; err != nil {
		return fmt.Errorf("beginning a draw of voucher %d: %w", d.VoucherID, err)
	}
	return nil
}

// Restored replaces all draws whose moments are still to come, unless the sale is called off: a backup may lack entries
// whose tickets are in use. It is a sqlkit.Hook's.
func (l *Ledger) Restored(tx *gorm.DB) error {
	now, err := l.db.LedgerTime(tx)
	if err != nil {
		return err
	}
	var rows []DrawRow
	calledOff := tx.Session(&gorm.Session{NewDB: true}).Table("tb_seckill_voucher").Select("voucher_id").
		Where("called_off IS NOT NULL")
	if err := tx.Where("void_time IS NULL AND voucher_id NOT IN (?)", calledOff).Order("voucher_id, number").
		Find(&rows).Error; err != nil {
		return fmt.Errorf("reading draws: %w", err)
	}
	for _, d := range rows {
		if !d.Begin.Add(time.Duration(d.DelayMs) * time.Millisecond).After(now) {
			continue
		}
		if err := void(tx, &d, now, drawRestored); err != nil {
			return err
		}
		if err := begin(tx, now, &DrawRow{
			VoucherID: d.VoucherID, Begin: d.Begin, DelayMs: d.DelayMs, Close: d.Close,
			Source: d.Source, Round: d.Round,
		}); err != nil {
			return err
		}
	}
	return nil
}

// RunningDraws returns the draws of sales that are not over, by voucher: of each sale its last one.
func (l *Ledger) RunningDraws(ctx context.Context) (map[int64]*DrawRow, error) {
	var rows []DrawRow
	err := l.db.Read(ctx).Where("voucher_id IN (SELECT voucher_id FROM tb_seckill_voucher WHERE retired = ?)", false).
		Order("voucher_id, number").Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError("reading the draws of sales", err)
	}
	draws := make(map[int64]*DrawRow, len(rows))
	for i := range rows {
		draws[rows[i].VoucherID] = &rows[i]
	}
	return draws, nil
}

// Enter enters users into a draw, and returns the entries of those who are in it. Who is in it stays in it. Once it is
// closed, nobody enters. It locks the draw, so that many users should enter at once.
func (l *Ledger) Enter(ctx context.Context, voucherID, number int64, users []int64) (map[int64]int64, error) {
	users = slices.Compact(slices.Sorted(slices.Values(users)))
	entries, err := entriesOf(l.db.Read(ctx), voucherID, number, users)
	if err == nil && len(entries) < len(users) {
		err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
			d, err := current(tx, voucherID)
			if err != nil || d == nil || d.Number != number || d.Closed != nil {
				return err
			}
			now, err := l.db.LedgerTime(tx)
			if err != nil || !now.Before(d.Close) {
				return err
			}
			rows := make([]entryRow, len(users))
			for i, user := range users {
				rows[i] = newEntry(voucherID, number, user)
			}
			if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error; err != nil {
				return err
			}
			entries, err = entriesOf(tx, voucherID, number, users)
			return err
		})
	}
	return entries, sqlkit.ReadError(fmt.Sprintf("entering the draw of voucher %d", voucherID), err)
}

// Entries returns the entries of those users who are in a draw.
func (l *Ledger) Entries(ctx context.Context, voucherID, number int64, users []int64) (map[int64]int64, error) {
	entries, err := entriesOf(l.db.Read(ctx), voucherID, number, users)
	return entries, sqlkit.ReadError(fmt.Sprintf("reading entries of voucher %d", voucherID), err)
}

// newEntry draws a user's entry: a positive number that nobody can guess.
func newEntry(voucherID, number, user int64) entryRow {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	entry := int64(binary.BigEndian.Uint64(random[:])>>1 | 1)
	hash := draw.EntryHash(draw.EntryText(voucherID, number, entry))
	return entryRow{voucherID, number, user, entry, hash[:]}
}

func entriesOf(db *gorm.DB, voucherID, number int64, users []int64) (map[int64]int64, error) {
	var rows []entryRow
	err := db.Select("user_id", "entry").
		Where("voucher_id = ? AND number = ? AND user_id IN ?", voucherID, number, users).Find(&rows).Error
	entries := make(map[int64]int64, len(rows))
	for _, r := range rows {
		entries[r.UserID] = r.Entry
	}
	return entries, err
}

// CloseDraws closes draws whose time has come, and publishes their roots. It returns how many it did something to. The
// token is that of the job. First nobody can enter any more, and then the entries are read: whoever dies in between, or
// does it twice, comes to the same root.
func (l *Ledger) CloseDraws(ctx context.Context, token int64) (int, error) {
	var due []DrawRow
	err := l.db.Read(ctx).Where("void_time IS NULL AND root IS NULL AND close_time <= ?", l.db.LedgerClock()).
		Order("voucher_id, number").Limit(DrawsClosed).Find(&due).Error
	if err != nil {
		return 0, sqlkit.ReadError("looking for draws to close", err)
	}
	for i := range due {
		if err := l.closeDraw(ctx, token, &due[i]); err != nil {
			return 0, sqlkit.ReadError(fmt.Sprintf("closing the draw of voucher %d", due[i].VoucherID), err)
		}
	}
	return len(due), nil
}

func (l *Ledger) closeDraw(ctx context.Context, token int64, d *DrawRow) error {
	change := func(where string, values func(now time.Time) map[string]any) error {
		return l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
			if err := sqlkit.RaiseFence(tx, DrawJob, token); err != nil {
				return err
			}
			now, err := l.db.LedgerTime(tx)
			if err != nil {
				return err
			}
			return tx.Model(d).Where(where).Updates(values(now)).Error
		})
	}
	// It waits for those who enter at this moment: they hold the row's lock.
	if err := change("closed_time IS NULL AND void_time IS NULL", func(now time.Time) map[string]any {
		return map[string]any{"closed_time": now}
	}); err != nil {
		return err
	}
	n, root, err := l.root(ctx, d)
	if err != nil {
		return err
	}
	return change("closed_time IS NOT NULL AND root IS NULL AND void_time IS NULL", func(time.Time) map[string]any {
		return map[string]any{"entries": n, "root": root[:]}
	})
}

// root reads the hashes of a closed draw in their order.
func (l *Ledger) root(ctx context.Context, d *DrawRow) (n int64, _ draw.Hash, _ error) {
	root, last := draw.NewRoot(), []byte{}
	for {
		var hashes [][]byte
		err := l.db.Read(ctx).Model(&entryRow{}).Where("voucher_id = ? AND number = ? AND hash > ?", d.VoucherID,
			d.Number, last).Order("hash").Limit(hashesRead).Pluck("hash", &hashes).Error
		if err != nil {
			return 0, draw.Hash{}, err
		}
		for _, h := range hashes {
			if len(h) != draw.Bytes { // changed by hand; SQLite keeps values of any length
				return 0, draw.Hash{}, fmt.Errorf("an entry's hash has %d bytes instead of %d", len(h), draw.Bytes)
			}
			root.Add(draw.Hash(h))
		}
		if n += int64(len(hashes)); len(hashes) < hashesRead {
			return n, root.Sum(), nil
		}
		last = hashes[len(hashes)-1]
	}
}

// EnterBeacon enters the beacon of a sale's draw, once. The same beacon again changes nothing. Errors: ErrNoDraw,
// ErrNoBeacon, ErrBeaconEarly, ErrBeaconLate, ErrBeaconEntered, order.ErrUnavailable, order.ErrUnknownChange.
func (l *Ledger) EnterBeacon(ctx context.Context, by voucher.Author, voucherID int64, beacon string) error {
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		d, err := current(tx, voucherID)
		if err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		switch {
		case err != nil:
			return err
		case d == nil:
			return ErrNoDraw
		case d.Source == "":
			return ErrNoBeacon
		case d.Beacon == beacon:
			return nil
		case d.Beacon != "":
			return ErrBeaconEntered
		case d.Root == nil:
			return ErrBeaconEarly
		case !now.Before(d.Begin):
			return ErrBeaconLate
		}
		if err := tx.Model(d).Updates(map[string]any{"beacon": beacon, "beacon_time": now}).Error; err != nil {
			return fmt.Errorf("writing the beacon: %w", err)
		}
		return sqlkit.WriteAudit(tx, now, by, sqlkit.AuditRow{
			VoucherID: voucherID, Action: voucher.Changed,
			Changes: []voucher.FieldChange{{Field: "beacon", To: beacon}},
		})
	})
	return sqlkit.ReadError(fmt.Sprintf("entering the beacon of voucher %d", voucherID), err)
}

// DrawJob is the name of the lock under which draws are closed.
const DrawJob = "draw"
