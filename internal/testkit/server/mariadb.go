package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/testkit/freeport"
)

// EnvMySQLDSN is the environment variable with the DSN, in go-sql-driver's form, of a running MariaDB or MySQL that
// tests share. Its user must be allowed to create and drop schemas; a schema in the DSN is ignored.
const EnvMySQLDSN = "SECKILL_TEST_MYSQL_DSN"

// mysqlName is the name of a server that is no MariaDB.
const mysqlName = "MySQL"

// MariaDB is one process of mariadbd, or of mysqld. Its methods are not safe for concurrent use.
type MariaDB struct {
	database

	password string // of the user "seckill", which has all rights
	disk     string // the mount point for StartMariaDBOnDisk; else ""
}

// StartMariaDB starts a mariadbd, or the program that [EnvMySQLProgram] names, on 127.0.0.1 with an empty data
// directory. Commits are on disk, as in production; only the caches are smaller. args are appended to the command line,
// such as "--read-only=1".
func StartMariaDB(ctx context.Context, args ...string) (*MariaDB, error) {
	return startMariaDB(ctx, func(*MariaDB) error { return nil }, args)
}

// startMariaDB is StartMariaDB with a change of the command line before each try.
func startMariaDB(ctx context.Context, change func(*MariaDB) error, args []string) (*MariaDB, error) {
	daemon, installDB, err := mariaDBPrograms(ctx)
	if err != nil {
		return nil, err
	}
	d, err := newDatabase(ctx, "mariadb", daemon)
	if err != nil {
		return nil, err
	}
	m := &MariaDB{database: d, password: rand.Text()}
	if err := m.run(ctx, daemon, installDB, args, change); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// run initializes the data directory and starts the server for the first time.
func (m *MariaDB) run(ctx context.Context, daemon, installDB string, args []string, change func(*MariaDB) error) error {
	install, own := mariaDBInstall(installDB), []string{
		"--innodb-log-file-size=32M", "--tmpdir=" + m.Dir, // a starting server removes the others' temporary tables
	}
	if m.Name == mysqlName {
		install = []string{daemon, "--no-defaults", "--initialize-insecure", "--innodb-redo-log-capacity=8M"}
		own = []string{"--innodb-redo-log-capacity=64M", "--mysqlx=OFF", "--secure-file-priv=NULL"}
	}
	if err := copyTemplate(ctx, install, strings.ToLower(m.Name)+"-"+m.Version, m.data()); err != nil {
		return err
	}
	initFile, err := m.writeInitFile()
	if err != nil {
		return err
	}
	return onFreePort(ctx, func(port int) error {
		m.Addr, m.proc.path = freeport.Addr(port), daemon
		m.proc.args = append(append([]string{"--no-defaults"}, asRoot()...),
			"--datadir="+m.data(), "--init-file="+initFile, "--bind-address=127.0.0.1", "--port="+strconv.Itoa(port),
			"--socket=mariadb.sock", // relative to the data directory: an absolute path may be too long for a socket
			"--pid-file="+filepath.Join(m.Dir, "mariadb.pid"), "--skip-log-bin", "--skip-name-resolve",
			"--innodb-buffer-pool-size=64M", "--max-connections=1000",
			"--character-set-server=utf8mb4", "--performance-schema=OFF")
		m.proc.args = slices.Concat(m.proc.args, own, args)
		if err := change(m); err != nil {
			return err
		}
		return m.Start(ctx)
	})
}

// writeInitFile writes the statements that the server runs at its start, and returns the file.
func (m *MariaDB) writeInitFile() (string, error) {
	file := filepath.Join(m.Dir, "init.sql")
	// Root can log in only through the socket. The password is random, because this user may write files with the
	// rights of the test process, and other users of the machine must not.
	statements := fmt.Sprintf("CREATE USER IF NOT EXISTS seckill@'%%' IDENTIFIED BY '%s';\n"+
		"GRANT ALL ON *.* TO seckill@'%%' WITH GRANT OPTION;\n", m.password)
	return file, os.WriteFile(file, []byte(statements), 0o600)
}

// data returns the directory of the tables.
func (m *MariaDB) data() string { return filepath.Join(m.Dir, "data") }

// Start starts the server again after Stop or Kill, with the same port and data, and waits until it has recovered.
// A running server is left alone.
func (m *MariaDB) Start(ctx context.Context) error {
	return m.proc.start(ctx, func(ctx context.Context) error { return PingMySQL(ctx, m.DSN("")) })
}

// DSN returns the DSN for an existing schema; "" means no schema.
func (m *MariaDB) DSN(schema string) string {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = "seckill", m.password, "tcp", m.Addr, schema
	c.ParseTime, c.Loc, c.Timeout = true, time.UTC, 5*time.Second
	return c.FormatDSN()
}

// CreateSchema creates the schema on the DSN's server, unless it exists, and returns the DSN for it.
func CreateSchema(ctx context.Context, dsn, schema string) (string, error) {
	c, err := exec1(ctx, dsn, "CREATE DATABASE IF NOT EXISTS `"+schema+"` CHARACTER SET utf8mb4")
	if err != nil {
		return "", err
	}
	c.DBName = schema
	return c.FormatDSN(), nil
}

// DropSchema drops the schema on the DSN's server, if it exists.
func DropSchema(ctx context.Context, dsn, schema string) error {
	_, err := exec1(ctx, dsn, "DROP DATABASE IF EXISTS `"+schema+"`")
	return err
}

// PingMySQL returns nil if the DSN's user can log in.
func PingMySQL(ctx context.Context, dsn string) error {
	_, err := exec1(ctx, dsn, "DO 1")
	return err
}

// exec1 runs one statement on a new connection without a schema, and returns the parsed DSN.
func exec1(ctx context.Context, dsn, statement string) (*mysql.Config, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	outside := c.Clone()
	outside.DBName = ""
	outside.Logger = &mysql.NopLogger{} // a server that does not answer yet is expected
	return c, execAs(ctx, outside, statement)
}

// execAs runs statements on a new connection.
func execAs(ctx context.Context, c *mysql.Config, statements string) error {
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
}

// asRoot returns the option that mariadbd requires to run as root.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}
