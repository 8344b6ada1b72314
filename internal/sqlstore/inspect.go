package sqlstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/preflight"
)

// inspectFence is the row that an inspection's transactions write.
const inspectFence = "check"

// Inspect asks the database what a sale depends on: MySQL or MariaDB, whose settings every user may read; SQLite for how fast it is.
func (s *Store) Inspect(ctx context.Context) (l preflight.Ledger, err error) {
	answer, err := preflight.Median(func() error { return s.Ping(ctx) })
	if err != nil {
		return l, err
	}
	if s.dialect == mysqlDialect {
		if l, err = s.inspectServer(ctx); err != nil {
			return l, err
		}
	}
	if l.Answer = answer; l.ReadOnly {
		return l, nil
	}
	token := time.Now().UnixMilli()
	l.Commit, err = preflight.Median(func() error {
		token++
		return s.writeRetry(ctx, func(tx *gorm.DB) error { return tx.Save(&fenceRow{Name: inspectFence, Token: token}).Error })
	})
	if err != nil {
		return l, readError("trying a transaction", err)
	}
	return l, nil
}

// inspectServer asks for what a server has and a file has not.
func (s *Store) inspectServer(ctx context.Context) (l preflight.Ledger, err error) {
	if l, err = s.Settings(ctx); err != nil {
		return l, err
	}
	if l.Connections, err = s.connected(ctx); err != nil {
		return l, err
	}
	asked := time.Now()
	now, err := s.serverTime(ctx)
	l.Ahead = now.Sub(asked.Add(time.Since(asked) / 2))
	return l, err
}

// Settings returns version and settings of the server, and nothing that takes it time.
func (s *Store) Settings(ctx context.Context) (l preflight.Ledger, err error) {
	var is struct {
		Version, FlushAtTrx, SyncBinlog, LogBin, ReadOnly string
		MaxConnected                                      int
	}
	err = s.read(ctx).Raw("SELECT @@version AS version, @@innodb_flush_log_at_trx_commit AS flush_at_trx, @@sync_binlog AS sync_binlog, " +
		"@@log_bin AS log_bin, @@read_only AS read_only, @@max_connections AS max_connected").Take(&is).Error
	if err != nil {
		return l, readError("reading the settings of the database", err)
	}
	l = preflight.Ledger{Version: is.Version, FlushAtTrx: is.FlushAtTrx, ReadOnly: isOn(is.ReadOnly), MaxConnected: is.MaxConnected}
	if isOn(is.LogBin) {
		l.SyncBinlog = is.SyncBinlog
	}
	return l, nil
}

// isOn reports whether a switch is on: 1, or a word in newer versions, of which some have more than two states.
func isOn(v string) bool { return v != "0" && !strings.EqualFold(v, "off") }

// connected returns how many connections the database has, of all its users.
func (s *Store) connected(ctx context.Context) (int, error) {
	var rows []struct {
		Value int `gorm:"column:Value"`
	}
	if err := s.read(ctx).Raw("SHOW GLOBAL STATUS LIKE 'Threads_connected'").Find(&rows).Error; err != nil || len(rows) == 0 {
		return 0, readError("counting the connections of the database", err)
	}
	return rows[0].Value, nil
}

// serverTime returns the time by the database's clock, of which statements outside transactions may need more than a comparison.
func (s *Store) serverTime(ctx context.Context) (time.Time, error) {
	if s.dialect == sqliteDialect {
		return s.clock(), nil
	}
	var millis []int64
	if err := s.read(ctx).Raw("SELECT ROUND(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000)").Find(&millis).Error; err != nil {
		return time.Time{}, readError("asking the database for the time", err)
	}
	if len(millis) == 0 {
		return time.Time{}, errors.New("the database does not say what time it is")
	}
	return time.UnixMilli(millis[0]).UTC(), nil
}
