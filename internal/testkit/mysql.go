package testkit

import (
	"context"
	"crypto/rand"
	"testing"

	"seckill/internal/testkit/server"
)

// MySQL returns the DSN of a fresh, empty schema of the test's own on the MySQL or MariaDB that the tests of this
// process share. The schema is dropped at the end of the test: close what uses it before that.
func MySQL(tb testing.TB) string {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	dsn, err := sharedServers.mysqlServer(ctx)
	if err != nil {
		tb.Fatalf("testkit: MySQL: %v", err)
	}
	schema := "test_" + rand.Text()
	own, err := server.CreateSchema(ctx, dsn, schema)
	if err != nil {
		tb.Fatalf("testkit: create schema %s: %v", schema, err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
		defer cancel()
		if err := server.DropSchema(ctx, dsn, schema); err != nil {
			tb.Errorf("testkit: drop schema %s: %v", schema, err)
		}
	})
	return own
}

// MariaDBServer is a mariadbd of one test. Addr, Dir and Version are fields; Stop, Kill, Pause and Resume act on the
// process at once.
type MariaDBServer struct {
	*server.MariaDB
	tb testing.TB
}

// StartMariaDB starts a mariadbd for the test, which takes about a second; it is killed at the end. What is committed
// is flushed, so that killing it loses nothing. args are appended to its command line, such as "--read-only=1".
func StartMariaDB(tb testing.TB, args ...string) *MariaDBServer {
	tb.Helper()
	m, err := server.StartMariaDB(tb.Context(), args...)
	return ownMariaDB(tb, m, err)
}

// StartMariaDBOnDisk is StartMariaDB with a disk of its own of so many megabytes, which FillDisk fills. It cannot be started
// again.
func StartMariaDBOnDisk(tb testing.TB, megabytes int, args ...string) *MariaDBServer {
	tb.Helper()
	m, err := server.StartMariaDBOnDisk(tb.Context(), megabytes, args...)
	return ownMariaDB(tb, m, err)
}

// StartMySQL9 starts a mysqld of MySQL 9 with the settings of StartMariaDB. It is unpacked from Debian unstable, which takes
// half a minute once.
func StartMySQL9(tb testing.TB) *MariaDBServer {
	tb.Helper()
	m, err := server.StartMySQL9(tb.Context())
	return ownMariaDB(tb, m, err)
}

// GaleraCluster is a Galera cluster of one test, whose nodes are MariaDBServers. Kill, Pause and Resume act on a node at once.
type GaleraCluster struct {
	Nodes   []*MariaDBServer
	Version string
	galera  *server.Galera
}

// StartGalera starts a Galera cluster of so many nodes for the test, which takes about ten seconds for three; it is killed at
// the end. The nodes share a configuration file. It installs what it needs.
func StartGalera(tb testing.TB, nodes int, conf string) *GaleraCluster {
	tb.Helper()
	g, err := server.StartGalera(tb.Context(), nodes, conf)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	c := &GaleraCluster{Version: g.Version, galera: g}
	for _, m := range g.Nodes {
		c.Nodes = append(c.Nodes, ownMariaDB(tb, m, nil))
	}
	return c
}

// Size returns of how many nodes the cluster of a node consists, as that node sees it.
func (c *GaleraCluster) Size(ctx context.Context, node int) (int, error) {
	return c.galera.Size(ctx, node)
}

// ownMariaDB returns a server that was started for the test, and closes it at the end.
func ownMariaDB(tb testing.TB, m *server.MariaDB, err error) *MariaDBServer {
	tb.Helper()
	if err != nil {
		tb.Fatalf("testkit: start a MariaDB: %v", err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Errorf("testkit: close the MariaDB: %v", err)
		}
	})
	return &MariaDBServer{MariaDB: m, tb: tb}
}

// Start starts the server again after Stop or Kill, with the same port and data, and waits until it has recovered.
func (m *MariaDBServer) Start() {
	m.tb.Helper()
	if err := m.MariaDB.Start(m.tb.Context()); err != nil {
		m.tb.Fatalf("testkit: start the MariaDB again: %v", err)
	}
}

// DSN returns the DSN of the schema, and creates it if it does not exist.
func (m *MariaDBServer) DSN(schema string) string {
	m.tb.Helper()
	dsn, err := server.CreateSchema(m.tb.Context(), m.MariaDB.DSN(""), schema)
	if err != nil {
		m.tb.Fatalf("testkit: create schema %s: %v", schema, err)
	}
	return dsn
}
