package schema

import (
	"context"
	"time"
)

// ShortenLease sets how long an instance that died keeps others from migrating.
func ShortenLease(s *Schema, length time.Duration) { s.leaseFor = length }

// NewLease returns what tries once to get the lease.
func NewLease(ctx context.Context, s *Schema) (take func(context.Context) (bool, error), err error) {
	l, err := s.newLease(ctx)
	if err != nil {
		return nil, err
	}
	return l.take, nil
}
