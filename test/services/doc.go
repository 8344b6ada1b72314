// Services runs a command with a Redis and a MariaDB for it:
//
//	go run ./test/services -- go test ./...
//
// It starts one redis-server and one mariadbd in temporary directories on free ports (and installs what is missing,
// as root on a Debian-like system), passes their addresses to the command in SECKILL_TEST_REDIS_ADDR and
// SECKILL_TEST_MYSQL_DSN, forwards signals to it, stops both servers at the end, and exits as the command did. A server
// that the environment already names is checked and used instead.
//
// What can go wrong: if this program is killed, its servers are killed with it (on Linux) and their directories are
// removed by the next run; the command goes on without them. If a server dies during the run, the command has to
// notice.
package main
