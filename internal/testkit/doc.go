// Package testkit gives tests real servers, and a network that fails on demand. It is for tests only.
//
// [Redis] and [MySQL] give each test its own key prefix or empty schema, on a server shared by all tests of the
// process: the one in SECKILL_TEST_REDIS_ADDR or SECKILL_TEST_MYSQL_DSN (test/services sets both), or one that is
// started at first use. [StartRedis], [StartRedisCluster] and [StartMariaDB] start a server for one test, which may
// kill it; [StartRedisBy] starts one that uses a [Clock] set by the test, and [StartMariaDBOnDisk] one whose disk can
// be filled. [NewProxy] sits between a client and a server: it loses replies, delays, cuts, or stops a certain request
// until the test continues it; [NewClusterProxy] does that for all nodes of a Redis Cluster.
//
// Every package that uses it has
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
// which stops the shared servers afterwards, and then fails if a goroutine is left.
//
// A missing program is installed, or the test fails and says what to do; tests never skip. The package comment of
// [seckill/internal/testkit/server] lists what else can go wrong.
package testkit
