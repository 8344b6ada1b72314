package redisstore

import "seckill/internal/redisstore/rediskit"

// scriptSet is the scripts of this package.
type scriptSet struct {
	seckill, correct, apply, views, holdings            rediskit.Script
	begin, setHolders, requeue, publish, drop           rediskit.Script
	reportHeartbeat, report, roundProgress              rediskit.Script
	acknowledge, deadLetter, heartbeat, takeOver, leave rediskit.Script
	replay, addCounts, inventory, unpackLetter          rediskit.Script
	checkFormat, createGroup                            rediskit.Script
}

func newScriptSet() scriptSet {
	return scriptSet{
		seckill: rediskit.NewScript("seckill"), correct: rediskit.NewScript("correct"),
		apply: rediskit.NewScript("apply"),
		views: rediskit.NewScript("views"), holdings: rediskit.NewScript("holdings"),
		begin: rediskit.NewScript("begin_rebuild"), setHolders: rediskit.NewScript("set_holders"),
		requeue: rediskit.NewScript("requeue"),
		publish: rediskit.NewScript("publish"), drop: rediskit.NewScript("drop"),
		reportHeartbeat: rediskit.NewScript("report_heartbeat"), report: rediskit.NewScript("report"),
		roundProgress: rediskit.NewScript("round_progress"), acknowledge: rediskit.NewScript("acknowledge"),
		deadLetter: rediskit.NewScript("dead_letter"), heartbeat: rediskit.NewScript("heartbeat"),
		takeOver: rediskit.NewScript("take_over"), leave: rediskit.NewScript("leave"),
		replay: rediskit.NewScript("replay"), addCounts: rediskit.NewScript("add_counts"),
		inventory: rediskit.NewScript("inventory"), unpackLetter: rediskit.NewScript("unpack_letter"),
		checkFormat: rediskit.NewScript("check_format"), createGroup: rediskit.NewScript("create_group"),
	}
}
