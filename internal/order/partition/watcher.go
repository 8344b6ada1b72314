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
	// watchEvery is how often a Watcher asks who works in a partition.
	watchEvery = 5 * time.Second
	// missingAfter is for how long an instance may miss a partition: longer than one needs to know a new one, and
	// than the heartbeats of one that has stopped count.
	missingAfter = 15 * time.Second
)

// WatchObserver shows what a Watcher finds, for metrics. Its methods must not block.
type WatchObserver interface {
	// SetMissingInstances sets how many living instances do not work in the partition.
	SetMissingInstances(partition, n int)
	// SetMissingInstancesUnknown says that this is not known: the partition, or partition 0, does not answer.
	SetMissingInstancesUnknown(partition int)
	// ForgetMissingInstances ends the numbers of a partition in which this instance no longer works.
	ForgetMissingInstances(partition int)
}

// Watcher watches for living instances that do not work in a partition: those of a version that knows no partitions,
// or fewer, which joined after sales were placed there. Such a one sells these sales, but hands in no recovery
// reports of them, so what it has accepted is lost with Redis; and no new sale is placed there (Placer).
type Watcher struct {
	instances Instances
	observer  WatchObserver
	log       *slog.Logger
}

// NewWatcher returns a watcher.
func NewWatcher(instances Instances, observer WatchObserver, log *slog.Logger) *Watcher {
	return &Watcher{instances: instances, observer: observer, log: log}
}

// Run watches a partition until ctx ends. In partition 0 every instance works: nothing is watched there.
func (w *Watcher) Run(ctx context.Context, partition int) error {
	if partition == 0 {
		w.observer.SetMissingInstances(0, 0)
		return nil
	}
	defer w.observer.ForgetMissingInstances(partition)
	missed := map[string]*absence{}
	return periodic.Every(ctx, watchEvery, func(ctx context.Context) { w.look(ctx, partition, missed) })
}

// absence is that of an instance from a partition.
type absence struct {
	since  time.Time
	logged bool
}

// look asks once, and brings what is known of instances up to date.
func (w *Watcher) look(ctx context.Context, partition int, known map[string]*absence) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	alive, err := w.instances.InstancesIn(ctx, 0)
	here, errHere := w.instances.InstancesIn(ctx, partition)
	if errors.Join(err, errHere) != nil { // what else asks them logs why
		w.observer.SetMissingInstancesUnknown(partition)
		clear(known) // an absence counts from when it is seen again: an instance may have come and gone meanwhile
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
			"an instance does not work in a partition, and no new sale is placed there: is it of an older version?",
			"partition", partition, "instance", InstanceName(name))
	}
}

// missing returns which of the instances that are alive do not work here.
func missing(alive, here []string) (names []string) {
	for _, name := range alive {
		if !slices.Contains(here, name) {
			names = append(names, name)
		}
	}
	return names
}

// InstanceName returns the name that SECKILL_INSTANCE gave to an instance, from that of its heartbeats: name:run
// formats.
func InstanceName(heartbeat string) string {
	name, _, _ := strings.Cut(heartbeat, " ")
	if colon := strings.LastIndexByte(name, ':'); colon > 0 {
		name = name[:colon]
	}
	return name
}
