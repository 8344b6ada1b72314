package waitlist

import (
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// Ledger keeps the waiting lists in the ledger's database. Each of its writes is one transaction. Locks are taken in
// the order sale, list, places.
type Ledger struct {
	db    *sqlkit.DB
	units sqlkit.KeptUnits

	counted *counted
}

// NewLedger returns the lists in a database; units gives access to the units that its sales keep.
func NewLedger(db *sqlkit.DB, units sqlkit.KeptUnits) *Ledger {
	return &Ledger{db, units, &counted{of: make(map[int64]countsAt)}}
}

// placeRow is a row of a place. It has no field for the column open, which the database computes.
type placeRow struct {
	VoucherID  int64      `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Position   int64      `gorm:"column:position;primaryKey;autoIncrement:false"`
	UserID     int64      `gorm:"column:user_id"`
	State      State      `gorm:"column:state"`
	Standing   bool       `gorm:"column:standing"`
	Claimed    bool       `gorm:"column:claimed"`
	Missed     int64      `gorm:"column:missed"`
	Turns      int64      `gorm:"column:turns"`
	CreateTime time.Time  `gorm:"column:create_time"`
	InviteTime *time.Time `gorm:"column:invite_time"`
	Deadline   *time.Time `gorm:"column:deadline"`
	OrderID    *int64     `gorm:"column:order_id"`
	Operation  *int64     `gorm:"column:operation"`
	EndTime    *time.Time `gorm:"column:end_time"`
}

// TableName implements gorm's schema.Tabler.
func (placeRow) TableName() string { return "tb_place" }

func (r placeRow) place() Place {
	p := Place{
		VoucherID: r.VoucherID, UserID: r.UserID, Position: r.Position, State: r.State, Standing: r.Standing,
		Claimed: r.Claimed || r.OrderID != nil, Missed: r.Missed, JoinedAt: r.CreateTime,
		InvitedAt: sqlkit.At(r.InviteTime), Deadline: sqlkit.At(r.Deadline), EndedAt: sqlkit.At(r.EndTime),
	}
	if r.OrderID != nil {
		p.OrderID = *r.OrderID
	}
	return p
}

// turn returns the change of the place, for the hooks.
func (r placeRow) turn(kind order.TurnKind, at time.Time) order.Turn {
	p := r.place()
	return order.Turn{
		ID: order.PlaceID{VoucherID: r.VoucherID, Position: r.Position}, UserID: r.UserID, OrderID: p.OrderID,
		Kind: kind, Number: r.Turns, Joined: p.JoinedAt, Invited: p.InvitedAt, Deadline: p.Deadline, Ended: p.EndedAt,
		Missed: r.Missed, At: at,
	}
}

type listRow struct {
	VoucherID     int64      `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	LastPosition  int64      `gorm:"column:last_position"`
	Open          bool       `gorm:"column:open"`
	Invited       int64      `gorm:"column:invited"`
	PausedAt      *time.Time `gorm:"column:paused_at"`
	LastOperation int64      `gorm:"column:last_operation"`
}

// TableName implements gorm's schema.Tabler.
func (listRow) TableName() string { return "tb_waiting_list" }

// save writes the fields of a locked list that can change.
func (r listRow) save(tx *gorm.DB) error {
	err := tx.Model(&r).Select("last_position", "open", "invited", "paused_at", "last_operation").Updates(&r).Error
	if err != nil {
		return fmt.Errorf("writing the waiting list of voucher %d: %w", r.VoucherID, err)
	}
	return nil
}

// lockList locks the list's row, and creates it if it is missing. If two transactions create it at once, one waits for
// the other and finds it.
func lockList(tx *gorm.DB, voucherID int64) (listRow, error) {
	var row listRow
	find := func() error { return sqlkit.Locking(tx).Where("voucher_id = ?", voucherID).Take(&row).Error }
	err := find()
	if errors.Is(err, gorm.ErrRecordNotFound) {
		err = tx.Create(&listRow{VoucherID: voucherID}).Error
		if err == nil || sqlkit.IsDuplicate(err) {
			err = find()
		}
	}
	if err != nil {
		return row, fmt.Errorf("locking the waiting list: %w", err)
	}
	return row, nil
}

// lockPlace locks and returns the user's open place, or ErrNoPlace.
func lockPlace(tx *gorm.DB, voucherID, userID int64) (placeRow, error) {
	open := sqlkit.Locking(tx).Where("voucher_id = ? AND user_id = ? AND open = 1", voucherID, userID)
	return sqlkit.Take[placeRow](open, ErrNoPlace, "locking the place")
}

func positionsOf(places []placeRow) []int64 {
	return sqlkit.Distinct(places, func(r placeRow) int64 { return r.Position })
}

// usersWithOrders returns the users who have a live order of the sale.
func usersWithOrders(tx *gorm.DB, voucherID int64, users []int64) (map[int64]bool, error) {
	live := make(map[int64]bool)
	for part := range sqlkit.Chunks(users) {
		var found []int64
		err := tx.Table("tb_voucher_order").Where("voucher_id = ? AND live = 1 AND user_id IN ?", voucherID, part).
			Pluck("user_id", &found).Error
		if err != nil {
			return nil, fmt.Errorf("looking for live orders: %w", err)
		}
		for _, user := range found {
			live[user] = true
		}
	}
	return live, nil
}

// Promised implements sqlkit.Hook.Promised: it returns the number of units kept for invitations. It changes only under
// the sale's lock.
func Promised(tx *gorm.DB, voucherID int64) (int64, error) {
	var invited []int64
	err := tx.Model(&listRow{}).Where("voucher_id = ?", voucherID).Pluck("invited", &invited).Error
	if err != nil || len(invited) == 0 {
		return 0, err
	}
	return invited[0], nil
}
