package sqlstore

import (
	"context"
	"database/sql"
)

// Setting asks a connection of the store's pool for one value.
func Setting(ctx context.Context, s *Store, expression string) (value string, err error) {
	err = s.pool.QueryRowContext(ctx, "SELECT "+expression).Scan(&value)
	return value, err
}

// Stats says how busy the store's pool is.
func (s *Store) Stats() sql.DBStats { return s.pool.Stats() }
