package measures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
	"seckill/lab/version"
)

// Bench is what all measurements of a run share.
type Bench struct {
	plan     Plan
	stores   *rig.Stores
	self     string // this program, whose command stage serves a design
	dir      string // for the programs that are built
	server   string // the service's program
	name     string // name in progress messages; "" for this checkout
	before   *Bench // the same for a program of an older commit; nil: none
	users    load.Users
	progress io.Writer
}

// Open opens the stores, builds the service from this checkout, and signs tokens. self is the path of this program,
// whose command stage runs the designs.
func Open(ctx context.Context, p Plan, self string, progress io.Writer) (*Bench, error) {
	b := &Bench{plan: p.fit(), self: self, progress: progress}
	var err error
	if b.stores, err = rig.OpenStores(ctx); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "seckill-bench-"); err != nil {
		b.Close(ctx)
		return nil, err
	}
	fmt.Fprintln(progress, "building the server")
	if err = b.buildServer(ctx); err != nil {
		b.Close(ctx)
		return nil, err
	}
	if err = b.buildBefore(ctx); err != nil {
		b.Close(ctx)
		return nil, err
	}
	fmt.Fprintln(progress, "signing tokens")
	b.users = load.NewUsers(b.plan.users())
	if b.before != nil {
		b.before.users = b.users
	}
	return b, nil
}

// buildServer builds the service of this checkout.
func (b *Bench) buildServer(ctx context.Context) error {
	root, err := version.Root(ctx, ".")
	if err != nil {
		return err
	}
	b.server = filepath.Join(b.dir, "server")
	return version.BuildTree(ctx, root, b.server)
}

// buildBefore builds the service of the plan's older commit, if there is one.
func (b *Bench) buildBefore(ctx context.Context) error {
	if b.plan.Before == "" {
		return nil
	}
	fmt.Fprintln(b.progress, "building the server of", b.plan.Before)
	before := *b
	before.name = " of " + b.plan.Before
	before.server = filepath.Join(b.dir, "server-before")
	b.before = &before
	root, err := version.Root(ctx, ".")
	if err != nil {
		return err
	}
	id, err := version.Resolve(ctx, root, b.plan.Before)
	if err != nil {
		return err
	}
	return version.Build(ctx, root, id, before.server)
}

// Close removes the programs and restores the stores' settings, even if ctx has ended.
func (b *Bench) Close(ctx context.Context) {
	_ = os.RemoveAll(b.dir) // in the temporary directory, so a failure does no harm
	b.stores.Close(context.WithoutCancel(ctx), b.progress)
}

func (b *Bench) service() rig.Service { return rig.Service{Path: b.server} }

func (b *Bench) stage(name string) rig.Stage {
	return rig.Stage{Path: b.self, Name: name}
}

// run describes the machine and the plan.
func (b *Bench) run(ctx context.Context) result.Run {
	return result.Run{Machine: b.stores.Describe(ctx), Plan: b.plan.describe()}
}

// burst returns the load of most measurements.
func (b *Bench) burst(to *rig.Server, duration time.Duration) load.Burst {
	return load.Burst{
		Users: b.users, Endpoints: []load.Endpoint{to.Endpoint()}, Connections: b.plan.Connections,
		Want: http.StatusAccepted, WarmUp: b.plan.WarmUp, Duration: duration,
	}
}

// inNamespace measures in a namespace and clears it afterwards.
func (b *Bench) inNamespace(ctx context.Context, measure func(at *rig.Namespace) error) error {
	at, err := b.stores.NewNamespace(ctx)
	if err != nil {
		return err
	}
	return errors.Join(measure(at), at.Clear(context.WithoutCancel(ctx)))
}

// withService measures on a fresh instance of the service. At the end it audits that against the number of accepted
// purchases that measure returns.
func (b *Bench) withService(
	ctx context.Context, measure func(at *rig.Namespace, server *rig.Server) (accepted int64, err error),
) error {
	return b.inNamespace(ctx, func(at *rig.Namespace) (err error) {
		server, err := b.service().Launch(ctx, at, "bench")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		accepted, err := measure(at, server)
		if err != nil {
			return err
		}
		if err = at.AwaitRecorded(ctx, accepted); err != nil {
			return err
		}
		if err = server.Stop(); err != nil {
			return err
		}
		return audit.Service(ctx, at, server, accepted)
	})
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
