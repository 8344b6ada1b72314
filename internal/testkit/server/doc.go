// Package server runs real redis-server and mariadbd processes for tests. It knows nothing of package testing, so that
// both [seckill/internal/testkit] and the runner in test/services are built on it; programs that are not tests must
// not import it.
//
// # What is authoritative
//
// A server's data lives in a directory of its own below the temporary directory and nowhere else. Kill is SIGKILL: what
// was not on its way to the disk is lost, exactly as in production, because the servers keep the settings that matter
// there (innodb_flush_log_at_trx_commit=1; Redis persists as the caller's arguments say). Start after Kill or Stop
// uses the same port, directory and password again.
//
// # What can go wrong
//
//   - A program is not installed: [RedisProgram] and [MariaDBPrograms] install it with apt-get where they can (root on
//     a Debian-like system), else they return [ErrNotInstalled] with what to do.
//   - MySQL 9 is in no release of Debian: [StartMySQL9] unpacks it from the unstable one into the user's cache
//     directory, with its libraries; nothing of the system is changed. An unpacked one is not brought up to date:
//     remove it.
//   - A Galera cluster needs galera-4, rsync and lsof, which [StartGalera] installs as above, and scripts of
//     mariadb-server, which it unpacks likewise. Where root runs the tests, its nodes belong to the user nobody.
//   - The test process dies: on Linux its servers are killed with it (parent death signal). Its directories stay, and
//     the next process that starts a server removes them, because their locks are free.
//   - A port is taken although [seckill/internal/testkit/freeport] reserved it: another one is chosen, a few times.
//
// It builds on Unix systems; the parent death signal is Linux only.
package server
