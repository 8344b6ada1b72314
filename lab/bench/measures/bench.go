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
	"seckill/lab/rig"
	"seckill/lab/version"
)

// Bench is what all measurements of a run share.
type Bench struct {
	plan     Plan
	stores   *rig.Stores
	dir      string // of the programs
	server   string // the service's program
	name     string // what progress calls it; "" for that of this checkout
	before   *Bench // the same with a program from an older commit; nil: none
	users    rig.Users
	progress io.Writer
}

// Open opens the stores, builds the programs from this checkout, and signs tokens.
func Open(ctx context.Context, p Plan, progress io.Writer) (*Bench, error) {
	b := &Bench{plan: p.fit(), progress: progress}
	var err error
	if b.stores, err = rig.OpenStores(ctx); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "seckill-bench-"); err != nil {
		b.Close(ctx)
		return nil, err
	}
	for name, pkg := range map[string]string{"server": "seckill/cmd/server", "stages": "seckill/lab/bench/stages"} {
		fmt.Fprintln(progress, "building", name)
		if err = rig.Build(ctx, ".", pkg, filepath.Join(b.dir, name)); err != nil {
			b.Close(ctx)
			return nil, err
		}
	}
	b.server = filepath.Join(b.dir, "server")
	if err = b.buildBefore(ctx); err != nil {
		b.Close(ctx)
		return nil, err
	}
	fmt.Fprintln(progress, "signing tokens")
	b.users = rig.NewUsers(b.plan.users())
	if b.before != nil {
		b.before.users = b.users
	}
	return b, nil
}

// buildBefore builds the service of the plan's older commit, if there is one.
func (b *Bench) buildBefore(ctx context.Context) error {
	if b.plan.Before == "" {
		return nil
	}
	fmt.Fprintln(b.progress, "building server of", b.plan.Before)
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

// Close removes the programs and restores the stores' settings, also when ctx has ended.
func (b *Bench) Close(ctx context.Context) {
	_ = os.RemoveAll(b.dir) // in the temporary directory; nothing depends on it
	b.stores.Close(context.WithoutCancel(ctx), b.progress)
}

func (b *Bench) service() rig.Service { return rig.Service{Path: b.server} }

func (b *Bench) stage(name string) rig.Stage {
	return rig.Stage{Path: filepath.Join(b.dir, "stages"), Name: name}
}

// run describes the machine and the plan.
func (b *Bench) run(ctx context.Context) result.Run {
	return result.Run{Machine: b.stores.Describe(ctx), Plan: b.plan.describe()}
}

// burst is the load that most measurements want.
func (b *Bench) burst(to *rig.Server, duration time.Duration) rig.Burst {
	return rig.Burst{
		Users: b.users, Endpoints: []rig.Endpoint{to.Endpoint()}, Connections: b.plan.Connections, Want: http.StatusAccepted,
		WarmUp: b.plan.WarmUp, Duration: duration,
	}
}

// inNamespace measures in a namespace that is cleared afterwards.
func (b *Bench) inNamespace(ctx context.Context, measure func(at *rig.Namespace) error) error {
	at, err := b.stores.NewNamespace(ctx)
	if err != nil {
		return err
	}
	return errors.Join(measure(at), at.Clear(context.WithoutCancel(ctx)))
}

// withService measures on a fresh instance of the service, and audits it at the end against what measure says was
// accepted.
func (b *Bench) withService(ctx context.Context, measure func(at *rig.Namespace, server *rig.Server) (accepted int64, err error)) error {
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
