// Services starts a Redis and a MariaDB and runs a command with them:
//
//	go run ./test/services -- go test ./...
//
// It starts one redis-server and one mariadbd in temporary directories on free ports, installing missing programs if it
// is root on a Debian-like system. It passes their addresses to the command in SECKILL_TEST_REDIS_ADDR and
// SECKILL_TEST_MYSQL_DSN, forwards signals to it, stops both servers at the end, and exits with the command's exit
// code. SECKILL_TEST_REDIS_PROGRAM and SECKILL_TEST_MYSQL_PROGRAM choose other programs. If the environment already
// names a server, that server is checked and used instead.
//
// What can go wrong: if this program is killed, its servers are killed with it (on Linux), the next run removes their
// directories, and the command goes on without them. If a server dies during the run, the command has to notice.
package main
