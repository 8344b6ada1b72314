package main

import "slices"

// mutation is one bug, and the row of the conformance suite that must notice it.
type mutation struct {
	name    string
	changes []change
	kind    string // of lock
	row     int
}

// change replaces the one place of a file, beside the package's, where a text stands.
type change struct{ file, from, to string }

// mutants returns all bugs. A new kind of lock adds its own.
func mutants() []mutation {
	return slices.Concat(inScripts(), inPackage(), inQueues(), atEdges(), inUse(), inTogether(), inSmallPrint())
}

// inScripts are those in what Redis runs.
func inScripts() []mutation {
	return []mutation{
		{"release without owner check", []change{
			{"lua/mutex_release.lua", `if state and string.sub(state, 1, #ARGV[4]) == ARGV[4] then`, `if state then`},
		}, "Mutex", 6},
		{"release without owner check, reentrant", []change{
			{"lua/release.lua", `if holding(KEYS[1], ARGV[4], now) then`, `if redis.call('EXISTS', KEYS[1]) == 1 then`},
			{"lua/release.lua", `  drop(KEYS[1], ARGV[4]) --`, `  redis.call('DEL', KEYS[1]) --`},
		}, "Reentrant", 6},
		{"expiry not atomic with acquire", []change{
			{"lua/mutex_acquire.lua", `ARGV[4], 'PX', ARGV[2])`, `ARGV[4])`},
			{"lua/mutex_take.lua", `ARGV[4], 'PX', ARGV[2])`, `ARGV[4])`},
			{
				"attempt.go", `	l.locker.sawToken(a.token)`,
				`	const expire = "return redis.call('PEXPIRE', KEYS[1], ARGV[1])"
	if err := l.locker.client.Eval(ctx, expire, []string{l.key}, c.lease.Milliseconds()).Err(); err != nil {
		return answer{}, err
	}
	l.locker.sawToken(a.token)`,
			},
		}, "Mutex", 1},
		{"hold count raised by a retried acquire", []change{
			{"lua/acquire.lua", `token, ARGV[4], now`, `token, redis.call('ZCARD', KEYS[1]) .. ARGV[4], now`},
		}, "Reentrant", 14},
		{"an acquire that arrives late is obeyed", []change{
			{"lua/mutex_acquire.lua", `if found[2] then`, `if false then`},
		}, "Mutex", 14},
		{"an acquire that arrives late is obeyed after a release", []change{
			{"lua/mutex_take.lua", `if state and high and not found[2] and`, `if state and high and`},
		}, "Mutex", 14},
		{"a repeated release is not recognised by its token", []change{
			{"lua/mutex_release.lua", `not latched and not released(state, ARGV[5])`, `not latched`},
		}, "Mutex", 15},
		{"every repeated release is recognised", []change{
			{"lua/mutex_release.lua", `not released(state, ARGV[5]) then`, `ARGV[5] == '' then`},
		}, "Mutex", 15},
		{"a lock that was forced counts as released", []change{
			{"lua/mutex_force.lua", `token + 1)`, `1)`},
		}, "Mutex", 15},
		{"a lease that was over counts as released", []change{
			{"lua/mutex_acquire.lua", `(since or token)`, `(since or '1')`},
		}, "Mutex", 15},
		{"the release's answer is not kept", []change{
			{"lua/mutex_release.lua", `if latched and redis.call('GET', KEYS[3]) ~= '1' then`, `if latched then`},
		}, "Mutex", 15},
		{"the lock's mark is lost on the way", []change{
			{"lua/mutex_release.lua", `elseif mark ~= '' then`, `elseif false then`},
		}, "Mutex", 3},
		{"token counted from what is left", []change{
			{"lua/token.lua", `math.max(now[1] * 1000000 + now[2], tonumber(last or high or 0) + 1, tonumber(floor) ` +
				`+ 1)`, `tonumber(last or high or 0) + 1`},
		}, "Reentrant", 47},
		{"tokens go with their lock", []change{
			{"lua/token.lua", `tonumber(last or high or 0) + 1`, `tonumber(last or 0) + 1`},
		}, "Mutex", 47},
		{"a mutex's last token is not heeded", []change{
			{"lua/token.lua", `tonumber(last or high or 0) + 1`, `tonumber(not last and high or 0) + 1`},
			{"lua/mutex_take.lua", `if token > string.sub(state, 2, 17) and`, `if`},
		}, "Mutex", 47},
		{"the high water is not written again", []change{
			{"lua/release.lua", `  cover(`, `  local _ = (`},
		}, "Reentrant", 47},
		{"a partial release gives a whole lease", []change{
			{
				"lua/holds.lua", `  redis.call('PEXPIRE', key, whole(last[2] - now))`,
				`  redis.call('PEXPIRE', key, 40000)`,
			},
			{
				"lua/state.lua", `table.insert(state, math.max(found[i + 1] - now, 0))`,
				`table.insert(state, redis.call('PTTL', KEYS[1]))`,
			},
		}, "Reentrant", 19},
		{"the first release frees a reentrant lock", []change{
			{"lua/release.lua", `  drop(KEYS[1], ARGV[4]) --`, `  redis.call('DEL', KEYS[1]) --`},
		}, "Reentrant", 18},
		{"nobody hears of the release of one who was handed the lock", []change{
			{"lua/mutex_release.lua", `' ' .. since .. ARGV[9] .. mark, 'PX'`, `' ' .. since .. ARGV[9], 'PX'`},
		}, "Mutex", 12},
		{"a hand-off that is repeated is not remembered", []change{
			{"attempt.go", `e.again = e.again || again`, `_ = again`},
		}, "Mutex", 15},
		{"a release waits for one answer alone", []change{
			{"attempt.go", `time.Now(), releaseTimeout/2`, `time.Now(), releaseTimeout`},
		}, "Mutex", 15},
		{"one who had given up is handed the lock", []change{
			{"lua/mutex_release.lua", `if ARGV[6] and redis.call('EXISTS', KEYS[4]) == 0 then`, `if ARGV[6] then`},
		}, "Mutex", 12},
	}
}

// inPackage are those in Go alone.
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
				"options.go", `return s.lease - s.lease/100 - 2*time.Millisecond`,
				`return s.lease + 100*time.Millisecond`,
			},
		}, "Mutex", 26},
		{"nothing is remembered of one who asked twice", []change{
			{
				"attempt.go", `c.unsure, c.latched = c.unsure || unsure, c.latched || unsure`,
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
		{"multi release that stops at the first error", []change{
			{"parts.go", `	errs := firstLast(kept, func(_ int, part *Hold) error { return part.Release(ctx) ` +
				`})`, `	errs, failed := make([]error, len(kept)), false
	for i := range kept {
		if !failed {
			errs[i] = kept[i].Release(ctx)
			failed = errs[i] != nil
		}
	}`},
		}, "Multi", 43},
		{"replicas are not counted", []change{
			{"attempt.go", `case a.replicas < l.settings.replicas:`, `case a.replicas < 0:`},
		}, "Mutex", 49},
		{"a lock with too few replicas is kept", []change{
			{"attempt.go", `		c.unsure = true // it has the lock`, ``},
		}, "Mutex", 49},
		{"redlock without the validity rule", []change{
			{"round.go", `if a.hold.Err() == nil {`, `if a.hold != nil {`},
		}, "Redlock", 45},
		{"redlock keeps who answers late", []change{
			{"round.go", `(whole == nil || !whole.adopt(a.hold))`, `whole != nil && !whole.adopt(a.hold)`},
		}, "Redlock", 45},
		{"redlock takes the token of its members' clocks", []change{
			{"redlock.go", `if h.parts != nil || h.token >= token {`, `if true {`},
		}, "Redlock", 45},
		{"redlock waits for all", []change{
			{"round.go", `if !decided && r.decided() {`, `if decided {`},
		}, "Redlock", 45},
		{"who waits for one of several keeps the others", []change{
			{
				"round.go", `firstLast(r.got, func(_ int, a reply) error { return a.hold.Release(ctx) })`,
				`time.Sleep(0)`,
			},
		}, "Multi", 43},
		{"the loss of one of several is not that of the whole", []change{
			{"parts.go", `if held >= h.parts.need {`, `if held > 0 {`},
		}, "Multi", 43},
		{"who was cancelled before they could wait is not told so", []change{
			{"lock.go", `ended != nil && waits(err) &&`, `false &&`},
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

// inQueues are those in what the fair and the read-write lock have besides.
func inQueues() []mutation {
	return []mutation{
		{"fair queue by client clock", []change{
			{
				"protocol.go", `args = append(args, l.place(c), l.key)`,
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
				"lua/readwrite.lua", `if redis.call('EXISTS', KEYS[7]) == 1 then`,
				`if redis.call('EXISTS', KEYS[7], KEYS[8]) > 0 then`,
			},
		}, "Write", 39},
		{"a reader who wants to write waits for themselves", []change{
			{"lua/write.lua", `    if own then`, `    if false then`},
		}, "Write", 39},
		{"a reader's renewal is everybody's", []change{
			{
				"lua/holds.lua", `  redis.call('ZADD', key, 0, 'token ' .. token, whole(over), hold)`,
				`  redis.call('ZADD', key, 0, 'token ' .. token, whole(over), hold)
  for _, other in ipairs(redis.call('ZRANGE', key, 1, -1)) do redis.call('ZADD', key, whole(over), other) end`,
			},
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

// atEdges are those that the suite did not notice once, and those in what is done at the edges.
func atEdges() []mutation {
	return []mutation{
		{"a script that Redis forgot is not sent again", []change{
			{
				"protocol.go", `if slices.ContainsFunc(answers, forgotten) {`,
				`if false && slices.ContainsFunc(answers, forgotten) {`,
			},
		}, "Mutex", 16},
		{"ForceUnlock of a mutex tells nobody", []change{
			{"lua/mutex_force.lua", `redis.call('PUBLISH', ARGV[1], 'forced')`, ``},
		}, "Mutex", 55},
		{"ForceUnlock tells nobody", []change{
			{"lua/force.lua", `wake(ARGV[1], clock())`, ``},
		}, "Fair", 55},
		{"a writer passes waiting readers", []change{
			{"lua/write.lua", ` and not ahead(KEYS[6])`, ``},
		}, "Read", 55},
		{"a reader passes a waiting writer who is stopped", []change{
			{"lua/read.lua", `ahead(KEYS[4]) and`, `false and`},
		}, "Write", 55},
		{"an error is told only to the first waiter", []change{
			{"topic.go", `if o.broken && (i == 0 || t.queued()) {`, `if o.broken && t.queued() {`},
		}, "Mutex", 55},
		{"an error is told only to the first in the queue", []change{
			{"topic.go", `if o.broken && (i == 0 || t.queued()) {`, `if o.broken && !t.queued() {`},
		}, "Fair", 55},
		{"no margin for clocks that drift", []change{
			{"options.go", `return s.lease - s.lease/100 - 2*time.Millisecond`, `return s.lease`},
		}, "Reentrant", 55},
		{"a connection that says nothing is kept", []change{
			{"pubsub.go", `case silent >= ticksToDrop:`, `case silent >= 1000*ticksToDrop:`},
		}, "Mutex", 51},
		{"waiters rely on being told", []change{
			{"wait.go", `lookAgain   = 4 * time.Second`, `lookAgain   = time.Hour`},
		}, "Reentrant", 51},
		{"places are kept, and turns not told", []change{
			{"places.go", `	t.tell(turns)`, ``},
		}, "Write", 51},
		{"a release waits for long behind others", []change{
			{"share.go", `within = min(within, releaseTimeout/2)`, `_ = releaseTimeout`},
		}, "Mutex", 15},
		{"the place of who may have the lock is looked at", []change{
			{"places.go", `t.waiters[len(t.waiters)/2]`, `t.waiters[0]`},
		}, "Write", 57},
		{"the zero owner is somebody", []change{
			{"lock.go", `	case o == "":`, `	case false:`},
		}, "Reentrant", 52},
		{"one lock twice is two", []change{
			{"group.go", `again := seen[p]`, `again := false`},
		}, "Multi", 52},
		{"one server twice is two", []change{
			{"round.go", `r.twice = r.twice || r.answered(a.hold.server)`, `_ = r.answered(a.hold.server)`},
		}, "Redlock", 52},
		{"a full Redis keeps a mutex", []change{
			{
				"lua/mutex_free.lua", `if redis.pcall('SET', key, state, 'PX', ms).err then`,
				`if redis.call('SET', key, state, 'PX', ms).err then`,
			},
		}, "Mutex", 53},
		{"a full Redis keeps holds", []change{
			{"lua/release.lua", `  drop(KEYS[1], ARGV[4]) --`, `  redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  drop(KEYS[1], ARGV[4]) --`},
		}, "Fair", 53},
	}
}

// inUse are those in what keeps locks cheap and callers informed.
func inUse() []mutation {
	return []mutation{
		{"a cancelled call waits for its answer", []change{
			{"leave.go", `leaveTime = 20 * time.Millisecond`, `leaveTime = time.Minute`},
		}, "Mutex", 54},
		{"what was obtained too late is kept", []change{
			{"attempt.go", `return l.release(ctx, c, ending{}) }`, `return false, nil }`},
		}, "Mutex", 54},
		{"a shared answer that was lost is called a refusal", []change{
			{"share.go", `{ items[i].Answer = answer }`, `{
				if answer.Err() != nil {
					answer.SetErr(redis.Nil)
				}
				items[i].Answer = answer
			}`},
		}, "Mutex", 14},
		{"calls that were left are not counted", []change{
			{"leave.go", `ctx.Done() != nil && l.locker.left.Load()`, `false && l.locker.left.Load()`},
		}, "Mutex", 54},
		{"Err reads a flag", []change{
			{"hold.go", `		h.expire()
	}
	return h.ended()`, `	}
	return h.ended()`},
		}, "Mutex", 56},
		{"the context's Err reads a flag", []change{
			{"hold.go", `	_ = c.hold.Err() // ends the context`, ``},
		}, "Mutex", 56},
		{"a token's key for each name", []change{
			{
				"keys.go", `number := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % slots))`,
				`number := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % slots)) + "}" + name + "}"`,
			},
		}, "Mutex", 57},
		{"all holds that are over are removed at once", []change{
			{"lua/holds.lua", `'LIMIT', 0, 500)`, `'LIMIT', 0, 5000)`},
		}, "Reentrant", 57},
		{"only the first readers are told", []change{
			{"lua/read.lua", `      tell(ARGV[7], {edge[1]})`, ``},
			{"lua/stay.lua", `local turns = due()`, `local turns = {}`},
		}, "Read", 57},
		{"every waiter looks for itself", []change{
			{"wait.go", `	leaseOver.Stop() // where`, `	leaseOver.Reset(time.Second) // where`},
			{"wait.go", `		if first == nil {
			leaseOver.Reset(`, `		if true {
			leaseOver.Reset(`},
			{"wait.go", `lookAgain   = 4 * time.Second`, `lookAgain   = time.Second`},
		}, "Fair", 57},
		{"Refresh does not move the end", []change{
			{"hold.go", `	h.extend(sent)
	return h.Err()`, `	_ = sent
	return h.Err()`},
		}, "Mutex", 58},
		{"Refresh of what was taken away succeeds", []change{
			{"hold.go", `	case held != 1:`, `	case false && held != 1:`},
		}, "Fair", 58},
		{"holders have no label", []change{
			{
				"locker.go", `l.label = fmt.Sprintf("%s/%d", strings.Join(strings.Fields(host), "-"), os.Getpid())`,
				`l.label = fmt.Sprintf("%s", strings.Repeat("-", 1+0*os.Getpid()+0*len(strings.Fields(host))))`,
			},
		}, "Write", 58},
		{"a server that was restarted counts", []change{
			{"attempt.go", `a.server.uptime < l.settings.lease+time.Second &&`, `a.server.uptime < 0 &&`},
		}, "Redlock", 59},
		{"children outlive the suite", []change{
			{"procattr_linux_test.go", `Pdeathsig: syscall.SIGKILL`, `Pdeathsig: 0 * syscall.SIGKILL`},
		}, "Mutex", 60},
	}
}

// inTogether are those in what several of one owner get together, and in what tokens and answers that do not come
// rely on.
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
		{"a hung renewal is never given up", []change{
			{
				"watchdog.go", `context.WithTimeout(context.Background(), timeout)`,
				`context.WithTimeout(context.Background(), timeout+time.Hour)`,
			},
		}, "Mutex", 63},
		{"no answer is called a refusal", []change{
			{
				"errors.go", `return fmt.Errorf("%w: %w: %s", ErrNoAnswer,`,
				`return fmt.Errorf("%w: %w: %s", ErrNotObtained,`,
			},
		}, "Mutex", 64},
		{"an error names a deadline that is not the caller's", []change{
			{"errors.go", `return ErrNoAnswer // that`, `return err // that`},
		}, "Reentrant", 64},
		{"a majority that is silent is called a refusal", []change{
			{"round.go", `case err != nil && r.refused == 0:`, `case false:`},
		}, "Redlock", 64},
		{"negative options are accepted", []change{
			{"options.go", `if s.maxHold < 0 || s.replicas < 0 {`, `if false {`},
		}, "Mutex", 65},
		{"owners may have control characters", []change{
			{
				"lock.go", `case strings.ContainsFunc(string(o), unicode.IsControl):`,
				`case false && strings.ContainsFunc(string(o), unicode.IsControl):`,
			},
		}, "Fair", 65},
		{"a Redlock of different locks", []change{
			{"redlock.go", `return !l.matches(first)`, `return false`},
		}, "Redlock", 65},
		{"a zero hold is used", []change{
			{"hold.go", `	if h == nil || h.lock == nil {
		return ErrNotHeld
	}
	h.releasing`, `	h.releasing`},
		}, "Write", 65},
	}
}

// inSmallPrint are those that the suite did not notice once, and what row 66 is for.
func inSmallPrint() []mutation {
	return []mutation{
		{"mutex_take ignores the client's highest token", []change{
			{"lua/mutex_take.lua", ` and token > ARGV[3]`, ``},
		}, "Mutex", 66},
		{"a token covers itself alone", []change{
			{"lua/token.lua", `last and math.floor(token / 10000) * 10000 + 9999 or token`, `token`},
		}, "Mutex", 66},
		{"a leaving waiter lengthens the holder's lease", []change{
			{"lua/release.lua", `if vacate(ARGV[1]) then`, `redis.call('PEXPIRE', KEYS[1], ARGV[2])
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

// inClusters are those in what keeps a silent master of a Redis Cluster to its own locks, with the tests that must
// notice them.
func inClusters() map[string]mutation {
	return map[string]mutation{
		"TestSilentMasterKeepsItsOwnCallsOnly$": {
			name: "calls left to one server are counted for all", changes: []change{
				{"leave.go", ` &&
		l.locker.slot(l.keys.all).left.Load() >= mostLeftOfSlot`, ``},
			},
		},
		"TestSilentMasterHoldsUpItsOwnLocksOnly$": {name: "calls of all servers share requests", changes: []change{
			{"share.go", `if l.several && len(keys) > 0 {`, `if l.several && len(keys) > 99 {`},
		}},
		"TestSilentMasterLosesItsOwnHoldsOnly$": {
			name: "holds of all servers are renewed in one request", changes: []change{
				{"protocol.go", `		if several {`, `		if false && several {`},
			},
		},
	}
}
