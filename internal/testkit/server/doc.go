// Package server runs real redis-server and mariadbd processes for tests. It does not depend on package testing, so
// that both [seckill/internal/testkit] and the runner in test/services can use it. It is for tests only.
//
// # What is authoritative
//
// A server's data is only in its own directory below the temporary directory. Kill is SIGKILL: unflushed writes are
// lost as in production, because the servers keep the relevant settings (innodb_flush_log_at_trx_commit=1; Redis
// persists according to the caller's arguments). Start after Kill or Stop reuses the port, directory and password.
//
// # What can go wrong
//
//   - A program is not installed: it is installed with apt-get if possible (as root on a Debian-like system); otherwise
//     the error says what to do.
//   - Redis 8, Valkey, MariaDB 11 and MySQL 9 are not in every release of Debian: if [EnvRedisProgram] or
//     [EnvMySQLProgram] names one, it is unpacked from unstable into the user's cache directory, with its libraries,
//     without changing the system. It is never updated: remove the directory to get a newer version.
//   - A Galera cluster needs galera-4, rsync and lsof, which [StartGalera] installs as above, and scripts of
//     mariadb-server, which it unpacks into the cache directory. If root runs the tests, its nodes run as nobody.
//   - The test process dies: Linux kills its servers (parent death signal). Their directories remain until the next
//     process that starts a server removes them, because their locks are free.
//   - A port is taken although [seckill/internal/testkit/freeport] reserved it: a few other ports are tried.
//
// It builds on Unix systems; the parent death signal is Linux only.
package server
