package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/kit/bulkhead"
)

// work has the jobs that run beside the requests. They are stopped after the last request is answered.
type work struct {
	recorders, jobs           errgroup.Group
	stopRecording, stopOthers context.CancelFunc
}

// startWork starts the jobs. They outlive ctx and run until they are stopped. The recorders stop first, because they
// notify waiting callers; the other jobs have nothing to finish.
func (p *process) startWork(ctx context.Context) *work {
	w := &work{}
	others, stopOthers := context.WithCancel(bulkhead.With(context.WithoutCancel(ctx), bulkhead.Background))
	recording, stopRecording := context.WithCancel(bulkhead.With(others, bulkhead.Recording))
	w.stopOthers, w.stopRecording = stopOthers, stopRecording
	w.recorders.Go(func() error { return p.shop.Record(recording) })
	p.shop.Work(others, &w.jobs, p.features.Jobs)
	w.jobs.Go(func() error { return watchBacklog(others, p.shop.Partitions, p.stores.Redis, p.metrics) })
	if p.stores.Home != nil {
		w.jobs.Go(func() error { return p.stores.Home.Run(others) })
	}
	return w
}

// serve runs jobs and answers requests until ctx ends or a listener fails, and then stops.
func (p *process) serve(ctx context.Context) error {
	w := p.startWork(ctx)
	defer w.stopOthers()
	serving, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	for _, l := range []*listener{p.public, p.operations} {
		w.jobs.Go(func() error {
			if err := l.serve(); err != nil {
				failed(err)
			}
			return nil
		})
	}
	p.log.InfoContext(ctx, "listening", "address", p.public.addr(), "operations", p.operations.addr())
	if p.stores.Home != nil {
		if err := p.welcome(serving); err != nil && serving.Err() == nil {
			failed(err)
		}
	}
	<-serving.Done()
	// A second later, the next signal ends the process at once. Not earlier, because some supervisors send the first
	// signal twice.
	impatience := time.AfterFunc(time.Second, p.env.Stop)
	defer impatience.Stop()
	p.log.InfoContext(ctx, "stopping", "reason", context.Cause(serving))
	err := p.stop(ctx, w)
	if ctx.Err() == nil { // a listener has failed
		err = errors.Join(context.Cause(serving), err)
	}
	return err
}

// stop stops new requests, then waits for those in flight, then stops what these wait for.
func (p *process) stop(ctx context.Context, w *work) error {
	p.api.Drain()
	<-time.After(p.cfg.Server.DrainDelay)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.Server.ShutdownTimeout)
	defer cancel()
	if !p.cfg.Embedded() { // in the embedded mode every answer waits for its row, which comes soon
		p.shop.Notifier.Close()
	}
	errShutdown := p.public.shutdown(stopping)
	p.public.close() // cuts off requests that have not ended by now
	p.shop.StopAdmission()
	w.stopRecording()
	errRecord := w.recorders.Wait()
	w.stopOthers()
	errOperations := p.operations.shutdown(stopping)
	return errors.Join(errShutdown, errRecord, errOperations, w.jobs.Wait())
}
