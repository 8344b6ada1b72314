// Package testkit gives tests real servers and a network that fails on demand. Only tests import it.
//
// [Redis] and [MySQL] give each test a key prefix or an empty schema of its own, on a server that all tests of the
// process share: the one that the environment names (SECKILL_TEST_REDIS_ADDR, SECKILL_TEST_MYSQL_DSN; test/services
// sets both), else one that is started on first use. [StartRedis], [StartRedisCluster] and [StartMariaDB] start a
// server for one test, which may kill it; [StartRedisBy] one that goes by a [Clock] that the test sets,
// [StartMariaDBOnDisk] one whose disk can be filled. [NewProxy] is between a client and a server and loses replies,
// delays, cuts, or stops a certain request until the test continues it; [NewClusterProxy] is one to all nodes of a
// Redis Cluster.
//
// Every package that uses it has
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
// which stops the shared servers and then fails when a goroutine is left.
//
// A missing program is installed or the test fails and says what to do; a test never skips. What can go wrong below
// that is in the package comment of [seckill/internal/testkit/server].
package testkit
