package main

// inTogether returns the mutants of requests of one owner that get the lock together, and of what tokens and missing
// answers rely on.
func inTogether() []mutation {
	return []mutation{
		{"an owner's other requests are not called along", []change{
			{"lua/queue.lua", `if waits(ARGV[1]) then`, `if false then`},
		}, "Fair", 61},
		{"a reader's other requests are not called along", []change{
			{"lua/read.lua", `    call_along('+', now)`, ``},
		}, "Read", 61},
		{"it is not heeded who has the lock", []change{
			{"topic.go", `o != "" {`, `false {`},
		}, "Reentrant", 61},
		{"a mutex is taken with a token that is not covered", []change{
			{"lua/mutex_take.lua", ` and token <= high then`, ` then`},
		}, "Mutex", 62},
		{"tokens are not covered", []change{
			{"lua/token.lua", `if tonumber(high or 0) < token then`, `if not high then`},
		}, "Fair", 62},
		{"idle connections are not looked at", []change{
			{"halfopen.go", `if time.Since(s.probed) < probedFor {`, `if true {`},
		}, "Mutex", 63},
		{"a renewal leaves idle connections as they are", []change{
			{"watchdog.go", `if timedOut(err) {`, `if false {`},
		}, "Reentrant", 63},
		{"a majority is patient with a connection that says nothing", []change{
			{"attempt.go", `return askTimeout / 3`, `return askTimeout`},
		}, "Redlock", 63},
		{"a hung renewal is never given up", []change{
			{
				"watchdog.go",
				`context.WithTimeout(context.Background(), timeout)`,
				`context.WithTimeout(context.Background(), timeout+time.Hour)`,
			},
		}, "Mutex", 63},
		{"no answer is called a refusal", []change{
			{
				"errors.go",
				`return fmt.Errorf("%w: %w", ErrNoAnswer, ended)`,
				`return fmt.Errorf("%w: %w", ErrNotObtained, ended)`,
			},
		}, "Mutex", 64},
		{"a refusal counts however long Redis has been silent", []change{
			{"wait.go", `if l.locker.pubsub.silent.Load() {`, `if false {`},
		}, "Fair", 64},
		{"an error names a deadline that is not the caller's", []change{
			{"errors.go", `return ErrNoAnswer // that`, `return err // that`},
		}, "Reentrant", 64},
		{"a majority that is silent is called a refusal", []change{
			{"group/round.go", `case ended != nil && r.refused > 0:`, `case ended != nil:`},
		}, "Redlock", 64},
		{"a negative number of replicas is accepted", []change{
			{"group/lock.go", `n < 0 {`, `false {`},
		}, "Multi", 65},
		{"negative options are accepted", []change{
			{"options.go", `if s.maxHold < 0 {`, `if false {`},
		}, "Mutex", 65},
		{"owners may have control characters", []change{
			{
				"lock.go",
				`case strings.ContainsFunc(string(o), unicode.IsControl):`,
				`case false && strings.ContainsFunc(string(o), unicode.IsControl):`,
			},
		}, "Fair", 65},
		{"a Redlock of different locks", []change{
			{"group/lock.go", `return !open(first).door.Matches(m)`, `return false && open(first).door.Matches(m)`},
		}, "Redlock", 65},
		{"a zero hold is used", []change{
			{"hold.go", `	if h == nil || h.lock == nil {
		return ErrNotHeld
	}
	h.releasing`, `	h.releasing`},
		}, "Write", 65},
	}
}

// inSmallPrint returns more mutants that the suite once failed to notice, and those of row 66.
func inSmallPrint() []mutation {
	return []mutation{
		{"mutex_take ignores the client's highest token", []change{
			{"lua/mutex_take.lua", ` and token > ARGV[3]`, ``},
		}, "Mutex", 66},
		{"a token covers itself alone", []change{
			{"lua/token.lua", `last and math.floor(token / 10000) * 10000 + 9999 or token`, `token`},
		}, "Mutex", 66},
		{"a leaving waiter lengthens the holder's lease", []change{
			{"lua/release.lua", `if vacate(ARGV[1]) then`, `redis.call('PEXPIRE', KEYS[1], 600000)
if vacate(ARGV[1]) then`},
		}, "Fair", 66},
		{"a free mutex's key has no time to live on a full Redis", []change{
			{"lua/mutex_free.lua", `    redis.call('SET', key, state, 'PX', ms)
  end`, `    redis.call('SET', key, state)
  end`},
		}, "Mutex", 66},
		{"a failed renewal waits a third of the lease", []change{
			{"watchdog.go", `next = time.Now().Add(e.interval / 10)`, `next = time.Now().Add(e.interval)`},
		}, "Read", 66},
		{"no look when the lease is over", []change{
			{"wait.go", `leaseOver.Reset(min(untilNextTry(a.wait), lookAgain))`, `leaseOver.Reset(lookAgain)`},
		}, "Mutex", 66},
		{"no look at the queue when the lease is over", []change{
			{"places.go", `t.soonerDue(time.Now()`, `_ = (time.Now()`},
		}, "Write", 66},
		{"no look at a hold when its lease is over", []change{
			{"watchdog.go", `			w.alarm.set(until, w.tick)`, ``},
		}, "Mutex", 26},
		{"cancelled contexts stay in the map", []change{
			{"hold.go", `		delete(h.dependents, d)`, ``},
		}, "Mutex", 66},
	}
}

// inClusters returns the mutants of what confines a silent master of a Redis Cluster to its own locks, by the tests
// that must notice them.
func inClusters() map[string]mutation {
	return map[string]mutation{
		"TestSilentMasterKeepsItsOwnCallsOnly$": {name: "calls of one server are counted for all", changes: []change{
			{"leave.go", `left.Load() >= mostLeftOfSlot`, `left.Load() >= 0*mostLeftOfSlot`},
		}},
		"TestSilentMasterHoldsUpItsOwnLocksOnly$": {name: "calls of all servers share requests", changes: []change{
			{"share.go", `if l.several {`, `if l.several && len(keys) > 99 {`},
		}},
		"TestSilentMasterLosesItsOwnHoldsOnly$": {name: "all servers' holds share a renewal", changes: []change{
			{"protocol.go", `		if several {`, `		if false && several {`},
		}},
	}
}
