package measures

import (
	"context"
	"net/http"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/rig"
)

// measurement measures a candidate in one round, in a namespace of its own.
type measurement func(ctx context.Context, r *round, at *rig.Namespace) (result.Trial, error)

// step is a candidate's part of a round.
type step struct {
	candidate string
	measure   measurement
	// appendfsync is Redis's setting meanwhile.
	appendfsync string
}

// steps returns the steps of a round. Candidates that are compared with each other are close together, because the
// machine changes from one minute to the next.
func (b *Bench) steps() []step {
	of := func(name string) starter { return b.stage(name).Start }
	selling := func(s starter, check audit.Check, part int) measurement {
		return accepting{start: s, audit: check, want: http.StatusAccepted, part: part}.measure
	}
	serving := func(held bool) measurement {
		return accepting{
			start: b.service().Start, audit: audit.Service, want: http.StatusAccepted, held: held, recordsAll: true,
		}.measure
	}
	streamHeld := accepting{start: of("stream"), audit: audit.Stream, want: http.StatusAccepted, held: true}
	soldOut := accepting{start: b.startSoldOut, want: http.StatusConflict}
	return []step{
		{candidate.Gin, selling(of("gin"), nil, 1), rig.EverySecond},
		{candidate.Bare, selling(of("bare"), nil, 1), rig.EverySecond},
		{candidate.SoldOut, soldOut.measure, rig.EverySecond},
		{candidate.Service, serving(false), rig.EverySecond},
		{candidate.Always, serving(false), "always"},
		{candidate.Stream, selling(of("stream"), audit.Stream, 1), rig.EverySecond},
		{candidate.StreamHeld, streamHeld.measure, rig.EverySecond},
		{candidate.ServiceHeld, serving(true), rig.EverySecond},
		{candidate.RawInsert, rawInsert, rig.EverySecond},
		{candidate.GinHalf, halfLoad{start: of("gin")}.measure, rig.EverySecond},
		{
			candidate.ServiceHalf, halfLoad{start: b.service().Start, audit: audit.Service, probes: true}.measure,
			rig.EverySecond,
		},
		{candidate.Readers, halfLoad{
			start: b.service().Start, audit: audit.Service, probes: true, readers: longListReaders,
		}.measure, rig.EverySecond},
		{candidate.ServiceList, listing, rig.EverySecond},
		{candidate.GinList, plainListing, rig.EverySecond},
		{candidate.Check, selling(of("check"), audit.Database, 2), rig.EverySecond},
		{candidate.Update, selling(of("update"), audit.Database, 2), rig.EverySecond},
		{candidate.UserLock, selling(of("userlock"), audit.Database, 2), rig.EverySecond},
		{candidate.RedisLock, selling(of("redislock"), audit.Database, 2), rig.EverySecond},
		{candidate.Memory, selling(of("memory"), audit.Memory, 2), rig.EverySecond},
		{candidate.List, selling(of("list"), audit.List, 2), rig.EverySecond},
		{candidate.Pubsub, selling(of("pubsub"), audit.Pubsub, 2), rig.EverySecond},
		{candidate.RawScript, rawScript(1), rig.EverySecond},
		{candidate.RawScripts, rawScript(128), rig.EverySecond},
		{candidate.HMAC, tokenHMAC, rig.EverySecond},
	}
}
