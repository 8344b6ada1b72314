package main

import (
	"cmp"
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
	failed                    context.CancelCauseFunc // stops the process
}

// errJobEnded is why the process stops after a job that ended without an error before it was stopped.
var errJobEnded = errors.New("a job has ended before it was stopped")

// run starts a job in the group. If it ends before ctx does, the process stops: the jobs retry their failures, so
// that nothing would ever start this one again.
func (w *work) run(ctx context.Context, group *errgroup.Group, job func(context.Context) error) {
	group.Go(func() error {
		err := job(ctx)
		if ctx.Err() != nil {
			return err
		}
		w.failed(cmp.Or(err, errJobEnded))
		return nil
	})
}

// startWork starts the jobs. They outlive ctx and run until they are stopped. The recorders stop first, because they
// notify waiting callers; the other jobs have nothing to finish. failed is called when a job ends before that.
func (p *process) startWork(ctx context.Context, failed context.CancelCauseFunc) *work {
	w := &work{failed: failed}
	others, stopOthers := context.WithCancel(bulkhead.With(context.WithoutCancel(ctx), bulkhead.Background))
	recording, stopRecording := context.WithCancel(bulkhead.With(others, bulkhead.Recording))
	w.stopOthers, w.stopRecording = stopOthers, stopRecording
	w.run(recording, &w.recorders, p.shop.Record)
	jobs := append(p.shop.Jobs(), p.features.Jobs...)
	jobs = append(jobs, func(ctx context.Context) error {
		return watchBacklog(ctx, p.shop.Partitions, p.stores.Redis, p.metrics)
	})
	if p.stores.Home != nil {
		jobs = append(jobs, p.stores.Home.Run)
	}
	for _, job := range jobs {
		w.run(others, &w.jobs, job)
	}
	return w
}

// serve runs jobs and answers requests until ctx ends or a listener or job fails, and then stops.
func (p *process) serve(ctx context.Context) error {
	serving, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	w := p.startWork(ctx, failed)
	defer w.stopOthers()
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
	if ctx.Err() == nil { // a listener or job has failed
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
