package webhook

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

type endpointRow struct {
	ID             int64                `gorm:"column:id;primaryKey"`
	ShopID         int64                `gorm:"column:shop_id"`
	URL            string               `gorm:"column:url"`
	Description    string               `gorm:"column:description"`
	Types          string               `gorm:"column:types"`
	Secret         dispatch.Secret      `gorm:"column:secret"`
	OldSecret      dispatch.Secret      `gorm:"column:old_secret"`
	OldSecretUntil *time.Time           `gorm:"column:old_secret_until"`
	DisabledTime   *time.Time           `gorm:"column:disabled_time"`
	DisabledWhy    dispatch.FailureCode `gorm:"column:disabled_why"`
	NextNumber     int64                `gorm:"column:next_number"`
	ReplayNext     int64                `gorm:"column:replay_next"`
	ReplayEnd      int64                `gorm:"column:replay_end"`
	Failures       int64                `gorm:"column:failures"`
	FailingSince   *time.Time           `gorm:"column:failing_since"`
	RetryTime      *time.Time           `gorm:"column:retry_time"`
	SuccessTime    *time.Time           `gorm:"column:success_time"`
	LastFailure    dispatch.Failure     `gorm:"column:last_failure;serializer:json"`
	LeaseOwner     string               `gorm:"column:lease_owner"`
	LeaseUntil     *time.Time           `gorm:"column:lease_until"`
	CreateTime     time.Time            `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (*endpointRow) TableName() string { return "tb_webhook_endpoint" }

func (r *endpointRow) endpoint() dispatch.Endpoint {
	return dispatch.Endpoint{
		ID: r.ID,
		Terms: dispatch.Terms{
			ShopID: r.ShopID, URL: r.URL, Description: r.Description, Types: dispatch.ParseTypes(r.Types),
			Disabled: r.DisabledTime != nil,
		},
		Secret: r.Secret, OldSecret: r.OldSecret, OldSecretUntil: sqlkit.At(r.OldSecretUntil),
		DisabledAt: sqlkit.At(r.DisabledTime), DisabledWhy: r.DisabledWhy, CreatedAt: r.CreateTime,
		Next: r.NextNumber, ReplayNext: r.ReplayNext, ReplayEnd: r.ReplayEnd,
		Health: dispatch.Health{
			Failures: r.Failures, FailingSince: sqlkit.At(r.FailingSince), RetryAt: sqlkit.At(r.RetryTime),
		},
		SuccessAt: sqlkit.At(r.SuccessTime), LastFailure: r.LastFailure,
	}
}

// decided copies the terms, the secrets and the state of an endpoint into the row.
func (r *endpointRow) decided(e dispatch.Endpoint) {
	r.ShopID, r.URL, r.Description, r.Types = e.ShopID, e.URL, e.Description, dispatch.JoinTypes(e.Types)
	r.Secret, r.OldSecret, r.OldSecretUntil = e.Secret, e.OldSecret, sqlkit.Stamp(e.OldSecretUntil)
	r.DisabledTime, r.DisabledWhy = sqlkit.Stamp(e.DisabledAt), e.DisabledWhy
	r.health(e.Health)
}

func (r *endpointRow) health(h dispatch.Health) {
	r.Failures, r.FailingSince, r.RetryTime = h.Failures, sqlkit.Stamp(h.FailingSince), sqlkit.Stamp(h.RetryAt)
}

// CreateEndpoint implements dispatch.Endpoints. The endpoint gets all changes from a second later on, and perhaps some
// earlier ones: for a second, instances may still have cached that its shop has no endpoint.
func (l *Ledger) CreateEndpoint(
	ctx context.Context, t dispatch.Terms, secret dispatch.Secret, by voucher.Author,
) (dispatch.Endpoint, error) {
	var row endpointRow
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		if err := sqlkit.ClaimKey(tx, now, by.Key, ""); err != nil {
			return err
		}
		// The lock on the sequence prevents concurrent creations, and keeps its number from rising meanwhile.
		var sequence sequenceRow
		if err := sqlkit.Locking(tx).Where("id = 1").Take(&sequence).Error; err != nil {
			return fmt.Errorf("locking the sequence: %w", err)
		}
		var n int64
		if err := tx.Model(&endpointRow{}).Count(&n).Error; err != nil {
			return err
		}
		if n >= dispatch.MaxEndpoints {
			return dispatch.ErrEndpoints
		}
		if err := l.admits(tx, t.ShopID, by); err != nil {
			return err
		}
		row = endpointRow{NextNumber: sequence.Number + 1, CreateTime: now}
		e := dispatch.Endpoint{Terms: t, Secret: secret}
		if t.Disabled {
			e.DisabledAt = now
		}
		row.decided(e)
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := sqlkit.MadeByKey(tx, by.Key, strconv.FormatInt(row.ID, 10)); err != nil {
			return err
		}
		return l.auditEndpoint(tx, now, by, voucher.Created, &row, changesOf(dispatch.Endpoint{}, row.endpoint()))
	})
	if err != nil {
		return dispatch.Endpoint{}, sqlkit.ReadError("creating a webhook endpoint", err)
	}
	l.subscribed.forget()
	return row.endpoint(), nil
}

// admits returns dispatch.ErrEndpoints if a merchant's shop already has as many endpoints as it may have.
func (l *Ledger) admits(tx *gorm.DB, shopID int64, by voucher.Author) error {
	if by.Shop == 0 || l.perShop == 0 {
		return nil
	}
	var n int64
	if err := tx.Model(&endpointRow{}).Where("shop_id = ?", shopID).Count(&n).Error; err != nil {
		return err
	}
	if n >= l.perShop {
		return dispatch.ErrEndpoints
	}
	return nil
}

// auditEndpoint writes the entry of the audit trail about a change of an endpoint.
func (l *Ledger) auditEndpoint(
	tx *gorm.DB, now time.Time, by voucher.Author, a voucher.Action, e *endpointRow,
	changes []voucher.FieldChange,
) error {
	about := []voucher.FieldChange{{Field: "webhook", To: strconv.FormatInt(e.ID, 10)}}
	return sqlkit.WriteAudit(tx, now, by, sqlkit.AuditRow{
		ShopID: e.ShopID, Action: a, Changes: append(about, changes...),
	})
}

// changesOf returns the fields of an endpoint that differ before and after, without secrets.
func changesOf(from, to dispatch.Endpoint) []voucher.FieldChange {
	var changes []voucher.FieldChange
	add := func(field, before, after string) {
		if before != after {
			changes = append(changes, voucher.FieldChange{Field: field, From: before, To: after})
		}
	}
	add("shopId", strconv.FormatInt(from.ShopID, 10), strconv.FormatInt(to.ShopID, 10))
	add("url", from.URL, to.URL)
	add("description", from.Description, to.Description)
	add("types", dispatch.JoinTypes(from.Types), dispatch.JoinTypes(to.Types))
	add("disabled", strconv.FormatBool(from.Disabled), strconv.FormatBool(to.Disabled))
	return changes
}

// Endpoints implements dispatch.Endpoints.
func (l *Ledger) Endpoints(ctx context.Context) ([]dispatch.Endpoint, error) {
	return sqlkit.List(l.db.Read(ctx).Order("id"), "reading webhook endpoints", (*endpointRow).endpoint)
}

// Endpoint implements dispatch.Endpoints.
func (l *Ledger) Endpoint(ctx context.Context, id int64) (dispatch.Endpoint, error) {
	row, err := findEndpoint(l.db.Read(ctx), id)
	return row.endpoint(), sqlkit.ReadError(fmt.Sprintf("reading webhook endpoint %d", id), err)
}

// findEndpoint returns an endpoint's row, or dispatch.ErrNoEndpoint.
func findEndpoint(db *gorm.DB, id int64) (endpointRow, error) {
	return sqlkit.Take[endpointRow](db.Where("id = ?", id), dispatch.ErrNoEndpoint, "reading the endpoint")
}

// ChangeEndpoint implements dispatch.Endpoints.
func (l *Ledger) ChangeEndpoint(
	ctx context.Context, id int64, a voucher.Action, by voucher.Author,
	change func(e *dispatch.Endpoint, now time.Time) error,
) (dispatch.Endpoint, error) {
	var changed dispatch.Endpoint
	err := l.onEndpoint(ctx, id, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		from := row.endpoint()
		to := from
		if err := change(&to, now); err != nil {
			return err
		}
		row.decided(to)
		changed = row.endpoint()
		changes := changesOf(from, to)
		if err := tx.Save(row).Error; err != nil {
			return err
		}
		if len(changes) == 0 && to.Secret == from.Secret {
			return nil
		}
		return l.auditEndpoint(tx, now, by, a, row, changes)
	})
	if err != nil {
		return dispatch.Endpoint{}, sqlkit.ReadError(fmt.Sprintf("changing webhook endpoint %d", id), err)
	}
	l.subscribed.forget()
	return changed, nil
}

// onEndpoint runs f in a transaction that has locked an endpoint. Error: dispatch.ErrNoEndpoint.
func (l *Ledger) onEndpoint(
	ctx context.Context, id int64, f func(tx *gorm.DB, row *endpointRow, now time.Time) error,
) error {
	return l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		row, err := findEndpoint(sqlkit.Locking(tx), id)
		if err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		return f(tx, &row, now)
	})
}

// DeleteEndpoint implements dispatch.Endpoints. It also deletes the endpoint's retries and dead letters.
func (l *Ledger) DeleteEndpoint(ctx context.Context, id int64, by voucher.Author) error {
	err := l.onEndpoint(ctx, id, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		for _, of := range []any{&retryRow{}, &deadLetterRow{}} {
			if err := tx.Where("endpoint_id = ?", id).Delete(of).Error; err != nil {
				return err
			}
		}
		if err := tx.Delete(row).Error; err != nil {
			return err
		}
		return l.auditEndpoint(tx, now, by, voucher.Deleted, row,
			[]voucher.FieldChange{{Field: "url", From: row.URL}})
	})
	if err != nil {
		return sqlkit.ReadError(fmt.Sprintf("deleting webhook endpoint %d", id), err)
	}
	l.subscribed.forget()
	return nil
}
