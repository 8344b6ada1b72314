package rig

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit/freeport"
	"seckill/lab/load"
)

// portsVoucher is what the port sells.
const portsVoucher = 1

// Port is a port of the tutorial to Go by others, built from its source (lab/notes/port.md names it). It has the second
// database of the Redis for itself, as its keys have no prefix.
type Port struct {
	source, program, dir string // dir is where it keeps its settings and its log
	stores               *Stores
	redis                *redis.Client
}

// portsRedis is the number of its database in Redis.
const portsRedis = 1

// OpenPort builds the port into a directory, and signs the users in.
func OpenPort(ctx context.Context, s *Stores, source, dir string, users load.Users) (*Port, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	p := &Port{source: source, program: filepath.Join(dir, "port"), dir: dir, stores: s}
	build := exec.CommandContext(ctx, "go", "build", "-o", p.program, "./cmd/server")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the port in %s: %w\n%s", source, err, out)
	}
	p.redis = redis.NewClient(&redis.Options{Addr: s.RedisAddr, DB: portsRedis})
	for first := 0; first < len(users); first += 10_000 {
		pipe := p.redis.Pipeline()
		for i, token := range users[first:min(first+10_000, len(users))] {
			pipe.HSet(ctx, "login:token:"+token, "id", first+i+1, "nickName", "benchmark")
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("redis: %w", err), p.Close(ctx))
		}
	}
	return p, nil
}

// Close removes everything of the port's from Redis.
func (p *Port) Close(ctx context.Context) error {
	return errors.Join(p.redis.FlushDB(ctx).Err(), p.redis.Close())
}

// Start starts the port with a sale of that stock. Nobody has bought.
func (p *Port) Start(ctx context.Context, at *Namespace, stock int64) (*Server, error) {
	if err := p.prepare(ctx, at, stock); err != nil {
		return nil, err
	}
	addr, err := freeport.TakeAddr(ctx)
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(p.dir, "port.yml")
	if err = os.WriteFile(settings, []byte(p.settings(at, addr)), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.program, "-conf", settings)
	cmd.Dir, cmd.Env = p.source, environment(nil) // it reads its script below its source
	c, err := start(ctx, cmd, "http://"+addr+"/")
	if err != nil {
		return nil, err
	}
	return &Server{Child: c, Addr: addr, Voucher: portsVoucher}, nil
}

// prepare fills the stores as the port's own scripts and administration do.
func (p *Port) prepare(ctx context.Context, at *Namespace, stock int64) error {
	tables, err := os.ReadFile(filepath.Join(p.source, "deploy", "docker-compose", "hmdp.sql"))
	if err != nil {
		return err
	}
	dsn := at.Stores.dsn.Clone()
	dsn.DBName, dsn.MultiStatements = at.schema, true
	db, err := sql.Open("mysql", dsn.FormatDSN())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // everything that was written is committed
	if _, err = db.ExecContext(ctx, string(tables)); err != nil {
		return fmt.Errorf("the port's tables: %w", err)
	}
	if _, err = db.ExecContext(ctx,
		"INSERT INTO tb_seckill_voucher (voucher_id, stock) VALUES (?, ?)", portsVoucher, stock); err != nil {
		return err
	}
	pipe := p.redis.TxPipeline()
	pipe.Del(ctx, "stream.orders", fmt.Sprint("seckill:order:", portsVoucher))
	pipe.Set(ctx, fmt.Sprint("seckill:stock:", portsVoucher), stock, 0)
	pipe.XGroupCreateMkStream(ctx, "stream.orders", "g1", "0")
	_, err = pipe.Exec(ctx)
	return err
}

// settings are the port's own for production, with these stores, and a log of errors alone.
func (p *Port) settings(at *Namespace, addr string) string {
	host, port, _ := net.SplitHostPort(addr) // of our own making
	dsn := at.Stores.dsn.Clone()
	dsn.DBName, dsn.ParseTime = at.schema, true
	return fmt.Sprintf(`env: prod
http: {host: %q, port: %s}
data:
  db: {hmdp: {driver: mysql, dsn: %q}}
  redis: {addr: %q, password: "", db: %d, read_timeout: 0.2s, write_timeout: 0.2s}
log: {log_level: error, mode: file, encoding: json, log_file_name: %q, max_backups: 1, max_age: 1, max_size: 100}
`, host, port, dsn.FormatDSN(), at.Stores.RedisAddr, portsRedis, filepath.Join(p.dir, "port.log"))
}
