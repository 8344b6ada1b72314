package main

// inPackage returns the mutants of the Go code.
func inPackage() []mutation {
	return []mutation{
		{"watchdog not stopped", []change{
			{"hold.go", `	h.lock.locker.watchdog.remove(h)`, ``},
		}, "Mutex", 23},
		{"subscribe without a second try", []change{
			{"pubsub.go", `if e.Kind == "subscribe" {`, `if e.Kind == "never" {`},
		}, "Mutex", 29},
		{"loss told after the lease", []change{
			{
				"options.go",
				`return s.lease - s.lease/100 - 2*time.Millisecond`,
				`return s.lease + 100*time.Millisecond`,
			},
		}, "Mutex", 26},
		{"nothing is remembered of one who asked twice", []change{
			{
				"attempt.go",
				`c.unsure, c.latched = c.unsure || unsure, c.latched || unsure`,
				`c.unsure = c.unsure || unsure`,
			},
		}, "Mutex", 14},
		{"release under the caller's context", []change{
			{"attempt.go", `limit(context.WithoutCancel(ctx), releaseTimeout)`, `limit(ctx, releaseTimeout)`},
		}, "Mutex", 13},
		{"a given lease is renewed", []change{
			{"watchdog.go", `if !s.renewed {`, `if false {`},
		}, "Mutex", 28},
		{"one failed renewal ends the batch", []change{
			{"watchdog.go", `	runAll(ctx, w.client, calls, func(i int, answer *redis.Cmd) {
		held, err := answer.Int()
`, `	failed := false
	runAll(ctx, w.client, calls, func(i int, answer *redis.Cmd) {
		held, err := answer.Int()
		if failed = failed || err != nil; failed {
			return
		}
`},
		}, "Mutex", 27},
		{"waiters poll", []change{
			{"wait.go", `	if lease < 0 {`, `	if true {
		return 10 * time.Millisecond
	}
	if lease < 0 {`},
		}, "Mutex", 31},
	}
}

// inGroups returns the mutants of locks that consist of others.
func inGroups() []mutation {
	return []mutation{
		{"multi release that stops at the first error", []change{
			{"group/hold.go", `	errs := firstLast(parts, func(_ int, p *part) error {
`, `	stopped := false
	errs := firstLast(parts, func(_ int, p *part) error {
		if stopped {
			return nil
		}
		defer func() { stopped = stopped || !p.released }()
`},
		}, "Multi", 43},
		{"replicas are not counted", []change{
			{"group/server.go", `err != nil || n < l.replicas {`, `err != nil || n < 0 {`},
		}, "Mutex", 49},
		{"a lock with too few replicas is kept", []change{
			{"group/server.go", `		l.giveBack(ctx, []*part{p})`, ``},
		}, "Mutex", 49},
		{"redlock without the validity rule", []change{
			{"group/round.go", `if p.Err() == nil {`, `if p != nil {`},
		}, "Redlock", 45},
		{"redlock keeps who answers late", []change{
			{"group/round.go", `(whole == nil || !whole.adopt(a.part))`, `whole != nil && !whole.adopt(a.part)`},
		}, "Redlock", 45},
		{"redlock takes the token of its members' clocks", []change{
			{"member.go", `if h.token >= token {`, `if true {`},
		}, "Redlock", 45},
		{"redlock waits for all", []change{
			{"group/round.go", `if !decided && r.decided() {`, `if decided && r.decided() {`},
		}, "Redlock", 45},
		{"who waits for one of several keeps the others", []change{
			{"group/round.go", `	l.giveBack(ctx, r.got)`, ``},
		}, "Multi", 43},
		{"the loss of one of several is not that of the whole", []change{
			{"group/hold.go", `if held < h.lock.need {`, `if held < 1 {`},
		}, "Multi", 43},
		{"who was cancelled before they could wait is not told so", []change{
			{"lock.go", `	case waits(err):`, `	case false && waits(err):`},
		}, "Mutex", 12},
		{"a waiter who leaves takes the event along", []change{
			{"topic.go", `	} else {
		signal(t.events)
	}
	if len`, `	}
	if len`},
		}, "Mutex", 12},
	}
}

// inQueues returns the mutants of what only fair and read-write locks have.
func inQueues() []mutation {
	return []mutation{
		{"fair queue by client clock", []change{
			{
				"protocol.go",
				`args = append(args, l.place(c), l.key)`,
				`args = append(args, l.place(c), l.key, time.Now().UnixMicro())`,
			},
			{"lua/queue.lua", `time[1] * 1000000 + time[2]`, `tonumber(ARGV[8])`},
		}, "Fair", 36},
		{"a dead head is never skipped", []change{
			{"lua/queue.lua", `    if first and not alive(`, `    if false and not alive(`},
		}, "Fair", 34},
		{"the dead at the head add up", []change{
			{"lua/queue.lua", `        remove(queue, place)
      end`, `        remove(queue, place)
        redis.call('ZADD', KEYS[5], whole(now + 4000), process)
        break
      end`},
		}, "Fair", 34},
		{"places are not renewed", []change{
			{"pubsub.go", `	if t.queued() {
		p.places.set(`, `	if t.queued() && false {
		p.places.set(`},
		}, "Fair", 35},
		{"one who leaves keeps their place", []change{
			{"lua/release.lua", `if vacate(ARGV[1]) then`, `if false then`},
		}, "Fair", 33},
		{"who comes last is asked first", []change{
			{"lua/fair.lua", `redis.call('ZRANGE', KEYS[4], 0, 0)`, `redis.call('ZREVRANGE', KEYS[4], 0, 0)`},
			{"lua/queue.lua", `tonumber(first[2]) < tonumber(arrival)`, `false`},
		}, "Fair", 32},
		{"TryLock goes past those who wait", []change{
			{"lua/queue.lua", `  return true
end

-- tell`, `  return false
end

-- tell`},
		}, "Fair", 34},
		{"a queue's key stays", []change{
			{"lua/queue.lua", `    redis.call('PEXPIRE', queue, ms)`, ``},
		}, "Fair", 37},
		{"a writer beside readers", []change{
			{"lua/write.lua", `redis.call('PTTL', KEYS[8])`, `-2`},
		}, "Write", 38},
		{"downgrade without waking readers", []change{
			{
				"lua/readwrite.lua",
				`if redis.call('EXISTS', KEYS[7]) == 1 then`,
				`if redis.call('EXISTS', KEYS[7], KEYS[8]) > 0 then`,
			},
		}, "Write", 39},
		{"a reader who wants to write waits for themselves", []change{
			{"lua/write.lua", `    if own then`, `    if false then`},
		}, "Write", 39},
		{"a reader's renewal is everybody's", []change{
			{"lua/holds.lua", `'token ' .. token, whole(over), hold)`, `'token ' .. token, whole(over), hold)
  for _, other in ipairs(redis.call('ZRANGE', key, 1, -1)) do
    redis.call('ZADD', key, whole(over), other)
  end`},
		}, "Read", 40},
		{"a reader's leases add up", []change{
			{"lua/holds.lua", `whole(over), hold)`, `whole(over + math.max(redis.call('PTTL', key), 0)), hold)`},
		}, "Read", 41},
		{"readers pass a waiting writer", []change{
			{"lua/read.lua", `ahead(KEYS[4]) and`, `false and`},
		}, "Write", 42},
		{"a reader who reads already waits behind a writer", []change{
			{"lua/read.lua", `and not reads(ARGV[1], now))`, `)`},
		}, "Read", 42},
	}
}
