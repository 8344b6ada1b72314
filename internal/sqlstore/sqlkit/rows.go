package sqlkit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// BatchRows is how many rows one INSERT or one IN list holds at most: a batch of the recorder by default (500 orders,
// and up to 15 more of its last entry). Larger statements are not faster, and SQLite allows 32,766 placeholders.
const BatchRows = 515

// Chunks yields s in parts that fit into one statement.
func Chunks[T any](s []T) iter.Seq[[]T] { return slices.Chunk(s, BatchRows) }

// CreateAll inserts the rows, a part at a time.
func CreateAll[T any](tx *gorm.DB, rows []T) error {
	for part := range Chunks(rows) {
		if err := tx.Create(&part).Error; err != nil {
			return err
		}
	}
	return nil
}

// List returns the rows that a query outside transactions finds, converted by domain.
func List[T, R any](query *gorm.DB, what string, domain func(*T) R) ([]R, error) {
	var rows []T
	if err := query.Find(&rows).Error; err != nil {
		return nil, ReadError(what, err)
	}
	return Map(rows, domain), nil
}

// Equal restricts a query to rows whose columns have the given ids. A zero id does not restrict.
func Equal(query *gorm.DB, columns map[string]int64) *gorm.DB {
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		if id := columns[column]; id != 0 {
			query = query.Where(column+" = ?", id)
		}
	}
	return query
}

// Map returns the results of f for each row.
func Map[T, R any](rows []T, f func(*T) R) []R {
	all := make([]R, len(rows))
	for i := range rows {
		all[i] = f(&rows[i])
	}
	return all
}

// Take returns the row that a query finds, or the error none if there is no such row.
func Take[T any](query *gorm.DB, none error, doing string) (row T, err error) {
	switch err := query.Take(&row).Error; {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, none
	case err != nil:
		return row, fmt.Errorf("%s: %w", doing, err)
	}
	return row, nil
}

// Locking makes the query lock the rows that it reads until the transaction ends. SQLite's transactions lock
// everything.
func Locking(tx *gorm.DB) *gorm.DB {
	return tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
}

// hiddenFor is how long a row may stay hidden from queries after a statement has run into it.
const hiddenFor = 2 * time.Second

// AwaitRow calls find until it sees the row behind a duplicate-key error (IsDuplicate), or fails. On a busy machine,
// MariaDB can report the duplicate a moment before queries see the committed row, also at READ COMMITTED. Error:
// order.ErrUnavailable if the row stays hidden.
func AwaitRow(ctx context.Context, find func() (found bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, hiddenFor, order.ErrUnavailable)
	defer cancel()
	for {
		if found, err := find(); found || err != nil {
			return err
		}
		if retry.Sleep(ctx, time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("waiting for a row that is there: %w", context.Cause(ctx))
		}
	}
}

// Distinct returns the keys of s without repetition, in the order of their first occurrence.
func Distinct[T any, K comparable](s []T, key func(T) K) []K {
	seen := make(map[K]bool, len(s))
	keys := make([]K, 0, len(s))
	for _, v := range s {
		if k := key(v); !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// Truncate returns at most n characters of s, as text that every column takes.
func Truncate(s string, n int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	count := 0
	for i := range s {
		if count == n {
			return s[:i]
		}
		count++
	}
	return s
}

// At returns the time of a column: the zero time for NULL.
func At(t *time.Time) time.Time { return Value(t) }

// Value returns the value of a column: the zero value for NULL.
func Value[T any](column *T) (value T) {
	if column != nil {
		value = *column
	}
	return value
}

// OrNull is the reverse of Value.
func OrNull[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// Stamp is the reverse of At.
func Stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// UsingIndex names a table in a query that is to be read by the index.
func (d *DB) UsingIndex(table, index string) string {
	if d.Dialect() == SQLite {
		return table + " INDEXED BY " + index
	}
	return table + " FORCE INDEX (" + index + ")"
}
