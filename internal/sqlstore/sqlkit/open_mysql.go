package sqlkit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"

	"seckill/internal/kit/bulkhead"
)

// Options are the options of OpenMySQL and OpenSQLite.
type Options struct {
	// Now is the clock of caches; nil: time.Now. With SQLite it also gives the times that are recorded; with MySQL, the
	// server's clock gives those.
	Now func() time.Time
	Log *slog.Logger // nil: slog.Default()
	// MaxConns is how many connections there are at most, for all classes of callers together (bulkhead).
	MaxConns int
	// Timeout bounds connecting and each read and write on a connection. The DSN may set smaller timeouts, not larger
	// ones. Waiting for a row lock ends after half of it, so that the server reports that (1205) before the connection
	// is given up. SQLite's connections never wait for a network.
	Timeout time.Duration
	// CAs are the authorities that sign MySQL's certificate; with them, connections use TLS. nil: the DSN decides.
	CAs *x509.CertPool
	// Currency is the currency of all amounts, a code of ISO 4217.
	Currency string
	Zone     *time.Location // the time zone in which days begin; nil: UTC
}

const (
	// connLifetime is short because proxies and firewalls drop connections without a word, and because only a new
	// connection notices a changed address.
	connLifetime = 5 * time.Minute
	// idleWait is how many seconds the server keeps a silent connection; then it closes the connection, and rolls back.
	// So an instance that froze or vanished in the middle of a transaction does not keep its rows locked for the
	// server's default of eight hours. It is longer than any pause within a transaction.
	idleWait = 15
	// connIdle is when the pool itself closes an unused connection: before the server does.
	connIdle = idleWait * time.Second * 2 / 3
	// ddlLockWait is how many seconds DDL waits for running transactions at most, unless it says otherwise itself.
	ddlLockWait = 60
)

// checked returns the options ready for use. Limits have no defaults here: those are internal/config's.
func (o Options) checked() (Options, error) {
	if least := len(bulkhead.Stores()); o.MaxConns < least || o.Timeout <= 0 {
		return Options{}, fmt.Errorf("sqlstore: MaxConns is %d and Timeout %v; allowed are %d or more, and above 0",
			o.MaxConns, o.Timeout, least)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return o, nil
}

// ErrDSN is the error for a data source name that cannot be used; the text after it is the reason.
var ErrDSN = errors.New("unusable MySQL DSN")

// OpenMySQL opens the ledger in MySQL or MariaDB and pings it. The DSN is the Go driver's,
// user:password@tcp(host:3306)/schema?…; OpenMySQL adds the parameters that the service relies on. It returns ErrDSN if
// the DSN cannot be read, names no schema, or has clientFoundRows set.
func OpenMySQL(ctx context.Context, dsn string, o Options) (*DB, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	cfg, err := mysqlConfig(dsn, o)
	if err != nil {
		return nil, err
	}
	connector, err := newSessionConnector(cfg, sessionSettings(cfg.ReadTimeout))
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(o.MaxConns)
	pool.SetMaxIdleConns(o.MaxConns)
	pool.SetConnMaxLifetime(connLifetime)
	pool.SetConnMaxIdleTime(connIdle)

	ddl := cfg.Clone()
	ddl.ReadTimeout = 0 // an ALTER of a large table answers when it is done
	ddlConnector, err := newSessionConnector(ddl, ddlSettings())
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	db, err := gorm.Open(gormmysql.New(gormmysql.Config{
		Conn: pool, DSNConfig: cfg, SkipInitializeWithVersion: true,
	}), gormConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening gorm on MySQL: %w", err), pool.Close())
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to MySQL at %s: %w", cfg.Addr, err), pool.Close())
	}
	d := &DB{
		db: db, pool: pool, permits: newPermits(o), dialect: MySQL, place: cfg.DBName + " at " + cfg.Addr, now: o.Now,
		log: o.Log, maxConns: o.MaxConns, currency: o.Currency, zone: o.Zone, ddl: ddlConnector,
	}
	if err := d.bound(db); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return d, nil
}

// mysqlConfig reads the DSN and adds the parameters that every transaction relies on.
func mysqlConfig(dsn string, o Options) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		// The driver's message never quotes the DSN, so no password gets into a log.
		return nil, fmt.Errorf("%w: %w", ErrDSN, err)
	}
	switch {
	case cfg.ClientFoundRows:
		// The ledger detects too little stock, or another epoch, by the number of rows that a statement has changed.
		// This option would count the rows that match.
		return nil, fmt.Errorf("%w: clientFoundRows must not be set", ErrDSN)
	case cfg.DBName == "":
		return nil, fmt.Errorf("%w: it names no schema", ErrDSN)
	}
	cfg.Timeout = minTimeout(cfg.Timeout, o.Timeout)
	cfg.ReadTimeout = minTimeout(cfg.ReadTimeout, o.Timeout)
	cfg.WriteTimeout = minTimeout(cfg.WriteTimeout, o.Timeout)
	if o.CAs != nil {
		cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.CAs} // the driver adds the name to be checked
	}
	cfg.Loc = time.UTC
	cfg.ParseTime = true
	cfg.InterpolateParams = true // one round trip per batch, and no limit of 65,535 placeholders
	cfg.MultiStatements = false
	cfg.RejectReadOnly = false // it hides the server's message; DB.Write drops these connections
	cfg.Logger = driverLog{o.Log}
	if err := cfg.Apply(mysql.TimeTruncate(time.Millisecond), mysql.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDSN, err)
	}
	return cfg, nil
}

// minTimeout returns the smaller of two timeouts; given = 0 means no timeout.
func minTimeout(given, most time.Duration) time.Duration {
	if given <= 0 || given > most {
		return most
	}
	return given
}

// strictMode makes the server refuse a value that does not fit, instead of changing it. ANSI_QUOTES and
// NO_BACKSLASH_ESCAPES must not be in it: GORM quotes with backticks, the driver escapes with backslashes.
const strictMode = "SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO," +
	"NO_ENGINE_SUBSTITUTION'"

// sessionSettings are the statements that prepare a connection for orders. They are statements and not DSN parameters
// because MySQL and MariaDB do not share a variable for the isolation level.
func sessionSettings(readTimeout time.Duration) []string {
	wait := max(1, int64(readTimeout/2/time.Second))
	return []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"SET time_zone = '+00:00'",
		strictMode,
		fmt.Sprintf("SET innodb_lock_wait_timeout = %d, lock_wait_timeout = %d, wait_timeout = %d",
			wait, wait, idleWait),
	}
}

func ddlSettings() []string {
	return []string{"SET time_zone = '+00:00'", strictMode, fmt.Sprintf("SET lock_wait_timeout = %d", ddlLockWait)}
}

// sessionConnector runs statements on every new connection before it is used.
type sessionConnector struct {
	driver.Connector
	statements []string
}

func newSessionConnector(cfg *mysql.Config, statements []string) (*sessionConnector, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDSN, err)
	}
	return &sessionConnector{Connector: connector, statements: statements}, nil
}

// Connect implements driver.Connector.
func (c *sessionConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T cannot execute statements", conn), conn.Close())
	}
	for _, statement := range c.statements {
		if _, err := execer.ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close())
		}
	}
	return conn, nil
}

// driverLog logs the driver's messages about lost connections, which go to stderr otherwise. The user of the connection
// gets an error as well.
type driverLog struct{ log *slog.Logger }

// Print implements mysql.Logger.
func (l driverLog) Print(v ...any) { l.log.Debug("mysql driver", "message", fmt.Sprint(v...)) }
