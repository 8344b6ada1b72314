package redisstore

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// errRebuildLost: Redis no longer knows the rebuild of a step; it was emptied or lost its tail.
var errRebuildLost = errors.New("redis no longer knows of this rebuild")

// isNoGroup reports whether err says that the stream or its group does not exist (any more).
func isNoGroup(err error) bool {
	return redis.HasErrorPrefix(err, "NOGROUP") || redis.HasErrorPrefix(err, "UNBLOCKED")
}
