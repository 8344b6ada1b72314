// Package box runs the built program as operators do, uses it as clients do, and reads its stores. The black-box tests
// (test) and the lab's fault scenarios, upgrades and alerts share it.
//
//	Site      servers on the same stores: embedded, one instance, or several
//	Server    one process: started, signalled, killed, started again
//	Client    sends requests, and checks each answer against web/openapi.yaml
//	Buyers    the buyers of one sale; their answers go into a Record
//	Balancer  sends buyers only to servers that are ready
//	Ledger    the SQL behind the servers
//	Redis     the Redis behind the servers
//	Evidence  Record, Ledger and Redis together, for internal/checker
//
// The program is built once per test process; SECKILL_TEST_SERVER names another one to test.
package box
