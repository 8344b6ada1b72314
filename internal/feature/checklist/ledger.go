package checklist

import (
	"context"
	"errors"
	"strings"
	"time"

	"seckill/internal/sqlstore/sqlkit"
)

// database is the ledger's database.
type database struct{ db *sqlkit.DB }

// inspect asks the database what a sale depends on: MySQL or MariaDB, whose settings every user may read; SQLite for
// how fast it is.
func (t database) inspect(ctx context.Context) (l Ledger, err error) {
	if l.Answer, err = median(func() error { return t.db.Ping(ctx) }); err != nil {
		return l, err
	}
	if t.db.Dialect() == sqlkit.MySQL {
		if err := t.inspectServer(ctx, &l); err != nil || l.ReadOnly {
			return l, err
		}
	}
	if l.Commit, err = median(func() error { return t.db.TryWrite(ctx) }); err != nil {
		return l, sqlkit.ReadError("trying a transaction", err)
	}
	return l, nil
}

// inspectServer reads settings that a database server has and a SQLite file lacks.
func (t database) inspectServer(ctx context.Context, l *Ledger) error {
	var is struct {
		FlushAtTrx, SyncBinlog, LogBin, ReadOnly string
		MaxConnected                             int
	}
	err := t.db.Read(ctx).Raw("SELECT @@innodb_flush_log_at_trx_commit AS " +
		"flush_at_trx, @@sync_binlog AS sync_binlog, @@log_bin AS log_bin, " +
		"@@read_only AS read_only, @@max_connections AS max_connected").Take(&is).Error
	if err != nil {
		return sqlkit.ReadError("reading the settings of the database", err)
	}
	l.FlushAtTrx, l.ReadOnly, l.MaxConnected = is.FlushAtTrx, isOn(is.ReadOnly), is.MaxConnected
	if isOn(is.LogBin) {
		l.SyncBinlog = is.SyncBinlog
	}
	if l.Connections, err = t.connected(ctx); err != nil {
		return err
	}
	l.Ahead, err = t.ahead(ctx)
	return err
}

// isOn reports whether a switch is on: 1, or a word in newer versions. Some switches have more than two states.
func isOn(v string) bool { return v != "0" && !strings.EqualFold(v, "off") }

// connected returns how many connections the database has, of all its users.
func (t database) connected(ctx context.Context) (int, error) {
	var rows []struct {
		Value int `gorm:"column:Value"`
	}
	if err := t.db.Read(ctx).Raw("SHOW GLOBAL STATUS LIKE 'Threads_connected'").Find(&rows).Error; err != nil ||
		len(rows) == 0 {
		return 0, sqlkit.ReadError("counting the connections of the database", err)
	}
	return rows[0].Value, nil
}

// ahead returns how far the database's clock is ahead of this machine's.
func (t database) ahead(ctx context.Context) (time.Duration, error) {
	var millis []int64
	asked := time.Now()
	if err := t.db.Read(ctx).Raw("SELECT ROUND(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000)").
		Find(&millis).Error; err != nil {
		return 0, sqlkit.ReadError("asking the database for the time", err)
	}
	if len(millis) == 0 {
		return 0, errors.New("the database does not say what time it is")
	}
	return time.UnixMilli(millis[0]).Sub(asked.Add(time.Since(asked) / 2)), nil
}
