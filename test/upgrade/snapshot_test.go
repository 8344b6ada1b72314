package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// snapshot is everything that a version left in Redis, in a form that people can read and compare.
type snapshot struct {
	RunID string      `json:"runId"` // of the server, which sales remember
	Keys  []storedKey `json:"keys"`  // sorted by name
}

// storedKey is one key, with the value of its type.
type storedKey struct {
	Name   string             `json:"name"`
	Millis int64              `json:"expiresInMillis,omitempty"`
	Text   *string            `json:"string,omitempty"`
	Hash   map[string]string  `json:"hash,omitempty"`
	Scores map[string]float64 `json:"zset,omitempty"`
	Stream *storedStream      `json:"stream,omitempty"`
}

// storedStream is a stream with its groups.
type storedStream struct {
	Entries []storedEntry `json:"entries"`
	Groups  []storedGroup `json:"groups,omitempty"`
}

// storedEntry is one entry: its fields and values in their order.
type storedEntry struct {
	ID     string   `json:"id"`
	Fields []string `json:"fields"`
}

// storedGroup is a group of consumers.
type storedGroup struct {
	Name    string              `json:"name"`
	Last    string              `json:"lastDelivered"`
	Pending map[string][]string `json:"pending"` // consumer → entries that it was given and has not acknowledged
}

// dump reads all keys.
func (s *stores) dump() (all snapshot) {
	s.Helper()
	ctx := s.Context()
	all.RunID = s.runID()
	keys, err := s.rdb.Keys(ctx, "*").Result()
	s.must(err)
	slices.Sort(keys)
	for _, key := range keys {
		k := storedKey{Name: key}
		kind, err := s.rdb.Type(ctx, key).Result()
		s.must(err)
		switch kind {
		case "string":
			text, err := s.rdb.Get(ctx, key).Result()
			s.must(err)
			k.Text = &text
		case "hash":
			k.Hash, err = s.rdb.HGetAll(ctx, key).Result()
			s.must(err)
		case "zset":
			k.Scores = map[string]float64{}
			members, err := s.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
			s.must(err)
			for _, m := range members {
				k.Scores[fmt.Sprint(m.Member)] = m.Score
			}
		case "stream":
			k.Stream = s.dumpStream(ctx, key)
		case "none":
			continue // expired in between
		default:
			s.Fatalf("key %s is a %s: say here how it is kept", key, kind)
		}
		if left, err := s.rdb.PTTL(ctx, key).Result(); err == nil && left > 0 {
			k.Millis = left.Milliseconds()
		}
		if text := fmt.Sprintf("%+v", k); !utf8.ValidString(text) {
			s.Fatalf("key %s holds bytes that JSON cannot: say here how they are kept", key)
		}
		all.Keys = append(all.Keys, k)
	}
	return all
}

func (s *stores) dumpStream(ctx context.Context, key string) *storedStream {
	s.Helper()
	entries, err := s.rdb.Do(ctx, "XRANGE", key, "-", "+").Slice() // go-redis's own call forgets the order of fields
	s.must(err)
	stream := &storedStream{Entries: []storedEntry{}}
	for _, e := range entries {
		entry, _ := e.([]any)
		if len(entry) != 2 {
			s.Fatalf("XRANGE answers %v", e)
		}
		fields, _ := entry[1].([]any)
		kept := storedEntry{ID: fmt.Sprint(entry[0])}
		for _, f := range fields {
			kept.Fields = append(kept.Fields, fmt.Sprint(f))
		}
		stream.Entries = append(stream.Entries, kept)
	}
	groups, err := s.rdb.XInfoGroups(ctx, key).Result()
	s.must(err)
	for _, g := range groups {
		kept := storedGroup{Name: g.Name, Last: g.LastDeliveredID, Pending: map[string][]string{}}
		consumers, err := s.rdb.XInfoConsumers(ctx, key, g.Name).Result()
		s.must(err)
		for _, c := range consumers {
			kept.Pending[c.Name] = nil
		}
		pending, err := s.rdb.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: key, Group: g.Name, Start: "-", End: "+", Count: 1000}).Result()
		s.must(err)
		for _, p := range pending {
			kept.Pending[p.Consumer] = append(kept.Pending[p.Consumer], p.ID)
		}
		stream.Groups = append(stream.Groups, kept)
	}
	return stream
}

// runID is the name of this run of the Redis server.
func (s *stores) runID() string {
	s.Helper()
	info, err := s.rdb.Info(s.Context(), "server").Result()
	s.must(err)
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r")
	return id
}

// restore writes the keys of a snapshot. same says that this is to be the same run of the same server, as if Redis had
// never stopped.
func (s *stores) restore(all snapshot, same bool) {
	s.Helper()
	ctx := s.Context()
	here := func(value string) string {
		if same && value == all.RunID {
			return s.runID()
		}
		return value
	}
	for _, k := range all.Keys {
		key := k.Name
		switch {
		case k.Text != nil:
			s.must(s.rdb.Set(ctx, key, here(*k.Text), 0).Err())
		case k.Hash != nil:
			for field, value := range k.Hash {
				s.must(s.rdb.HSet(ctx, key, field, here(value)).Err())
			}
		case k.Scores != nil:
			for member, score := range k.Scores {
				s.must(s.rdb.ZAdd(ctx, key, redis.Z{Score: score, Member: member}).Err())
			}
		case k.Stream != nil:
			s.restoreStream(ctx, key, k.Stream)
		default:
			s.Fatalf("the fixture's key %s has no value", k.Name)
		}
		if k.Millis > 0 {
			s.must(s.rdb.PExpire(ctx, key, time.Duration(k.Millis)*time.Millisecond).Err())
		}
	}
}

func (s *stores) restoreStream(ctx context.Context, key string, stream *storedStream) {
	s.Helper()
	for _, e := range stream.Entries {
		args := []any{"XADD", key, e.ID}
		for _, f := range e.Fields {
			args = append(args, f)
		}
		s.must(s.rdb.Do(ctx, args...).Err())
	}
	for _, g := range stream.Groups {
		s.must(s.rdb.XGroupCreateMkStream(ctx, key, g.Name, g.Last).Err())
		for consumer, ids := range g.Pending {
			s.must(s.rdb.XGroupCreateConsumer(ctx, key, g.Name, consumer).Err())
			for _, id := range ids {
				s.must(s.rdb.Do(ctx, "XCLAIM", key, g.Name, consumer, 0, id, "FORCE", "JUSTID").Err())
			}
		}
	}
}
