package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// listVersionTTL is how long a list's version is kept: longer than any instance caches texts.
const listVersionTTL = time.Hour

// ListState implements listing.Redis. A version that cannot be read, because its key holds something else, is "".
func (s *Store) ListState(ctx context.Context, vs []voucher.Voucher, shops []int64) (listing.Reading, error) {
	sales, err := salesOf(vs)
	if err != nil {
		return listing.Reading{}, err
	}
	views := make([]order.SaleView, len(sales))
	q := listQuestion{sales: sales, parts: s.askable(sales, views), shops: shops}
	if err = q.send(ctx, s, "evalsha", s.scripts.views.Digest); redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = q.send(ctx, s, "eval", s.scripts.views.Source)
	}
	if err != nil {
		return listing.Reading{}, fmt.Errorf("reading %d sales of %d lists: %w",
			len(vs), len(shops), rediskit.Translate(err))
	}
	for i, part := range q.parts {
		if err := readViews(q.views[i].Val(), part, views); err != nil {
			return listing.Reading{}, err
		}
	}
	r := listing.Reading{Live: liveOf(vs, views), Versions: make([]string, len(shops)), Now: q.now.Val().UTC()}
	for i, version := range q.versions {
		r.Versions[i] = version.Val()
	}
	return r, nil
}

// listQuestion is one pipeline that reads sales, versions of lists, and the time.
type listQuestion struct {
	sales []order.SaleRef
	parts [][]int // indexes of sales, one slice per call of scripts/views.lua
	shops []int64

	views    []*redis.Cmd // one per part
	versions []*redis.StringCmd
	now      *redis.TimeCmd
}

// send sends the pipeline, with the script as text, and returns the first error of a command that the answer needs.
func (q *listQuestion) send(ctx context.Context, s *Store, verb, text string) error {
	pipe := s.commands.Pipeline()
	q.now = pipe.Time(ctx)
	q.views, q.versions = make([]*redis.Cmd, len(q.parts)), make([]*redis.StringCmd, len(q.shops))
	for i, part := range q.parts {
		q.views[i] = s.scripts.views.Command(ctx, verb, text, s.viewKeys(q.sales, part), nil)
		_ = pipe.Process(ctx, q.views[i]) // this only queues it; a command has its own error
	}
	for i, shop := range q.shops {
		q.versions[i] = pipe.Get(ctx, s.keys.list(shop))
	}
	_, _ = pipe.Exec(ctx) // as above
	err := q.now.Err()
	for _, cmd := range q.views {
		err = cmp.Or(err, cmd.Err())
	}
	return err
}

// ReplaceListVersion implements listing.Redis.
func (s *Store) ReplaceListVersion(ctx context.Context, shopID int64) error {
	return rediskit.Translate(s.in(0).Set(ctx, s.keys.list(shopID), rand.Text(), listVersionTTL).Err())
}
