package main

import (
	"context"
	"net/http"
	"time"
)

// The names of the contestants, as they stand in reports.
const (
	bareName         = "bare handler"
	checkName        = "database only, check then write"
	updateName       = "database only, UPDATE … WHERE stock > 0"
	userLockName     = "the same, a lock per user in the process"
	redisLockName    = "lock around everything, in Redis"
	memoryName       = "in-memory queue"
	listName         = "list as queue"
	pubsubName       = "pub/sub as queue"
	streamName       = "stream, as the tutorials do"
	serviceName      = "this service"
	streamHeldName   = streamName + "; recording held back"
	serviceHeldName  = serviceName + "; recording held back"
	alwaysName       = serviceName + "; appendfsync always"
	soldOutName      = serviceName + "; sold out"
	bareHalfName     = bareName + "; at the same rate"
	serviceHalfName  = serviceName + "; at half load"
	rawInsertName    = "raw insert"
	rawScriptName    = "raw script, one buyer per call"
	rawScriptsName   = "raw script, 128 buyers per call"
	oneSaleName      = serviceName + "; one sale, nobody has bought"
	manySalesName    = serviceName + "; many sales in turn, much stock"
	smallSalesName   = serviceName + "; many sales in turn, 100 units each"
	fullSaleName     = serviceName + "; one sale, many have bought"
	otherInstances   = " × 2"
	unlimited        = 100_000_000 // units of a voucher: more than any turn can sell
	fastest          = 80_000      // more requests per second than two cores can answer: as many tokens are signed
	probesPerSecond  = 200         // buyers at half load who wait for their row
	probeConnections = 32
)

// contestant is one of those who take turns.
type contestant struct {
	name string
	// take is its turn, at a place of its own.
	take func(ctx context.Context, r *round, at *place) (turn, error)
	// appendfsync is Redis's durability during the turn.
	appendfsync string
}

// target is a running contestant.
type target struct {
	*child
	addr    string
	voucher int64
}

func (t *target) door() door { return door{t.addr, []int64{t.voucher}} }

// round is what the turns of a round have in common.
type round struct {
	number int
	bin    binaries
	stores *stores
	crowd  crowd
	plan   plan
	turns  []turn // so far
}

// rate is what a contestant has reached in this round.
func (r *round) rate(name string) float64 {
	for _, t := range r.turns {
		if t.Contestant == name {
			return t.Rate
		}
	}
	return 0
}

// volley is the crowd as most turns want it, before the contestant's door.
func (r *round) volley(to *target, duration time.Duration) volley {
	return volley{
		crowd: r.crowd, doors: []door{to.door()}, connections: r.plan.connections, wanted: http.StatusAccepted,
		warmUp: r.plan.warmUp, duration: duration,
	}
}

// contestants are all of them, in the order of their turns: who is compared with whom is close by, as the machine is not
// the same from one minute to the next.
func contestants(b binaries) []contestant {
	svc := service{b}
	of := func(name string) starter { return stage{b, name}.start }
	selling := func(s starter, check audit, part int) func(context.Context, *round, *place) (turn, error) {
		return sell{start: s, audit: check, status: http.StatusAccepted, part: part}.take
	}
	serving := func(held bool) func(context.Context, *round, *place) (turn, error) {
		return sell{start: svc.start, audit: auditService, status: http.StatusAccepted, held: held, settles: true}.take
	}
	streamHeld := sell{start: of("stream"), audit: auditStream, status: http.StatusAccepted, held: true}
	soldOut := sell{
		start:  func(ctx context.Context, at *place, _ int64) (*target, error) { return svc.startSoldOut(ctx, at) },
		status: http.StatusConflict,
	}
	return []contestant{
		{bareName, selling(of("bare"), nil, 1), everySecond},
		{soldOutName, soldOut.take, everySecond},
		{serviceName, serving(false), everySecond},
		{alwaysName, serving(false), "always"},
		{streamName, selling(of("stream"), auditStream, 1), everySecond},
		{streamHeldName, streamHeld.take, everySecond},
		{serviceHeldName, serving(true), everySecond},
		{rawInsertName, rawInsert, everySecond},
		{bareHalfName, half{start: of("bare")}.take, everySecond},
		{serviceHalfName, half{start: svc.start, audit: auditService, probes: true}.take, everySecond},
		{checkName, selling(of("check"), auditDatabase, 2), everySecond},
		{updateName, selling(of("update"), auditDatabase, 2), everySecond},
		{userLockName, selling(of("userlock"), auditDatabase, 2), everySecond},
		{redisLockName, selling(of("redislock"), auditDatabase, 2), everySecond},
		{memoryName, selling(of("memory"), auditMemory, 2), everySecond},
		{listName, selling(of("list"), auditList, 2), everySecond},
		{pubsubName, selling(of("pubsub"), auditPubsub, 2), everySecond},
		{rawScriptName, rawScript(1), everySecond},
		{rawScriptsName, rawScript(128), everySecond},
	}
}

// reported are all names in the order in which a report has them: that of the stages.
func reported() []string {
	return []string{
		bareName, checkName, updateName, userLockName, redisLockName, memoryName, listName, pubsubName, streamName,
		serviceName, alwaysName, soldOutName, streamHeldName, serviceHeldName, rawScriptName, rawScriptsName, rawInsertName,
		bareHalfName, serviceHalfName, oneSaleName, manySalesName, smallSalesName, fullSaleName,
	}
}
