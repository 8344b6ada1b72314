package sqlkit

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
)

// keyRow is a finished request and what it made, by its Idempotency-Key.
type keyRow struct {
	Caller     int64     `gorm:"column:caller;primaryKey;autoIncrement:false"`
	Name       string    `gorm:"column:request_key;primaryKey"`
	Route      string    `gorm:"column:route"`
	Body       []byte    `gorm:"column:body_digest"`
	Made       string    `gorm:"column:made"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (keyRow) TableName() string { return "tb_request" }

// again returns the error for another request with this row's key.
func (r keyRow) again(k idempotency.Key) error {
	if r.Route != k.Route || !bytes.Equal(r.Body, k.Body[:]) {
		return fmt.Errorf("%w: it was %s", idempotency.ErrReused, r.Route)
	}
	return &idempotency.RepeatedError{Made: r.Made}
}

// FindKey implements httpapi.Keys.
func (d *DB) FindKey(ctx context.Context, k idempotency.Key) error {
	return ReadError("repeating a request", findKey(d.Read(ctx), k))
}

// findKey returns nil for the key of a request that has not been done. Errors: *idempotency.RepeatedError for a request
// that has been done, idempotency.ErrReused if the key was used for another request.
func findKey(db *gorm.DB, k idempotency.Key) error {
	var rows []keyRow
	if err := db.Where("caller = ? AND request_key = ?", k.Caller, k.Name).Find(&rows).Error; err != nil {
		return fmt.Errorf("looking for the idempotency key: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	return rows[0].again(k)
}

// ClaimKey begins a transaction that may be done once for each key: its error, which is one of findKey's, must end the
// transaction. It waits for another transaction with the same key. made is the id of the thing that the transaction
// makes; if it is not known yet, call [MadeByKey] before the end of the transaction.
func ClaimKey(tx *gorm.DB, now time.Time, k idempotency.Key, made string) error {
	if !k.Given() {
		return nil
	}
	row := keyRow{Caller: k.Caller, Name: k.Name, Route: k.Route, Body: k.Body[:], Made: made, CreateTime: now}
	switch err := tx.Create(&row).Error; {
	case IsDuplicate(err):
		// findKey's error ends the wait: it means that the row is there.
		return AwaitRow(tx.Statement.Context, func() (bool, error) { return false, findKey(tx, k) })
	case err != nil:
		return fmt.Errorf("storing the idempotency key: %w", err)
	}
	return nil
}

// MadeByKey stores the id of the thing that a transaction with a key has made.
func MadeByKey(tx *gorm.DB, k idempotency.Key, made string) error {
	if !k.Given() {
		return nil
	}
	err := tx.Model(&keyRow{}).Where("caller = ? AND request_key = ?", k.Caller, k.Name).Update("made", made).Error
	return Wrapf(err, "noting what the request made")
}

// ForgetKeys is for service.KeyCleaner.
func (d *DB) ForgetKeys(ctx context.Context, token int64, age time.Duration, n int) (forgotten int, err error) {
	err = d.WriteAt(ctx, func(tx *gorm.DB, now time.Time) (err error) {
		if err := RaiseFence(tx, order.KeysJob, token); err != nil {
			return err
		}
		forgotten, err = forgetKeys(tx, now.Add(-age), n)
		return err
	})
	return forgotten, ReadError("deleting old idempotency keys", err)
}

// forgetKeys deletes the oldest of the keys from before the given time, about n at most, and returns their number.
func forgetKeys(tx *gorm.DB, before time.Time, n int) (int, error) {
	due := tx.Where("create_time < ?", before)
	var last []time.Time // the time of the nth key
	err := due.Session(&gorm.Session{}).Model(&keyRow{}).Order("create_time").Offset(n-1).Limit(1).
		Pluck("create_time", &last).Error
	if err != nil {
		return 0, fmt.Errorf("reading old idempotency keys: %w", err)
	}
	if len(last) > 0 {
		due = due.Where("create_time <= ?", last[0].UTC())
	}
	result := due.Delete(&keyRow{})
	if result.Error != nil {
		return 0, fmt.Errorf("deleting old idempotency keys: %w", result.Error)
	}
	return int(result.RowsAffected), nil
}
