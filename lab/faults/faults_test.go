package faults

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"seckill/internal/testkit"
)

// Environment variables, set by the Makefile.
const (
	// "all": long scenarios too; "stores": those on other stores instead.
	envFaults = "SECKILL_TEST_FAULTS"
	envSeed   = "SECKILL_TEST_SEED"   // of all choices; without it random where all scenarios run, else 1
	envReport = "SECKILL_TEST_REPORT" // "write": the results go into the document
	envFull   = "SECKILL_TEST_FULL"   // "1": F39 and F40 in full size, which takes minutes
)

// scenario is one fault. All scenarios check every invariant; aim names those that the fault threatens.
type scenario struct {
	number string // the fault's number, followed by a word if there are several scenarios of it
	fault  string
	aim    string
	long   bool // not in the quick selection
	run    func(*run)
}

// scenarios returns all of them, in the order of their numbers.
func scenarios() []scenario {
	return []scenario{
		{"F01", "none: 5,000 users at once on 100 units", "all", false, faultless},
		{"F02", "one user asks 200 times at once, and 200 times more", "I2 I6", false, repeatedClicks},
		{"F03", "the script runs and its answer is lost", "I1 I2 I6 I12", false, admissionAnswersLost},
		{"F04", "buyers hang up after they were accepted", "I3 I6", false, buyersHangUp},
		{"F05", "SIGKILL after the script, before its answer", "I3 I5", false, killedAfterTheScript},
		{"F05-each", "SIGKILL of each instance in turn, at any moment", "I3 I5", false, killedInTurn},
		{"F05-only", "SIGKILL of the only instance, at any moment", "I3 I5", false, onlyOneKilled},
		{"F05-short", "the same, in a record short enough for linearizability", "all", false, killedInShort},
		{"F06", "SIGKILL after the read, before the INSERT", "I3 I8", false, killedAt(batchSent())},
		{"F07", "SIGKILL after the INSERT, before the COMMIT", "I3 I7", false, killedAt(commitSent())},
		{"F07-free", "the same for orders that cost nothing, then after the COMMIT", "I3 I7", false, freeOrders},
		{"F08", "SIGKILL after the COMMIT, before the XACK", "I2 I5 I7", false, killedAt(commitAnswered())},
		{"F09", "the COMMIT's answer is lost", "I3 I7", false, commitAnswersLost},
		{"F10", "nothing can be acknowledged for 30 s", "I7 I8", true, acknowledgementsRefused},
		{"F11", "SIGSTOP before the INSERT until others have taken over", "I2 I7", false, suspendedAt(batchSent())},
		{"F11-locked", "the same after the INSERT, its rows locked", "I2 I7", true, suspendedAt(commitSent())},
		{"F12", "a backlog of 100,000, then all instances killed", "I3 I8", true, backlog},
		{"F13", "MySQL killed and started again under load", "I3 I5 I8", false, mysqlKilled},
		{"F14", "MySQL with 3 s latency, then a black hole, then reset", "I8 I12", true, mysqlSlow},
		{"F15-wait", "the sale's row locked by another client: 1205", "I3 I5", false, lockWait},
		{"F15-deadlock", "deadlocks with another client: 1213", "I3 I5", false, deadlock},
		{"F16-read-only", "MySQL read-only, twice: 1290", "I3 I5 I8", false, mysqlReadOnly},
		// This may end MariaDB itself.
		{"F16-full", "MySQL's disk full, twice: 1114", "I3 I5 I8", true, mysqlDiskFull},
		{"F17", "MySQL has fewer units than Redis, found when they are sold", "I1 I3 I9", false, ledgerShortWhenSold},
		{"F17-rest", "the same, found before they are sold", "I1 I3 I9", false, ledgerShortAtRest},
		{"F18", "Redis lost the holders, whose rows are there", "I2 I9", false, holdersLost},
		{"F19", "an order id is another user's", "I3 I10", false, idTaken},
		{"F20-always", "Redis killed and started again, every write flushed", "I3", false, redisKilled(false)},
		{"F20-everysec", "the same, flushed once a second", "I1 I2", false, redisKilled(true)},
		{"F25", "Redis out of memory", "I5 I12", false, redisFull},
		{"F21", "Redis killed, and the last writes cut off its file", "I1 I2 I3", false, fileTruncated},
		{"F22", "Redis emptied while orders wait in it", "I1 I3", false, redisEmptied},
		{"F26", "SCRIPT FLUSH, CLIENT KILL, CLIENT PAUSE for 3 s", "I7 I8", false, redisInterrupted},
		{"F27", "the stream trimmed to nothing", "I3 I5", false, streamTrimmed},
		{"F28-group", "XGROUP DESTROY", "I3 I7", false, groupDestroyed},
		{"F28-living", "XGROUP DELCONSUMER of all that live, with what they have read", "I3 I7", false, livingRemoved},
		{"F28-dead", "the same of one that was killed, before others take over", "I3 I7", false, deadRemoved},
		{"F29", "entries that cannot be read at the head of the stream", "I3 I8", false, poisoned},
		{
			"F30", "instances' clocks an hour ahead, an hour behind, and stepping back by 2 s", "I10",
			true, instanceClocksWrong,
		},
		{"F31", "the holder of a lock stopped past its lease, at its fenced write", "I9 I11", true, holderStopped},
		{
			"F31-restarted", "Redis killed under a lock and started again, every write flushed", "I9 I11",
			false, redisKilledUnderLock,
		},
		{
			"F31-emptied", "the same with nothing in it: two instances believe that they have the lock",
			"I9 I11", false, lockForgotten,
		},
		{"F43-dead", "Redis Cluster: a master killed and never started again", "I1 I2 I3 I6", false, clusterMasterDead},
		{
			"F43-twice", "Redis Cluster of two replicas a master: the master killed, then the replica that took over",
			"I1 I2 I3 I6", true, clusterMastersDead(false),
		},
		{
			"F43-twice-kept", "the same where a replica must have each acceptance", "I1 I2 I3 I6", true,
			clusterMastersDead(true),
		},
		{"F43-planned", "Redis Cluster: a planned failover", "I3 I6", true, clusterFailover},
		{"F43-slot", "Redis Cluster: the sale's slot moves to a node that is added", "I3 I6", false, clusterSlotMoved},
		{
			"F23", "Redis Sentinel: the master killed, and its replica lags hundreds of orders behind", "I1 I2",
			true, sentinelReplicaLags,
		},
		{"F24", "Redis Sentinel: the old master serves one of three instances for 12 s after it was cut off, then " +
			"both die", "I1 I2", true, sentinelSplit(false)},
		{"F44-dead", "Redis Sentinel: the master killed and never started again", "I1 I2 I3", true, sentinelMasterDead},
		{"F44-planned", "Redis Sentinel: a planned failover", "I1 I2 I3", true, sentinelFailover},
		{
			"F44-stopped", "Redis Sentinel: the master stands still, is replaced, and goes on", "I1 I2 I3",
			true, sentinelMasterStopped,
		},
		{"F44-split", "F24 where a replica must have each acceptance", "I1 I2 I3", true, sentinelSplit(true)},
		{"F32", "SIGTERM of each instance in turn under full load", "I3 I6", false, rollingRestart},
		{
			"F33", "slow headers, headers of 1 MB, bodies of 100 MB, forged tokens, over 300 connections", "all",
			false, crowded("odd", 300),
		},
		{"F34", "three faults that the seed chooses, one after the other", "all", true, mixed},
		{"F36", "Redis full, with holders that must be corrected", "I3 I5", false, fullWithCorrections},
		{"F38", "keys of the wrong type and unreadable holders in one sale of three", "I8", false, nonsenseInOneSale},
		{"F39", "Redis restarted with hundreds of ended sales and one that runs", "I8", false, manyEndedSales},
		{"F40", "a hundred sales, a backlog, 50 units set by hand in one", "I5 I8", false, unitsByHand},
		{
			"F41-back", "Redis's clock set back by an hour while instances die that hold locks and entries", "I3 I8",
			true, redisClockSet(-time.Hour),
		},
		{"F41-ahead", "the same, set ahead by an hour", "I3 I8", true, redisClockSet(time.Hour)},
		{"F42-idle", "a crowd of connections that send nothing", "all", false, crowded("idle", 0)},
		{"F42-slow", "a crowd of purchases whose bodies come byte by byte", "all", false, crowded("slow", 0)},
		{"F42-bodies", "300 senders of bodies of 1 MB", "all", false, crowded("bodies", 300)},
		{"F42-readers", "200 readers of a list of 1 MB", "all", false, crowded("readers", 200)},
		{
			"F42-locked", "200 readers and 200 calls of admins whom MySQL keeps waiting", "I3",
			false, readersOfALockedTable,
		},
		{
			"F35", "MySQL hangs for some seconds while winners ask again, readers look, buyers buy", "I3 I6 I12", false,
			mysqlHangs(100, 6*time.Second),
		},
		{"F35-minute", "the same for a minute, 1,000 winners", "I3 I6 I12", true, mysqlHangs(1000, time.Minute)},
		{
			"F48", "orders of one and of three units: Redis emptied, an instance killed, MySQL killed",
			"I1 I3 I5", false, quantities,
		},
		{
			"F51", "a sale is called off: instances and MySQL killed ten times, a rebuild, a bank that hangs " +
				"and refuses refunds", "I3 I5 I8 I9", true, saleCalledOff(200, 3*time.Second),
		},
		{
			"F51-full", "the same with 20,000 units and a minute", "I3 I5 I8 I9", true,
			saleCalledOff(20_000, time.Minute),
		},
		{"F57", "instances killed as tills redeem: at the write, before and after the COMMIT", "I7 " +
			"I9 I12", false, redeemed(
			tillsInstanceKilled(testkit.Match{Text: couponRedeemed}),
			tillsInstanceKilled(testkit.Match{Text: commit, After: couponRedeemed}),
			tillsInstanceKilled(testkit.Match{Text: commit, After: couponRedeemed, Answered: true}))},
		{"F57-mysql", "MySQL killed at a till's COMMIT", "I7 I9 I12", false, redeemed(tillsMySQLKilled)},
		{
			"F52", "a waiting list served while instances die at its COMMITs and in Redis, and Redis is emptied",
			"I3 I5 I12", false, waitingServed,
		},
		{
			"F54", "instances killed at each step of a webhook: written, numbered, sent, given up, replayed, cleaned",
			"I3 I5", false, webhookInstancesKilled,
		},
		{"F54-mysql", "MySQL killed at each of these steps", "I3 I5", true, webhookMySQLKilled},
		{"F55", "the webhooks' receiver killed, answering 500, answering nothing", "I3", false, receiverFails},
		{
			"F56", "MySQL restored from before a part of the orders, and before another sale was created", "I1 I2 I10",
			false, mysqlRestored,
		},
		{"F56-redis", "Redis restored from before a part of the orders", "I1 I2 I3 I10", false, redisRestored},
		{"F56-both", "both restored, MySQL from an earlier moment", "I1 I2 I10", false, bothRestored},
		{
			"F62", "thousands of purchases hang up, of buyers with an order and without, while their neighbours buy",
			"I1 I2 I6", false, callersHangUp,
		},
		{
			"F58", "MySQL goes back by what people decided and by cancellations, while instances run; lost numbers " +
				"are given again", "I1 I2", false, decisionsLost,
		},
		{
			"F60", "MySQL hangs for longer than a window of a waiting list and over payment deadlines while users ask",
			"I1 I9", false, deadlinesPass,
		},
		{
			"F37", "Redis emptied, swapped away and back, restarted, while winners poll their orders",
			"I3 I12", false, winnersPoll,
		},
	}
}

// onOtherStores returns scenarios on stores that a Debian release does not have in one package: make -C lab stores.
func onOtherStores() []scenario {
	return []scenario{
		{
			"F45", "Galera, three writers: a node killed at a COMMIT and back, the majority lost and back",
			"all", true, galeraNodesLost,
		},
		{"F46", "MySQL 9 killed and started again under load, twice", "all", true, mysql9Killed},
	}
}

// TestFaults runs the scenarios. If their results are written, they run one after the other, with the machine to
// themselves, so that recovery times can be compared. Quick ones mostly wait for a service that recovers, and run in
// parallel.
func TestFaults(t *testing.T) {
	asked, quick := scenarios(), false
	switch os.Getenv(envFaults) {
	case "all":
	case "stores":
		asked = onOtherStores()
	default:
		asked, quick = slices.DeleteFunc(asked, func(sc scenario) bool { return sc.long }), true
	}
	seed := seedOf(t)
	results := results{}
	for _, sc := range asked {
		t.Run(sc.number, func(t *testing.T) {
			if quick {
				t.Parallel()
			}
			t.Logf("%s\n    again: make -C lab faults RUN=%s SEED=%d", sc.fault, sc.number, seed)
			r := newRun(t, seed)
			if !quick {
				defer func() { results.add(sc, r.result, !t.Failed()) }()
			}
			sc.run(r)
		})
	}
	results.write(t)
}

// seedOf returns the seed in the environment. Otherwise it returns a new one for a run of all scenarios, and always the
// same one for the quick ones, so that chance does not decide whether a change passes.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(envSeed)
	switch {
	case text != "":
	case os.Getenv(envFaults) == "" && os.Getenv(envCluster) == "":
		return 1
	default:
		return uint64(rand.Uint32()) // short enough to type
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", envSeed, err)
	}
	return seed
}
