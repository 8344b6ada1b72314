package redisstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/partition"
	"seckill/internal/order/recovery"
	"seckill/internal/redisstore/rediskit"
)

const (
	// stopsKept is how long a stop is kept, for reporters that come late because their instance was suspended.
	stopsKept = recovery.RoundTTL
	// clockDoubt is how far the clock may be set back after a reporter's last heartbeat before the reporter can miss a
	// stop.
	clockDoubt = 10 * time.Second
	// reporterAlive is how long a reporter counts as alive after a heartbeat. It sends several per second.
	reporterAlive = 2 * time.Second
)

// After its own name, a reporter's name in Redis has the version of its build and the formats that it reads.
const (
	versionWord = " version="
	formatsWord = " formats="
)

// heartbeatName returns the reporter's name in Redis.
func (s *Store) heartbeatName(reporter string) string {
	if s.options.Version != "" {
		reporter += versionWord + strings.ReplaceAll(s.options.Version, " ", "_")
	}
	if len(s.options.Formats) > 0 {
		reporter += formatsWord + strings.Join(s.options.Formats, ",")
	}
	return reporter
}

// lately is how long after its last heartbeat an instance may still come back.
const lately = 10 * time.Second

// readHeartbeat returns a reporter's own name, the version of its build ("" if it is missing), and the formats that it
// reads.
func readHeartbeat(name string) (reporter, version string, formats []string) {
	name, list, found := strings.Cut(name, formatsWord)
	if found {
		formats = strings.Split(list, ",")
	}
	reporter, version, _ = strings.Cut(name, versionWord)
	return reporter, version, formats
}

// InstancesIn is a partition.InstanceLister.
func (s *Store) InstancesIn(ctx context.Context, partition int) ([]string, error) {
	now, err := s.TimeIn(ctx, partition)
	if err != nil {
		return nil, err
	}
	names, err := s.in(partition).ZRangeByScore(ctx, s.keys.reporters(partition), &redis.ZRangeBy{
		Min: strconv.FormatInt(now.Add(-lately).UnixMilli(), 10), Max: "+inf",
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("reading which instances are alive: %w", rediskit.Translate(err))
	}
	return names, nil
}

// Instances returns the instances that have recently sent a heartbeat, by name.
func (s *Store) Instances(ctx context.Context) ([]partition.Instance, error) {
	names, err := s.InstancesIn(ctx, 0) // all instances, of any version, work in partition 0
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	instances := make([]partition.Instance, len(names))
	for i, name := range names {
		_, version, formats := readHeartbeat(name)
		reads := func(format string) bool { return slices.Contains(formats, format) }
		instances[i] = partition.Instance{
			Name: partition.InstanceName(name), Version: version, Formats: formats,
			Old: slices.ContainsFunc(s.options.Formats, func(format string) bool { return !reads(format) }),
		}
	}
	return instances, nil
}

// Heartbeat implements recovery.ReportStore.
func (s *Store) Heartbeat(
	ctx context.Context, partition int, reporter string, last recovery.Heard,
) (recovery.Heard, error) {
	raw, err := s.runWithFormat(ctx, s.scripts.reportHeartbeat, partition,
		[]string{s.keys.reporters(partition), s.keys.stops(partition)},
		s.heartbeatName(reporter), stopsKept.Milliseconds(), last.Now, (last.Ago + clockDoubt).Milliseconds())
	if err != nil {
		return recovery.Heard{}, fmt.Errorf("heartbeat of a reporter: %w", err)
	}
	r := rediskit.NewReply(raw)
	heard := recovery.Heard{Now: r.Number()}
	for range r.Len() / 2 {
		name, stopped := r.Text(), r.Number()
		if id := identifier(name); id != 0 { // anything else was written by hand, and is removed below
			heard.Rounds = append(heard.Rounds,
				recovery.Round{Sale: order.SaleRef{VoucherID: id, Partition: partition}, Stopped: stopped})
		}
	}
	return heard, r.Err
}

// reportParts is how many parts of a report share a round trip: 16,000 claims.
const reportParts = 16

// SubmitReport implements recovery.ReportStore. It sends a thousand claims per part, and many parts per round trip. The
// last part, which completes the report, is sent once all others have arrived.
func (s *Store) SubmitReport(
	ctx context.Context, round recovery.Round, reporter string, report recovery.Report,
) (inTime bool, epoch int64, err error) {
	parts := slices.Collect(slices.Chunk(report.Claims, maxHolders))
	var last []order.Claim
	if n := len(parts); n > 0 {
		parts, last = parts[:n-1], parts[n-1]
	}
	for some := range slices.Chunk(parts, reportParts) {
		if inTime, epoch, err = s.submitParts(ctx, round, report.Seen, some); err != nil || !inTime {
			return inTime, epoch, err
		}
	}
	raw, err := s.scripts.report.Run(ctx, s.in(round.Sale.Partition), s.reportKeys(round),
		reportArgs(round, s.heartbeatName(reporter), report.Seen, last)...)
	if err != nil {
		return false, 0, fmt.Errorf("reporting %d orders of voucher %d: %w",
			len(report.Claims), round.Sale.VoucherID, err)
	}
	return readReported(raw)
}

// submitParts sends parts of a report together.
func (s *Store) submitParts(
	ctx context.Context, round recovery.Round, seen order.Mark, parts [][]order.Claim,
) (inTime bool, epoch int64, err error) {
	pipe := s.in(round.Sale.Partition).Pipeline()
	sent := make([]*redis.Cmd, len(parts))
	for i, claims := range parts {
		// Send the script's source: a restarted Redis knows no scripts, and few reports are this large.
		sent[i] = s.scripts.report.Command(ctx, "eval", s.scripts.report.Source, s.reportKeys(round),
			reportArgs(round, "", seen, claims))
		_ = pipe.Process(ctx, sent[i]) // this only queues it; a command has its own error
	}
	_, _ = pipe.Exec(ctx) // as above
	for _, cmd := range sent {
		raw, err := cmd.Result()
		if err != nil {
			return false, 0, fmt.Errorf("reporting orders of voucher %d: %w",
				round.Sale.VoucherID, rediskit.Translate(err))
		}
		if inTime, epoch, err = readReported(raw); err != nil || !inTime {
			return inTime, epoch, err
		}
	}
	return inTime, epoch, nil
}

func (s *Store) reportKeys(round recovery.Round) []string {
	return []string{s.keys.sale(round.Sale), s.keys.reports(round.Sale), s.keys.reported(round.Sale)}
}

// reportArgs returns ARGV of scripts/report.lua.
func reportArgs(round recovery.Round, reporter string, seen order.Mark, claims []order.Claim) []any {
	args := make([]any, 0, 4+4*len(claims))
	args = append(args, round.Stopped, reporter, seen.Epoch, seen.Sequence)
	for _, c := range claims {
		args = append(args, heldArgument(c.Held()), c.UserID, c.Epoch, c.Sequence)
	}
	return args
}

func readReported(raw any) (inTime bool, epoch int64, err error) {
	r := rediskit.NewReply(raw)
	inTime, epoch = r.Number() == 1, r.Number()
	return inTime, epoch, r.Err
}

// RoundProgress implements recovery.ReportReader.
func (s *Store) RoundProgress(ctx context.Context, sale order.SaleRef, epoch int64) (order.RoundProgress, error) {
	raw, err := s.scripts.roundProgress.Run(ctx, s.in(sale.Partition),
		[]string{s.keys.sale(sale), s.keys.reporters(sale.Partition), s.keys.reported(sale)},
		epoch, reporterAlive.Milliseconds())
	if err != nil {
		return order.RoundProgress{}, err
	}
	r := rediskit.NewReply(raw)
	if err := stepDone(r.Number(), r.Err); err != nil {
		return order.RoundProgress{}, err
	}
	progress := order.RoundProgress{
		Since: time.Duration(r.Number()) * time.Millisecond, Seen: order.Mark{Epoch: r.Number(), Sequence: r.Number()},
	}
	for r.More() {
		reporter, _, _ := readHeartbeat(r.Text())
		progress.Missing = append(progress.Missing, reporter)
	}
	return progress, r.Err
}

// Reported implements recovery.ReportReader. It logs and skips claims that cannot be read. It stops after the first
// error.
func (s *Store) Reported(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		for pair, err := range s.pairs(ctx, sale.Partition, s.keys.reports(sale)) {
			if err != nil {
				yield(order.Claim{}, fmt.Errorf("reading the recovery reports: %w", err))
				return
			}
			claim, err := reportedClaim(sale, pair[0], pair[1])
			if err != nil {
				s.log.ErrorContext(ctx, "an order in a recovery report cannot be read", "voucher",
					sale.VoucherID, "error", err)
				continue
			}
			if !yield(claim, nil) {
				return
			}
		}
	}
}

func reportedClaim(sale order.SaleRef, id, text string) (order.Claim, error) {
	held, words := parseHeld(id), strings.Fields(text)
	if held.OrderID == 0 || len(words) != 3 {
		return order.Claim{}, fmt.Errorf("order %s is reported as %q", id, text)
	}
	var n [3]int64
	for i, word := range words {
		var err error
		if n[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return order.Claim{}, fmt.Errorf("order %s is reported as %q: %w", id, text, err)
		}
	}
	return order.Claim{
		OrderID: held.OrderID, UserID: n[0], VoucherID: sale.VoucherID, Epoch: n[1], Sequence: n[2],
		Quantity: held.Quantity,
	}, nil
}
