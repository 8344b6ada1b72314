package partition

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"seckill/internal/kit/periodic"
)

const (
	// watchEvery is how often a Watcher checks which instances work in a partition.
	watchEvery = 5 * time.Second
	// missingAfter is how long an instance may be missing in a partition. It is longer than an instance takes to notice
	// a new partition, and longer than the heartbeats of a stopped instance count.
	missingAfter = 15 * time.Second
)

// WatchObserver shows what a Watcher finds, for metrics. Its methods must not block.
type WatchObserver interface {
	// SetMissingInstances sets how many live instances do not work in the partition.
	SetMissingInstances(partition, n int)
	// SetMissingInstancesUnknown says that their number is unknown: the partition, or partition 0, does not answer.
	SetMissingInstancesUnknown(partition int)
	// ForgetMissingInstances ends the metrics of a partition in which this instance no longer works.
	ForgetMissingInstances(partition int)
}

// Watcher watches for live instances that do not work in a partition: their version knows no partitions, or fewer, and
// they joined after the partition got sales. Such an instance sells these sales but hands in no recovery
// reports for them, so orders that it accepted are lost if Redis loses them. No new sale is assigned to the partition
// (Placer).
type Watcher struct {
	instances InstanceLister
	observer  WatchObserver
	log       *slog.Logger
}

// NewWatcher returns a watcher.
func NewWatcher(instances InstanceLister, observer WatchObserver, log *slog.Logger) *Watcher {
	return &Watcher{instances: instances, observer: observer, log: log}
}

// Run watches a partition until ctx ends. Every instance works in partition 0, so it does not watch that one.
func (w *Watcher) Run(ctx context.Context, partition int) error {
	if partition == 0 {
		w.observer.SetMissingInstances(0, 0)
		<-ctx.Done()
		return nil
	}
	defer w.observer.ForgetMissingInstances(partition)
	missed := map[string]*absence{}
	return periodic.Every(ctx, watchEvery, func(ctx context.Context) { w.look(ctx, partition, missed) })
}

// absence is one instance's absence from a partition.
type absence struct {
	since  time.Time
	logged bool
}

// look checks once, and updates the known absences.
func (w *Watcher) look(ctx context.Context, partition int, known map[string]*absence) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	alive, err := w.instances(ctx, 0)
	here, errHere := w.instances(ctx, partition)
	if errors.Join(err, errHere) != nil { // other users of Redis log why
		w.observer.SetMissingInstancesUnknown(partition)
		clear(known) // count from when the instance is seen again: it may have come and gone meanwhile
		return
	}
	names := missing(alive, here)
	maps.DeleteFunc(known, func(name string, _ *absence) bool { return !slices.Contains(names, name) })
	n := 0
	for _, name := range names {
		if known[name] == nil {
			known[name] = &absence{since: time.Now()}
		}
		if a := known[name]; time.Since(a.since) >= missingAfter {
			w.warn(ctx, partition, name, a)
			n++
		}
	}
	w.observer.SetMissingInstances(partition, n)
}

// warn logs an absence, once.
func (w *Watcher) warn(ctx context.Context, partition int, name string, a *absence) {
	if !a.logged {
		a.logged = true
		w.log.WarnContext(ctx,
			"an instance does not work in a partition, which gets no new sales: is it of an older version?",
			"partition", partition, "instance", InstanceName(name))
	}
}

// missing returns the live instances that do not work here.
func missing(alive, here []string) (names []string) {
	for _, name := range alive {
		if !slices.Contains(here, name) {
			names = append(names, name)
		}
	}
	return names
}

// Instance is a living instance.
type Instance struct {
	Name    string
	Version string   // "": unknown
	Formats []string // that it reads, beside those of 1.0, whose heartbeats name none
	Old     bool     // it may not be able to read all formats that this version writes
}

// InstanceName returns the name that SECKILL_INSTANCE gave to an instance, from its heartbeats' name as name:run
// formats it.
func InstanceName(heartbeat string) string {
	name, _, _ := strings.Cut(heartbeat, " ")
	if colon := strings.LastIndexByte(name, ':'); colon > 0 {
		name = name[:colon]
	}
	return name
}
