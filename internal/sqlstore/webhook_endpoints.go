package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/webhook"
)

type webhookEndpointRow struct {
	ID             int64               `gorm:"column:id;primaryKey"`
	ShopID         int64               `gorm:"column:shop_id"`
	URL            string              `gorm:"column:url"`
	Description    string              `gorm:"column:description"`
	Types          string              `gorm:"column:types"`
	Secret         webhook.Secret      `gorm:"column:secret"`
	OldSecret      webhook.Secret      `gorm:"column:old_secret"`
	OldSecretUntil *time.Time          `gorm:"column:old_secret_until"`
	DisabledTime   *time.Time          `gorm:"column:disabled_time"`
	DisabledWhy    webhook.FailureCode `gorm:"column:disabled_why"`
	NextNumber     int64               `gorm:"column:next_number"`
	ReplayNext     int64               `gorm:"column:replay_next"`
	ReplayEnd      int64               `gorm:"column:replay_end"`
	Failures       int64               `gorm:"column:failures"`
	FailingSince   *time.Time          `gorm:"column:failing_since"`
	RetryTime      *time.Time          `gorm:"column:retry_time"`
	SuccessTime    *time.Time          `gorm:"column:success_time"`
	LastFailure    webhook.Failure     `gorm:"column:last_failure;serializer:json"`
	LeaseOwner     string              `gorm:"column:lease_owner"`
	LeaseUntil     *time.Time          `gorm:"column:lease_until"`
	CreateTime     time.Time           `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (*webhookEndpointRow) TableName() string { return "tb_webhook_endpoint" }

func (r *webhookEndpointRow) endpoint() webhook.Endpoint {
	return webhook.Endpoint{
		ID: r.ID,
		Terms: webhook.Terms{
			ShopID: r.ShopID, URL: r.URL, Description: r.Description, Types: typesOf(r.Types),
			Disabled: r.DisabledTime != nil,
		},
		Secret: r.Secret, OldSecret: r.OldSecret, OldSecretUntil: sqlkit.At(r.OldSecretUntil),
		DisabledAt: sqlkit.At(r.DisabledTime), DisabledWhy: r.DisabledWhy, CreatedAt: r.CreateTime,
		Next: r.NextNumber, ReplayNext: r.ReplayNext, ReplayEnd: r.ReplayEnd,
		Health: webhook.Health{
			Failures: r.Failures, FailingSince: sqlkit.At(r.FailingSince), RetryAt: sqlkit.At(r.RetryTime),
		},
		SuccessAt: sqlkit.At(r.SuccessTime), LastFailure: r.LastFailure,
	}
}

// decided copies into the row what admins decide, and what follows from it.
func (r *webhookEndpointRow) decided(e webhook.Endpoint) {
	names := make([]string, len(e.Types))
	for i, t := range e.Types {
		names[i] = string(t)
	}
	r.ShopID, r.URL, r.Description, r.Types = e.ShopID, e.URL, e.Description, strings.Join(names, ",")
	r.Secret, r.OldSecret, r.OldSecretUntil = e.Secret, e.OldSecret, sqlkit.Stamp(e.OldSecretUntil)
	r.DisabledTime, r.DisabledWhy = sqlkit.Stamp(e.DisabledAt), e.DisabledWhy
	r.health(e.Health)
}

func (r *webhookEndpointRow) health(h webhook.Health) {
	r.Failures, r.FailingSince, r.RetryTime = h.Failures, sqlkit.Stamp(h.FailingSince), sqlkit.Stamp(h.RetryAt)
}

func typesOf(names string) []webhook.Type {
	if names == "" {
		return nil
	}
	var types []webhook.Type
	for name := range strings.SplitSeq(names, ",") {
		types = append(types, webhook.Type(name))
	}
	return types
}

// CreateEndpoint implements webhook.Endpoints. The endpoint is told of changes that begin a second later, and perhaps
// of some that began before: until then instances remember that its shop has none.
func (s *Store) CreateEndpoint(
	ctx context.Context, t webhook.Terms, secret webhook.Secret, by voucher.Author,
) (webhook.Endpoint, error) {
	var row webhookEndpointRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		// The sequence's lock keeps two creations apart, and its number from rising meanwhile.
		var sequence webhookSequenceRow
		if err := sqlkit.Locking(tx).Where("id = 1").Take(&sequence).Error; err != nil {
			return fmt.Errorf("locking the sequence: %w", err)
		}
		var n int64
		if err := tx.Model(&webhookEndpointRow{}).Count(&n).Error; err != nil {
			return err
		}
		if n >= webhook.MaxEndpoints {
			return webhook.ErrEndpoints
		}
		row = webhookEndpointRow{NextNumber: sequence.Number + 1, CreateTime: now}
		e := webhook.Endpoint{Terms: t, Secret: secret}
		if t.Disabled {
			e.DisabledAt = now
		}
		row.decided(e)
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return s.auditEndpoint(tx, now, by, voucher.Created, row.ID, changesOf(webhook.Endpoint{}, row.endpoint()))
	})
	if err != nil {
		return webhook.Endpoint{}, sqlkit.ReadError("creating a webhook endpoint", err)
	}
	s.subscribed.forget()
	return row.endpoint(), nil
}

// auditEndpoint writes the entry of the audit trail about a change of an endpoint.
func (s *Store) auditEndpoint(
	tx *gorm.DB, now time.Time, by voucher.Author, a voucher.Action, id int64, changes []voucher.FieldChange,
) error {
	about := []voucher.FieldChange{{Field: "webhook", To: strconv.FormatInt(id, 10)}}
	return sqlkit.WriteAudit(tx, now, by, sqlkit.AuditRow{Action: a, Changes: append(about, changes...)})
}

// changesOf lists what differs between an endpoint before and after, without secrets.
func changesOf(from, to webhook.Endpoint) []voucher.FieldChange {
	var changes []voucher.FieldChange
	add := func(field, before, after string) {
		if before != after {
			changes = append(changes, voucher.FieldChange{Field: field, From: before, To: after})
		}
	}
	var a, b webhookEndpointRow
	a.decided(from)
	b.decided(to)
	add("shopId", strconv.FormatInt(a.ShopID, 10), strconv.FormatInt(b.ShopID, 10))
	add("url", a.URL, b.URL)
	add("description", a.Description, b.Description)
	add("types", a.Types, b.Types)
	add("disabled", strconv.FormatBool(from.Disabled), strconv.FormatBool(to.Disabled))
	return changes
}

// Endpoints implements webhook.Endpoints.
func (s *Store) Endpoints(ctx context.Context) ([]webhook.Endpoint, error) {
	var rows []webhookEndpointRow
	if err := s.db.Read(ctx).Order("id").Find(&rows).Error; err != nil {
		return nil, sqlkit.ReadError("reading webhook endpoints", err)
	}
	endpoints := make([]webhook.Endpoint, len(rows))
	for i := range rows {
		endpoints[i] = rows[i].endpoint()
	}
	return endpoints, nil
}

// Endpoint implements webhook.Endpoints.
func (s *Store) Endpoint(ctx context.Context, id int64) (webhook.Endpoint, error) {
	row, err := findEndpoint(s.db.Read(ctx), id)
	if err != nil {
		return webhook.Endpoint{}, sqlkit.ReadError(fmt.Sprintf("reading webhook endpoint %d", id), err)
	}
	return row.endpoint(), nil
}

// findEndpoint returns an endpoint's row, or webhook.ErrNoEndpoint.
func findEndpoint(db *gorm.DB, id int64) (row webhookEndpointRow, err error) {
	err = db.Where("id = ?", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		err = webhook.ErrNoEndpoint
	}
	return row, err
}

// ChangeEndpoint implements webhook.Endpoints.
func (s *Store) ChangeEndpoint(
	ctx context.Context, id int64, a voucher.Action, by voucher.Author,
	change func(e *webhook.Endpoint, now time.Time) error,
) (webhook.Endpoint, error) {
	var row webhookEndpointRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		if row, err = findEndpoint(sqlkit.Locking(tx), id); err != nil {
			return err
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		from := row.endpoint()
		to := from
		if err := change(&to, now); err != nil {
			return err
		}
		row.decided(to)
		changes := changesOf(from, to)
		if err := tx.Save(&row).Error; err != nil {
			return err
		}
		if len(changes) == 0 && to.Secret == from.Secret {
			return nil
		}
		return s.auditEndpoint(tx, now, by, a, id, changes)
	})
	if err != nil {
		return webhook.Endpoint{}, sqlkit.ReadError(fmt.Sprintf("changing webhook endpoint %d", id), err)
	}
	s.subscribed.forget()
	return row.endpoint(), nil
}

// DeleteEndpoint implements webhook.Endpoints. What waits for it, and its dead letters, go too.
func (s *Store) DeleteEndpoint(ctx context.Context, id int64, by voucher.Author) error {
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		row, err := findEndpoint(sqlkit.Locking(tx), id)
		if err != nil {
			return err
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		for _, of := range []any{&webhookRetryRow{}, &webhookDeadLetterRow{}} {
			if err := tx.Where("endpoint_id = ?", id).Delete(of).Error; err != nil {
				return err
			}
		}
		if err := tx.Delete(&row).Error; err != nil {
			return err
		}
		return s.auditEndpoint(tx, now, by, voucher.Deleted, id, []voucher.FieldChange{{Field: "url", From: row.URL}})
	})
	if err != nil {
		return sqlkit.ReadError(fmt.Sprintf("deleting webhook endpoint %d", id), err)
	}
	s.subscribed.forget()
	return nil
}
